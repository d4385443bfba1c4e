"""Crowds: who waits for a CPU together, for how long, and what they may use.

The unit is a control group, or a process where it is in no group. Time that runnable threads wait comes from
/proc/PID/task/*/schedstat; a thread that its group's limit holds back counts as waiting there too. Tasks at the lowest
priority and the capture itself are not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from collectors.parse.proc import id_list
from culprit.domain.rules.finding import Citation, Subject
from culprit.domain.rules.measures.places import is_capture_group, is_inside_group
from culprit.domain.rules.view import HostView, TableRow

#: From this niceness on, and under SCHED_BATCH (3) and SCHED_IDLE (5), a task has asked to wait.
LOW_NICE = 10
LOW_POLICIES = (3, 5)
#: Threads that wait on average. No thread of a crowd lost more of its time than this: below a tenth, none of them could
#: be a tenth faster (Amdahl). It is a bound on one thread, which no number of CPUs changes.
LEAST_WAITING = 0.1


@dataclass(slots=True)
class Crowd:
    """The threads of one group or process: seconds on a CPU and seconds of waiting for one, in the window."""

    subject: Subject
    group: str
    name: str
    run_s: float = 0.0
    wait_s: float = 0.0
    turns: float = 0.0
    processes: int = 0
    pids: set[int] = field(default_factory=set)
    cites: list[Citation] = field(default_factory=list)
    allowed: frozenset[int] = frozenset()
    allowed_cites: list[Citation] = field(default_factory=list)

    @property
    def lost_pct(self) -> float:
        """Percent of the CPU time that its threads wanted in which they waited for a CPU."""
        demand_s = self.run_s + self.wait_s
        return 100.0 * self.wait_s / demand_s if demand_s > 0 else 0.0

    @property
    def delay_ms(self) -> float:
        """Mean wait before a turn."""
        return 1e3 * self.wait_s / self.turns if self.turns else 0.0


def list_crowds(view: HostView) -> list[Crowd]:
    """Those that ran or wanted to, the longest waiting first."""
    low = _low(view)
    crowds: dict[Subject, Crowd] = {}
    for row in view.rows("sched_delay"):
        pid, group = row.number("pid"), row.text("cgroup").removesuffix(" (deleted)")
        if pid is None or not group or is_capture_group(group) or int(pid) in low:
            continue
        place = ("cgroup", group)
        subject = (place,) if group != "/" else (place, ("pid", str(int(pid))))
        crowd = crowds.setdefault(subject, Crowd(subject, group, row.text("comm")))
        crowd.run_s += row.number("run_s") or 0.0
        crowd.wait_s += row.number("wait_s") or 0.0
        crowd.turns += row.number("switches") or 0.0
        crowd.processes += 1
        crowd.pids.add(int(pid))
        crowd.cites.append(row.citation)
    _add_allowed_cpus(view, crowds.values())
    return sorted(crowds.values(), key=lambda crowd: -crowd.wait_s)


def _low(view: HostView) -> set[int]:
    """Tasks that have asked to wait, and kernel threads."""
    return {
        int(row.number("pid") or 0)
        for row in view.rows("processes")
        if (row.number("nice") or 0) >= LOW_NICE
        or row.number("policy") in LOW_POLICIES
        or row.number("kernel_thread")
    }


def get_covered_seconds(view: HostView) -> float:
    """How long the scheduler's numbers cover."""
    fact = view.facts.get("proc_schedstat")
    value = fact.get("seconds") if isinstance(fact, dict) else None
    if isinstance(value, int | float) and value > 0:
        return float(value)
    return view.covered_seconds("proc_schedstat")


def limits_of(view: HostView, group: str) -> list[TableRow]:
    """The rows of control groups with a limit that hold this one, the nearest first."""
    above = [row for row in view.rows("cgroup_cpu") if row.number("own_quota_cores") is not None]
    held = [row for row in above if group == row.text("path") or group.startswith(row.text("path") + "/")]
    return sorted(held, key=lambda row: -len(row.text("path")))


def count_online_cpus(view: HostView) -> float | None:
    """CPUs of the host."""
    counts = [
        float(len(series.axis_values)) for series in view.series_of("cpu.busy_pct") if series.axis_values
    ]
    return float(view.cpus) if view.cpus else next(iter(counts), None)


def _add_allowed_cpus(view: HostView, crowds: Iterable[Crowd]) -> None:
    """Add the CPUs that threads may run on, by their affinity and the cpuset above them; none if unknown."""
    threads: defaultdict[int, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        if row.text("cpus_allowed"):
            threads[int(row.number("pid") or 0)].append(row)
    cpusets = {row.text("path"): row for row in view.rows("cgroup_cpuset") if row.text("cpus")}
    for crowd in crowds:
        rows = [row for pid in sorted(crowd.pids) for row in threads.get(pid, ())]
        own = frozenset[int]().union(*(_parse_cpus(row.text("cpus_allowed")) for row in rows))
        above = [path for path in cpusets if crowd.group != "/" and is_inside_group(crowd.group, path)]
        nearest = [cpusets[max(above, key=len)]] if above else []
        cpuset = frozenset[int]().union(*(_parse_cpus(row.text("cpus")) for row in nearest))
        crowd.allowed = own & cpuset or own or cpuset
        crowd.allowed_cites = [row.citation for row in (*rows, *nearest)]


def _parse_cpus(text: str) -> frozenset[int]:
    return frozenset(id_list.parse_ids(text.encode()))


def allowed_cpus(view: HostView, crowd: Crowd) -> float | None:
    """CPUs that a crowd may use: the least of its limit, the CPUs that its threads may run on, and those online."""
    quota = [quota for row in limits_of(view, crowd.group) if (quota := row.number("quota_cores"))]
    online = count_online_cpus(view)
    counts = [*([float(len(crowd.allowed))] if crowd.allowed else []), *([online] if online else [])]
    return min([*quota, *counts], default=None)


def cite_allowed_cpus(view: HostView, crowd: Crowd) -> list[Citation]:
    """Return where limits, affinity and cpuset were read that `allowed_cpus` depends on."""
    return [*crowd.allowed_cites, *(row.citation for row in limits_of(view, crowd.group))]


def find_most_throttled(view: HostView, group: str) -> TableRow | None:
    """The limit that struck most often, of this group and those above it."""
    struck = [row for row in limits_of(view, group) if row.number("throttled_pct") is not None]
    return max(struck, key=lambda row: row.number("throttled_pct") or 0.0, default=None)


#: A limit that strikes less often than this is not what holds a crowd up.
LIMIT_STRIKES_PCT = 25.0


def held_up(view: HostView) -> Iterator[Crowd]:
    """Crowds that wait for others: without a limit that strikes, and not by their own number."""
    span = get_covered_seconds(view)
    for crowd in list_crowds(view):
        row = find_most_throttled(view, crowd.group)
        struck = (row.number("throttled_pct") or 0.0) if row else 0.0
        allowed = allowed_cpus(view, crowd)
        if span <= 0 or not allowed or struck > LIMIT_STRIKES_PCT:
            continue
        if crowd.wait_s / span >= LEAST_WAITING and crowd.run_s / span < allowed / 2:
            yield crowd
