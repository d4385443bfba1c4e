"""Counters of network interfaces, once a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Series,
    TargetAccess,
    Text,
    Tier,
    Values,
)
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Readings, Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_counter, to_text

_PATH = "/proc/net/dev"
_MAX_BYTES = 32 << 20
_MAX_INTERFACES = 1_000
_MB = 1 << 20
_NAMES = (
    *("rx_bytes", "rx_packets", "rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast"),
    *("tx_bytes", "tx_packets", "tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier", "tx_compressed"),
)
_RATES = {
    "rx_mb_s": ("rx_bytes", 1 / _MB),
    "tx_mb_s": ("tx_bytes", 1 / _MB),
    "rx_pps": ("rx_packets", 1.0),
    "tx_pps": ("tx_packets", 1.0),
    "rx_drop_per_s": ("rx_drop", 1.0),
    "tx_drop_per_s": ("tx_drop", 1.0),
    "rx_err_per_s": ("rx_errs", 1.0),
    "tx_err_per_s": ("tx_errs", 1.0),
    "rx_fifo_per_s": ("rx_fifo", 1.0),
}


def parse_net_dev(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates by interface; interfaces without any packet are left out.

    The file shows the network namespace of the process that reads it. The name ends at the last colon before the
    numbers, because old kernels print no space after it and aliases hold colons themselves.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    readings = sampled.tabulate_readings(samples.of(_PATH), _read_numbers)
    series: list[Series] = []
    for dev in list(dict.fromkeys(name.rpartition("|")[0] for name in readings.names))[:_MAX_INTERFACES]:
        counters = {name: readings.column(f"{dev}|{name}") for name in _NAMES}
        if len(readings.boot_ns) > 1 and any(np.nanmax(c, initial=0.0) > 0 for c in counters.values()):
            series += _parse_interface(context, readings, dev, counters)
    return results.build_series_result(series, samples.warnings)


def _read_numbers(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()):
        name, colon, rest = line.rpartition(b":")
        tokens = rest.split(None, 16)
        if not colon or b"|" in line or len(tokens) < len(_NAMES):
            continue
        dev = to_text(name.strip(), 64)
        for column, token in zip(_NAMES, tokens, strict=False):
            yield f"{dev}|{column}", parse_counter(token), offset


def _parse_interface(
    context: Context, readings: Readings, dev: str, counters: Mapping[str, Values]
) -> list[Series]:
    lines, boot_ns = readings.line_of(f"{dev}|rx_bytes")[1:], readings.boot_ns[1:]
    values = {
        metric: rates.compute_rates(readings.boot_ns, counters[name]) * scale
        for metric, (name, scale) in _RATES.items()
    }
    changed = {name: rates.compute_deltas(counters[name]) for name in ("rx_bytes", "rx_packets", "rx_drop")}
    values["drop_ratio_pct"] = rates.compute_share_pct(
        changed["rx_drop"], changed["rx_packets"] + changed["rx_drop"]
    )
    values["bytes_per_pkt"] = rates.compute_share_pct(changed["rx_bytes"], changed["rx_packets"]) / 100.0
    series: list[Series] = []
    for metric, item in values.items():
        series += sampled.build_series(
            context, f"net.{metric}", boot_ns, item, lines=lines, labels={"dev": dev}
        )
    return series


COLLECTOR = Collector(
    id="net_dev",
    title=Text("Network interfaces", "网络接口"),
    why=Text(
        "Traffic, drops and errors of each interface of this network namespace.",
        "本网络命名空间每个接口的流量、丢包与错误。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc", Needs(files=(_PATH,), remedy="mount -t proc proc /proc"), files=(_PATH,), interval_s=1.0
        ),
    ),
    parse=parse_net_dev,
    cost=Cost(0.03, 700, Text("One small file per second.", "每秒读取一个小文件。")),
    yields=(*(f"net.{name}" for name in _RATES), "net.drop_ratio_pct", "net.bytes_per_pkt"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
