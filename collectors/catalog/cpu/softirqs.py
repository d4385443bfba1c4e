"""Softirqs per CPU and vector, once a second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

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
from collectors.parse import rates, sampled
from collectors.parse.cpu_columns import Matrix, over_time

_PATH = "/proc/softirqs"
_MAX_BYTES = 32 << 20


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates by CPU and vector, totals, each vector's share, and how uneven the CPUs are.

    The kernel counts in 32 bits per CPU: a counter that wraps goes on. Columns are CPUs by their number.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    boot_ns, cpus, vectors = over_time(samples.of(_PATH))
    if len(boot_ns) < 2 or not vectors:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    found: list[Series] = []
    totals: dict[str, Values] = {}
    for vector, matrix in vectors.items():
        per_cpu = rates.per_second(boot_ns, matrix.values, rates.WRAP_32)
        totals[vector] = _sum(per_cpu)
        rate = sampled.series(
            context,
            "softirq.rate_per_s",
            boot_ns[1:],
            per_cpu,
            lines=matrix.lines[1:],
            labels={"vector": vector},
            axis="cpu",
            axis_values=tuple(str(cpu) for cpu in cpus),
        )
        found += rate
        found += _over_cpus(context, vector, boot_ns[1:], per_cpu, matrix.lines[1:])
    found += _shares(context, boot_ns[1:], totals, vectors)
    return Parsed(series=tuple(found), warnings=samples.warnings, readable=bool(found))


def _over_cpus(
    context: Context, vector: str, boot_ns: Times, per_cpu: Values, lines: npt.NDArray[np.int32]
) -> list[Series]:
    """The sum over the CPUs, and how far the busiest is above their mean."""
    total = _sum(per_cpu)
    counted = np.isfinite(per_cpu).sum(axis=1, keepdims=True)
    peak = np.where(np.isnan(per_cpu), -1.0, per_cpu).max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        uneven = np.where(total > 0, peak * counted / total, np.nan)
    labels = {"vector": vector}
    return [
        *sampled.series(context, "softirq.total_per_s", boot_ns, total, lines=lines, labels=labels),
        *sampled.series(
            context, "softirq.imbalance_max_over_mean", boot_ns, uneven, lines=lines, labels=labels
        ),
    ]


def _shares(
    context: Context, boot_ns: Times, totals: Mapping[str, Values], vectors: Mapping[str, Matrix]
) -> list[Series]:
    everything = _sum(np.hstack(list(totals.values())))
    found: list[Series] = []
    for vector, total in totals.items():
        share = rates.share_pct(total, everything)
        found += sampled.series(
            context,
            "softirq.vector_share_pct",
            boot_ns,
            share,
            lines=vectors[vector].lines[1:],
            labels={"vector": vector},
        )
    return found


def _sum(values: Values) -> Values:
    """Row sums over what is known, [n, k] → [n, 1]; NaN where nothing is."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1, keepdims=True)
    return np.where(known.any(axis=1, keepdims=True), total, np.nan)


COLLECTOR = Collector(
    id="softirqs",
    title=Text("Softirqs", "软中断"),
    why=Text(
        "Which CPU runs which softirqs: the network's load on one CPU shows here before anywhere else.",
        "哪个 CPU 在处理哪类软中断：网络流量压在单个 CPU 上时最先在这里显现。",
    ),
    tier=Tier.LIGHT,
    mandatory=True,
    ways=(
        Sampled(
            "proc", Needs(files=(_PATH,), mend="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse,
    cost=Cost(
        0.05, 3_000, Text("One small file a second; grows with CPUs.", "每秒读取一个小文件，随 CPU 数增长。")
    ),
    yields=(
        "softirq.rate_per_s",
        "softirq.total_per_s",
        "softirq.vector_share_pct",
        "softirq.imbalance_max_over_mean",
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
