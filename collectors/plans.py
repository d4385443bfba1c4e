"""Named sets of collectors with their durations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from collectors.contract import Text, Tier
from collectors.registry import COLLECTORS

__all__ = ["PLANS", "Plan", "PlannedCollector", "custom", "scaled", "tier_of"]

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
#: The light ones that every plan holds: those that people look at first, then all others.
_LIGHT = tuple(
    dict.fromkeys(
        (*_FIRST, *(one.id for one in COLLECTORS.values() if one.tier is Tier.LIGHT and not one.on_demand))
    )
)
CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class PlannedCollector:
    """One collector of a plan and how long it runs."""

    id: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A named set of collectors. `seconds` is how long the light ones watch."""

    id: str
    title: Text
    why: Text
    seconds: int
    collectors: tuple[PlannedCollector, ...]

    @property
    def tier(self) -> Tier:
        """The most expensive tier among its collectors; it decides who may run the plan."""
        return tier_of(item.id for item in self.collectors)

    @property
    def total_seconds(self) -> int:
        """How long a run watches: light ones together, exclusive ones in turn beside them."""
        together = max((i.seconds for i in self.collectors if not COLLECTORS[i.id].exclusive), default=0)
        in_turn = sum(i.seconds for i in self.collectors if COLLECTORS[i.id].exclusive)
        return max(together, in_turn)


def tier_of(collector_ids: Iterable[str]) -> Tier:
    """The most expensive tier among these; light where there are none. KeyError for an unknown id."""
    return max((COLLECTORS[i].tier for i in collector_ids), key=_TIERS.index, default=Tier.LIGHT)


def _plan(plan_id: str, title: Text, why: Text, seconds: int, extra: Iterable[tuple[str, int]] = ()) -> Plan:
    light = (PlannedCollector(name, seconds) for name in _LIGHT)
    return Plan(plan_id, title, why, seconds, (*light, *(PlannedCollector(n, s) for n, s in extra)))


PLANS: Mapping[str, Plan] = MappingProxyType(
    {
        plan.id: plan
        for plan in (
            _plan(
                "triage",
                Text("Triage", "快速分诊"),
                Text("First look at everything that costs next to nothing.", "用几乎无成本的采集先看全貌。"),
                30,
            ),
            _plan(
                "cpu",
                Text("CPU", "CPU"),
                Text("Triage and where the CPUs spend their time.", "分诊，并采样 CPU 时间花在哪里。"),
                30,
                [("perf_record", 15)],
            ),
            _plan(
                "sched",
                Text("Scheduling", "调度"),
                Text("Triage and who waits how long for a CPU.", "分诊，并记录谁在等待 CPU、等了多久。"),
                30,
                [("perf_sched", 5)],
            ),
            _plan(
                "io",
                Text("Disk I/O", "磁盘 I/O"),
                Text(
                    "A minute of disks, faults, pressure and blocked tasks.",
                    "一分钟的磁盘、缺页、压力与阻塞任务。",
                ),
                60,
            ),
            _plan(
                "network",
                Text("Network", "网络"),
                Text("A minute of interfaces, softirqs, TCP and UDP.", "一分钟的网卡、软中断、TCP 与 UDP。"),
                60,
            ),
            _plan(
                "baseline",
                Text("Baseline", "基线"),
                Text("Two quiet minutes to compare with later.", "留存两分钟平静时的数据，供日后对比。"),
                120,
            ),
        )
    }
)


def custom(collector_ids: Iterable[str], seconds: int) -> Plan:
    """A plan of one's own, each collector for `seconds` or its maximum. KeyError for an unknown id."""
    items = tuple(
        PlannedCollector(i, max(1, min(seconds, COLLECTORS[i].seconds_max)))
        for i in dict.fromkeys(collector_ids)
    )
    title = Text("Custom", "自定义")
    return Plan(CUSTOM, title, Text("Chosen by hand.", "手工选择的采集器。"), seconds, items)


def scaled(plan: Plan, seconds: int | None) -> Plan:
    """The plan with another length: every collector runs for `seconds`, or for its own maximum."""
    if seconds is None:
        return plan
    items = tuple(
        PlannedCollector(i.id, max(1, min(seconds, COLLECTORS[i.id].seconds_max))) for i in plan.collectors
    )
    return Plan(plan.id, plan.title, plan.why, seconds, items)
