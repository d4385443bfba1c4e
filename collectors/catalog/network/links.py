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
from collectors.net_shell import PRELUDE
from collectors.parse import ip_links, netns, sampled
from collectors.parse.cells import Cell, count, known, per_s
from collectors.parse.ip_links import Link, Watched
from collectors.parse.sampled import Samples
from collectors.parse.tokens import NAN, counter, decimal, words

_MAX_BYTES = 16 << 20
_MAX_COUNTERS = 200
_SYSFS = re.compile(r"/sys/class/net/([^/]{1,64})/(statistics/)?(\w{1,40})")

#: The card's own counters are of interest where their name speaks of loss; `|| :` because many have none.
_SH = (
    PRELUDE
    + ip_links.SHELL
    + r"""
counters() {
    [ -z "$ns" ] || return 0
    for d in /sys/class/net/*/device; do
        d=${d%/device} d=${d##*/}
        [ -e "/sys/class/net/$d/device" ] && [ $((n += 1)) -le 32 ] || continue
        ethtool -S "$d" > .now 2> .err && [ "$(wc -l < .now)" -lt 5000 ] || continue
        at "$1" "ethtool $d"
        grep -i -E 'drop|err|miss|discard|crc|fifo|no_?buf|timeout' .now | head -n 200
    done
}
links 0
if [ -n "$ns" ]; then
    at 0 host_links && ip -d -j -p link show | head -c 3000000
else
    at 0 hardware
    for d in /sys/class/net/*/device; do
        d=${d%/device} speed= duplex=
        [ -e "$d/device" ] || continue
        read -r speed < "$d/speed" 2> .err
        read -r duplex < "$d/duplex" 2> .err
        driver=$(readlink "$d/device/driver") || driver=
        echo "${d##*/} ${speed:--} ${duplex:--} ${driver##*/}"
    done
fi >> samples
n=0 && counters 0 >> samples
nap "$SECS"
links 1
n=0 && counters 1 >> samples
exit 0
"""
)

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


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each device, with rates between the two readings.

    The MTU of a veth's other end is known where that end is in the same namespace or in the host's.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    facts, warnings = netns.seen(samples)
    watched = ip_links.watched(samples) or _from_sysfs(samples)
    if not watched.last:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    others = samples.of("host_links")
    hosts = ip_links.read(others[-1]) if others else {}
    hardware = _hardware(samples)
    rows = tuple(_row(watched, one, hosts, hardware.get(one.name)) for one in watched.last.values())
    lines = tuple(one.line for one in watched.last.values())
    tables = [Table("links", _COLUMNS, rows, sampled.PART, lines)]
    told = list(_card_counters(samples))
    if told:
        picked = tuple(row for row, _ in told), sampled.PART, tuple(line for _, line in told)
        tables.append(Table("nic_counters", _COUNTER_COLUMNS, *picked))
    return Parsed(tables=tuple(tables), facts=facts, warnings=warnings)


def _row(
    watched: Watched, one: Link, hosts: Mapping[str, Link], hardware: tuple[str, str, str] | None
) -> tuple[Cell, ...]:
    speed, duplex, driver = hardware or ("", "", "")
    mbit = counter(speed.encode())
    before = watched.first.get(one.name)
    since = float(str(before.tx.get("carrier_changes", NAN))) if before else NAN
    changes = float(str(one.tx.get("carrier_changes", NAN))) - since
    return (
        *(one.name, one.kind or ("loopback" if one.loopback else "device")),
        *(count(one.mtu), count(_peer_mtu(watched, one, hosts)), one.state, int(one.carrier)),
        *(count(mbit), duplex, driver),
        *(known(watched.rate(one.name, side, "packets")) for side in ("rx", "tx")),
        *(known(watched.rate(one.name, "rx", name)) for name in _RX),
        *(known(watched.rate(one.name, "tx", name)) for name in _TX),
        count(changes),
    )


def _peer_mtu(watched: Watched, one: Link, hosts: Mapping[str, Link]) -> float:
    if one.kind != "veth":
        return NAN
    if not one.foreign_peer:
        peer = watched.last.get(one.peer)
        return peer.mtu if peer else NAN
    facing = (
        other
        for other in hosts.values()
        if other.kind == "veth" and (other.index, other.peer_index) == (one.peer_index, one.index)
    )
    peer = next(facing, None)
    return peer.mtu if peer else NAN


