"""Advance a diagnosis, one stage at a time: the job `culprit.advance_diagnosis`.

The job runs when a diagnosis is created, after each run of its stage is evaluated, and from the sweep. It
locks the row, so additional jobs change nothing. The first stage is a triage of a few seconds. Each further
stage captures only the data that open hypotheses need: the light collectors have already measured the whole host, and
a second capture of a single process would replace their numbers. The last step stores the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.cost import forecast_cpu_pct
from collectors.plans import PLANS, highest_tier
from collectors.registry import COLLECTORS
from collectors.runner.scope import Scope
from culprit.accounts.actor import Actor, find_actor
from culprit.accounts.authorization import is_allowed
from culprit.accounts.unattended_tiers import UNATTENDED_SOURCES, get_allowed_tiers
from culprit.analysis.findings.evaluation import evaluate_view
from culprit.analysis.findings.queries import resolve_overrides
from culprit.automation import diagnosis_queries as queries
from culprit.captures import service as captures
from culprit.captures.forecast import load_host_sizes
from culprit.captures.schemas import CaptureCreate, ScopeRequest
from culprit.captures.service_collectors import service_collector_options
from culprit.domain.hosts.consumers import Consumer, list_consumers
from culprit.domain.rules import json_form
from culprit.domain.rules.finding import Finding, Subject
from culprit.domain.rules.peer_differences import compare_with_peers
from culprit.domain.rules.ranking.rank import Ranking
from culprit.domain.rules.ranking.stages import (
    MAX_STAGES,
    DeeperLook,
    DiagnosisStage,
    list_untried_collectors,
    plan_next_stage,
)
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView
from culprit.domain.runs.states import RUN_FINAL
from culprit.evidence.baseline_queries import find_baseline_run
from culprit.evidence.readiness_queries import PARSED_STATES, is_evaluation_pending
from culprit.evidence.view_loader import load_view
from culprit.hosts.peer_groups import can_capture_unattended
from culprit.hosts.services import queries as services
from culprit.infra.artifacts.store import ArtifactStore, artifact_store
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.settings import get_settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json
from culprit.web.errors import CulpritError

TRIAGE = "triage"
SERVICE = "service"


def advance_diagnosis(diagnosis_id: UUID) -> str | None:
    """Advance a diagnosis as far as possible. Return its state, or None if there is no such diagnosis."""
    store = artifact_store()
    with unit_of_work(get_database().sessions) as session:
        diagnosis = queries.lock_diagnosis(session, diagnosis_id)
        if diagnosis is None:
            return None
        actor = find_actor(session, diagnosis.requested_by)
        if diagnosis.state == "canceled" and actor is not None:
            _cancel_stages(session, actor, diagnosis)
        elif diagnosis.state == "running":
            _advance_stage(session, store, actor, diagnosis)
        enqueue_followups(session, diagnosis)
        return diagnosis.state


def enqueue_followups(session: Session, diagnosis: Diagnosis) -> None:
    """Enqueue the jobs after the end of a diagnosis: record it, and send the notifications of its trigger."""
    if diagnosis.state == "running":
        return
    if diagnosis.incident_id is not None:
        enqueue_after_commit(session, "culprit.record_diagnosis", diagnosis.id)
    if diagnosis.source in UNATTENDED_SOURCES:
        enqueue_after_commit(session, "culprit.notify_diagnosis", diagnosis.id)


def start_first_stage(session: Session, diagnosis: Diagnosis) -> None:
    """Start the first stage of a new diagnosis in the transaction that created it, without waiting for a job."""
    actor = find_actor(session, diagnosis.requested_by)
    _advance_stage(session, artifact_store(), actor, diagnosis)


def _advance_stage(session: Session, store: ArtifactStore, actor: Actor | None, diagnosis: Diagnosis) -> None:
    if actor is None:
        _fail_diagnosis(diagnosis, {"key": "run.requester_gone", "params": {}})
        return
    try:
        if not diagnosis.stages:
            seconds = {collector.id: diagnosis.seconds for collector in PLANS[TRIAGE].collectors}
            hosts = [diagnosis.host_id, *(UUID(item) for item in diagnosis.peers)]
            _start_stage(session, store, actor, diagnosis, seconds, hosts, diagnosis.scope)
            return
        runs = queries.list_stage_runs(session, diagnosis)
        if not _is_evaluation_complete(session, diagnosis):
            return
        if not any(run.state in PARSED_STATES and run.t0_ns is not None for run in runs):
            _fail_diagnosis(diagnosis, runs[-1].failure or {"key": "diagnosis.no_data", "params": {}})
            return
        view, result, ranking = _evaluate_stages(session, store, diagnosis, runs)
        _store_named_causes(session, diagnosis, ranking)
        stage = _select_next_stage(session, actor, diagnosis, ranking, result)
        if stage is not None:
            scope = _build_scope(stage.about) or diagnosis.scope
            _start_stage(
                session, store, actor, diagnosis, dict(stage.collectors), [diagnosis.host_id], scope, stage
            )
            return
        _store_answer(session, diagnosis, runs, view, result, ranking)
    except CulpritError as error:
        _fail_diagnosis(diagnosis, error.sentence)


def _start_stage(  # noqa: PLR0917
    session: Session,
    store: ArtifactStore,
    actor: Actor,
    diagnosis: Diagnosis,
    seconds: dict[str, int],
    hosts: Sequence[UUID],
    scope: Json,
    stage: DiagnosisStage | None = None,
) -> None:
    """Create the capture of the next stage."""
    number = len(diagnosis.stages) + 1
    host = session.get_one(Host, diagnosis.host_id)
    options = service_collector_options(session, host)
    seconds = {**seconds, **dict.fromkeys(options, max(seconds.values()))}
    capture_create = CaptureCreate(
        host_ids=list(hosts),
        plan=TRIAGE,
        seconds=max(seconds.values()),
        collectors=list(seconds),
        scope=ScopeRequest.model_validate(_resolve_scope(session, host, scope)),
        options=options,
        reason=f"diagnosis #{diagnosis.number}, stage {number}",
    )
    # The look-back data from before the alert arrived with the first stage.
    capture = captures.create_capture(
        session, actor, store, capture_create, source=diagnosis.source, look_back=not diagnosis.stages
    )
    capture.diagnosis_id = diagnosis.id
    capture.collectors = [
        {**collector, "seconds": min(seconds[collector["id"]], COLLECTORS[collector["id"]].seconds_max)}
        for collector in capture.collectors
    ]
    mine = stage.collectors if stage else {}
    tier = highest_tier(seconds)
    diagnosis.stages = [
        *diagnosis.stages,
        {
            "capture_id": str(capture.id),
            "tier": str(tier),
            "seconds": max(seconds.values()),
            "collectors": mine or seconds,
            "hypotheses": list(stage.hypotheses) if stage else [],
            "refused": list(stage.refused) if stage else [],
            "scope": scope or {},
            "cpu_pct": round(forecast_cpu_pct(seconds, load_host_sizes(session, [host.id])[host.id]), 2),
        },
    ]


def _resolve_scope(session: Session, host: Host, scope: Json) -> Json:
    """Resolve a declared service to its scope on the host; use a unit of that name if none is declared."""
    if scope.get("kind") != SERVICE:
        return scope
    declared = services.find_service_on_host(session, host, scope["value"])
    return (declared.locate if declared else None) or {"kind": "unit", "value": scope["value"]}


def _build_scope(about: Subject) -> Json:
    """Return the capture scope of a suspected subject."""
    place = dict(about)
    try:
        if "pid" in place:
            return Scope("process", place["pid"]).to_json()
        if "cgroup" in place:
            return Scope("cgroup", place["cgroup"]).to_json()
    except ValueError:
        pass
    return {}


def _select_next_stage(
    session: Session, actor: Actor, diagnosis: Diagnosis, ranking: Ranking, findings: list[Finding]
) -> DiagnosisStage | None:
    if len(diagnosis.stages) >= MAX_STAGES:
        return None
    host = session.get_one(Host, diagnosis.host_id)
    most = get_allowed_tiers(session, host, diagnosis.source)
    if diagnosis.source in UNATTENDED_SOURCES and not can_capture_unattended(session, host, Tier.STANDARD):
        most = frozenset({Tier.LIGHT})
    tiers = list(Tier)
    most &= frozenset(tiers[: tiers.index(Tier(diagnosis.max_tier)) + 1])
    return plan_next_stage(
        ranking,
        findings,
        RULES,
        CAUSES,
        tried=_list_tried(diagnosis),
        may_run=lambda tier: tier in most and _is_tier_allowed(actor, tier),
        is_named=bool(diagnosis.scope),
    )


def _is_tier_allowed(actor: Actor, tier: Tier) -> bool:
    """Return whether a stage may use this tier: ptrace always requires a person."""
    return tier is not Tier.PTRACE and is_allowed(actor, f"capture.{tier}")


def _is_evaluation_complete(session: Session, diagnosis: Diagnosis) -> bool:
    """Return whether every run of the last stage has ended, is evaluated, and has its profiles."""
    capture_id = UUID(diagnosis.stages[-1]["capture_id"])
    for run in queries.list_capture_runs(session, capture_id):
        if run.state not in RUN_FINAL or is_evaluation_pending(session, run.id):
            return False
        if run.state in ("done", "partial") and not queries.is_evaluated(session, run.id):
            return False
    return True


def _evaluate_stages(
    session: Session, store: ArtifactStore, diagnosis: Diagnosis, runs: Sequence[Run]
) -> tuple[HostView, list[Finding], Ranking]:
    """Return one view of all stages with its baseline, the findings of every rule, and the ranked causes."""
    host = session.get_one(Host, diagnosis.host_id)
    if diagnosis.baseline_run_id is None and diagnosis.baseline == "auto":
        known = find_baseline_run(session, host, diagnosis.created_at)
        diagnosis.baseline_run_id = known[0] if known else None
    before = diagnosis.baseline_run_id
    subject: Subject = tuple(sorted((str(k), str(v)) for k, v in diagnosis.scope.items()))
    view = load_view(session, store, [run.id for run in runs], subject)
    if before is not None:
        view = view.with_baseline(load_view(session, store, [before]))
    view = view.with_peers(_load_peers(session, store, diagnosis))
    thresholds = resolve_overrides(session, host.id, host.labels)
    return view, *evaluate_view(view, thresholds)


def _store_named_causes(session: Session, diagnosis: Diagnosis, ranking: Ranking) -> None:
    """Store the causes named so far with the last stage, so that they can be read while deeper stages run."""
    named = [{"cause": item.cause, "confidence": item.confidence} for item in ranking.causes]
    seconds = round((queries.get_clock(session) - diagnosis.created_at).total_seconds(), 3)
    *before, last = diagnosis.stages
    diagnosis.stages = [*before, {**last, "named": named, "named_after_s": seconds}]


def _store_answer(  # noqa: PLR0917
    session: Session,
    diagnosis: Diagnosis,
    runs: Sequence[Run],
    view: HostView,
    findings: list[Finding],
    ranking: Ranking,
) -> None:
    ended = queries.get_clock(session)
    refused = [name for stage in diagnosis.stages for name in stage["refused"]]
    diagnosis.result = {
        **json_form.ranking_to_json(ranking, findings),
        "refused": refused,
        "runs": [str(run.id) for run in runs],
        "baseline_run": str(diagnosis.baseline_run_id) if diagnosis.baseline_run_id else None,
        "differences": compare_with_peers(view, view.peers) if view.peers else [],
        "consumers": [_consumer_to_json(item) for item in list_consumers(view)],
        "deeper": [
            _deeper_collector_to_json(item)
            for item in list_untried_collectors(ranking, CAUSES, _list_tried(diagnosis))
        ],
        "link": f"{get_settings().public_url or ''}/diagnoses/{diagnosis.id}",
        "seconds": round((ended - diagnosis.created_at).total_seconds(), 3),
    }
    diagnosis.state, diagnosis.ended_at = "done", ended


def _consumer_to_json(item: Consumer) -> Json:
    return {
        "resource": item.resource, "pid": item.pid, "name": item.name, "amount": item.amount, "unit": item.unit,
        "share_pct": 100 * item.share,
    }  # fmt: skip


def _deeper_collector_to_json(item: DeeperLook) -> Json:
    collector = COLLECTORS[item.collector]
    return {
        "collector": item.collector,
        "tier": str(collector.tier),
        "seconds": item.seconds,
        "cpu_pct": collector.cost.cpu_pct,
        "decides": list(item.decides),
    }


def _list_tried(diagnosis: Diagnosis) -> set[str]:
    return {collector for stage in diagnosis.stages for collector in stage["collectors"]}


def _load_peers(session: Session, store: ArtifactStore, diagnosis: Diagnosis) -> dict[str, HostView]:
    """Return the peers that were captured together with the first stage, by name."""
    if not diagnosis.peers:
        return {}
    capture_id = UUID(diagnosis.stages[0]["capture_id"])
    run_ids = queries.list_peer_runs(session, capture_id, diagnosis.host_id)
    return {name: load_view(session, store, [run_id]) for name, run_id in run_ids.items()}


def _cancel_stages(session: Session, actor: Actor, diagnosis: Diagnosis) -> None:
    if diagnosis.stages:
        capture = session.get_one(Capture, UUID(diagnosis.stages[-1]["capture_id"]))
        if capture.cancel_requested_at is None and capture.ended_at is None:
            captures.cancel_capture(session, actor, get_event_publisher(), capture.id)


def _fail_diagnosis(diagnosis: Diagnosis, sentence: Json) -> None:
    diagnosis.state, diagnosis.failure = "failed", sentence
    diagnosis.ended_at = func.clock_timestamp()
