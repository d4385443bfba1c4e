"""Find the citations of a run: retention does not delete the evidence of a cited run.

A test checks for all models that the tables are complete. Each column that references evidence, or that can because
it contains JSON, is in `CITING_COLUMNS`, in `NON_CITING_COLUMNS` with the reason, or in a table of `EVIDENCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Text, cast, exists, func, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.verification import Verification

#: The evidence itself. A reference between two rows of the same run is no reason to keep either.
EVIDENCE = frozenset(
    {
        "artifact", "capture", "evaluation", "event", "finding", "profile", "profile_comparison", "result_table", "run",
        "run_collector", "series", "series_chunk", "series_day", "removal",
    }
)  # fmt: skip
ACTIVE_STATES = ("queued", "running", "ingesting")
IDS_PER_QUERY = 5000

NON_CITING_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "an event that others repeat is kept separately, see `culprit.evidence.retention.sources`": ("event.repeats_id",),
    "is a part of that very run": (
        "artifact.run_id", "evaluation.run_id", "event.run_id", "finding.run_id", "profile.run_id",
        "removal.run_id", "result_table.run_id", "run.capture_id", "run_collector.run_id",
        "series_chunk.run_id", "series_chunk.series_id", "series_day.series_id",
    ),
    "belongs to the collector or profile of the same run": (
        "artifact.run_collector_id", "event.artifact_id", "host_fact.first_artifact_id",
        "host_fact.last_artifact_id", "profile.run_collector_id", "result_table.artifact_id",
        "result_table.run_collector_id", "series_chunk.artifact_id", "series_chunk.run_collector_id",
    ),
    "symbols, which are fetched again once they were deleted": (
        "symbol_file.artifact_id", "symbol_file.blocks", "debug_file.artifact_id", "debug_file.blocks",
    ),
    "instructions of a function, which are deleted with the profile that they explain": (
        "function_disassembly.profile_id", "function_disassembly.result", "function_disassembly.failure",
        "function_disassembly.fetch_failure",
    ),
    "an answer that is given again for a day": ("idempotency_key.body",),
    "history that names the capture, which stays with its runs": (
        "schedule_firing.capture_id", "upload_address.capture_id",
    ),
    "names pins, which hold what they show": ("cause_outcome.pins",),
    "repeats what `before` and `after` hold": ("verification.result",),
    "statements of a bundle about runs that its incident cites": (
        "incident_origin.compared", "incident_origin.expected", "incident_origin.authors",
    ),
    "a frozen text that needs nothing to be read; its incident holds what it cites": (
        "notification.message", "report.follow_ups", "report.kinds", "report.words", "report_version.counts",
        "report_version.hosts",
    ),
    "the answer as it was given; with an incident, that holds its runs": (
        "diagnosis.result", "diagnosis.stages",
    ),
    "names hosts, people or places, and no evidence": (
        "alert.labels", "reported_event.target", "channel.destination", "diagnosis.scope", "diagnosis.peers",
        "trigger_response.peers", "fix.hosts", "grafana_annotation.body", "host.labels", "incident_comment.mentions",
        "incident_host.scope",
        "maintenance_window.selector", "oidc_provider.roles", "oidc_provider.scopes", "rotation.accounts",
        "rotation.people", "rotation.source", "schedule.selector", "schedule.capture", "service.locate",
        "service.selector", "service.source", "watcher.conditions", "watcher.capture_spec", "trigger.channel_ids",
        "trigger.options", "user_account.label_scope", "user_identity.groups",
    ),
    "a sentence, figures or a state without a citation": (
        "alert.reason", "audit_entry.detail", "credential.public", "diagnosis.failure",
        "grafana_annotation.failure", "host.facts",
        "hypothesis.primary", "hypothesis.summary", "incident.autopilot", "incident_comment.earlier",
        "incident_playbook.content", "journal_entry.params", "notification.failure", "preflight.checks",
        "preflight.clock", "preflight.collectors", "preflight.facts", "preflight.failure", "preflight.timings",
        "rotation.failure", "schedule_firing.reason", "watcher.cost", "watcher.failure", "watcher.readings",
        "watcher.rejection", "watcher.session_spec", "watcher.wait_reason", "storage_check.result",
        "trigger.rejection_reason",
        "upload_address.failure", "verification.failure", "verification.primary", "process_heartbeat.detail",
    ),
}  # fmt: skip


class CitationScope:
    """The runs to look up citations for (None: all), and the IDs by which each can be cited."""

    def __init__(self, session: Session, run_ids: Collection[UUID] | None) -> None:
        self.session = session
        self.run_ids = None if run_ids is None else list(run_ids)
        self._runs_by_id: dict[str, UUID] | None = None

    def build_run_condition(
        self, column: InstrumentedAttribute[Any] | ColumnElement[Any]
    ) -> list[ColumnElement[bool]]:
        """Return the condition that a column references one of the runs; no condition for all runs."""
        return [] if self.run_ids is None else [column.in_(self.run_ids)]

    def find_runs(self, texts: Iterable[str]) -> Iterator[UUID]:
        """Yield the runs that these IDs of runs, captures, artifacts, profiles and tables belong to."""
        if self.run_ids is not None:
            runs_by_id = self.map_ids()
            yield from (runs_by_id[text] for text in texts if text in runs_by_id)
            return
        uuids = sorted({UUID(text) for text in texts})
        for at in range(0, len(uuids), IDS_PER_QUERY):
            part = uuids[at : at + IDS_PER_QUERY]
            for query in (
                select(Run.id).where(Run.id.in_(part)),
                select(Run.id).where(Run.capture_id.in_(part)),
                *(
                    select(artifact.run_id).where(artifact.id.in_(part))
                    for artifact in (Artifact, Profile, ResultTable)
                ),
            ):
                yield from self.session.scalars(query)

    def map_ids(self) -> dict[str, UUID]:
        """Return the run of every ID that can be cited."""
        if self._runs_by_id is None:
            ids = self.run_ids or []
            rows = [
                *self.session.execute(select(Run.id, Run.id).where(Run.id.in_(ids))),
                *self.session.execute(select(Run.capture_id, Run.id).where(Run.id.in_(ids))),
            ]
            for artifact in (Artifact, Profile, ResultTable):
                rows += self.session.execute(
                    select(artifact.id, artifact.run_id).where(artifact.run_id.in_(ids))
                )
            self._runs_by_id = {str(name): run_id for name, run_id in rows}
        return self._runs_by_id


CitationFinder = Callable[[CitationScope], Iterable[UUID]]


def _select_runs(query: Select[Any]) -> CitationFinder:
    """Return the finder for a query whose last column is a run."""

    def find_runs(scope: CitationScope) -> Iterable[UUID]:
        column = list(query.selected_columns)[-1]
        runs = scope.session.scalars(query.where(*scope.build_run_condition(column)))
        return [run_id for run_id in runs if run_id is not None]

    return find_runs


def _find_mentions(column: InstrumentedAttribute[Any], *only: ColumnElement[bool]) -> CitationFinder:
    """Return the finder of runs whose IDs occur anywhere in a JSON column. It uses one index lookup per batch."""

    def find_mentioned_runs(scope: CitationScope) -> Iterable[UUID]:
        ids = func.mentioned_ids(column, type_=postgresql.ARRAY(Text))
        query = select(func.unnest(ids)).where(*only)
        if scope.run_ids is not None:
            query = query.where(ids.overlap(cast(list(scope.map_ids()), ARRAY(Text))))
        return scope.find_runs(scope.session.scalars(query).all())

    return find_mentioned_runs


def _find_newest_baselines() -> CitationFinder:
    """Return the finder of each host's newest run of the plan `baseline`, which the next comparison uses."""
    newer, newer_capture = aliased(Run), aliased(Capture)
    later = exists().where(
        newer.host_id == Run.host_id,
        newer.id > Run.id,
        newer.state.in_(("done", "partial")),
        newer_capture.id == newer.capture_id,
        newer_capture.plan == "baseline",
    )
    of_baselines = select(Run.id).join(Capture, Capture.id == Run.capture_id)
    return _select_runs(of_baselines.where(Capture.plan == "baseline", ~later))


