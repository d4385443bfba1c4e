"""Select the runs of both sides of a verification, and measure their windows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.profiles.search import list_top_functions
from culprit.domain.profiles.stacks import SampleFilter
from culprit.domain.rules.finding import Subject
from culprit.domain.rules.view import HostView
from culprit.domain.verification import primary_number
from culprit.domain.verification.result import PlottedNumber
from culprit.domain.verification.windows import MIN_SINGLE, MIN_WINDOWS, Better
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.verification import queries
from culprit.jobs.verification.queries import MAX_BEFORE

Signature = tuple[Any, ...]
TOP_FUNCTIONS = 300


@dataclass(frozen=True, slots=True)
class VerificationSpec:
    """What to judge: the primary number and the changed hosts."""

    verification: Verification
    fix: Fix
    read: str
    better: Better
    hosts: tuple[UUID, ...]

    @property
    def min_windows(self) -> int:
        """How many windows each side of a host needs."""
        return MIN_SINGLE if primary_number.is_single_reading(self.read) else MIN_WINDOWS


def load_verification_spec(session: Session, verification: Verification) -> VerificationSpec | None:
    """Load what to judge; None without a primary number.

    Without a cohort it is about one host: of several changed hosts, the one with most runs from before.
    """
    fix = session.get_one(Fix, verification.fix_id)
    primary = verification.primary or {}
    if not primary.get("read") or primary.get("better") not in ("lower", "higher"):
        return None
    spec = VerificationSpec(
        verification, fix, primary["read"], primary["better"], tuple(UUID(str(host)) for host in fix.hosts)
    )
    if verification.kind == "cohort" or len(spec.hosts) < 2:
        return spec
    most = {
        host: _select_largest_group(_group_candidates(session, replace(spec, hosts=(host,))), (host,))
        for host in spec.hosts
    }
    return replace(spec, hosts=(max(spec.hosts, key=lambda host: len(most[host])),))


def list_runs_before(session: Session, spec: VerificationSpec) -> list[Run]:
    """List the runs of the changed hosts before the fix with the same settings, by host, the earliest first.

    The candidates are the runs that the verification names, else those of the incident. The settings (plan, collectors,
    seconds, options and scope) with most runs on the host with the fewest are used, if they measure the number.
    """
    best = _select_largest_group(_group_candidates(session, spec), spec.hosts)
    return [
        run for host in spec.hosts for run in [item for item in best if item.host_id == host][-MAX_BEFORE:]
    ]


def _group_candidates(session: Session, spec: VerificationSpec) -> dict[Signature, list[Run]]:
    """Return the candidates of the side before, by their settings."""
    run_ids = [UUID(str(item)) for item in spec.verification.before]
    rows = queries.list_runs_of_side_before(session, spec.fix.incident_id, spec.hosts, run_ids)
    groups: dict[Signature, list[Run]] = defaultdict(list)
    for run, capture in rows:
        if _is_before_fix(run, spec.fix) and _is_measurable(capture, spec.read):
            groups[build_capture_signature(capture)].append(run)
    return groups


def _select_largest_group(groups: Mapping[Signature, Sequence[Run]], hosts: Sequence[UUID]) -> Sequence[Run]:
    """Return the group with most runs on the host with the fewest; then with more runs; then the latest."""
    return max(
        groups.values(),
        key=lambda group: (_count_fewest_runs(group, hosts), len(group), group[-1].t0_ns or 0),
        default=(),
    )


def _is_before_fix(run: Run, fix: Fix) -> bool:
    return fix.applied_at is not None and (run.t1_ns or run.t0_ns or 0) <= fix.applied_at.timestamp() * 1e9


def _is_measurable(capture: Capture, read: str) -> bool:
    """Return whether its collectors measure the number. Fetched metrics are not in the plan."""
    had = {collector["id"] for collector in capture.collectors}
    return all(
        had & set(any_of) or "prom_service" in any_of for any_of in primary_number.list_collectors(read)
    )


def _count_fewest_runs(runs: Sequence[Run], hosts: Sequence[UUID]) -> int:
    return min(sum(run.host_id == host for run in runs) for host in hosts)


def build_capture_signature(capture: Capture) -> Signature:
    """Return the settings that make two captures comparable."""
    collectors = sorted(
        (collector["id"], collector.get("seconds"), repr(sorted((collector.get("options") or {}).items())))
        for collector in capture.collectors
    )
    return capture.plan, tuple(collectors), repr(sorted(capture.scope.items()))


def list_capture_runs(session: Session, captures: Sequence[UUID], host_id: UUID) -> list[Run]:
    """List the finished runs of these captures on a host, the earliest first."""
    return queries.list_finished_runs(session, captures, host_id)


def list_control_runs(session: Session, spec: VerificationSpec, before: Sequence[Run]) -> list[Run]:
    """List the runs of the control host in the same captures."""
    host_id = spec.verification.control_host_id
    return list_capture_runs(session, [run.capture_id for run in before], host_id) if host_id else []


class SideReader:
    """Load each run once, and measure its windows."""

    def __init__(
        self, load_run: Callable[[UUID], HostView], names: Mapping[UUID, str], spec: VerificationSpec
    ) -> None:
        self._load_run = load_run
        self._names = names
        self._spec = spec
        self._views: dict[UUID, HostView] = {}

    def name(self, host_id: UUID) -> str:
        """Return the name of a host."""
        return self._names.get(host_id, str(host_id))

    def load_view(self, run: Run) -> HostView:
        """Return the view of a run."""
        if run.id not in self._views:
            self._views[run.id] = self._load_run(run.id)
        return self._views[run.id]

    def windows(self, side: str, runs: Sequence[Run], subject: Subject) -> list[PlottedNumber]:
        """Measure a window for each run."""
        read, better = self._spec.read, self._spec.better
        return [
            PlottedNumber(
                side,
                str(run.id),
                self.name(run.host_id) if run.host_id else "",
                primary_number.measure_primary(self.load_view(run), read, subject, better),
            )
            for run in runs
        ]

    def select_subject(self, runs: Sequence[Run]) -> Subject:
        """Select the subject of the number on the host of these runs."""
        return primary_number.select_subject(
            [self.load_view(run) for run in runs], self._spec.read, self._spec.better
        )

    def load_own_shares(self, runs: Sequence[Run]) -> dict[str, float]:
        """Return the mean own share of each function over the runs with a CPU profile; {} without any."""
        shares_by_run = [shares for run in runs if (shares := _compute_own_shares(self.load_view(run)))]
        names = {name for shares in shares_by_run for name in shares}
        return {
            name: sum(shares.get(name, 0.0) for shares in shares_by_run) / len(shares_by_run)
            for name in names
        }


def _compute_own_shares(view: HostView) -> dict[str, float]:
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return {}
    seen = stacks.profile.view(SampleFilter(hide_idle=True))
    rows = list_top_functions(seen, TOP_FUNCTIONS) if seen.weight else []
    shares: dict[str, float] = defaultdict(float)
    for row in rows:
        shares[row.frame] += row.own / seen.weight
    return dict(shares)


def load_host_names(session: Session, hosts: Sequence[UUID]) -> dict[UUID, str]:
    """Return the names of these hosts."""
    return queries.map_host_names(session, hosts)
