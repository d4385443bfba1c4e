"""The USE method over findings: which rules ask about the utilisation, saturation and errors of which resource.

Gregg, The USE Method (2012): for every resource its utilisation, its saturation and its errors. A cell is told by
the finding that says most: what fired, the gravest first; else what could not be decided; else the quiet number that
comes nearest to firing. Where no rule of a cell had its data, the cell is unknown, which is not the same as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Finding, Number
from culprit.core.visuals.bodies.figure import Figure
from culprit.core.visuals.bodies.use_grid import CellState, Column, UseCell, UseGrid, UseRow

Rules = tuple[str, ...]
#: Resource → its name, and the rules that ask about each column; no rule: the question has no answer.
RESOURCES: Mapping[str, tuple[Text, Mapping[Column, Rules]]] = {
    "cpu": (
        Text("CPU", "CPU"),
        {
            "utilisation": ("F-CPU-BUSY", "F-CPU-ONE-CORE", "F-SOFTIRQ-HIGH"),
            "saturation": ("F-SCHED-RUNQ", "F-SCHED-DELAY", "F-THREADS-OVERSUB", "F-CPU-STEAL", "F-CPU-THROTTLED"),
            "errors": ("F-CPU-THERMAL", "F-HW-MACHINE-CHECK", "F-KERNEL-LOCKUP"),
        },
    ),
    "memory": (
        Text("Memory", "内存"),
        {
            "utilisation": ("F-MEM-AVAILABLE",),
            "saturation": ("F-MEM-MAJFAULT", "F-MEM-SWAP-THRASH", "F-MEM-SWAP", "F-MEM-PSI", "F-MEM-REFAULT-HOST"),
            "errors": ("F-MEM-OOM-HOST", "F-HW-MEMORY-ERRORS"),
        },
    ),
    "cgroup_memory": (
        Text("Memory limits", "内存限额"),
        {
            "utilisation": ("F-MEM-ANON-SHARE",),
            "saturation": ("F-MEM-REFAULT-CGROUP", "F-MEM-PSI-CGROUP"),
            "errors": ("F-MEM-OOM-CGROUP",),
        },
    ),
    "disk": (
        Text("Disks", "磁盘"),
        {
            "utilisation": ("F-DISK-UTIL",),
            "saturation": ("F-DISK-SATURATED", "F-DISK-INFLIGHT"),
            "errors": ("F-DISK-ERRORS", "F-DISK-ILL"),
        },
    ),
    "file_system": (
        Text("File systems", "文件系统"),
        {"utilisation": ("F-FS-FULL", "F-FS-INODES"), "saturation": (), "errors": ("F-FS-ERRORS",)},
    ),
    "network": (
        Text("Network", "网络"),
        {
            "utilisation": ("F-NET-UTIL",),
            "saturation": ("F-NET-QDISC-DROP", "F-SOFTNET-DROP", "F-SOFTNET-SQUEEZE", "F-NET-IFACE-DROP"),
            "errors": ("F-NET-LINK-ERRORS", "F-NET-LINK-FLAP", "F-NET-LOSS-ELSEWHERE", "F-NET-SYN-RETRANS"),
        },
    ),
    "sockets": (
        Text("Sockets and ports", "套接字与端口"),
        {
            "utilisation": ("F-NET-PORT-EXHAUSTION", "F-NET-CONNTRACK-FULL"),
            "saturation": ("F-NET-LISTEN-OVERFLOW", "F-NET-BACKLOG-SMALL", "F-NET-UDP-BUFFER-FULL"),
            "errors": ("F-NET-PORT-NONE-LEFT", "F-NET-CONNTRACK-DROP"),
        },
    ),
    "limits": (
        Text("Files, tasks and other limits", "文件、任务等上限"),
        {"utilisation": ("F-LIMIT-NEAR", "F-FD-LEAK"), "saturation": (), "errors": ()},
    ),
}  # fmt: skip
COLUMNS: tuple[Column, ...] = ("utilisation", "saturation", "errors")
RULES: tuple[str, ...] = tuple(
    rule for _, columns in RESOURCES.values() for column in COLUMNS for rule in columns[column]
)
_GRAVITY = {"critical": 0, "warn": 1, "info": 2}
_STATES = {"fired": 0, "inconclusive": 1, "quiet": 2, "not_evaluated": 3}
NOT_EVALUATED = Sentence("missing.not_evaluated")


def grid(findings: Iterable[Finding]) -> UseGrid:
    """The grid of one host out of everything that rules said about it."""
    said: dict[str, list[Finding]] = {}
    for one in findings:
        said.setdefault(one.rule, []).append(one)
    return UseGrid(
        tuple(
            UseRow(name, label, tuple(_cell(column, columns[column], said) for column in COLUMNS))
            for name, (label, columns) in RESOURCES.items()
        )
    )


def _cell(column: Column, rules: Rules, said: Mapping[str, Sequence[Finding]]) -> UseCell:
    if not rules:
        return UseCell(column, "none")
    known = [one for rule in rules for one in said.get(rule, ())]
    if not known:
        return UseCell(column, "unknown", rules[0], reason=NOT_EVALUATED, asked=len(rules))
    best = min(known, key=_rank)
    number = best.numbers[0] if best.numbers else None
    return UseCell(
        column,
        _state(best),
        best.rule,
        best.subject,
        _figure(number),
        number.op if number else None,
        number.threshold if number and math.isfinite(number.threshold) else None,
        best.reason,
        len({one.rule for one in known if one.state == "fired"}),
        len({one.rule for one in known if one.state != "not_evaluated"}),
    )


def _state(one: Finding) -> CellState:
    if one.state == "fired":
        return one.severity
    return "unknown" if one.state == "not_evaluated" else one.state


def _rank(one: Finding) -> tuple[int, int, float, str]:
    """What says most comes first; among the quiet that which is nearest to firing."""
    return _STATES[one.state], _GRAVITY[one.severity], -_nearness(one), one.rule


def _nearness(one: Finding) -> float:
    """How far the number has come to its threshold; 1 is there."""
    if not one.numbers or not math.isfinite(one.numbers[0].value):
        return -1.0
    value, threshold = abs(one.numbers[0].value), abs(one.numbers[0].threshold)
    if one.numbers[0].op.startswith("<"):
        return threshold / value if value > 0 else 1.0
    return value / threshold if threshold > 0 else min(value, 1.0)


def _figure(number: Number | None) -> Figure | None:
    if number is None or not number.citations or not math.isfinite(number.value):
        return None
    return Figure(number.value, number.unit, number.citations[0])
