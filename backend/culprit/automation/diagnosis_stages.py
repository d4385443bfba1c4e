"""One diagnosis, a stage at a time: the task `culprit.advance_diagnosis`.

It is rung when a diagnosis is asked for, when a run of its stage has been evaluated, and by the sweep; whoever
holds the row decides, and a bell too many changes nothing. First a triage of a few seconds; then, stage by stage,
only what the hypotheses that are still open need, with the light collectors running along; then the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.plans import PLANS, tier_of
from collectors.registry import COLLECTORS
from collectors.scope import Scope
from culprit.auth.actor import Actor, actor_by_id
from culprit.auth.automation import AUTOMATIC, tiers_for
from culprit.auth.policy import allowed
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate, ScopeGiven
from culprit.config import settings
from culprit.core.outcomes import RUN_FINAL
from culprit.core.rules import form
from culprit.core.rules.contract import Finding, Subject
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.rank import Ranking, rank
from culprit.core.rules.registry import CAUSES, RULES
from culprit.core.rules.stages import MAX_STAGES, Stage, next_stage
from culprit.core.rules.twins import differences
from culprit.core.rules.view import View
from culprit.findings.queries import overrides
from culprit.infra.artifacts import ArtifactStore, artifact_store
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.infra.progress import publisher
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Diagnosis, Evaluation, Host, Run
from culprit.services import queries as services
from culprit.workflows.baselines import baseline_run
from culprit.workflows.groups import room_for
from culprit.workflows.measuring import measuring
from culprit.workflows.read_view import read_view
from culprit.workflows.readiness import READ, being_built

Json = dict[str, Any]
TRIAGE = "triage"
SERVICE = "service"


def advance_diagnosis(diagnosis_id: UUID) -> str | None:
    """Do what can be done now. Returns the state that it is left in, None where there is no such diagnosis."""
    store = artifact_store()
    with unit_of_work(database().sessions) as session:
        diagnosis = session.scalar(
            select(Diagnosis)
            .where(Diagnosis.id == diagnosis_id)
            .with_for_update(of=Diagnosis, key_share=True)
        )
        if diagnosis is None:
            return None
        actor = actor_by_id(session, diagnosis.requested_by)
        if diagnosis.state == "cancelled" and actor is not None:
            _call_off(session, actor, diagnosis)
        elif diagnosis.state == "running":
            _advance(session, store, actor, diagnosis)
        if diagnosis.state != "running" and diagnosis.source in AUTOMATIC:
            announce(session, "culprit.tell_firing", diagnosis.id)
        return diagnosis.state


def begin(session: Session, diagnosis: Diagnosis) -> None:
    """The first stage of a new diagnosis at once, within the transaction that asked for it: no queue is waited for."""
    actor = actor_by_id(session, diagnosis.requested_by)
    _advance(session, artifact_store(), actor, diagnosis)


def _advance(session: Session, store: ArtifactStore, actor: Actor | None, diagnosis: Diagnosis) -> None:
    if actor is None:
        _fail(diagnosis, {"key": "run.requester_gone", "params": {}})
        return
    try:
        if not diagnosis.stages:
            seconds = {one.id: diagnosis.seconds for one in PLANS[TRIAGE].collectors}
            hosts = [diagnosis.host_id, *(UUID(one) for one in diagnosis.twins)]
            _start(session, store, actor, diagnosis, seconds, hosts, diagnosis.scope)
            return
        runs = _runs(session, diagnosis)
        if not _all_read(session, diagnosis):
            return
        if not any(run.state in READ and run.t0_ns is not None for run in runs):
            _fail(diagnosis, runs[-1].failure or {"key": "diagnosis.nothing_came_home", "params": {}})
            return
        view, found = _evaluated(session, store, diagnosis, runs)
        ranking = rank(found, RULES, CAUSES)
        stage = _wanted(session, actor, diagnosis, ranking, found)
        if stage is not None:
            scope = diagnosis.scope or _scope_of(stage.about)
            light = {one.id: max(stage.collectors.values()) for one in PLANS[TRIAGE].collectors}
            _start(
                session,
                store,
                actor,
                diagnosis,
                {**light, **stage.collectors},
                [diagnosis.host_id],
                scope,
                stage,
            )
            return
        _answer(session, diagnosis, runs, view, found, ranking)
    except CulpritError as error:
        _fail(diagnosis, error.sentence)


def _start(  # noqa: PLR0917
    session: Session,
    store: ArtifactStore,
    actor: Actor,
    diagnosis: Diagnosis,
    seconds: dict[str, int],
    hosts: Sequence[UUID],
    scope: Json,
    stage: Stage | None = None,
) -> None:
    """The capture of the next stage."""
    number = len(diagnosis.stages) + 1
    host = session.get_one(Host, diagnosis.host_id)
    options = measuring(session, host)
    seconds = {**seconds, **dict.fromkeys(options, max(seconds.values()))}
    wanted = CaptureCreate(
        host_ids=list(hosts),
        plan=TRIAGE,
        seconds=max(seconds.values()),
        collectors=list(seconds),
        scope=ScopeGiven.model_validate(_located(session, host, scope)),
        options=options,
        reason=f"diagnosis #{diagnosis.number}, stage {number}",
    )
    # What was kept before the alert came home with the first stage.
    capture = captures.create(
        session, actor, store, wanted, source=diagnosis.source, look_back=not diagnosis.stages
    )
    capture.diagnosis_id = diagnosis.id
    capture.collectors = [
        {**one, "seconds": min(seconds[one["id"]], COLLECTORS[one["id"]].seconds_max)}
        for one in capture.collectors
    ]
    mine = stage.collectors if stage else {}
    tier = tier_of(seconds)
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
            "cpu_pct": round(sum(COLLECTORS[one].cost.cpu_pct for one in seconds), 2),
        },
    ]


def _located(session: Session, host: Host, scope: Json) -> Json:
    """A declared service as what it is on the host; a unit where nobody declared one of that name."""
    if scope.get("kind") != SERVICE:
        return scope
    declared = services.on_host(session, host, scope["value"])
    return (declared.locate if declared else None) or {"kind": "unit", "value": scope["value"]}


def _scope_of(about: Subject) -> Json:
    """What a suspicion points at, as the scope of a capture."""
    place = dict(about)
    try:
        if "pid" in place:
            return Scope("process", place["pid"]).to_json()
        if "cgroup" in place:
            return Scope("cgroup", place["cgroup"]).to_json()
    except ValueError:
        pass
    return {}


def _wanted(
    session: Session, actor: Actor, diagnosis: Diagnosis, ranking: Ranking, found: list[Finding]
) -> Stage | None:
    if len(diagnosis.stages) >= MAX_STAGES:
        return None
    tried = {one for stage in diagnosis.stages for one in stage["collectors"]}
    host = session.get_one(Host, diagnosis.host_id)
    most = tiers_for(session, host, diagnosis.source)
    if diagnosis.source in AUTOMATIC and not room_for(session, host, Tier.STANDARD):
        most = frozenset({Tier.LIGHT})
    return next_stage(ranking, found, CAUSES, tried, lambda tier: tier in most and _may(actor, tier))


def _may(actor: Actor, tier: Tier) -> bool:
    """What stops its target at every system call is asked for by a person, each time."""
    return tier is not Tier.PTRACE and allowed(actor, f"capture.{tier}")


def _runs(session: Session, diagnosis: Diagnosis) -> list[Run]:
    """The runs on the host in question, stage by stage."""
    ids = [UUID(one["capture_id"]) for one in diagnosis.stages]
    query = select(Run).where(Run.capture_id.in_(ids), Run.host_id == diagnosis.host_id)
    by_capture = {run.capture_id: run for run in session.scalars(query)}
    return [by_capture[one] for one in ids if one in by_capture]


def _all_read(session: Session, diagnosis: Diagnosis) -> bool:
    """Whether every run of the last stage has ended, was evaluated, and has its profiles."""
    capture_id = UUID(diagnosis.stages[-1]["capture_id"])
    for run in session.scalars(select(Run).where(Run.capture_id == capture_id)):
        if run.state not in RUN_FINAL or being_built(session, run.id):
            return False
        evaluated = session.scalar(
            select(exists(select(Evaluation.run_id).where(Evaluation.run_id == run.id)))
        )
        if run.state in ("done", "partial") and not evaluated:
            return False
    return True


def _evaluated(
    session: Session, store: ArtifactStore, diagnosis: Diagnosis, runs: Sequence[Run]
) -> tuple[View, list[Finding]]:
    """One view of all stages, with its baseline, and what every rule says about it."""
    host = session.get_one(Host, diagnosis.host_id)
    if diagnosis.baseline_run_id is None and diagnosis.baseline == "auto":
        known = baseline_run(session, host, diagnosis.created_at)
        diagnosis.baseline_run_id = known[0] if known else None
    before = diagnosis.baseline_run_id
    subject: Subject = tuple(sorted((str(k), str(v)) for k, v in diagnosis.scope.items()))
    view = read_view(session, store, [run.id for run in runs], subject)
    if before is not None:
        view = view.against(read_view(session, store, [before]))
    view = view.beside(_twins(session, store, diagnosis))
    thresholds = overrides(session, host.id, host.labels)
    return view, evaluate(RULES.values(), view, thresholds)


def _answer(  # noqa: PLR0917
    session: Session,
    diagnosis: Diagnosis,
    runs: Sequence[Run],
    view: View,
    found: list[Finding],
    ranking: Ranking,
) -> None:
    ended = session.scalar(select(func.clock_timestamp()))
    assert ended is not None
    refused = [name for stage in diagnosis.stages for name in stage["refused"]]
    diagnosis.result = {
        **form.answer(ranking, found),
        "refused": refused,
        "runs": [str(run.id) for run in runs],
        "baseline_run": str(diagnosis.baseline_run_id) if diagnosis.baseline_run_id else None,
        "differences": differences(view, view.twins) if view.twins else [],
        "link": f"{settings().public_url or ''}/diagnoses/{diagnosis.id}",
        "seconds": round((ended - diagnosis.created_at).total_seconds(), 3),
    }
    diagnosis.state, diagnosis.ended_at = "done", ended


def _twins(session: Session, store: ArtifactStore, diagnosis: Diagnosis) -> dict[str, View]:
    """The twins that were captured at the same time as the first stage, by name."""
    if not diagnosis.twins:
        return {}
    capture_id = UUID(diagnosis.stages[0]["capture_id"])
    rows = session.execute(
        select(Run.id, Host.name)
        .join(Host, Host.id == Run.host_id)
        .where(Run.capture_id == capture_id, Run.host_id != diagnosis.host_id, Run.state.in_(READ))
    )
    return {row.name: read_view(session, store, [row.id]) for row in rows}


def _call_off(session: Session, actor: Actor, diagnosis: Diagnosis) -> None:
    if diagnosis.stages:
        capture = session.get_one(Capture, UUID(diagnosis.stages[-1]["capture_id"]))
        if capture.cancel_requested_at is None and capture.ended_at is None:
            captures.cancel(session, actor, publisher(), capture.id)


def _fail(diagnosis: Diagnosis, sentence: Json) -> None:
    diagnosis.state, diagnosis.failure = "failed", sentence
    diagnosis.ended_at = func.clock_timestamp()
