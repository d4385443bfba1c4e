"""SELECTs about the host context and the call graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, and_, cast, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Row as SqlRow
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import visible_hosts_clause, visible_runs_clause
from culprit.domain.calls.address_lookup import canonicalize_address
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.peers import ROLE_LABELS
from culprit.infra.db.clock import now_ns
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.hosts.host import Host

#: Addresses of containers change often; those of a run of the same day are likely to be valid.
SAME_DAY = timedelta(hours=24)
RECENT_NS = 72 * 3600 * 1_000_000_000
MAX_REPORTED = 40
MAX_PEERS = 20
READ = ("done", "partial", "failed", "canceled")


def find_host(session: Session, actor: Actor, host_id: UUID) -> Host | None:
    """Return the host, or None if it does not exist for this actor."""
    return session.scalar(select(Host).where(Host.id == host_id, visible_hosts_clause(actor)))


def find_run(session: Session, actor: Actor, run_id: UUID) -> Run | None:
    """Return the run, or None if it does not exist for this actor."""
    return session.scalar(select(Run).where(Run.id == run_id, visible_runs_clause(actor)))


def find_newest_run(session: Session, host_id: UUID) -> Run | None:
    """Return the parsed run of a host that started last."""
    query = select(Run).where(Run.host_id == host_id, Run.state.in_(READ), Run.t0_ns.is_not(None))
    return session.scalar(query.order_by(Run.t0_ns.desc()).limit(1))


def list_reported_events(session: Session, host_id: UUID, of: Run | None) -> list[tuple[ReportedEvent, str]]:
    """Return reported events of a host in the 72 hours before the end of a run, or before now without a run.

    Newest first, each with the name of the account that reported it.
    """
    to_ns = of.t1_ns if of is not None and of.t1_ns is not None else now_ns()
    query = (
        select(ReportedEvent, UserAccount.name)
        .join(UserAccount, UserAccount.id == ReportedEvent.reported_by)
        .where(
            ReportedEvent.build_host_condition(host_id),
            ReportedEvent.build_range_condition(to_ns - RECENT_NS, to_ns + 1),
        )
        .order_by(ReportedEvent.t_ns.desc())
        .limit(MAX_REPORTED)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def find_fact_range(session: Session, host_id: UUID) -> tuple[int | None, int | None, int]:
    """Return the times of the first and last reading of any fact of a host, and the number of facts."""
    query = select(
        func.min(HostFact.since_ns), func.max(HostFact.seen_ns), func.count(HostFact.name.distinct())
    )
    row = session.execute(query.where(HostFact.host_id == host_id)).one()
    return row[0], row[1], row[2]


def list_fact_changes(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[Sequence[SqlRow[Any]], int]:
    """Return the fact spans that start in a range and follow another span, newest first, and their total number."""
    earlier = {
        "before_value": HostFact.value, "before_ns": HostFact.seen_ns, "before_run_id": HostFact.last_run_id,
        "before_artifact_id": HostFact.last_artifact_id, "before_line": HostFact.last_line,
    }  # fmt: skip
    name, since = (HostFact.source, HostFact.name), HostFact.since_ns
    before = [
        func.lag(column).over(partition_by=name, order_by=since).label(label)
        for label, column in earlier.items()
    ]
    spans = select(HostFact, *before).where(HostFact.host_id == host_id).subquery()
    within = (spans.c.before_ns.is_not(None), spans.c.since_ns > from_ns, spans.c.since_ns <= to_ns)
    total = session.scalar(select(func.count()).select_from(spans).where(*within)) or 0
    query = select(spans).where(*within).order_by(spans.c.since_ns.desc(), spans.c.name).limit(limit)
    return session.execute(query).all(), total


def list_logged_changes(
    session: Session, host_id: UUID, from_ns: int, to_ns: int, limit: int
) -> tuple[list[StoredEvent], int]:
    """Return changes of packages, services, files and boots from the logs, newest first, and their total number."""
    within = (
        StoredEvent.host_id == host_id,
        StoredEvent.t_ns > from_ns,
        StoredEvent.t_ns <= to_ns,
        StoredEvent.repeats_id.is_(None),
        StoredEvent.kind.startswith("change_"),
    )
    total = session.scalar(select(func.count()).select_from(StoredEvent).where(*within)) or 0
    query = select(StoredEvent).where(*within).order_by(StoredEvent.t_ns.desc()).limit(limit)
    return list(session.scalars(query)), total


def find_nearest_runs(session: Session, hosts: Iterable[UUID], to: Run) -> dict[UUID, Run]:
    """Return for each host the parsed run that started nearest to another run, within one day."""
    if to.t0_ns is None:
        return {}
    day_ns = int(SAME_DAY.total_seconds()) * 1_000_000_000
    query = (
        select(Run)
        .where(
            Run.host_id.in_(list(hosts)),
            Run.state.in_(READ),
            Run.t0_ns.between(to.t0_ns - day_ns, to.t0_ns + day_ns),
        )
        .ext(distinct_on(Run.host_id))
        .order_by(Run.host_id, func.abs(Run.t0_ns - to.t0_ns), Run.id.desc())
    )
    return {item.host_id: item for item in session.scalars(query) if item.host_id is not None}


def find_address_owners(
    session: Session, actor: Actor, addresses: Collection[str], near: Run
) -> dict[str, set[str]]:
    """Return which of these addresses each visible active host has, by host ID.

    Sources are the address of the host, its last preflight check, and runs of the same day (with containers).
    """
    if not addresses:
        return {}
    array = cast(sorted(addresses), ARRAY(Text))
    listed = Host.facts["addresses"]
    query = select(Host.id, Host.address, listed).where(
        Host.state == "active",
        visible_hosts_clause(actor),
        or_(Host.address.in_(addresses), listed.has_any(array)),
    )
    owned: dict[str, set[str]] = {}
    for host_id, address, facts in session.execute(query):
        owned.setdefault(str(host_id), set()).update(_to_addresses([address]), _to_addresses(facts))
    for host_id, listed_in_run in session.execute(_run_addresses_query(actor, array, near)):
        owned.setdefault(str(host_id), set()).update(_to_addresses(listed_in_run))
    return {host_id: matches for host_id, known in owned.items() if (matches := known & set(addresses))}


def _run_addresses_query(actor: Actor, requested: Any, near: Run) -> Any:
    """Select the addresses that the `calls` collector read in runs of the same day."""
    addresses = Run.facts["calls"]["addresses"]
    day_ns = int(SAME_DAY.total_seconds()) * 1_000_000_000
    at_ns = near.t0_ns or 0
    return (
        select(Run.host_id, addresses)
        .join(Host, Host.id == Run.host_id)
        .where(
            Host.state == "active",
            visible_hosts_clause(actor),
            Run.t0_ns.between(at_ns - day_ns, at_ns + day_ns),
            addresses.has_any(requested),
        )
        .distinct()
    )


def _to_addresses(fact: object) -> set[str]:
    if not isinstance(fact, list):
        return set()
    return {canonicalize_address(item) for item in fact if isinstance(item, str)}


def load_host_names(session: Session, actor: Actor, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the names of visible hosts, by ID."""
    rows = session.execute(
        select(Host.id, Host.name).where(Host.id.in_(list(ids)), visible_hosts_clause(actor))
    )
    return {row.id: row.name for row in rows}


