"""CPU time per CPU and mode, once a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Sentence,
    Series,
    Text,
    Tier,
    Times,
    Values,
)
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Readings, Snapshot
from collectors.parse.tables import rates
from collectors.parse.tables.tokens import parse_counter

_PATH = "/proc/stat"
_MAX_BYTES = 32 << 20
_MODES = ("usr", "nice", "sys", "idle", "iowait", "irq", "soft", "steal", "guest", "guest_nice")
#: The kernel's own estimates of these may step back a little; that is no reset.
_MAY_STEP_BACK = ("idle", "iowait")
_ALL = "cpu"


def parse_cpu_stat(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Shares of time by CPU and mode in percent; guests are taken out of user and nice.

    Each share is of the jiffies counted on that CPU in the interval, not of wall time: a CPU without ticks
    gives no data. Format: Documentation/filesystems/proc.rst of the kernel, section 1.7.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), _read_numbers)
    if len(readings.boot_ns) < 2 or not readings.names:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    cpus = sorted({int(name[3:].split(".")[0]) for name in readings.names if name[3:4].isdigit()})
    cpu_series = [
        *_build_cpu_series(context, readings, cpus),
        *_build_host_series(context, readings),
        *_build_task_series(context, readings),
    ]
    return Parsed(series=tuple(cpu_series), warnings=samples.warnings, readable=bool(cpu_series))


def _read_numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()):
        tokens = line.split(None, 11)
        if not tokens:
            continue
        if tokens[0].startswith(b"cpu") and (tokens[0] == b"cpu" or _is_cpu_line(tokens[0][3:])):
            for mode, token in zip(_MODES, tokens[1:11], strict=False):
                yield f"{tokens[0].decode('ascii')}.{mode}", parse_counter(token), offset
            yield f"{tokens[0].decode('ascii')}.", 1.0, offset
        elif tokens[0] in {b"ctxt", b"processes", b"procs_running"} and len(tokens) == 2:
            yield tokens[0].decode("ascii"), parse_counter(tokens[1]), offset


def _is_cpu_line(token: bytes) -> bool:
    return token.isdigit() and len(token) <= 5 and str(int(token)).encode() == token


def _compute_spent(readings: Readings, cpus: Sequence[str]) -> dict[str, Values]:
    """Jiffies by mode [n - 1, k] over these CPUs; modes that old kernels lack count as zero."""
    spent = {}
    for mode in _MODES:
        counters = np.hstack([readings.column(f"{cpu}.{mode}") for cpu in cpus])
        if mode in _MAY_STEP_BACK:
            counters = _select_present(counters)
        difference = rates.compute_deltas(counters)
        if mode not in _MODES[:4] and np.isnan(counters).all():
            difference = np.zeros_like(difference)
        spent[mode] = difference
    spent["usr"] = np.fmax(spent["usr"] - spent["guest"], 0.0) + 0.0 * spent["usr"]
    spent["nice"] = np.fmax(spent["nice"] - spent["guest_nice"], 0.0) + 0.0 * spent["nice"]
    return spent


def _select_present(counters: Values) -> Values:
    """A counter that slipped back by at most 1 % and 1000 jiffies stays at its highest value so far."""
    highest: Values = np.fmax.accumulate(counters, axis=0)
    slack = np.minimum(highest * 0.01, 1_000.0)
    with np.errstate(invalid="ignore"):
        return np.where(counters >= highest - slack, highest, counters)


def _compute_shares(spent: Mapping[str, Values]) -> dict[str, Values]:
    total = np.sum([spent[mode] for mode in _MODES], axis=0)
    idle = spent["idle"] + spent["iowait"]
    shares = {mode: rates.compute_share_pct(spent[mode], total) for mode in _MODES}
    shares["guest"] = rates.compute_share_pct(spent["guest"] + spent["guest_nice"], total)
    shares["busy"] = rates.compute_share_pct(total - idle, total)
    kernel = spent["sys"] + spent["irq"] + spent["soft"]
    shares["sys_share_of_busy"] = rates.compute_share_pct(kernel, total - idle)
    return shares


def _build_cpu_series(context: Context, readings: Readings, cpus: Sequence[int]) -> list[Series]:
    if not cpus:
        return []
    names = [f"cpu{cpu}" for cpu in cpus]
    shares = _compute_shares(_compute_spent(readings, names))
    lines = readings.line_of(f"{names[0]}.")[1:]
    series: list[Series] = []
    for mode in ("busy", "usr", "nice", "sys", "idle", "iowait", "irq", "soft", "steal", "guest"):
        series += sampled.build_series(
            context,
            f"cpu.{mode}_pct",
            readings.boot_ns[1:],
            shares[mode],
            lines=lines,
            axis="cpu",
            axis_values=tuple(str(cpu) for cpu in cpus),
        )
    return series


def _build_host_series(context: Context, readings: Readings) -> list[Series]:
    shares = _compute_shares(_compute_spent(readings, [_ALL]))
    lines, boot_ns = readings.line_of(f"{_ALL}.")[1:], readings.boot_ns[1:]
    return [
        *sampled.build_series(context, "cpu.total_busy_pct", boot_ns, shares["busy"], lines=lines),
        *sampled.build_series(context, "cpu.total_soft_pct", boot_ns, shares["soft"], lines=lines),
        *sampled.build_series(
            context, "cpu.sys_share_of_busy_pct", boot_ns, shares["sys_share_of_busy"], lines=lines
        ),
    ]


def _build_task_series(context: Context, readings: Readings) -> list[Series]:
    boot_ns: Times = readings.boot_ns
    online = np.sum(
        [
            np.isfinite(readings.column(name))
            for name in readings.names
            if name[3:4].isdigit() and name[-1] == "."
        ],
        axis=0,
    )
    forks = rates.compute_rates(boot_ns, readings.column("processes"))
    series = sampled.build_series(
        context, "sched.forks_per_s", boot_ns[1:], forks, lines=readings.line_of("processes")[1:]
    )
    if np.any(online):
        waiting = readings.column("procs_running") / np.where(online > 0, online, np.nan)
        lines = readings.line_of("procs_running")
        series += sampled.build_series(context, "sched.runq_per_cpu", boot_ns, waiting, lines=lines)
    return series


COLLECTOR = Collector(
    id="cpu_stat",
    title=Text("CPU time", "CPU 时间"),
    why=Text(
        "Where each CPU's time goes: user, kernel, softirq, I/O wait, steal.",
        "每个 CPU 的时间去向：用户态、内核态、软中断、I/O 等待、被窃取。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse_cpu_stat,
    cost=Cost(
        0.05,
        3_000,
        Text(
            "One small file per second. The cost grows with the number of CPUs.",
            "每秒读取一个小文件，随 CPU 数增长。",
        ),
    ),
    yields=(
        *(
            f"cpu.{mode}_pct"
            for mode in ("busy", "usr", "nice", "sys", "idle", "iowait", "irq", "soft", "steal", "guest")
        ),
        "cpu.total_busy_pct",
        "cpu.total_soft_pct",
        "cpu.sys_share_of_busy_pct",
        "sched.forks_per_s",
        "sched.runq_per_cpu",
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
