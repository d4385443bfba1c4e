"""The two sides of a verification: which runs were before, and the windows of a side's runs as they are judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.core import primary
from culprit.core.rules.contract import Subject
from culprit.core.rules.view import View
from culprit.core.stack_search import top
from culprit.core.stacks import Filter
from culprit.core.verification_form import Drawn
from culprit.core.verify import MIN_SINGLE, MIN_WINDOWS, Better
from culprit.models import Capture, Fix, Host, IncidentRun, Run, Verification

Json = dict[str, Any]
Signature = tuple[Any, ...]
MAX_BEFORE = 12
"""Runs of one host that a side takes, the latest before the fix: what is older says less of it."""

TOP_FUNCTIONS = 300
HOME = ("done", "partial")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be judged: the number, the hosts that were changed, and the one that was not."""

    verification: Verification
    fix: Fix
    read: str
    better: Better
    hosts: tuple[UUID, ...]

    @property
    def needed(self) -> int:
        """Windows that each side of a host needs. Of a cohort the hosts are what is counted."""
        if self.verification.kind == "cohort":
            return 1
        return MIN_SINGLE if primary.single(self.read) else MIN_WINDOWS


def asked(session: Session, verification: Verification) -> Asked | None:
    """What a verification asks; None where no number was fixed for it.

    One that is not of a cohort is about one host: of several that were changed, the one with most runs from before.
    """
    fix = session.get_one(Fix, verification.fix_id)
    told = verification.primary or {}
    if not told.get("read") or told.get("better") not in ("lower", "higher"):
        return None
    what = Asked(verification, fix, told["read"], told["better"], tuple(UUID(str(one)) for one in fix.hosts))
    if verification.kind == "cohort" or len(what.hosts) < 2:
        return what
    most = {host: _most(_groups(session, replace(what, hosts=(host,))), (host,)) for host in what.hosts}
    return replace(what, hosts=(max(what.hosts, key=lambda host: len(most[host])),))


def runs_before(session: Session, what: Asked) -> list[Run]:
    """The runs of the changed hosts from before the fix that were taken alike, by host, the earliest first.

    Of those that the verification names, else of the incident's: the plan (with its collectors, seconds, options and
    scope) of which most are there on the host that has fewest, one that can tell the number at all.
    """
    best = _most(_groups(session, what), what.hosts)
    return [run for host in what.hosts for run in [one for one in best if one.host_id == host][-MAX_BEFORE:]]


def _groups(session: Session, what: Asked) -> dict[Signature, list[Run]]:
    """The runs that may be the side before, by how they were taken."""
    query = (
        select(Run, Capture)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.host_id.in_(what.hosts), Run.state.in_(HOME), Run.t0_ns.is_not(None))
        .order_by(Run.t0_ns)
    )
    if what.verification.before:
        query = query.where(Run.id.in_([UUID(str(one)) for one in what.verification.before]))
    else:
        query = query.join(IncidentRun, IncidentRun.run_id == Run.id).where(
            IncidentRun.incident_id == what.fix.incident_id, IncidentRun.role.in_(("before", "evidence"))
        )
    groups: dict[Signature, list[Run]] = defaultdict(list)
    for run, capture in session.execute(query).all():
        if _before_fix(run, what.fix) and _can_tell(capture, what.read):
            groups[signature(capture)].append(run)
    return groups


def _most(groups: Mapping[Signature, Sequence[Run]], hosts: Sequence[UUID]) -> Sequence[Run]:
    """The group with most runs on the host that has fewest; of equals that with more runs, then the latest."""
    return max(
        groups.values(), key=lambda one: (_least(one, hosts), len(one), one[-1].t0_ns or 0), default=()
    )


def _before_fix(run: Run, fix: Fix) -> bool:
    return fix.applied_at is not None and (run.t1_ns or run.t0_ns or 0) <= fix.applied_at.timestamp() * 1e9


def _can_tell(capture: Capture, read: str) -> bool:
    """Whether its collectors suffice for the number. What was fetched from elsewhere is not in the plan."""
    had = {one["id"] for one in capture.collectors}
    return all(had & set(any_of) or "prom_import" in any_of for any_of in primary.collectors_of(read))


def _least(runs: Sequence[Run], hosts: Sequence[UUID]) -> int:
    return min(sum(run.host_id == host for run in runs) for host in hosts)


def signature(capture: Capture) -> Signature:
    """What makes two captures the same measurement."""
    collectors = sorted(
        (one["id"], one.get("seconds"), repr(sorted((one.get("options") or {}).items())))
        for one in capture.collectors
    )
    return capture.plan, tuple(collectors), repr(sorted(capture.scope.items()))


def runs_of_captures(session: Session, captures: Sequence[UUID], host_id: UUID) -> list[Run]:
    """The runs of these captures on a host that came home, the earliest first."""
    query = select(Run).where(
        Run.capture_id.in_(captures), Run.host_id == host_id, Run.state.in_(HOME), Run.t0_ns.is_not(None)
    )
    return list(session.scalars(query.order_by(Run.t0_ns)))


def control_before(session: Session, what: Asked, before: Sequence[Run]) -> list[Run]:
    """The unchanged host at the same times: its runs of the same captures."""
    host_id = what.verification.control_host_id
    return runs_of_captures(session, [run.capture_id for run in before], host_id) if host_id else []


class Sides:
    """Reads the runs of all sides once, as views, and cuts out the windows."""

    def __init__(self, read_one: Callable[[UUID], View], names: Mapping[UUID, str], what: Asked) -> None:
        self._read_one = read_one
        self._names = names
        self._what = what
        self._views: dict[UUID, View] = {}

    def name(self, host_id: UUID) -> str:
        """A host by name."""
        return self._names.get(host_id, str(host_id))

    def view(self, run: Run) -> View:
        """What one run brought home."""
        if run.id not in self._views:
            self._views[run.id] = self._read_one(run.id)
        return self._views[run.id]

    def windows(self, side: str, runs: Sequence[Run], subject: Subject) -> list[Drawn]:
        """A window for each run."""
        read, better = self._what.read, self._what.better
        return [
            Drawn(
                side,
                str(run.id),
                self.name(run.host_id) if run.host_id else "",
                primary.seen(self.view(run), read, subject, better),
            )
            for run in runs
        ]

    def subject(self, runs: Sequence[Run]) -> Subject:
        """What the number is about on the host of these runs."""
        return primary.subject_of([self.view(run) for run in runs], self._what.read, self._what.better)

    def shares(self, runs: Sequence[Run]) -> dict[str, float]:
        """The mean own share of each function over the runs that have a CPU profile; {} where none has."""
        found = [shares for run in runs if (shares := _shares(self.view(run)))]
        names = {name for shares in found for name in shares}
        return {name: sum(shares.get(name, 0.0) for shares in found) / len(found) for name in names}


def _shares(view: View) -> dict[str, float]:
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return {}
    seen = stacks.profile.view(Filter(hide_idle=True))
    rows = top(seen, TOP_FUNCTIONS) if seen.weight else []
    shares: dict[str, float] = defaultdict(float)
    for row in rows:
        shares[row.frame] += row.own / seen.weight
    return dict(shares)


def names_of(session: Session, hosts: Sequence[UUID]) -> dict[UUID, str]:
    """Hosts by name."""
    query = select(Host.id, Host.name).where(Host.id.in_(hosts))
    return {row.id: row.name for row in session.execute(query)}
