"""Numbers that the hardware reports: capped clock rates, memory errors, lockups, clock offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import cite_rows, merge_citations
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_STRATUM = re.compile(r"\bstratum (\d{1,2})\b")


def _row(view: HostView, name: str) -> TableRow | None:
    return next((row for row in view.rows("hardware") if row.text("name") == name), None)


def _cap(view: HostView) -> Iterator[Measurement]:
    """The clock rate that settings allow, percent of what the CPU can do."""
    most = _row(view, "cpu0/cpufreq/cpuinfo_max_freq")
    allowed = _row(view, "cpu0/cpufreq/scaling_max_freq")
    if most is None or allowed is None:
        return
    top, cap = most.number("number"), allowed.number("number")
    if top and cap is not None:
        yield Measurement(
            100.0 * cap / top, (("cpu", "0"),), cite_rows((allowed, most)), 1,
            detail={"allowed_mhz": round(cap / 1e3), "most_mhz": round(top / 1e3)},
        )  # fmt: skip


def _memory_errors(view: HostView) -> Iterator[Measurement]:
    """Errors that memory controllers counted in the window: `ue` could not be corrected, `ce` were."""
    for row in view.rows("hardware"):
        controller, _, counter = row.text("name").partition("/")
        if counter in ("ue_count", "ce_count") and (grown := row.number("delta")) is not None:
            yield Measurement(
                grown,
                (("controller", controller), ("counter", counter)),
                (row.citation,),
                int(grown),
                detail={"counter": counter},
            )


def _machine_checks(view: HostView) -> Iterator[Measurement]:
    """Lines of the kernel's log in which the hardware reports an error."""
    result = view.events_of("machine_check")
    yield Measurement(len(result), (), merge_citations(item.citation for item in result), len(result))


def _error_lines(view: HostView) -> Iterator[Measurement]:
    """All those lines: like ones within a minute are one event of many."""
    result = view.events_of("machine_check")
    params = (item.params.get("count", 1) for item in result)
    lines = sum(int(count) if isinstance(count, int | float) else 1 for count in params)
    if result:
        yield Measurement(lines, (), merge_citations(item.citation for item in result), lines)


def _since_boot(view: HostView, *counters: str) -> Iterator[Measurement]:
    """What memory controllers have counted since they were set up."""
    for row in view.rows("hardware"):
        controller, _, counter = row.text("name").partition("/")
        if counter in counters and (count := row.number("number")) is not None:
            yield Measurement(
                count, (("controller", controller), ("counter", counter)), (row.citation,), int(count)
            )


def _uncorrected(view: HostView) -> Iterator[Measurement]:
    """Measure each controller, for the counter of the finding."""
    for item in _since_boot(view, "ue_count"):
        yield replace(item, subject=item.subject[:1])


def _lockups(view: HostView) -> Iterator[Measurement]:
    """Measure the lines of the kernel's log that report a lockup of a CPU or the scheduler."""
    result = view.events_of("soft_lockup", "hard_lockup", "rcu_stall")
    yield Measurement(len(result), (), merge_citations(item.citation for item in result), len(result))


def _offset(view: HostView) -> Iterator[Measurement]:
    """Measure the clock offset in ms, from the best source available."""
    for row in view.rows("clock_sync"):
        offset = row.number("offset")
        if offset is not None and row.text("synchronised") == "yes":
            source = row.text("source")
            yield Measurement(
                abs(offset), (("source", source),), (row.citation,), 1, detail={"source": source}
            )


def _of_clock(view: HostView, of: Callable[[TableRow], float | None]) -> Iterator[Measurement]:
    for row in view.rows("clock_sync"):
        value = of(row)
        if value is not None:
            yield Measurement(value, (("source", row.text("source")),), (row.citation,), 1)


def _stratum(row: TableRow) -> float | None:
    """How many steps from a reference clock; 16 is none at all."""
    match = _STRATUM.search(row.text("detail"))
    return float(match[1]) if match else None


def _unsynchronised(view: HostView) -> Iterator[Measurement]:
    """1 where nothing keeps the clock, 0 where something does."""
    rows = view.rows("clock_sync")
    if rows:
        stored = any(row.text("synchronised") == "yes" for row in rows)
        yield Measurement(0.0 if stored else 1.0, (), cite_rows(rows))


FREQUENCY_CAP = Measure(
    id="platform.frequency_cap_pct",
    unit="pct",
    title=Text("Clock rate that settings allow", "设置允许的 CPU 频率"),
    needs=(("hardware",),),
    read=lambda view: list(_cap(view)),
)
MEMORY_ERRORS = Measure(
    id="platform.memory_errors_count",
    unit="count",
    title=Text("Memory errors in the window", "窗口内的内存错误"),
    needs=(("hardware",),),
    read=lambda view: list(_memory_errors(view)),
)
MACHINE_CHECKS = Measure(
    id="platform.machine_checks_count",
    unit="count",
    title=Text("Hardware errors in the kernel's log", "内核日志中的硬件错误"),
    needs=(("kmsg",),),
    read=lambda view: list(_machine_checks(view)),
)
LOCKUPS = Measure(
    id="platform.lockups_count",
    unit="count",
    title=Text("Lockups in the kernel's log", "内核日志中的锁死记录"),
    needs=(("kmsg",),),
    read=lambda view: list(_lockups(view)),
)
CLOCK_OFFSET = Measure(
    id="clock.offset_ms",
    unit="ms",
    title=Text("How far the clock is off", "时钟偏差"),
    needs=(("clock_sync",),),
    read=lambda view: list(_offset(view)),
)
CLOCK_UNSYNCHRONISED = Measure(
    id="clock.unsynchronised",
    unit="count",
    title=Text("Nothing keeps the clock", "时钟无人校准"),
    needs=(("clock_sync",),),
    read=lambda view: list(_unsynchronised(view)),
)
ERROR_LINES = Measure(
    id="platform.hardware_error_lines",
    unit="count",
    title=Text("Lines about hardware errors", "硬件错误日志行数"),
    needs=(("kmsg",),),
    read=lambda view: list(_error_lines(view)),
)
ERRORS_SINCE_BOOT = Measure(
    id="platform.memory_errors_since_boot",
    unit="count",
    title=Text("Memory errors since boot", "启动以来的内存错误"),
    needs=(("hardware",),),
    read=lambda view: list(_since_boot(view, "ue_count", "ce_count")),
)
UNCORRECTED = Measure(
    id="platform.uncorrected_errors_since_boot",
    unit="count",
    title=Text("Memory errors that could not be corrected", "无法纠正的内存错误"),
    needs=(("hardware",),),
    read=lambda view: list(_uncorrected(view)),
)
CLOCK_ERROR = Measure(
    id="clock.error_ms",
    unit="ms",
    title=Text("Error that the time service allows for", "时间服务估计的误差"),
    needs=(("clock_sync",),),
    read=lambda view: list(_of_clock(view, lambda row: row.number("error"))),
)
CLOCK_STRATUM = Measure(
    id="clock.stratum",
    unit="count",
    title=Text("Steps from a reference clock (stratum)", "时钟层级（stratum）"),
    needs=(("clock_sync",),),
    read=lambda view: list(_of_clock(view, _stratum)),
)
