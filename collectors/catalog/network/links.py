"""Network devices: what they are, how large a packet may be, and what went wrong on them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import ip_links, namespaces
from collectors.parse.network.ip_links import LinkReadings, NetworkLink
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Samples
from collectors.parse.tables.cells import Cell, count_or_none, counter_rate, number_or_none
from collectors.parse.tables.tokens import NAN, parse_counter, parse_decimal, to_text
from collectors.shell.network import LINKS_SH, LINKS_SHARE

_MAX_BYTES = 16 << 20
_MAX_COUNTERS = 200
_SYSFS = re.compile(r"/sys/class/net/([^/]{1,64})/(statistics/)?(\w{1,40})")

_RX = ("errors", "dropped", "crc_errors", "frame_errors", "length_errors", "fifo_errors", "missed_errors")
_TX = ("errors", "dropped", "carrier_errors", "fifo_errors")
_COLUMNS = (
    *(
        Column("dev"),
        Column("kind"),
        Column("mtu", "bytes"),
        Column("peer_mtu", "bytes"),
        Column("operstate"),
    ),
    *(Column("carrier"), Column("speed", "mbit_per_s"), Column("duplex"), Column("driver")),
    *(Column("rx_packets_per_s", "packets_per_s"), Column("tx_packets_per_s", "packets_per_s")),
    *(Column(f"rx_{name}_per_s", "packets_per_s") for name in _RX),
    *(Column(f"tx_{name}_per_s", "packets_per_s") for name in _TX),
    Column("carrier_changes", "count"),
)
_COUNTER_COLUMNS = (Column("dev"), Column("name"), Column("per_s", "per_s"), Column("total", "count"))


def parse_links(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each device, with rates between the two readings.

    The MTU of a veth's other end is known where that end is in the same namespace or in the host's.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    watched = ip_links.pair_readings(samples) or _parse_sysfs(samples)
    if not watched.last:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    others = samples.of("host_links")
    hosts = ip_links.parse_links(others[-1]) if others else {}
    hardware = _read_hardware(samples)
    rows = tuple(_build_row(watched, item, hosts, hardware.get(item.name)) for item in watched.last.values())
    lines = tuple(item.line for item in watched.last.values())
    tables = [Table("links", _COLUMNS, rows, sampled.PART, lines)]
    card_counters = list(_read_card_counters(samples))
    if card_counters:
        picked = (
            tuple(row for row, _ in card_counters),
            sampled.PART,
            tuple(line for _, line in card_counters),
        )
        tables.append(Table("nic_counters", _COUNTER_COLUMNS, *picked))
    return Parsed(tables=tuple(tables), facts=facts, warnings=warnings)


def _build_row(
    watched: LinkReadings,
    network_link: NetworkLink,
    hosts: Mapping[str, NetworkLink],
    hardware: tuple[str, str, str] | None,
) -> tuple[Cell, ...]:
    speed, duplex, driver = hardware or ("", "", "")
    mbit = parse_counter(speed.encode())
    before = watched.first.get(network_link.name)
    since = float(str(before.tx.get("carrier_changes", NAN))) if before else NAN
    changes = float(str(network_link.tx.get("carrier_changes", NAN))) - since
    return (
        *(network_link.name, network_link.kind or ("loopback" if network_link.loopback else "device")),
        *(
            count_or_none(network_link.mtu),
            count_or_none(_find_peer_mtu(watched, network_link, hosts)),
            network_link.state,
            int(network_link.carrier),
        ),
        *(count_or_none(mbit), duplex, driver),
        *(number_or_none(watched.rate(network_link.name, side, "packets")) for side in ("rx", "tx")),
        *(number_or_none(watched.rate(network_link.name, "rx", name)) for name in _RX),
        *(number_or_none(watched.rate(network_link.name, "tx", name)) for name in _TX),
        count_or_none(changes),
    )


def _find_peer_mtu(
    watched: LinkReadings, network_link: NetworkLink, hosts: Mapping[str, NetworkLink]
) -> float:
    if network_link.kind != "veth":
        return NAN
    if not network_link.foreign_peer:
        peer = watched.last.get(network_link.peer)
        return peer.mtu if peer else NAN
    facing = (
        other
        for other in hosts.values()
        if other.kind == "veth"
        and (other.index, other.peer_index) == (network_link.peer_index, network_link.index)
    )
    peer = next(facing, None)
    return peer.mtu if peer else NAN


def _read_hardware(samples: Samples) -> dict[str, tuple[str, str, str]]:
    """Speed in Mbit/s, duplex and driver by device; "" where the device has none, and -1 where it cannot tell."""
    results: dict[str, tuple[str, str, str]] = {}
    for snapshot in samples.of("hardware"):
        for line in snapshot.lines()[: ip_links.MAX_LINKS]:
            tokens = [to_text(token, 64) for token in line.split(None, 4)]
            if len(tokens) >= 3:
                speed, duplex = ("" if word == "-" else word for word in tokens[1:3])
                results[tokens[0]] = speed, duplex, tokens[3] if len(tokens) > 3 else ""
    for match, snapshots in samples.matching(_SYSFS):
        if match[3] in {"speed", "duplex"}:
            speed, duplex, driver = results.get(match[1], ("", "", ""))
            value = to_text(snapshots[-1].body.strip(), 40)
            results[match[1]] = (value, duplex, driver) if match[3] == "speed" else (speed, value, driver)
    return results


def _parse_sysfs(samples: Samples) -> LinkReadings:
    """The same out of /sys/class/net, which knows neither kinds nor peers."""
    ends: tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]] = ({}, {})
    states: dict[str, str] = {}
    lines: dict[str, int] = {}
    times: set[int] = set()
    for match, snapshots in samples.matching(_SYSFS):
        dev, name = match[1], match[3]
        if dev not in lines and len(lines) >= ip_links.MAX_LINKS:
            continue
        lines.setdefault(dev, snapshots[-1].line)
        times |= {snapshots[0].boot_ns, snapshots[-1].boot_ns}
        if name == "operstate":
            states[dev] = to_text(snapshots[-1].body.strip(), 20)
            continue
        for end, snapshot in zip(ends, (snapshots[0], snapshots[-1]), strict=True):
            value = parse_decimal(snapshot.body.strip())
            if isfinite(value):
                end.setdefault(dev, {})[name] = value
    elapsed_s = (max(times) - min(times)) / 1e9 if times else 0.0
    first, last = (
        {dev: _parse_link(dev, values, states, lines) for dev, values in end.items()} for end in ends
    )
    return LinkReadings(first, last, elapsed_s)


def _parse_link(
    dev: str, values: Mapping[str, float], states: Mapping[str, str], lines: Mapping[str, int]
) -> NetworkLink:
    sides = {
        side: {name.removeprefix(side): value for name, value in values.items() if name.startswith(side)}
        for side in ("rx_", "tx_")
    }
    changes = {"carrier_changes": values["carrier_changes"]} if "carrier_changes" in values else {}
    return NetworkLink(
        name=to_text(dev.encode("utf-8", "replace"), 64),
        index=0,
        peer_index=0,
        peer="",
        foreign_peer=False,
        kind="",
        mtu=values.get("mtu", NAN),
        state=states.get(dev, ""),
        carrier=values.get("carrier", 0.0) == 1.0,
        data={},
        rx=sides["rx_"],
        tx={**sides["tx_"], **changes},
        line=lines[dev],
    )


def _read_card_counters(samples: Samples) -> Iterator[tuple[tuple[Cell, ...], int]]:
    """What `ethtool -S` counts that is not nothing: rate and total, with the line of the last reading."""
    for match, snapshots in samples.matching(re.compile(r"ethtool (\S{1,64})")):
        first, last = snapshots[0], snapshots[-1]
        before = {name: value for name, value, _ in _read_pairs(first.lines())}
        elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
        for name, value, offset in _read_pairs(last.lines()):
            if value > 0:
                rate = counter_rate(before.get(name, NAN), value, elapsed_s)
                yield (match[1], name, number_or_none(rate), int(value)), last.line + offset


def _read_pairs(lines: list[bytes]) -> Iterator[tuple[str, float, int]]:
    for offset, line in enumerate(lines[:_MAX_COUNTERS]):
        name, _, value = line.rpartition(b":")
        number = parse_counter(value.strip())
        if name and isfinite(number):
            yield to_text(name.strip(), 96), number, offset


_FILES = ("mtu", "operstate", "carrier", "carrier_changes", "speed", "duplex")

COLLECTOR = Collector(
    id="links",
    title=Text("Network devices", "网络设备"),
    why=Text(
        "An MTU that does not fit the other end, a link that flaps, a cable or ring that loses packets.",
        "MTU 与对端不符、链路抖动、线缆或接收环丢包。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ip",
            Needs(tools=("ip",), remedy="iproute2"),
            sh=LINKS_SH,
            share=LINKS_SHARE,
            command_line="ip -s -s -d -j link; ethtool -S of network cards; now and after {seconds} s",
            version="ip -V",
            stop="TERM",
        ),
        Sampled(
            "sysfs",
            Needs(files=("/sys/class/net/lo/mtu",), remedy="mount -t sysfs sysfs /sys"),
            files=(
                *(f"/sys/class/net/*/{name}" for name in _FILES),
                *(f"/sys/class/net/*/statistics/rx_{name}" for name in ("packets", *_RX)),
                *(f"/sys/class/net/*/statistics/tx_{name}" for name in ("packets", *_TX)),
            ),
            once=True,
        ),
    ),
    parse=parse_links,
    cost=Cost(0.1, 2_000, Text("A few short commands, twice.", "几条短命令，各执行两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset({TargetAccess.COUNTERS}),
)