def _hardware(samples: Samples) -> dict[str, tuple[str, str, str]]:
    """Speed in Mbit/s, duplex and driver by device; "" where the device has none, and -1 where it cannot tell."""
    found: dict[str, tuple[str, str, str]] = {}
    for snapshot in samples.of("hardware"):
        for line in snapshot.lines()[: ip_links.MAX_LINKS]:
            tokens = [words(token, 64) for token in line.split(None, 4)]
            if len(tokens) >= 3:
                speed, duplex = ("" if word == "-" else word for word in tokens[1:3])
                found[tokens[0]] = speed, duplex, tokens[3] if len(tokens) > 3 else ""
    for match, snapshots in samples.matching(_SYSFS):
        if match[3] in {"speed", "duplex"}:
            speed, duplex, driver = found.get(match[1], ("", "", ""))
            value = words(snapshots[-1].body.strip(), 40)
            found[match[1]] = (value, duplex, driver) if match[3] == "speed" else (speed, value, driver)
    return found


def _from_sysfs(samples: Samples) -> Watched:
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
            states[dev] = words(snapshots[-1].body.strip(), 20)
            continue
        for end, snapshot in zip(ends, (snapshots[0], snapshots[-1]), strict=True):
            value = decimal(snapshot.body.strip())
            if isfinite(value):
                end.setdefault(dev, {})[name] = value
    elapsed_s = (max(times) - min(times)) / 1e9 if times else 0.0
    first, last = ({dev: _link(dev, values, states, lines) for dev, values in end.items()} for end in ends)
    return Watched(first, last, elapsed_s)


def _link(dev: str, values: Mapping[str, float], states: Mapping[str, str], lines: Mapping[str, int]) -> Link:
    sides = {
        side: {name.removeprefix(side): value for name, value in values.items() if name.startswith(side)}
        for side in ("rx_", "tx_")
    }
    changes = {"carrier_changes": values["carrier_changes"]} if "carrier_changes" in values else {}
    return Link(
        name=words(dev.encode("utf-8", "replace"), 64),
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


def _card_counters(samples: Samples) -> Iterator[tuple[tuple[Cell, ...], int]]:
    """What `ethtool -S` counts that is not nothing: rate and total, with the line of the last reading."""
    for match, snapshots in samples.matching(re.compile(r"ethtool (\S{1,64})")):
        first, last = snapshots[0], snapshots[-1]
        before = {name: value for name, value, _ in _pairs(first.lines())}
        elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
        for name, value, offset in _pairs(last.lines()):
            if value > 0:
                rate = per_s(before.get(name, NAN), value, elapsed_s)
                yield (match[1], name, known(rate), int(value)), last.line + offset


def _pairs(lines: list[bytes]) -> Iterator[tuple[str, float, int]]:
    for offset, line in enumerate(lines[:_MAX_COUNTERS]):
        name, _, value = line.rpartition(b":")
        number = counter(value.strip())
        if name and isfinite(number):
            yield words(name.strip(), 96), number, offset


_FILES = ("mtu", "operstate", "carrier", "carrier_changes", "speed", "duplex")

COLLECTOR = Collector(
    id="links",
    title=Text("Network devices", "网络设备"),
    why=Text(
        "An MTU that does not fit the other end, a link that flaps, a cable or ring that loses packets.",
        "MTU 与对端不符、链路抖动、线缆或接收环丢包。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Script(
            "ip",
            Needs(tools=("ip",), mend="iproute2"),
            sh=_SH,
            shows="ip -s -s -d -j link; ethtool -S of network cards; now and after {seconds} s",
            version="ip -V",
            stop="TERM",
        ),
        Sampled(
            "sysfs",
            Needs(files=("/sys/class/net/lo/mtu",), mend="mount -t sysfs sysfs /sys"),
            files=(
                *(f"/sys/class/net/*/{name}" for name in _FILES),
                *(f"/sys/class/net/*/statistics/rx_{name}" for name in ("packets", *_RX)),
                *(f"/sys/class/net/*/statistics/tx_{name}" for name in ("packets", *_TX)),
            ),
            once=True,
        ),
    ),
    parse=parse,
    cost=Cost(0.1, 2_000, Text("A few short commands, twice.", "几条短命令，各执行两次。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset({TargetAccess.COUNTERS}),
)