CITING_COLUMNS: Mapping[str, CitationFinder] = {
    "incident_run.run_id": _select_runs(select(IncidentRun.run_id)),
    "incident.symptom": _find_mentions(Incident.symptom),
    "pin.ref": _find_mentions(Pin.ref),
    "pin.snapshot": _find_mentions(Pin.snapshot),
    "verification.before": _find_mentions(Verification.before),
    "verification.captures_before": _find_mentions(Verification.captures_before),
    "verification.after": _find_mentions(Verification.after),
    "profile_comparison.a": _find_mentions(ProfileComparison.a, ProfileComparison.removed_at.is_(None)),
    "profile_comparison.b": _find_mentions(ProfileComparison.b, ProfileComparison.removed_at.is_(None)),
    "host_fact.first_run_id": _select_runs(
        select(HostFact.first_run_id).where(HostFact.first_run_id.is_not(None))
    ),
    "host_fact.last_run_id": _select_runs(
        select(HostFact.last_run_id).where(HostFact.last_run_id.is_not(None))
    ),
    "diagnosis.baseline_run_id": _select_runs(
        select(Diagnosis.baseline_run_id).where(Diagnosis.baseline_run_id.is_not(None))
    ),
    "capture.incident_id": _select_runs(
        select(Run.id).join(Capture, Capture.id == Run.capture_id).where(Capture.incident_id.is_not(None))
    ),
    "capture.diagnosis_id": _select_runs(
        select(Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .join(Diagnosis, Diagnosis.id == Capture.diagnosis_id)
        .where(Diagnosis.state == "running")
    ),
    "capture.plan": _find_newest_baselines(),
    "run.state": _select_runs(select(Run.id).where(Run.state.in_(ACTIVE_STATES))),
}
"""Column → finder of the runs that it cites, limited to the scope."""


def find_cited_runs(
    session: Session, run_ids: Collection[UUID] | None = None, *, skip: Collection[str] = ()
) -> dict[UUID, str]:
    """Return the cited runs among these (None: all), each with the first citing column; those in `skip` are ignored."""
    results: dict[UUID, str] = {}
    if run_ids is not None and not run_ids:
        return results
    scope = CitationScope(session, run_ids)
    if run_ids is not None:
        # The IDs match few rows, but PostgreSQL misestimates this in a column where most rows contain no ID. It would
        # choose a sequential scan, and the cost of a batch would grow with the table.
        session.execute(text("SET LOCAL enable_seqscan = off"))
    for column, find_runs in CITING_COLUMNS.items():
        if column in skip:
            continue
        for run_id in find_runs(scope):
            results.setdefault(run_id, column)
    if run_ids is not None:
        session.execute(text("SET LOCAL enable_seqscan = on"))
    return results


def lock_cited_runs(session: Session, ref: Mapping[str, Any]) -> None:
    """Lock the runs that the IDs in the values of `ref` belong to, so that retention cannot delete their data.

    The locks are held until the end of the transaction. The call waits for a batch that is deleting data of these runs.
    """
    texts = [value for value in ref.values() if isinstance(value, str) and _is_uuid(value)]
    runs = sorted(set(CitationScope(session, None).find_runs(texts)))
    if runs:
        query = select(Run.id).where(Run.id.in_(runs)).order_by(Run.id)
        session.execute(query.with_for_update(read=True, key_share=True, of=Run))


def _is_uuid(supplied: str) -> bool:
    try:
        UUID(supplied)
    except ValueError:
        return False
    return True
