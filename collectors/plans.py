"""Plans: named sets of collectors with their durations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from collectors.contract import Text, Tier
from collectors.registry import COLLECTORS

__all__ = ["PLANS", "Plan", "PlannedCollector", "build_custom_plan", "highest_tier", "scale_plan"]

_TIERS = tuple(Tier)
_FIRST = (
    "vmstat",
    "iostat",
    "softirqs",
    "interrupts",
    "numastat",
    "cpu_stat",
    "vmstat_proc",
    "psi",
    "net_dev",
    "snmp",
    "netstat_ext",
    "loadavg",
    "meminfo",
    "kmsg",
    "host_facts",
    "proc_top",
)
#: The light collectors of every plan: first those that most people view first, then all others.
_LIGHT = tuple(
    dict.fromkeys(
        (
            *_FIRST,
            *(
                collector.id
                for collector in COLLECTORS.values()
                if collector.tier is Tier.LIGHT and not collector.on_demand
            ),
        )
    )
)
CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class PlannedCollector:
    """One collector of a plan, and for how many seconds it runs."""

    id: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A named set of collectors. `seconds` is the duration of the light ones."""

    id: str
    title: Text
    why: Text
    seconds: int
    collectors: tuple[PlannedCollector, ...]

    @property
    def tier(self) -> Tier:
        """Return the most expensive tier among its collectors. It decides which users can run the plan."""
        return highest_tier(item.id for item in self.collectors)

    @property
    def total_seconds(self) -> int:
        """Return the duration of a run: light collectors run together, exclusive ones in turn at the same time."""
        together = max((i.seconds for i in self.collectors if not COLLECTORS[i.id].exclusive), default=0)
        in_turn = sum(i.seconds for i in self.collectors if COLLECTORS[i.id].exclusive)
        return max(together, in_turn)


def highest_tier(collector_ids: Iterable[str]) -> Tier:
    """Return the most expensive tier among these collectors, light for none. Raise KeyError for an unknown ID."""
    return max((COLLECTORS[i].tier for i in collector_ids), key=_TIERS.index, default=Tier.LIGHT)


def _build_plan(plan_id: str, title: Text, why: Text, seconds: int) -> Plan:
    """Return the plan with all light collectors and those that declare it in their `plans`."""
    light = (PlannedCollector(name, seconds) for name in _LIGHT)
    declared = (
        PlannedCollector(collector.id, entry.seconds)
        for collector in COLLECTORS.values()
        for entry in collector.plans
        if entry.plan == plan_id
    )
    return Plan(plan_id, title, why, seconds, (*light, *declared))


def _build_plans() -> Mapping[str, Plan]:
    """Return all plans by ID, or raise ValueError where a collector names a plan that does not exist."""
    plans = (
        _build_plan(
            "triage",
            Text("Triage", "初筛"),
            Text("Collect everything that costs next to nothing.", "采集所有几乎无开销的数据。"),
            30,
        ),
        _build_plan(
            "cpu",
            Text("CPU", "CPU"),
            Text("Triage, and a profile of where CPU time is spent.", "初筛，并采样 CPU 时间的去向。"),
            30,
        ),
        _build_plan(
            "sched",
            Text("Scheduling", "调度"),
            Text("Triage, and how long each task waits for a CPU.", "初筛，并记录各任务等待 CPU 的时长。"),
            30,
        ),
        _build_plan(
            "io",
            Text("Disk I/O", "磁盘 I/O"),
            Text(
                "One minute of disks, page faults, pressure and blocked tasks.",
                "一分钟的磁盘、缺页、压力与阻塞任务。",
            ),
            60,
        ),
        _build_plan(
            "network",
            Text("Network", "网络"),
            Text("One minute of interfaces, softirqs, TCP and UDP.", "一分钟的网卡、软中断、TCP 与 UDP。"),
            60,
        ),
        _build_plan(
            "baseline",
            Text("Baseline", "基线"),
            Text(
                "Two minutes of normal operation, to compare with later.",
                "正常运行时的两分钟数据，供日后对比。",
            ),
            120,
        ),
    )
    plans_by_id = {plan.id: plan for plan in plans}
    for collector in COLLECTORS.values():
        for entry in collector.plans:
            if entry.plan not in plans_by_id:
                raise ValueError(f"{collector.id} names the plan {entry.plan!r}, which does not exist")
    return MappingProxyType(plans_by_id)


PLANS: Mapping[str, Plan] = _build_plans()


def build_custom_plan(collector_ids: Iterable[str], seconds: int) -> Plan:
    """Return a plan of these collectors, each for `seconds` or its maximum. Raise KeyError for an unknown ID."""
    items = tuple(
        PlannedCollector(i, max(1, min(seconds, COLLECTORS[i].seconds_max)))
        for i in dict.fromkeys(collector_ids)
    )
    title = Text("Custom", "自定义")
    return Plan(CUSTOM, title, Text("Selected collectors.", "自选的采集器。"), seconds, items)


def scale_plan(plan: Plan, seconds: int | None) -> Plan:
    """Return the plan with another duration: each collector runs for `seconds` or for its maximum."""
    if seconds is None:
        return plan
    items = tuple(
        PlannedCollector(i.id, max(1, min(seconds, COLLECTORS[i.id].seconds_max))) for i in plan.collectors
    )
    return Plan(plan.id, plan.title, plan.why, seconds, items)
