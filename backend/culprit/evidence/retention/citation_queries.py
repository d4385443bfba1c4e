"""What holds the evidence of a run: whoever cites a run keeps retention away from it.

The table is complete by a test, which walks all models: a column that names evidence, or that could because it holds
JSON, stands either in `HOLDS`, or in `SILENT` with the reason why it holds nothing, or belongs to the evidence itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Text, cast, exists, func, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from culprit.models import (
    Artifact,
    Capture,
    Diagnosis,
    HostFact,
    Incident,
    IncidentRun,
    Pin,
    Profile,
    ProfileDiff,
    ResultTable,
    Run,
    Verification,
)

#: The evidence itself. What one row of it says of another of the same run is no reason to keep either.
EVIDENCE = frozenset(
    {
        "artifact", "capture", "evaluation", "event", "finding", "profile", "profile_diff", "result_table", "run",
        "run_collector", "series", "series_chunk", "series_day", "removal",
    }
)  # fmt: skip
UNDER_WAY = ("queued", "running", "ingesting")
IDS_AT_ONCE = 5000

SILENT: Mapping[str, tuple[str, ...]] = {
    "an event that others repeat stays by itself, see `culprit.storage.sources`": ("event.repeats_id",),
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
    "an answer that is given again for a day": ("idempotency_key.body",),
    "history that names the capture, which stays with its runs": (
        "schedule_firing.capture_id", "upload_address.capture_id",
    ),
    "names pins, which hold what they show": ("cause_outcome.pins",),
    "repeats what `before` and `after` hold": ("verification.result",),
    "what a bundle said of runs that its incident holds": (
        "incident_origin.compared", "incident_origin.expected", "incident_origin.said_by",
    ),
    "a frozen text that needs nothing to be read; its incident holds what it cites": (
        "notice.message", "report.follow_ups", "report.kinds", "report.words", "report_version.counts",
        "report_version.hosts",
    ),
    "the answer as it was given; with an incident, that holds its runs": (
        "diagnosis.result", "diagnosis.stages",
    ),
    "names hosts, people or places, and no evidence": (
        "alert.labels", "annotation.place", "channel.shown", "diagnosis.scope", "diagnosis.twins",
        "firing.peers", "fix.hosts", "grafana_annotation.wanted", "host.labels", "incident_comment.mentions",
        "incident_host.scope",
        "maintenance_window.selector", "oidc_provider.roles", "oidc_provider.scopes", "rotation.accounts",
        "rotation.people", "rotation.source", "schedule.selector", "schedule.wanted", "service.locate",
        "service.selector", "service.source", "standby.conditions", "standby.wanted", "trigger.channel_ids",
        "trigger.options", "user_account.label_scope", "user_identity.groups",
    ),
    "a sentence, figures or a state, told without citing": (
        "alert.reason", "audit_entry.detail", "credential.public", "diagnosis.failure",
        "grafana_annotation.failure", "host.facts",
        "hypothesis.primary", "hypothesis.says", "incident.autopilot", "incident_comment.earlier",
        "incident_playbook.content", "journal_entry.params", "notice.failure", "preflight.checks",
        "preflight.clock", "preflight.collectors", "preflight.facts", "preflight.failure", "preflight.timings",
        "rotation.failure", "schedule_firing.reason", "standby.cost", "standby.failure", "standby.readings",
        "standby.refused", "standby.spec", "standby.waiting", "storage_look.result", "trigger.refused_for",
        "upload_address.failure", "verification.failure", "verification.primary", "worker_state.detail",
    ),
}  # fmt: skip


class Cited:
    """The runs that are asked about, or all, and the ids by which each may be cited."""

    def __init__(self, session: Session, run_ids: Collection[UUID] | None) -> None:
        self.session = session
        self.run_ids = None if run_ids is None else list(run_ids)
        self._names: dict[str, UUID] | None = None

    def among(self, column: InstrumentedAttribute[Any] | ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The condition that a column names one of the runs."""
        return [] if self.run_ids is None else [column.in_(self.run_ids)]

    def named(self, texts: Iterable[str]) -> Iterator[UUID]:
        """The runs that ids belong to, whatever of a run they name."""
        if self.run_ids is not None:
            names = self.names()
            yield from (names[one] for one in texts if one in names)
            return
        wanted = sorted({UUID(one) for one in texts})
        for at in range(0, len(wanted), IDS_AT_ONCE):
            part = wanted[at : at + IDS_AT_ONCE]
            for query in (
                select(Run.id).where(Run.id.in_(part)),
                select(Run.id).where(Run.capture_id.in_(part)),
                *(select(one.run_id).where(one.id.in_(part)) for one in (Artifact, Profile, ResultTable)),
            ):
                yield from self.session.scalars(query)

    def names(self) -> dict[str, UUID]:
        """Every id that could be cited, and its run."""
        if self._names is None:
            ids = self.run_ids or []
            rows = [
                *self.session.execute(select(Run.id, Run.id).where(Run.id.in_(ids))),
                *self.session.execute(select(Run.capture_id, Run.id).where(Run.id.in_(ids))),
            ]
            for one in (Artifact, Profile, ResultTable):
                rows += self.session.execute(select(one.id, one.run_id).where(one.run_id.in_(ids)))
            self._names = {str(name): run_id for name, run_id in rows}
        return self._names


