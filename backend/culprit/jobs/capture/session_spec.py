"""Build the spec of an SSH session from the database, and repeat all checks when the run starts.

Since the request, the requester may have lost the permission, the host may have been retired, or its key may
no longer be trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.contract import Tier
from collectors.parse.perf import perf_data
from collectors.plans import PlannedCollector, highest_tier
from collectors.registry import COLLECTORS
from collectors.runner import lookback, program
from collectors.runner.scope import Scope
from collectors.shell.perf import READ_BY_SERVER, build_reading_options
from culprit.accounts.actor import find_actor
from culprit.accounts.authorization import authorize
from culprit.accounts.kill_switch_check import describe_switch, find_active_switch
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.accounts.unattended_tiers import require_tier_allowed
from culprit.automation.schedules.maintenance import describe_maintenance, find_window_for_host
from culprit.automation.schedules.permissions import SOURCE
from culprit.captures.consent import require_ptrace_permitted
from culprit.evidence.symbols.queries import find_kernel_key
from culprit.hosts.access import build_hops, get_sudo_password
from culprit.infra.db.clock import utc_now
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.network.addresses import AddressRule
from culprit.infra.sandbox.fork_server import Message
from culprit.infra.ssh.connection import SshHop
from culprit.infra.vault import SecretUnreadableError
from culprit.jobs.capture.queries import load_last_timings
from culprit.jobs.capture.session import pack_hop
from culprit.jobs.capture.spool import Spool
from culprit.json_types import Json
from culprit.web.errors import CulpritError


class RunRefusedError(Exception):
    """The run must not start. `sentence` is the reason, `state` the state that the run gets."""

    def __init__(self, sentence: Json, state: str = "failed") -> None:
        super().__init__(sentence["key"])
        self.sentence = sentence
        self.state = state


@dataclass(frozen=True, slots=True, repr=False)
class SessionSpec:
    """Everything that a session needs, read from the database at one time. It holds secrets and has no repr."""

    run_id: UUID
    capture_id: UUID
    host_id: UUID
    hops: tuple[SshHop, ...]
    rules: tuple[AddressRule, ...]
    sudo: program.Sudo
    sudo_password: str | None
    max_silence_s: float
    last_timings: Json
    tier: str
    host_deadline_s: float
    jobs: tuple[program.CollectorJob, ...]
    scope: Scope
    max_bytes: int


def build_session_spec(session: Session, run_id: UUID) -> SessionSpec:
    """Build the spec of a run. Raises RunRefusedError."""
    run = session.get_one(Run, run_id)
    capture = session.get_one(Capture, run.capture_id)
    host = _require_active_host(run)
    require_not_stopped(session, host)
    if capture.source == SOURCE and (window := find_window_for_host(session, host, utc_now())) is not None:
        raise RunRefusedError(describe_maintenance(window))
    items = [PlannedCollector(collector["id"], int(collector["seconds"])) for collector in capture.collectors]
    unknown = [item.id for item in items if item.id not in COLLECTORS]
    if unknown:
        raise RunRefusedError(
            {"key": "capture.collector_unknown", "params": {"collector": ", ".join(unknown)}}
        )
    tier = highest_tier(item.id for item in items)
    hops, password = _open_host(session, host, capture.requested_by, f"capture.{tier}")
    try:
        scope = Scope.from_json(capture.scope)
        jobs = tuple(
            program.CollectorJob.of(
                COLLECTORS[collector["id"]], int(collector["seconds"]), collector.get("options")
            )
            for collector in capture.collectors
        )
        if any(collector.collector == lookback.ID for collector in run.collectors):
            jobs = (*jobs, lookback.JOB)
        jobs = _let_server_read(session, host, jobs)
    except ValueError as error:
        raise RunRefusedError(
            {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
        ) from error
    try:
        require_tier_allowed(session, tier, [host], capture.source)
        require_ptrace_permitted(tier, [host], capture.source, scope)
    except CulpritError as error:
        raise RunRefusedError(error.sentence) from error
    return SessionSpec(
        run_id=run_id,
        capture_id=capture.id,
        host_id=host.id,
        hops=hops,
        rules=load_network_rules(session),
        sudo=cast(program.Sudo, host.sudo),
        sudo_password=password,
        max_silence_s=float(host.max_silence_s),
        last_timings=load_last_timings(session, host),
        tier=tier,
        host_deadline_s=float(program.compute_deadline_s(jobs)),
        jobs=jobs,
        scope=scope,
        max_bytes=sum(job.max_bytes for job in jobs),
    )


def build_fetch_spec(
    session: Session, run_id: UUID, user_id: UUID | None, jobs: tuple[program.CollectorJob, ...]
) -> SessionSpec:
    """Build the spec of a session that fetches files for a run, with the permissions of the user who requests it now.

    The tier is standard, as for recordings of stacks. Raises RunRefusedError.
    """
    run = session.get_one(Run, run_id)
    host = _require_active_host(run)
    require_not_stopped(session, host)
    hops, password = _open_host(session, host, user_id, f"capture.{Tier.STANDARD}")
    return SessionSpec(
        run_id=run_id,
        capture_id=run.capture_id,
        host_id=host.id,
        hops=hops,
        rules=load_network_rules(session),
        sudo=cast(program.Sudo, host.sudo),
        sudo_password=password,
        max_silence_s=float(host.max_silence_s),
        last_timings=load_last_timings(session, host),
        tier=str(Tier.STANDARD),
        host_deadline_s=float(program.compute_deadline_s(jobs)),
        jobs=jobs,
        scope=program.WHOLE_HOST,
        max_bytes=sum(job.max_bytes for job in jobs),
    )


def _require_active_host(run: Run) -> Host:
    host = run.host
    if host is None or host.state != "active":
        raise RunRefusedError({"key": "host.not_active", "params": {"host": host.name if host else "-"}})
    return host


def _open_host(
    session: Session, host: Host, user_id: UUID | None, action: str
) -> tuple[tuple[SshHop, ...], str | None]:
    """Return how to log in to a host, and the password of sudo, if the user may do `action` there."""
    actor = find_actor(session, user_id)
    if actor is None:
        raise RunRefusedError({"key": "run.requester_gone", "params": {}})
    try:
        authorize(actor, action, host)
        return build_hops(session, host), get_sudo_password(host)
    except CulpritError as error:
        raise RunRefusedError(error.sentence) from error
    except SecretUnreadableError as error:
        raise RunRefusedError({"key": "run.secret_unreadable", "params": {"host": host.name}}) from error


def _let_server_read(
    session: Session, host: Host, jobs: tuple[program.CollectorJob, ...]
) -> tuple[program.CollectorJob, ...]:
    """Return the jobs; those of perf skip the text output if the server can read and symbolize perf.data."""
    if not perf_data.is_available() or not any(job.id in READ_BY_SERVER for job in jobs):
        return jobs
    reading = build_reading_options(find_kernel_key(session, host.id))
    return tuple(
        replace(job, options={**job.options, **reading}) if job.id in READ_BY_SERVER else job for job in jobs
    )


def pack_session(spec: SessionSpec, spool: Spool, connect_s: float) -> Message:
    """Return the order for the child that logs in and runs the program. It holds secrets."""
    return {
        "hops": [pack_hop(hop) for hop in spec.hops],
        "rules": [[rule.cidr, rule.port_from, rule.port_to] for rule in spec.rules],
        "timeouts": {"connect_s": connect_s, "step_s": spec.max_silence_s},
        "spool": str(spool.directory),
    }


def require_not_stopped(session: Session, host: Host) -> None:
    """Raise RunRefusedError if a kill switch is active for the host. The run does not restart afterwards."""
    switch = find_active_switch(session, [host])
    if switch is not None:
        key, params = describe_switch(session, switch)
        raise RunRefusedError({"key": key, "params": params}, "canceled")
