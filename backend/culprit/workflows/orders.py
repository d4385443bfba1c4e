"""What a run is about to do, checked once more at the moment it starts.

Whoever asked for the capture may have lost the right since, the host may have been retired, its key unpinned:
all of that is looked at again here, in the task, and not only where the request came in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors import bundle, look_back
from collectors.plans import PlannedCollector, tier_of
from collectors.registry import COLLECTORS
from collectors.scope import Scope
from culprit.auth.actor import actor_by_id
from culprit.auth.automation import permit_automatic
from culprit.auth.kill_switch import holding, said
from culprit.auth.policy import policy
from culprit.captures.consent import permit_ptrace
from culprit.hosts.access import hops_to, rules, sudo_password
from culprit.infra.addresses import Rule
from culprit.infra.secrets import SecretUnreadable
from culprit.infra.ssh import Hop
from culprit.kit.clock import now
from culprit.kit.errors import CulpritError
from culprit.models import Capture, Host, Preflight, Run
from culprit.schedules.standing import SOURCE
from culprit.schedules.windows import in_maintenance, over_host

Json = dict[str, Any]


class Refused(Exception):
    """The run must not start; `sentence` says why, `state` what becomes of it."""

    def __init__(self, sentence: Json, state: str = "failed") -> None:
        super().__init__(sentence["key"])
        self.sentence = sentence
        self.state = state


@dataclass(frozen=True, slots=True, repr=False)
class Order:
    """Everything that a session needs, out of the database at one moment. Holds secrets: has no repr."""

    run_id: UUID
    capture_id: UUID
    host_id: UUID
    hops: tuple[Hop, ...]
    rules: tuple[Rule, ...]
    sudo: bundle.Sudo
    sudo_password: str | None
    max_silence_s: float
    last_timings: Json
    tier: str
    host_deadline_s: float
    jobs: tuple[bundle.Job, ...]
    scope: Scope
    max_bytes: int


def capture_order(session: Session, run_id: UUID) -> Order:
    """The order of a run; raises Refused."""
    run = session.get_one(Run, run_id)
    capture = session.get_one(Capture, run.capture_id)
    host = run.host
    if host is None or host.state != "active":
        raise Refused({"key": "host.not_active", "params": {"host": host.name if host else "-"}})
    refuse_stopped(session, host)
    if capture.source == SOURCE and (window := over_host(session, host, now())) is not None:
        raise Refused(in_maintenance(window))
    items = [PlannedCollector(one["id"], int(one["seconds"])) for one in capture.collectors]
    unknown = [one.id for one in items if one.id not in COLLECTORS]
    if unknown:
        raise Refused({"key": "capture.collector_unknown", "params": {"collector": ", ".join(unknown)}})
    tier = tier_of(one.id for one in items)
    actor = actor_by_id(session, capture.requested_by)
    if actor is None:
        raise Refused({"key": "run.requester_gone", "params": {}})
    try:
        policy(actor, f"capture.{tier}", host)
        hops = hops_to(session, host)
        password = sudo_password(host)
    except CulpritError as error:
        raise Refused(error.sentence) from error
    except SecretUnreadable as error:
        raise Refused({"key": "run.secret_unreadable", "params": {"host": host.name}}) from error
    try:
        scope = Scope.from_json(capture.scope)
        jobs = tuple(
            bundle.Job.of(COLLECTORS[one["id"]], int(one["seconds"]), one.get("options"))
            for one in capture.collectors
        )
        if any(one.collector == look_back.ID for one in run.collectors):
            jobs = (*jobs, look_back.JOB)
    except ValueError as error:
        raise Refused({"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}) from error
    try:
        permit_automatic(session, tier, [host], capture.source)
        permit_ptrace(tier, [host], capture.source, scope)
    except CulpritError as error:
        raise Refused(error.sentence) from error
    return Order(
        run_id=run_id,
        capture_id=capture.id,
        host_id=host.id,
        hops=hops,
        rules=rules(session),
        sudo=cast(bundle.Sudo, host.sudo),
        sudo_password=password,
        max_silence_s=float(host.max_silence_s),
        last_timings=last_timings(session, host),
        tier=tier,
        host_deadline_s=float(bundle.deadline_for(jobs)),
        jobs=jobs,
        scope=scope,
        max_bytes=sum(job.max_bytes for job in jobs),
    )


def refuse_stopped(session: Session, host: Host) -> None:
    """Raises Refused where a kill switch is pulled. What it stopped does not start by itself once it is lifted."""
    switch = holding(session, [host])
    if switch is not None:
        key, params = said(session, switch)
        raise Refused({"key": key, "params": params}, "cancelled")


def last_timings(session: Session, host: Host) -> Json:
    """How slow the host was when it was last checked."""
    query = (
        select(Preflight.timings)
        .where(Preflight.host_id == host.id, Preflight.state == "done")
        .order_by(Preflight.at.desc())
        .limit(1)
    )
    return session.scalar(query) or {}
