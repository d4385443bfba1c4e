"""Write the rows of the captures of an imported incident. Its runs are parsed afterwards."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.incidents.transfer.bundle.base import BundleModel
from culprit.incidents.transfer.bundle.captures import ArtifactForm, ComparisonForm, ProfileForm, SideForm
from culprit.incidents.transfer.bundle.document import BundleDocument
from culprit.incidents.transfer.imports.id_map import IdMap
from culprit.infra.db.clock import utc_now
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.json_types import Json

#: The digest of an omitted artifact. It must not match stored bytes of other incidents.
NO_BYTES = "0" * 64
#: The failure of a profile until its bytes are parsed here.
NOT_BUILT = {"key": "transfer.profile_not_built", "params": {}}


def dump_fields(bundle_model: BundleModel, *names: str) -> Json:
    """Return fields as column values."""
    return bundle_model.model_dump(include=set(names))


class CaptureRowWriter:
    """Write captures with their runs and artifacts. `parts` are the artifacts in the store.

    Profiles of omitted bytes, and comparisons of them, get no rows.
    """

    def __init__(
        self, session: Session, actor: Actor, document: BundleDocument, parts: Json, ids: IdMap
    ) -> None:
        self.session = session
        self.actor = actor
        self.document = document
        self.parts = parts
        self.ids = ids
        self.profiles, self.comparisons = _select_buildable(document)
        profiles = {profile.id for profile in self.profiles} | {
            comparison.id for comparison in self.comparisons
        }
        ids.forget(profile.id for profile in document.profiles if profile.id not in profiles)
        ids.forget(comparison.id for comparison in document.comparisons if comparison.id not in profiles)

    def write(self, incident: Incident) -> list[UUID]:
        """Write all rows. Return the runs to parse."""
        self._add_captures()
        self._add_runs(incident)
        self._add_collectors()
        self._add_artifacts()
        self._add_profiles()
        return [self.ids[run.id] for run in sorted(self.document.runs, key=lambda run: run.id)]

    def _add_captures(self) -> None:
        for capture in self.document.captures:
            self.session.add(
                Capture(
                    id=self.ids[capture.id], source="import", state="running", requested_by=self.actor.id,
                    **dump_fields(capture, "plan", "collectors", "seconds", "scope", "reason", "created_at"),
                )
            )  # fmt: skip
        self.session.flush()

    def _add_runs(self, incident: Incident) -> None:
        sizes = {run.id: 0 for run in self.document.runs}
        for part in self.document.artifacts:
            sizes[part.run] += self._get_stored_size(part)
        for run in sorted(self.document.runs, key=lambda run: run.id):
            self.session.add(
                Run(
                    id=self.ids[run.id], capture_id=self.ids[run.capture], host_id=self.ids.get(run.host),
                    state="ingesting", attempt=1, bytes=sizes[run.id],
                    facts={"target": run.target} if run.target else None,
                    spec={"kind": "incident"},
                    **dump_fields(
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

    def _add_collectors(self) -> None:
        for row in self.document.collectors:
            self.session.add(
                RunCollector(
                    id=self.ids[row.id], run_id=self.ids[row.run],
                    **dump_fields(
                        row, "collector", "state", "reason", "method", "argv", "exit_code", "tool_version",
                        "started_ns", "ended_ns", "cpu_ms", "bytes", "stderr_tail",
                    ),
                )
            )  # fmt: skip
        self.session.flush()

    def _get_stored_size(self, part: ArtifactForm) -> int:
        return int(self.parts[part.sha256]["stored_size"]) if part.left_out is None else 0

    def _add_artifacts(self) -> None:
        for part in self.document.artifacts:
            self.session.add(
                Artifact(
                    id=self.ids[part.id], run_id=self.ids[part.run], run_collector_id=self.ids.get(part.collector),
                    sha256=part.sha256 if part.left_out is None else NO_BYTES,
                    size=self.parts[part.sha256]["size"] if part.left_out is None else part.size,
                    stored_size=self._get_stored_size(part), removed_at=None if part.left_out is None else utc_now(),
                    **dump_fields(part, "part", "encoding", "media_type", "complete", "attempt"),
                )
            )  # fmt: skip
        self.session.flush()

    def _add_profiles(self) -> None:
        """Write profiles and comparisons. They are built after the parse of their runs."""
        host_of = {run.id: run.host for run in self.document.runs}
        for profile in self.profiles:
            self.session.add(
                Profile(
                    id=self.ids[profile.id], run_id=self.ids[profile.run], host_id=self.ids.get(host_of[profile.run]),
                    run_collector_id=self.ids[profile.collector], state="failed", failure=NOT_BUILT,
                    **dump_fields(profile, "kind", "event", "unit"),
                )
            )  # fmt: skip
        for comparison in self.comparisons:
            self.session.add(
                ProfileComparison(
                    id=self.ids[comparison.id],
                    a={**self._side_to_json(comparison.before), "by_base": comparison.by_base},
                    b=self._side_to_json(comparison.after), normalize=comparison.normalize, requested_by=self.actor.id,
                )
            )  # fmt: skip
        self.session.flush()

    def _side_to_json(self, side_form: SideForm) -> Json:
        first, *others = self.ids.to_strings(side_form.profiles)
        chosen = side_form.filter.model_dump(mode="json", exclude_defaults=True)
        return {"profile_id": first, "also": others, "filter": chosen}


def _select_buildable(document: BundleDocument) -> tuple[list[ProfileForm], list[ComparisonForm]]:
    """Return the profiles and comparisons whose bytes are in the bundle."""
    whole = {artifact.collector for artifact in document.artifacts if artifact.left_out is None}
    profiles = [profile for profile in document.profiles if profile.collector in whole]
    known = {profile.id for profile in profiles}
    return profiles, [
        comparison
        for comparison in document.comparisons
        if known.issuperset((*comparison.before.profiles, *comparison.after.profiles))
    ]
