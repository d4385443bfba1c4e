"""Network devices as `ip -s -s -d -j link` describes them: kind, MTU, and counters of two readings.

Format: iproute2, ip/ipaddress.c (JSON since 4.14; `stats64`, `linkinfo` and `link_netnsid` have kept their names).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from collectors.parse import json_rows
from collectors.parse.cells import per_s
from collectors.parse.json_rows import Object
from collectors.parse.sampled import Samples, Snapshot
from collectors.parse.tokens import NAN

#: What scripts append to the prelude: `links TICK` reads all devices, and gives up the way where ip has no JSON.
SHELL = r"""
links() {
    $ns ip -s -s -d -j -p link show > .now 2> .err
    grep -q '"ifname"' .now || { cat .err >&2; echo "no JSON of ip" >&2; rm -f samples; exit 69; }
    at "$1" links >> samples
    head -c 3000000 .now >> samples
}
"""
MAX_LINKS = 2_000


@dataclass(frozen=True, slots=True)
class Link:
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


def read(snapshot: Snapshot) -> dict[str, Link]:
    """All devices of one reading by name."""
    found: dict[str, Link] = {}
    for one, line in json_rows.objects(snapshot, MAX_LINKS):
        name = json_rows.text(one, "ifname")
        if not name:
            continue
        flags = one.get("flags")
        index, peer = json_rows.number(one, "ifindex"), json_rows.number(one, "link_index")
        found[name] = Link(
            name,
            int(index) if isfinite(index) else 0,
            int(peer) if isfinite(peer) else 0,
            json_rows.text(one, "link"),
            "link_netnsid" in one,
            json_rows.text(json_rows.inner(one, "linkinfo"), "info_kind"),
            json_rows.number(one, "mtu"),
            json_rows.text(one, "operstate").lower(),
            isinstance(flags, list) and "LOWER_UP" in flags,
            json_rows.inner(one, "linkinfo", "info_data"),
            json_rows.inner(one, "stats64", "rx") or json_rows.inner(one, "stats", "rx"),
            json_rows.inner(one, "stats64", "tx") or json_rows.inner(one, "stats", "tx"),
            line,
        )
    return found


@dataclass(frozen=True, slots=True)
class Watched:
    """The devices at the end, with their counters at the beginning."""

    first: Mapping[str, Link]
    last: Mapping[str, Link]
    elapsed_s: float

    def rate(self, name: str, side: str, counter: str) -> float:
        """What a counter of one device grew by in a second; `side` is rx or tx."""
        before, after = self.first.get(name), self.last.get(name)
        if before is None or after is None or before.index != after.index:
            return NAN
        old, new = (one.rx if side == "rx" else one.tx for one in (before, after))
        return per_s(json_rows.number(old, counter), json_rows.number(new, counter), self.elapsed_s)


def watched(samples: Samples) -> Watched | None:
    """Both readings; None where there is none."""
    readings = samples.of("links")
    if not readings:
        return None
    elapsed_s = (readings[-1].boot_ns - readings[0].boot_ns) / 1e9
    return Watched(read(readings[0]), read(readings[-1]), elapsed_s)