Holds = Callable[[Cited], Iterable[UUID]]


def _runs(query: Select[Any]) -> Holds:
    """What a query says whose last column is a run."""

    def found(cited: Cited) -> Iterable[UUID]:
        column = list(query.selected_columns)[-1]
        return [one for one in cited.session.scalars(query.where(*cited.among(column))) if one is not None]

    return found


def _mentions(column: InstrumentedAttribute[Any], *only: ColumnElement[bool]) -> Holds:
    """The runs of which anything is named anywhere in a JSON column. One index look-up for each batch."""

    def found(cited: Cited) -> Iterable[UUID]:
        ids = func.mentioned_ids(column, type_=postgresql.ARRAY(Text))
        query = select(func.unnest(ids)).where(*only)
        if cited.run_ids is not None:
            query = query.where(ids.overlap(cast(list(cited.names()), ARRAY(Text))))
        return cited.named(cited.session.scalars(query).all())

    return found


def _newest_baselines() -> Holds:
    """The newest run of the plan `baseline` of each host: what the next comparison is made with."""
    newer, theirs = aliased(Run), aliased(Capture)
    later = exists().where(
        newer.host_id == Run.host_id,
        newer.id > Run.id,
        newer.state.in_(("done", "partial")),
        theirs.id == newer.capture_id,
        theirs.plan == "baseline",
    )
    of_baselines = select(Run.id).join(Capture, Capture.id == Run.capture_id)
    return _runs(of_baselines.where(Capture.plan == "baseline", ~later))


HOLDS: Mapping[str, Holds] = {
    "incident_run.run_id": _runs(select(IncidentRun.run_id)),
    "incident.symptom": _mentions(Incident.symptom),
    "pin.ref": _mentions(Pin.ref),
    "pin.said": _mentions(Pin.said),
    "verification.before": _mentions(Verification.before),
    "verification.made_before": _mentions(Verification.made_before),
    "verification.after": _mentions(Verification.after),
    "profile_diff.a": _mentions(ProfileDiff.a, ProfileDiff.removed_at.is_(None)),
    "profile_diff.b": _mentions(ProfileDiff.b, ProfileDiff.removed_at.is_(None)),
    "host_fact.first_run_id": _runs(select(HostFact.first_run_id).where(HostFact.first_run_id.is_not(None))),
    "host_fact.last_run_id": _runs(select(HostFact.last_run_id).where(HostFact.last_run_id.is_not(None))),
    "diagnosis.baseline_run_id": _runs(
        select(Diagnosis.baseline_run_id).where(Diagnosis.baseline_run_id.is_not(None))
    ),
    "capture.incident_id": _runs(
        select(Run.id).join(Capture, Capture.id == Run.capture_id).where(Capture.incident_id.is_not(None))
    ),
    "capture.diagnosis_id": _runs(
        select(Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .join(Diagnosis, Diagnosis.id == Capture.diagnosis_id)
        .where(Diagnosis.state == "running")
    ),
    "capture.plan": _newest_baselines(),
    "run.state": _runs(select(Run.id).where(Run.state.in_(UNDER_WAY))),
}
"""Column → the runs that it holds; with a set of runs given, those among them."""


def held(
    session: Session, run_ids: Collection[UUID] | None = None, *, but: Collection[str] = ()
) -> dict[UUID, str]:
    """Which of these runs (None: of all) somebody cites, each with the first column that says so; not asked `but`."""
    found: dict[UUID, str] = {}
    if run_ids is not None and not run_ids:
        return found
    cited = Cited(session, run_ids)
    if run_ids is not None:
        # Few ids of many rows, but PostgreSQL does not see that in a column where most rows name none: it would read
        # every row, and a batch would cost more the more there is.
        session.execute(text("SET LOCAL enable_seqscan = off"))
    for column, holds in HOLDS.items():
        if column in but:
            continue
        for run_id in holds(cited):
            found.setdefault(run_id, column)
    if run_ids is not None:
        session.execute(text("SET LOCAL enable_seqscan = on"))
    return found


def keep(session: Session, ref: Mapping[str, Any]) -> None:
    """Keeps retention away from what is about to be cited, until this transaction is through.

    `ref` names it by ids in its values. A batch that is deleting there right now is waited for.
    """
    texts = [value for value in ref.values() if isinstance(value, str) and _is_id(value)]
    runs = sorted(set(Cited(session, None).named(texts)))
    if runs:
        query = select(Run.id).where(Run.id.in_(runs)).order_by(Run.id)
        session.execute(query.with_for_update(read=True, key_share=True, of=Run))


def _is_id(given: str) -> bool:
    try:
        UUID(given)
    except ValueError:
        return False
    return True