def list_peers(session: Session, actor: Actor, of: Host) -> Sequence[Host]:
    """Return visible active hosts with the same role labels."""
    same = {name: of.labels[name] for name in ROLE_LABELS if name in of.labels}
    if not same:
        return ()
    query = select(Host).where(
        and_(
            Host.id != of.id, Host.state == "active", Host.labels.contains(same), visible_hosts_clause(actor)
        )
    )
    return session.scalars(query.order_by(Host.name).limit(MAX_PEERS)).all()


def load_likely_causes(session: Session, runs: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the likely causes by run; runs without an evaluation are omitted."""
    query = select(Evaluation.run_id, Evaluation.ranking).where(Evaluation.run_id.in_(list(runs)))
    return {
        run_id: [item["id"] for item in ranking.get("causes", []) if item.get("confidence") != "possible"]
        for run_id, ranking in session.execute(query)
    }


def load_sources(session: Session, of: Run) -> dict[str, Citation]:
    """Return a citation of the first part of each collector of a run, the source of its facts."""
    query = (
        select(Artifact, RunCollector.collector)
        .join(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(Artifact.run_id == of.id)
        .order_by(Artifact.id.desc())
    )
    return {
        name: Citation(str(of.id), name, str(item.id), item.part) for item, name in session.execute(query)
    }
