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
from collectors.parse.proc import sampled
from collectors.parse.proc.cpu_columns import CpuMatrix, build_matrix
from collectors.parse.tables import rates

_PATH = "/proc/softirqs"
_MAX_BYTES = 32 << 20


def parse_softirqs(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates by CPU and vector, totals, each vector's share, and how uneven the CPUs are.

    The kernel counts in 32 bits per CPU: a counter that wraps goes on. Columns are CPUs by their number.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    boot_ns, cpus, vectors = build_matrix(samples.of(_PATH))
    if len(boot_ns) < 2 or not vectors:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    series: list[Series] = []
    totals: dict[str, Values] = {}
    for vector, matrix in vectors.items():
        per_cpu = rates.compute_rates(boot_ns, matrix.values, rates.WRAP_32)
        totals[vector] = _sum_columns(per_cpu)
        rate = sampled.build_series(
            context,
            "softirq.rate_per_s",
            boot_ns[1:],
            per_cpu,
            lines=matrix.lines[1:],
            labels={"vector": vector},
            axis="cpu",
            axis_values=tuple(str(cpu) for cpu in cpus),
        )
        series += rate
        series += _sum_over_cpus(context, vector, boot_ns[1:], per_cpu, matrix.lines[1:])
    series += _compute_shares(context, boot_ns[1:], totals, vectors)
    return Parsed(series=tuple(series), warnings=samples.warnings, readable=bool(series))


def _sum_over_cpus(
    context: Context, vector: str, boot_ns: Times, per_cpu: Values, lines: npt.NDArray[np.int32]
) -> list[Series]:
    """The sum over the CPUs, and how far the busiest is above their mean."""
    total = _sum_columns(per_cpu)
    counted = np.isfinite(per_cpu).sum(axis=1, keepdims=True)
    peak = np.where(np.isnan(per_cpu), -1.0, per_cpu).max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        uneven = np.where(total > 0, peak * counted / total, np.nan)
    labels = {"vector": vector}
    return [
        *sampled.build_series(context, "softirq.total_per_s", boot_ns, total, lines=lines, labels=labels),
        *sampled.build_series(
            context, "softirq.imbalance_max_over_mean", boot_ns, uneven, lines=lines, labels=labels
        ),
    ]


def _compute_shares(
    context: Context, boot_ns: Times, totals: Mapping[str, Values], vectors: Mapping[str, CpuMatrix]
) -> list[Series]:
    everything = _sum_columns(np.hstack(list(totals.values())))
    series: list[Series] = []
    for vector, total in totals.items():
        share = rates.compute_share_pct(total, everything)
        series += sampled.build_series(
            context,
            "softirq.vector_share_pct",
            boot_ns,
            share,
            lines=vectors[vector].lines[1:],
            labels={"vector": vector},
        )
    return series


def _sum_columns(values: Values) -> Values:
    """Row sums over what is known, [n, k] → [n, 1]; NaN where nothing is."""
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1, keepdims=True)
    return np.where(known.any(axis=1, keepdims=True), total, np.nan)


COLLECTOR = Collector(
    id="softirqs",
    title=Text("Softirqs", "软中断"),
    why=Text(
        "Which CPU runs which softirqs. Network load on a single CPU shows here first.",
        "哪个 CPU 在处理哪类软中断：网络流量压在单个 CPU 上时最先在这里显现。",
    ),
    tier=Tier.LIGHT,
    mandatory=True,
    methods=(
        Sampled(
            "proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse_softirqs,
    cost=Cost(
        0.05,
        3_000,
        Text(
            "One small file per second. The cost grows with the number of CPUs.",
            "每秒读取一个小文件，随 CPU 数增长。",
        ),
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
