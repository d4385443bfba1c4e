"""Network devices as `ip -s -s -d -j link` describes them: kind, MTU, and counters of two readings.

Format: iproute2, ip/ipaddress.c (JSON since 4.14; `stats64`, `linkinfo` and `link_netnsid` have kept their names).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables import json_rows
from collectors.parse.tables.cells import counter_rate
from collectors.parse.tables.json_rows import Object
from collectors.parse.tables.tokens import NAN

MAX_LINKS = 2_000


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """One device; `data` is what only its kind has, `line` where its description begins."""

    name: str
    index: int
    peer_index: int
    peer: str
    foreign_peer: bool
    kind: str
    mtu: float
    state: str
    carrier: bool
    data: Object
    rx: Object
    tx: Object
    line: int

    @property
    def loopback(self) -> bool:
        """Whether this is the device that leads to the host itself."""
        return self.name == "lo"


def parse_links(snapshot: Snapshot) -> dict[str, NetworkLink]:
    """All devices of one reading by name."""
    network_links: dict[str, NetworkLink] = {}
    for item, line in json_rows.iterate_objects(snapshot, MAX_LINKS):
        name = json_rows.get_text(item, "ifname")
        if not name:
            continue
        flags = item.get("flags")
        index, peer = json_rows.get_number(item, "ifindex"), json_rows.get_number(item, "link_index")
        network_links[name] = NetworkLink(
            name,
            int(index) if isfinite(index) else 0,
            int(peer) if isfinite(peer) else 0,
            json_rows.get_text(item, "link"),
            "link_netnsid" in item,
            json_rows.get_text(json_rows.get_object(item, "linkinfo"), "info_kind"),
            json_rows.get_number(item, "mtu"),
            json_rows.get_text(item, "operstate").lower(),
            isinstance(flags, list) and "LOWER_UP" in flags,
            json_rows.get_object(item, "linkinfo", "info_data"),
            json_rows.get_object(item, "stats64", "rx") or json_rows.get_object(item, "stats", "rx"),
            json_rows.get_object(item, "stats64", "tx") or json_rows.get_object(item, "stats", "tx"),
            line,
        )
    return network_links


@dataclass(frozen=True, slots=True)
class LinkReadings:
    """The devices at the end, with their counters at the beginning."""

    first: Mapping[str, NetworkLink]
    last: Mapping[str, NetworkLink]
    elapsed_s: float

    def rate(self, name: str, side: str, counter: str) -> float:
        """What a counter of one device grew by in a second; `side` is rx or tx."""
        before, after = self.first.get(name), self.last.get(name)
        if before is None or after is None or before.index != after.index:
            return NAN
        old, new = (before.rx if side == "rx" else before.tx for before in (before, after))
        return counter_rate(
            json_rows.get_number(old, counter), json_rows.get_number(new, counter), self.elapsed_s
        )


def pair_readings(samples: Samples) -> LinkReadings | None:
    """Both readings; None where there is none."""
    readings = samples.of("links")
    if not readings:
        return None
    elapsed_s = (readings[-1].boot_ns - readings[0].boot_ns) / 1e9
    return LinkReadings(parse_links(readings[0]), parse_links(readings[-1]), elapsed_s)
