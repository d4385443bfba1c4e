"""Parse the lines of probes, one line per probe, and summarize them.

target ADDRESS
probe BOOTTIME_S ok|refused|timeout|failed MILLISECONDS [HTTP_STATUS]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Literal

import numpy as np

from collectors.contract import Column, Context, Parsed, Part, Sentence, Series, Table
from collectors.parse.tables.cells import Cell, number_or_none
from collectors.parse.tables.tokens import NAN, parse_amount, parse_seconds_ns, parse_whole, to_text

_MAX_BYTES = 4 << 20
_MAX_PROBES = 20_000
_OUTCOMES = {b"ok", b"refused", b"timeout", b"failed"}
#: A lost SYN is sent again after one second; 900 ms leaves room for clocks, and no healthy handshake takes so long.
_SLOW_MS = 900.0
#: The 97.5th percentile of the normal distribution: an interval of 95 %.
_Z = 1.959964
_HTTP_ERROR = 400

Kind = Literal["tcp", "http"]

_COLUMNS = (
    *(Column("kind"), Column("target"), Column("sent", "count"), Column("answered", "count")),
    *(Column("refused", "count"), Column("timed_out", "count"), Column("failed", "count")),
    *(
        Column("lost", "count"),
        Column("loss_pct", "pct"),
        Column("loss_low_pct", "pct"),
        Column("loss_high_pct", "pct"),
    ),
    *(Column("slow", "count"), Column("slow_pct", "pct"), Column("p50_ms", "ms"), Column("p90_ms", "ms")),
    *(Column("p99_ms", "ms"), Column("max_ms", "ms"), Column("http_errors", "count")),
)


@dataclass(frozen=True, slots=True)
class _Probe:
    boot_ns: int
    outcome: bytes
    ms: float
    status: int
    line: int


def parse_probes(parts: Mapping[str, Part], context: Context, kind: Kind, metric: str) -> Parsed:
    """The table `probes` with one row, the times as a series, and the loss with its interval as facts.

    A refusal is an answer: the packet arrived. Lost is what timed out or failed, and of connections also those
    that took 900 ms or more, because their first SYN or its answer was lost; a slow page may be just slow.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    target, probes = _parse_lines(part.read(_MAX_BYTES))
    if not probes:
        return Parsed(warnings=(Sentence("warning.too_few_samples"),), readable=False)
    unanswered = sum(probe.outcome in {b"timeout", b"failed"} for probe in probes)
    times = np.array(sorted(probe.ms for probe in probes if probe.outcome == b"ok" and isfinite(probe.ms)))
    slow = int((times >= _SLOW_MS).sum())
    lost = unanswered + (slow if kind == "tcp" else 0)
    low, high = wilson_interval_pct(lost, len(probes))
    quantiles: list[Cell] = [
        float(np.quantile(times, q)) if len(times) else None for q in (0.5, 0.9, 0.99, 1)
    ]
    loss = 100.0 * lost / len(probes)
    row = (
        *(kind, target, len(probes), sum(probe.outcome == b"ok" for probe in probes)),
        *(sum(probe.outcome == word for probe in probes) for word in (b"refused", b"timeout", b"failed")),
        *(
            lost,
            loss,
            low,
            high,
            slow,
            number_or_none(100.0 * slow / len(times)) if len(times) else None,
            *quantiles,
        ),
        sum(probe.status >= _HTTP_ERROR for probe in probes),
    )
    table = Table("probes", _COLUMNS, (row,), "stdout", (probes[0].line,))
    facts = {"probes": len(probes), "loss_pct": loss, "loss_low_pct": low, "loss_high_pct": high}
    return Parsed(series=_build_series(context, metric, target, probes), tables=(table,), facts=facts)


def wilson_interval_pct(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of n tries (Wilson 1927), which holds for 0 and n as well, in percent."""
    share, square = hits / n, _Z * _Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = _Z / (1 + square / n) * sqrt(share * (1 - share) / n + square / (4 * n * n))
    return 100.0 * (centre - half) if hits else 0.0, 100.0 * (centre + half) if hits < n else 100.0


def _parse_lines(text: bytes) -> tuple[str, list[_Probe]]:
    """The target and all probes in order of time; probes that run side by side end in any order."""
    target, probes = "", []
    for number, line in enumerate(text.split(b"\n")[:_MAX_PROBES], 1):
        tokens = line[:300].split()
        if len(tokens) == 2 and tokens[0] == b"target":
            target = to_text(tokens[1], 200)
        elif len(tokens) >= 3 and tokens[0] == b"probe" and tokens[2] in _OUTCOMES:
            boot_ns = parse_seconds_ns(tokens[1])
            ms = parse_amount(tokens[3]) if len(tokens) > 3 else NAN
            status = parse_whole(tokens[4]) if len(tokens) > 4 else None
            if boot_ns is not None:
                probes.append(_Probe(boot_ns, tokens[2], ms, status or 0, number))
    return target, sorted(probes, key=lambda probe: (probe.boot_ns, probe.line))


def _build_series(context: Context, metric: str, target: str, probes: list[_Probe]) -> tuple[Series, ...]:
    values = np.array([[probe.ms if probe.outcome == b"ok" else NAN] for probe in probes], np.float64)
    if not np.isfinite(values).any():
        return ()
    t_ns = context.clock.to_utc("boottime", np.array([probe.boot_ns for probe in probes], np.int64))
    lines = np.array([probe.line for probe in probes], np.int32)
    return (Series(metric, t_ns, values, {"target": target}, part="stdout", lines=lines),)
