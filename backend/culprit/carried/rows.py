"""The rows of an imported incident. Every id is a new one: nothing in a bundle can name what is here already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any
from uuid import UUID

from sqlalchemy import insert
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.carried import verdicts
from culprit.carried.form import ArtifactForm, Carried, Document
from culprit.incidents import verdicts as steps
from culprit.kit.clock import now
from culprit.kit.uuid7 import uuid7
from culprit.models import (
    Artifact,
    Capture,
    CauseOutcome,
    Fix,
    Host,
    Hypothesis,
    Incident,
    IncidentHost,
    IncidentOrigin,
    IncidentPlaybook,
    IncidentRun,
    Pin,
    Profile,
    Run,
    RunCollector,
    StepVerdict,
    StepWaiver,
    VerdictPin,
    Verification,
)

Json = dict[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: In the place of a digest: what was left out must never be found among the bytes that are here for others.
NO_BYTES = "0" * 64
#: Until the bytes are read here, a profile that a pin names has a place and nothing in it.
NOT_BUILT = {"key": "carried.profile_not_built", "params": {}}


class Rows:
    """Writes a checked document. `parts` are the artifacts that the store holds now."""

    def __init__(self, session: Session, actor: Actor, document: Document, parts: Json) -> None:
        self.session = session
        self.actor = actor
        self.document = document
        self.parts = parts
        self.said_by: dict[str, str] = {}
        self.to_read: list[UUID] = []

    @cached_property
    def ids(self) -> dict[UUID, UUID]:
        """The new id of everything that the document names, in its order."""
        one = self.document
        every: Iterable[Iterable[Any]] = (
            one.hosts, one.hypotheses, one.verdicts, one.pins, one.fixes, one.verifications, one.captures,
            sorted(one.runs, key=lambda run: run.id), one.collectors, one.artifacts, one.profiles,
        )  # fmt: skip
        return {row.id: uuid7() for rows in every for row in rows}

    def id(self, old: UUID | None) -> UUID | None:
        """The id here of what has this one in the bundle."""
        return self.ids[old] if old is not None else None

    def _ids(self, old: Iterable[UUID]) -> list[str]:
        return [str(self.ids[one]) for one in old]

    def _moved(self, value: Any) -> Any:
        """A structure or a path with the ids of here. An id that the bundle does not hold names nothing any more."""
        if isinstance(value, str):
            return _UUID.sub(self._here, value)
        if isinstance(value, dict):
            return {name: self._moved(inside) for name, inside in value.items()}
        if isinstance(value, list):
            return [self._moved(one) for one in value]
        return value

    def _here(self, found: re.Match[str]) -> str:
        return str(self.ids.get(UUID(found[0]), UUID(int=0)))

    def _by(self, row: object, who: str | None) -> None:
        if who:
            self.said_by[str(row)] = who

    def write(self, sha256: str) -> Incident:
        """All rows of it."""
        head, origin = self.document.incident, self.document.origin
        incident = Incident(
            **head.model_dump(exclude={"symptom"}),
            symptom=head.symptom.model_dump(mode="json"),
            created_by=self.actor.id,
            updated_at=now(),
            version=0,
        )
        self.session.add(incident)
        self.session.flush()
        self._places(incident)
        self._chain(incident)
        self._fixes(incident)
        self._captured(incident)
        self._evidence(incident)
        self.session.add(
            IncidentOrigin(
                incident_id=incident.id,
                sha256=sha256,
                imported_by=self.actor.id,
                expected=self._expected(),
                said_by=self.said_by,
                **origin.model_dump(include={"culprit", "number", "redacted", "written_at"}),
            )
        )
        self.session.flush()
        return incident

    def _places(self, incident: Incident) -> None:
        """Hosts that are known from this bundle alone. Who sees only some hosts gets ones that they see."""
        labels = {label: allowed[0] for label, allowed in self.actor.label_scope.items() if allowed}
        for one in self.document.hosts:
            self.session.add(
                Host(
                    id=self.ids[one.id], name=one.name, address="", port=22, username="", state="imported",
                    labels=labels, created_by=self.actor.id,
                )
            )  # fmt: skip
        self.session.flush()
        for one in self.document.hosts:
            self.session.add(
                IncidentHost(
                    incident_id=incident.id, host_id=self.ids[one.id], scope=one.scope, role=one.role
                )
            )
        self.session.flush()

    def _chain(self, incident: Incident) -> None:
        for position, one in enumerate(self.document.playbooks):
            self.session.add(
                IncidentPlaybook(
                    incident_id=incident.id, playbook_id=one.id, position=position,
                    **_plain(one, "digest", "content", "aside_reason", "aside_at"),
                )
            )  # fmt: skip
            self._by(f"playbook {one.id}", one.aside_by)
        for said in self.document.hypotheses:
            self.session.add(
                Hypothesis(
                    id=self.ids[said.id], incident_id=incident.id,
                    **_plain(said, "key", "says", "cause", "primary", "state", "created_at"),
                )
            )  # fmt: skip
        for waived in self.document.waivers:
            self.session.add(
                StepWaiver(incident_id=incident.id, created_at=waived.at, **_plain(waived, "step", "reason"))
            )
            self._by(waived.step, waived.by)
        self.session.flush()

    def _fixes(self, incident: Incident) -> None:
        for one in self.document.fixes:
            self.session.add(
                Fix(
                    id=self.ids[one.id], incident_id=incident.id, hypothesis_id=self.id(one.hypothesis),
                    hosts=self._ids(one.hosts), created_at=one.at,
                    **_plain(one, "card", "what", "command", "risk", "way_back", "applied_at", "state"),
                )
            )  # fmt: skip
            self._by(self.ids[one.id], one.by)
        self.session.flush()
        for asked in self.document.verifications:
            self.session.add(
                Verification(
                    id=self.ids[asked.id], fix_id=self.ids[asked.fix], before=self._ids(asked.before),
                    made_before=self._ids(asked.made_before), after=self._ids(asked.after),
                    control_host_id=self.id(asked.control), result=self._moved(asked.result),
                    created_at=asked.at, **_plain(asked, "kind", "primary", "bar", "state", "failure", "ended_at"),
                )
            )  # fmt: skip
            self._by(self.ids[asked.id], asked.by)
        self.session.flush()

    def _captured(self, incident: Incident) -> None:
        """Captures and runs as if they had just come home: they wait to be read, and rules to be asked."""
        for one in self.document.captures:
            self.session.add(
                Capture(
                    id=self.ids[one.id], source="import", state="running", requested_by=self.actor.id,
                    **_plain(one, "plan", "collectors", "seconds", "scope", "reason", "created_at"),
                )
            )  # fmt: skip
        self.session.flush()
        sizes = {run.id: 0 for run in self.document.runs}
        for part in self.document.artifacts:
            sizes[part.run] += self._stored_size(part)
        for run in sorted(self.document.runs, key=lambda one: one.id):
            self.session.add(
                Run(
                    id=self.ids[run.id], capture_id=self.ids[run.capture], host_id=self.id(run.host),
                    state="ingesting", attempt=1, bytes=sizes[run.id],
                    facts={"target": run.target} if run.target else None,
                    spec={"kind": "incident"},
                    **_plain(
                        run, "failure", "failure_side", "boot_id", "clock", "host_cpu_ms", "t0_ns", "t1_ns",
                        "started_at",
                    ),
                )
            )  # fmt: skip
            self.to_read.append(self.ids[run.id])
        self.session.flush()
        for run in self.document.runs:
            if run.role is None:
                continue
            self.session.add(
                IncidentRun(
                    incident_id=incident.id, run_id=self.ids[run.id], role=run.role, fix_id=self.id(run.fix),
                    step=run.step,
                )
            )  # fmt: skip
        for row in self.document.collectors:
            self.session.add(
                RunCollector(
                    id=self.ids[row.id], run_id=self.ids[row.run],
                    **_plain(
                        row, "collector", "state", "reason", "way", "argv", "exit_code", "tool_version", "started_ns",
                        "ended_ns", "cpu_ms", "bytes", "stderr_tail",
                    ),
                )
            )  # fmt: skip
        self.session.flush()
        self._bytes()

    def _stored_size(self, part: ArtifactForm) -> int:
        return int(self.parts[part.sha256]["stored_size"]) if part.left_out is None else 0

    def _bytes(self) -> None:
        whole = set()
        for part in self.document.artifacts:
            if part.left_out is None:
                whole.add(part.collector)
            self.session.add(
                Artifact(
                    id=self.ids[part.id], run_id=self.ids[part.run], run_collector_id=self.id(part.collector),
                    sha256=part.sha256 if part.left_out is None else NO_BYTES,
                    size=self.parts[part.sha256]["size"] if part.left_out is None else part.size,
                    stored_size=self._stored_size(part), removed_at=None if part.left_out is None else now(),
                    **_plain(part, "part", "encoding", "media_type", "complete", "attempt"),
                )
            )  # fmt: skip
        host_of = {run.id: run.host for run in self.document.runs}
        for profile in self.document.profiles:
            if profile.collector in whole:
                self.session.add(
                    Profile(
                        id=self.ids[profile.id], run_id=self.ids[profile.run], host_id=self.id(host_of[profile.run]),
                        run_collector_id=self.ids[profile.collector], state="failed", failure=NOT_BUILT,
                        **_plain(profile, "kind", "unit"),
                    )
                )  # fmt: skip
        self.session.flush()

    def _evidence(self, incident: Incident) -> None:
        hosts = {one.id for one in self.document.hosts}
        for one in self.document.pins:
            said = self._said(one.said, hosts)
            self.session.add(
                Pin(
                    id=self.ids[one.id], incident_id=incident.id, kind=one.kind, ref=self._moved(one.ref),
                    view=self._moved(one.view), said=said, step=one.step,
                    artifact=said["artifacts"][0] if len(said["artifacts"]) == 1 else None,
                    created_at=one.at,
                )
            )  # fmt: skip
            self._by(self.ids[one.id], one.by)
        self.session.flush()
        for verdict in self.document.verdicts:
            about, _ = steps.step_about(self.session, incident, verdict.step)
            self.session.add(
                StepVerdict(
                    id=self.ids[verdict.id], incident_id=incident.id, hypothesis=about,
                    host_id=self.id(verdict.host), created_at=verdict.at, **_plain(verdict, "step", "verdict", "note"),
                )
            )  # fmt: skip
            self._by(self.ids[verdict.id], verdict.by)
        self.session.flush()
        cited = [
            {"verdict_id": self.ids[verdict.id], "pin_id": self.ids[pin]}
            for verdict in self.document.verdicts
            for pin in dict.fromkeys(verdict.pins)
        ]
        if cited:
            self.session.execute(insert(VerdictPin), cited)
        for outcome in self.document.outcomes:
            self.session.add(
                CauseOutcome(
                    incident_id=incident.id, pins=self._ids(outcome.pins),
                    **_plain(outcome, "cause", "right", "true_cause", "note", "at"),
                )
            )  # fmt: skip

    def _said(self, said: Json, hosts: set[UUID]) -> Json:
        """What a pin showed. It names bytes only that the bundle holds: of others nobody may ask by their digest."""
        moved: Json = self._moved(said)
        held = [one for one in said.get("artifacts") or () if one in self.parts]
        known = [str(self.ids[one]) for one in hosts]
        named = [one for one in moved.get("hosts") or () if one in known]
        return {**moved, "artifacts": held, "hosts": named, "host_id": named[0] if named else None}

    def _expected(self) -> Json:
        document = self.document
        found = [
            verdicts.Saying("rule", one.rule, str(self.ids[run.id]), f"{one.state} {one.subjects}")
            for run in document.runs
            for one in run.spoke or ()
        ]
        found += [
            verdicts.Saying("step", one.step, str(self.ids[one.host]), one.verdict) for one in document.steps
        ]
        found += [verdicts.Saying("hypothesis", one.key, "", one.standing) for one in document.hypotheses]
        return verdicts.expected(found, self._why(), document.origin.rules)

    def _why(self) -> dict[str, str]:
        """What could make a verdict another one here: bytes that were left out, of a run and of the host it is of."""
        why: dict[str, str] = {}
        host_of = {run.id: run.host for run in self.document.runs}
        for one in self.document.artifacts:
            if one.left_out is not None:
                places = (one.run, host_of[one.run])
                why.update({str(self.ids[place]): "left_out" for place in places if place is not None})
                why[""] = "left_out"
        for step in self.document.steps:
            if step.muted:
                why[f"{step.step} {self.ids[step.host]}"] = "muted"
                why.setdefault("", "muted")
        return why


def _plain(one: Carried, *names: str) -> Json:
    """Fields as columns take them."""
    return one.model_dump(include=set(names))
