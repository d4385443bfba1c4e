"""Plan, create and cancel captures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors.contract import CollectionMethod, Sentence
from collectors.plans import PLANS, Plan, PlannedCollector, build_custom_plan, scale_plan
from collectors.registry import COLLECTORS
from collectors.runner import lookback as look_back_of
from collectors.runner.program import resolve_options
from collectors.runner.scope import Scope
from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize, is_in_scope, require_covered
from culprit.accounts.kill_switch_check import require_start_allowed
from culprit.accounts.unattended_tiers import require_tier_allowed
from culprit.captures import queries, service_collectors
from culprit.captures.cancellation import cancel_runs
from culprit.captures.consent import require_confirmation, require_ptrace_permitted
from culprit.captures.forecast import forecast_collector_pct, forecast_symbols, load_host_sizes
from culprit.captures.schemas import (
    CaptureCreate,
    CapturePreviewRequest,
    CapturePreviewResponse,
    PreviewCollector,
    PreviewCost,
    PreviewHost,
)
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.unit_of_work import after_commit
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.event_stream import EventPublisher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.infra.task_queue import enqueue_after_commit
from culprit.web.errors import (
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    UnavailableError,
)

CUSTOM_SECONDS = 30


def build_plan(capture_preview_request: CapturePreviewRequest) -> Plan:
    """Return the requested plan, or one of the listed collectors. Raises InvalidRequestError."""
    if capture_preview_request.collectors is not None:
        unknown = [name for name in capture_preview_request.collectors if name not in COLLECTORS]
        if unknown or not capture_preview_request.collectors:
            raise InvalidRequestError("capture.collector_unknown", collector=", ".join(unknown)[:200] or "-")
        return build_custom_plan(
            capture_preview_request.collectors, capture_preview_request.seconds or CUSTOM_SECONDS
        )
    plan = PLANS.get(capture_preview_request.plan)
    if plan is None:
        raise InvalidRequestError(
            "capture.plan_unknown", plan=capture_preview_request.plan, plans=", ".join(PLANS)
        )
    return scale_plan(plan, capture_preview_request.seconds)


def build_scope(capture_preview_request: CapturePreviewRequest) -> Scope:
    """Return the requested scope. Raises InvalidRequestError."""
    try:
        return Scope(capture_preview_request.scope.kind, capture_preview_request.scope.value)
    except ValueError as error:
        kind, value = capture_preview_request.scope.kind, capture_preview_request.scope.value[:80]
        raise InvalidRequestError("capture.scope_invalid", kind=kind, value=value) from error


def check_options(options: service_collectors.Options, plan: Plan) -> None:
    """Check the options of a plan.

    Raises InvalidRequestError for an option or a value that its collector does not accept, and for a missing required
    option.
    """
    planned = {collector.id for collector in plan.collectors}
    for name, values in options.items():
        if name not in planned:
            raise InvalidRequestError("capture.option_without_collector", collector=name)
        known = {option.name: option for option in COLLECTORS[name].options}
        for option, value in values.items():
            if option not in known:
                names = ", ".join(known) or "-"
                raise InvalidRequestError(
                    "capture.option_unknown", collector=name, option=option, options=names
                )
            try:
                resolve_options(COLLECTORS[name], {option: value})
            except ValueError as error:
                pattern = known[option].pattern
                raise InvalidRequestError(
                    "capture.option_invalid", collector=name, option=option, pattern=pattern
                ) from error
    for name in sorted(planned):
        input_option = options.get(name, {})
        lacking = [
            option.name
            for option in COLLECTORS[name].options
            if option.required and not input_option.get(option.name)
        ]
        if lacking:
            raise InvalidRequestError("capture.option_required", collector=name, option=lacking[0])


def _load_hosts(session: Session, actor: Actor, capture_preview_request: CapturePreviewRequest) -> list[Host]:
    hosts = queries.list_hosts(session, actor, capture_preview_request.host_ids)
    if len(hosts) != len(set(capture_preview_request.host_ids)):
        raise NotFoundError("host.not_found")
    return hosts


def preview_capture(
    session: Session, actor: Actor, store: ArtifactStore, capture_preview_request: CapturePreviewRequest
) -> CapturePreviewResponse:
    """Preview what `create_capture` would do, and on which hosts it will work."""
    named = build_plan(capture_preview_request)
    scope = build_scope(capture_preview_request)
    hosts = _load_hosts(session, actor, capture_preview_request)
    more, differ = (
        service_collectors.select_for_hosts(session, hosts)
        if capture_preview_request.service
        else (None, None)
    )
    plan, options = service_collectors.add_to_plan(named, capture_preview_request.options, more)
    check_options(options, plan)
    why = {more.collector: more.why} if more and more.collector not in capture_preview_request.options else {}
    checks = queries.load_latest_preflights(session, [host.id for host in hosts])
    sizes = load_host_sizes(session, [host.id for host in hosts])
    cpu_pct = forecast_collector_pct(
        {item.id: item.seconds for item in plan.collectors}, list(sizes.values())
    )
    refusal = None
    try:
        _require_permitted(actor, store, plan)
        require_ptrace_permitted(plan.tier, hosts, "api" if actor.token_id else "manual", scope)
        require_start_allowed(session, hosts)
    except (ConflictError, ForbiddenError, InvalidRequestError, UnavailableError) as error:
        refusal = error.sentence
    return CapturePreviewResponse(
        tier=plan.tier,
        allowed=refusal is None,
        refusal=refusal,
        total_seconds=plan.total_seconds,
        collectors=[
            _preview_collector(collector, hosts, checks, why.get(collector.id), cpu_pct[collector.id])
            for collector in plan.collectors
        ],
        service=sentence_to_json(differ),
        symbols=forecast_symbols(session, [host.id for host in hosts], [item.id for item in plan.collectors]),
    )


def sentence_to_json(sentence: Sentence | None) -> dict[str, Any] | None:
    """Return a message as JSON."""
    return {"key": sentence.key, "params": dict(sentence.params)} if sentence else None


def _require_permitted(actor: Actor, store: ArtifactStore, plan: Plan) -> None:
    authorize(actor, f"capture.{plan.tier}")
    space = store.space()
    if space.is_low:
        raise UnavailableError("capture.disk_full", free_gib=round(space.free / (1 << 30), 1))


def _preview_collector(
    planned: PlannedCollector,
    hosts: Sequence[Host],
    checks: dict[UUID, Preflight],
    why: Sentence | None,
    cpu_pct: float,
) -> PreviewCollector:
    name, seconds = planned.id, planned.seconds
    collector = COLLECTORS[name]
    methods = {method.name: method for method in collector.methods}
    rows: list[PreviewHost] = []
    used: list[CollectionMethod] = []
    for host in hosts:
        check = checks.get(host.id)
        verdict = (
            next((collector for collector in (check.collectors or []) if collector["id"] == name), None)
            if check
            else None
        )
        if verdict is None:
            rows.append(PreviewHost(host_id=host.id, state="unknown"))
            used.append(collector.methods[0])
            continue
        rows.append(
            PreviewHost(
                host_id=host.id,
                state=verdict["state"],
                reason=verdict.get("reason"),
                remedy=verdict.get("remedy"),
            )
        )
        if verdict.get("method") in methods:
            used.append(methods[verdict["method"]])
    commands = [method.command_line.replace("{seconds}", str(seconds)) for method in dict.fromkeys(used)]
    cost = PreviewCost(
        cpu_pct=cpu_pct,
        bytes_per_s=collector.cost.bytes_per_s,
        note={"en": collector.cost.note.en, "zh": collector.cost.note.zh},
    )
    return PreviewCollector(
        id=name,
        tier=collector.tier,
        seconds=seconds,
        commands=commands,
        cost=cost,
        hosts=rows,
        why=sentence_to_json(why),
    )


def create_capture(
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    capture_create: CaptureCreate,
    *,
    source: str = "manual",
    look_back: bool = True,
) -> Capture:
    """Store a capture with one queued run per host, and enqueue the runs.

    With `look_back`, a run also collects the look-back buffer of its host, if there is one.
    """
    named = build_plan(capture_create)
    scope = build_scope(capture_create)
    hosts = _load_hosts(session, actor, capture_create)
    more = service_collectors.select_for_hosts(session, hosts)[0] if capture_create.service else None
    plan, options = service_collectors.add_to_plan(named, capture_create.options, more)
    check_options(options, plan)
    for host in hosts:
        authorize(actor, f"capture.{plan.tier}", host)
    _require_permitted(actor, store, plan)
    require_start_allowed(session, hosts)
    require_tier_allowed(session, plan.tier, hosts, source)
    require_ptrace_permitted(plan.tier, hosts, source, scope)
    require_confirmation(plan.tier, hosts, capture_create.confirm)
    capture = Capture(
        id=new_uuid7(),
        plan=plan.id,
        collectors=[
            _collector_to_json(collector, options.get(collector.id)) for collector in plan.collectors
        ],
        seconds=plan.seconds,
        scope=scope.to_json(),
        reason=capture_create.reason.strip(),
        source=source,
        requested_by=actor.id,
    )
    lookback_hosts = queries.list_lookback_hosts(session, [host.id for host in hosts]) if look_back else set()
    for host in hosts:
        names = [
            *(collector.id for collector in plan.collectors),
            *([look_back_of.ID] if host.id in lookback_hosts else []),
        ]
        run = Run(
            id=new_uuid7(), host_id=host.id, collectors=[RunCollector(collector=name) for name in names]
        )
        capture.runs.append(run)
        enqueue_after_commit(session, "culprit.run_capture", run.id)
    session.add(capture)
    audit.record_action(
        session,
        actor,
        "capture.create",
        "capture",
        capture.id,
        plan=plan.id,
        tier=str(plan.tier),
        seconds=plan.seconds,
        collectors=[collector.id for collector in plan.collectors],
        scope=scope.to_json(),
        hosts=[host.name for host in hosts],
        reason=capture.reason,
    )
    return capture


def _collector_to_json(planned_collector: PlannedCollector, options: dict[str, str] | None) -> dict[str, Any]:
    """Return one collector in the form that a capture stores."""
    return {"id": planned_collector.id, "seconds": planned_collector.seconds} | (
        {"options": options} if options else {}
    )


def cancel_capture(session: Session, actor: Actor, publisher: EventPublisher, capture_id: UUID) -> Capture:
    """Cancel a capture: queued runs end immediately, running ones are notified. Repeating it changes nothing.

    Raises NotFoundError, or ForbiddenError if a part of it runs on a host outside the actor's label scope.
    """
    capture = queries.find_capture(session, actor, capture_id)
    if capture is None:
        raise NotFoundError("capture.not_found")
    authorize(actor, "capture.cancel")
    runs = queries.lock_open_runs(session, capture.id)
    require_covered(
        actor, covered=all(run.host is None or is_in_scope(actor, run.host.labels) for run in runs)
    )
    cancel_runs(session, capture.id, runs)
    if runs:
        session.execute(
            update(Capture)
            .where(Capture.id == capture.id)
            .values(cancel_requested_at=func.coalesce(Capture.cancel_requested_at, func.clock_timestamp()))
            .execution_options(synchronize_session=False)
        )
        after_commit(session, lambda: publisher.publish(capture.id, "capture", {}))
        audit.record_action(
            session, actor, "capture.cancel", "capture", capture.id, runs=[str(r.id) for r in runs]
        )
    session.refresh(capture)
    return capture
