"""The rows of what was captured for an imported incident. Its runs have just come home and wait to be read."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.carried.form import Document
from culprit.carried.form_captured import ArtifactForm, DiffForm, ProfileForm, SideForm
from culprit.carried.form_words import Carried
from culprit.carried.ids import Ids
from culprit.kit.clock import now
from culprit.models import (
    Artifact,
    Capture,
    Incident,
    IncidentRun,
    Profile,
    ProfileDiff,
    Run,
    RunCollector,
)

Json = dict[str, Any]
#: In the place of a digest: what was left out must never be found among the bytes that are here for others.
NO_BYTES = "0" * 64
#: Until the bytes are read here, a profile that a pin names has a place and nothing in it.
NOT_BUILT = {"key": "carried.profile_not_built", "params": {}}


def plain(one: Carried, *names: str) -> Json:
    """Fields as columns take them."""
    return one.model_dump(include=set(names))


class Captured:
    """Writes captures and all below them. `parts` are the artifacts that the store holds now.

    Profiles whose bytes were left out become no rows, nor do comparisons of them.
    """

    def __init__(self, session: Session, actor: Actor, document: Document, parts: Json, ids: Ids) -> None:
        self.session = session
        self.actor = actor
        self.document = document
        self.parts = parts
        self.ids = ids
        self.profiles, self.diffs = _drawn(document)
        kept = {one.id for one in self.profiles} | {one.id for one in self.diffs}
        ids.forget(one.id for one in document.profiles if one.id not in kept)
        ids.forget(one.id for one in document.diffs if one.id not in kept)

    def write(self, incident: Incident) -> list[UUID]:
        """All of it. Returns the runs that are to be read."""
        self._captures()
        self._runs(incident)
        self._collectors()
        self._bytes()
        self._pictures()
        return [self.ids[one.id] for one in sorted(self.document.runs, key=lambda run: run.id)]

    def _captures(self) -> None:
        for one in self.document.captures:
            self.session.add(
                Capture(
                    id=self.ids[one.id], source="import", state="running", requested_by=self.actor.id,
                    **plain(one, "plan", "collectors", "seconds", "scope", "reason", "created_at"),
                )
            )  # fmt: skip
        self.session.flush()

    def _runs(self, incident: Incident) -> None:
        sizes = {run.id: 0 for run in self.document.runs}
        for part in self.document.artifacts:
            sizes[part.run] += self._stored_size(part)
        for run in sorted(self.document.runs, key=lambda one: one.id):
            self.session.add(
                Run(
                    id=self.ids[run.id], capture_id=self.ids[run.capture], host_id=self.ids.get(run.host),
                    state="ingesting", attempt=1, bytes=sizes[run.id],
                    facts={"target": run.target} if run.target else None,
                    spec={"kind": "incident"},
                    **plain(
                        run, "failure", "failure_side", "boot_id", "clock", "host_cpu_ms", "t0_ns", "t1_ns",
                        "started_at", "ended_at",
                    ),
                )
            )  # fmt: skip
        self.session.flush()
        for run in self.document.runs:
            if run.role is None:
                continue
            self.session.add(
                IncidentRun(
                    incident_id=incident.id, run_id=self.ids[run.id], role=run.role, fix_id=self.ids.get(run.fix),
                    step=run.step,
                )
            )  # fmt: skip

    def _collectors(self) -> None:
        for row in self.document.collectors:
            self.session.add(
                RunCollector(
                    id=self.ids[row.id], run_id=self.ids[row.run],
                    **plain(
                        row, "collector", "state", "reason", "way", "argv", "exit_code", "tool_version", "started_ns",
                        "ended_ns", "cpu_ms", "bytes", "stderr_tail",
                    ),
                )
            )  # fmt: skip
        self.session.flush()

    def _stored_size(self, part: ArtifactForm) -> int:
        return int(self.parts[part.sha256]["stored_size"]) if part.left_out is None else 0

    def _bytes(self) -> None:
        for part in self.document.artifacts:
            self.session.add(
                Artifact(
                    id=self.ids[part.id], run_id=self.ids[part.run], run_collector_id=self.ids.get(part.collector),
                    sha256=part.sha256 if part.left_out is None else NO_BYTES,
                    size=self.parts[part.sha256]["size"] if part.left_out is None else part.size,
                    stored_size=self._stored_size(part), removed_at=None if part.left_out is None else now(),
                    **plain(part, "part", "encoding", "media_type", "complete", "attempt"),
                )
            )  # fmt: skip
        self.session.flush()

    def _pictures(self) -> None:
        """Profiles are drawn when their runs were read, and comparisons when their profiles were drawn."""
        host_of = {run.id: run.host for run in self.document.runs}
        for one in self.profiles:
            self.session.add(
                Profile(
                    id=self.ids[one.id], run_id=self.ids[one.run], host_id=self.ids.get(host_of[one.run]),
                    run_collector_id=self.ids[one.collector], state="failed", failure=NOT_BUILT,
                    **plain(one, "kind", "event", "unit"),
                )
            )  # fmt: skip
        for diff in self.diffs:
            self.session.add(
                ProfileDiff(
                    id=self.ids[diff.id], a={**self._side(diff.before), "by_base": diff.by_base},
                    b=self._side(diff.after), normalise=diff.normalise, requested_by=self.actor.id,
                )
            )  # fmt: skip
        self.session.flush()

    def _side(self, one: SideForm) -> Json:
        first, *others = self.ids.texts(one.profiles)
        chosen = one.filter.model_dump(mode="json", exclude_defaults=True)
        return {"profile_id": first, "also": others, "filter": chosen}


def _drawn(document: Document) -> tuple[list[ProfileForm], list[DiffForm]]:
    """What can be drawn of the bytes that the bundle holds."""
    whole = {one.collector for one in document.artifacts if one.left_out is None}
    profiles = [one for one in document.profiles if one.collector in whole]
    known = {one.id for one in profiles}
    return profiles, [
        one for one in document.diffs if known.issuperset((*one.before.profiles, *one.after.profiles))
    ]
