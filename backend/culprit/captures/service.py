"""Decisions about captures: what a plan would do, who may have it done, and how it is called off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.orm import Session

from collectors import look_back as look_back_of
from collectors.bundle import options_of
from collectors.contract import Sentence, Way
from collectors.plans import PLANS, Plan, PlannedCollector, custom, scaled
from collectors.registry import COLLECTORS
from collectors.scope import Scope
from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.automation import permit_automatic
from culprit.auth.kill_switch import permit_start
from culprit.auth.policy import in_scope, policy, require_covered
from culprit.captures import beside, queries
from culprit.captures.calling_off import call_off
from culprit.captures.consent import confirmed, permit_ptrace
from culprit.captures.schemas import (
    CaptureCreate,
    CapturePreview,
    PreviewCollector,
    PreviewCost,
    PreviewHost,
    PreviewRead,
)
from culprit.infra.artifacts import ArtifactStore
from culprit.infra.broker import announce
from culprit.infra.progress import Publisher
from culprit.kit.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from culprit.kit.unit_of_work import after_commit
from culprit.kit.uuid7 import uuid7
from culprit.models import Capture, Host, Preflight, Run, RunCollector

CUSTOM_SECONDS = 30


def plan_of(wanted: CapturePreview) -> Plan:
    """The plan that a request names, or one made of the collectors that it lists; raises Invalid."""
    if wanted.collectors is not None:
        unknown = [name for name in wanted.collectors if name not in COLLECTORS]
        if unknown or not wanted.collectors:
            raise Invalid("capture.collector_unknown", collector=", ".join(unknown)[:200] or "-")
        return custom(wanted.collectors, wanted.seconds or CUSTOM_SECONDS)
    plan = PLANS.get(wanted.plan)
    if plan is None:
        raise Invalid("capture.plan_unknown", plan=wanted.plan, plans=", ".join(PLANS))
    return scaled(plan, wanted.seconds)


def scope_of(wanted: CapturePreview) -> Scope:
    """What the request wants to have looked at; raises Invalid."""
    try:
        return Scope(wanted.scope.kind, wanted.scope.value)
    except ValueError as error:
        kind, value = wanted.scope.kind, wanted.scope.value[:80]
        raise Invalid("capture.scope_invalid", kind=kind, value=value) from error


def check_options(options: beside.Options, plan: Plan) -> None:
    """Raises Invalid for an option that no collector of the plan has, for a value that it does not take, and for a
    collector that cannot run without an option that nobody gave.
    """
    planned = {one.id for one in plan.collectors}
    for name, values in options.items():
        if name not in planned:
            raise Invalid("capture.option_without_collector", collector=name)
        known = {one.name: one for one in COLLECTORS[name].options}
        for option, value in values.items():
            if option not in known:
                names = ", ".join(known) or "-"
                raise Invalid("capture.option_unknown", collector=name, option=option, options=names)
            try:
                options_of(COLLECTORS[name], {option: value})
            except ValueError as error:
                pattern = known[option].pattern
                raise Invalid(
                    "capture.option_invalid", collector=name, option=option, pattern=pattern
                ) from error
    for name in sorted(planned):
        given = options.get(name, {})
        lacking = [one.name for one in COLLECTORS[name].options if one.required and not given.get(one.name)]
        if lacking:
            raise Invalid("capture.option_required", collector=name, option=lacking[0])


def _hosts(session: Session, actor: Actor, wanted: CapturePreview) -> list[Host]:
    found = queries.hosts(session, actor, wanted.host_ids)
    if len(found) != len(set(wanted.host_ids)):
        raise NotFound("host.not_found")
    return found


def preview(session: Session, actor: Actor, store: ArtifactStore, wanted: CapturePreview) -> PreviewRead:
    """What `create` would do, and on which hosts it will work."""
    named = plan_of(wanted)
    scope = scope_of(wanted)
    hosts = _hosts(session, actor, wanted)
    more, differ = beside.of_hosts(session, hosts) if wanted.service else (None, None)
    plan, options = beside.with_it(named, wanted.options, more)
    check_options(options, plan)
    why = {more.collector: more.why} if more and more.collector not in wanted.options else {}
    checks = queries.latest_preflights(session, [host.id for host in hosts])
    refusal = None
    try:
        _permit(actor, store, plan)
        permit_ptrace(plan.tier, hosts, "api" if actor.token_id else "manual", scope)
        permit_start(session, hosts)
    except (Conflict, Forbidden, Invalid, Unavailable) as error:
        refusal = error.sentence
    return PreviewRead(
        tier=plan.tier,
        allowed=refusal is None,
        refusal=refusal,
        total_seconds=plan.total_seconds,
        collectors=[_preview_collector(one, hosts, checks, why.get(one.id)) for one in plan.collectors],
        service=form(differ),
    )


def form(one: Sentence | None) -> dict[str, Any] | None:
    """A sentence as it is sent."""
    return {"key": one.key, "params": dict(one.params)} if one else None


def _permit(actor: Actor, store: ArtifactStore, plan: Plan) -> None:
    policy(actor, f"capture.{plan.tier}")
    space = store.space()
    if space.low:
        raise Unavailable("capture.disk_full", free_gib=round(space.free / (1 << 30), 1))


def _preview_collector(
    planned: PlannedCollector, hosts: Sequence[Host], checks: dict[UUID, Preflight], why: Sentence | None
) -> PreviewCollector:
    name, seconds = planned.id, planned.seconds
    collector = COLLECTORS[name]
    ways = {way.name: way for way in collector.ways}
    rows: list[PreviewHost] = []
    used: list[Way] = []
    for host in hosts:
        check = checks.get(host.id)
        verdict = (
            next((one for one in (check.collectors or []) if one["id"] == name), None) if check else None
        )
        if verdict is None:
            rows.append(PreviewHost(host_id=host.id, state="unknown"))
            used.append(collector.ways[0])
            continue
        rows.append(
            PreviewHost(
                host_id=host.id,
                state=verdict["state"],
                reason=verdict.get("reason"),
                mend=verdict.get("mend"),
            )
        )
        if verdict.get("way") in ways:
            used.append(ways[verdict["way"]])
    commands = [way.shows.replace("{seconds}", str(seconds)) for way in dict.fromkeys(used)]
    cost = PreviewCost(
        cpu_pct=collector.cost.cpu_pct,
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
        why=form(why),
    )


def create(
    session: Session,
    actor: Actor,
    store: ArtifactStore,
    wanted: CaptureCreate,
    *,
    source: str = "manual",
    look_back: bool = True,
) -> Capture:
    """Stores a capture with one queued run per host, and rings for them.

    Where something on a host has kept its last minutes, the run there brings these home, too, if `look_back`.
    """
    named = plan_of(wanted)
    scope = scope_of(wanted)
    hosts = _hosts(session, actor, wanted)
    more = beside.of_hosts(session, hosts)[0] if wanted.service else None
    plan, options = beside.with_it(named, wanted.options, more)
    check_options(options, plan)
    for host in hosts:
        policy(actor, f"capture.{plan.tier}", host)
    _permit(actor, store, plan)
    permit_start(session, hosts)
    permit_automatic(session, plan.tier, hosts, source)
    permit_ptrace(plan.tier, hosts, source, scope)
    confirmed(plan.tier, hosts, wanted.confirm)
    capture = Capture(
        id=uuid7(),
        plan=plan.id,
        collectors=[_item(one, options.get(one.id)) for one in plan.collectors],
        seconds=plan.seconds,
        scope=scope.to_json(),
        reason=wanted.reason.strip(),
        source=source,
        requested_by=actor.id,
    )
    kept = queries.kept_on(session, [host.id for host in hosts]) if look_back else set()
    for host in hosts:
        names = [*(one.id for one in plan.collectors), *([look_back_of.ID] if host.id in kept else [])]
        run = Run(id=uuid7(), host_id=host.id, collectors=[RunCollector(collector=name) for name in names])
        capture.runs.append(run)
        announce(session, "culprit.run_capture", run.id)
    session.add(capture)
    audit.record(
        session,
        actor,
        "capture.create",
        "capture",
        capture.id,
        plan=plan.id,
        tier=str(plan.tier),
        seconds=plan.seconds,
        collectors=[one.id for one in plan.collectors],
        scope=scope.to_json(),
        hosts=[host.name for host in hosts],
        reason=capture.reason,
    )
    return capture


def _item(one: PlannedCollector, options: dict[str, str] | None) -> dict[str, Any]:
    """One collector as a capture stores it."""
    return {"id": one.id, "seconds": one.seconds} | ({"options": options} if options else {})


def cancel(session: Session, actor: Actor, publisher: Publisher, capture_id: UUID) -> Capture:
    """Calls a capture off: what waits ends now, what runs is told so. Repeating it changes nothing.

    Raises NotFound, and Forbidden where a part of it runs on a host outside the actor's label scope.
    """
    capture = queries.capture(session, actor, capture_id)
    if capture is None:
        raise NotFound("capture.not_found")
    policy(actor, "capture.cancel")
    runs = queries.open_runs(session, capture.id)
    require_covered(actor, covered=all(run.host is None or in_scope(actor, run.host.labels) for run in runs))
    call_off(session, capture.id, runs)
    if runs:
        session.execute(
            update(Capture)
            .where(Capture.id == capture.id)
            .values(cancel_requested_at=func.coalesce(Capture.cancel_requested_at, func.clock_timestamp()))
            .execution_options(synchronize_session=False)
        )
        after_commit(session, lambda: publisher.publish(capture.id, "capture", {}))
        audit.record(session, actor, "capture.cancel", "capture", capture.id, runs=[str(r.id) for r in runs])
    session.refresh(capture)
    return capture
