"""Which rules of a firewall can drop the packets of an open connection to a peer."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from culprit.domain.calls.address_lookup import canonicalize_address
from culprit.domain.rules.measures.service_time.services import normalize_target
from culprit.domain.rules.view import TableRow

#: Where Linux and RFC 6335 take local ports from, at the least.
_FIRST_LOCAL_PORT = 32_768
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
#: Flags of the packets that carry data or acknowledge it (RFC 9293).
_DATA_FLAGS = (frozenset({"ACK"}), frozenset({"ACK", "PSH"}))
_ALL_FLAGS = frozenset({"FIN", "SYN", "RST", "PSH", "ACK", "URG"})
_DIRECTIONS = {"INPUT": "in", "PREROUTING": "in", "OUTPUT": "out", "POSTROUTING": "out"}
_VALUES = r"(\{[^}]{0,400}\}|[^ ]{1,200})"
_ADDRESS = re.compile(rf" (! )?(?:-([sd])|ip6? ([sd])addr) (!= )?{_VALUES}")
_PORTS = re.compile(rf" (! )?(?:--([sd])ports?|(?:tcp|th) ([sd])port) (!= )?{_VALUES}")
_OTHER_PROTOCOL = re.compile(
    r"(?<!!) (?:-p|protocol|l4proto|nexthdr) (?!tcp\b|all\b|6\b|0\b|!|\{)"
    r"|(?<!with) (?:udp|icmp|icmpv6|sctp|esp|ah) [a-z]"
)
_FLAGS = re.compile(r" (! )?--tcp-flags ([A-Z,]{1,40}) ([A-Z,]{1,40})")
_NFT_HANDSHAKE = re.compile(r" tcp flags (?:[^=]{1,80}== syn\b|syn /)")
_STATES = re.compile(r" (! )?(?:--(?:ct)?state |ct state )(!= )?(\{[^}]{0,80}\}|[A-Za-z,]{1,60})")
_LOOPBACK = re.compile(r"(?<!!) (?:-[io]|[io]if(?:name)?) \"?lo\"?(?: |$)")


class Selection(IntEnum):
    """What a rule selects of the packets of a connection: none, perhaps some, or surely these among the first."""

    NONE = 0
    POSSIBLE = 1
    NAMED = 2


@dataclass(frozen=True, slots=True)
class Peer:
    """The server side of a connection that this host opened."""

    address: Address
    port: int
    is_local: bool
    own_addresses: frozenset[Address] = frozenset()

    @classmethod
    def from_target(cls, target: str, own_addresses: frozenset[str]) -> Peer | None:
        """Return the peer of a target `address:port`, or None if it is none."""
        host, _, port = normalize_target(target).rpartition(":")
        address = _parse_address(host)
        if address is None or not port.isdecimal():
            return None
        own = frozenset(item for text in own_addresses if (item := _parse_address(text)) is not None)
        return cls(address, int(port), address.is_loopback or address in own, own)


def select_packets(row: TableRow, peer: Peer) -> Selection:
    """Return whether a rule that drops can select packets of an open connection to a peer.

    A rule for other protocols, addresses, ports or flags cannot. A rule is surely for them if it names the address of
    the peer or the port that requests go to, or if it is for packets of connections that the connection table does not
    know: other rules can accept all others before. Rules before this one are not read.
    """
    text = f" {row.text('matches')}"
    if not _fits_chain(row, peer) or _OTHER_PROTOCOL.search(text) or not _fits_flags(text):
        return Selection.NONE
    if not peer.is_local and _LOOPBACK.search(text):
        return Selection.NONE
    direction = "" if peer.is_local else _DIRECTIONS.get(row.text("chain"), "")
    parts = [*_select_addresses(text, peer), *_select_ports(text, peer, direction)]
    if Selection.NONE in parts:
        return Selection.NONE
    return Selection.NAMED if selects_unknown_connections(text) else max(parts, default=Selection.POSSIBLE)


def selects_unknown_connections(text: str) -> bool:
    """Return whether a rule is for packets that belong to no connection in the connection table.

    Such packets are invalid, or new without being the first of a handshake (nf_conntrack_tcp_loose).
    """
    for negation, not_equal, listed in _STATES.findall(text):
        if negation or not_equal:
            continue
        states = set(listed.strip("{} ").upper().replace(" ", "").split(","))
        if "INVALID" in states:
            return True
        if "NEW" in states and any(item[0] and item[2] == "SYN" for item in _FLAGS.findall(text)):
            return True
    return False


def _fits_chain(row: TableRow, peer: Peer) -> bool:
    """Return whether packets of sockets of this host pass a chain of this family."""
    families = {"ip": 4, "ip6": 6}
    family = row.text("family")
    is_forward = row.text("chain") == "FORWARD"
    return (
        not is_forward
        and family != "arp"
        and families.get(family, peer.address.version) == peer.address.version
    )


def _fits_flags(text: str) -> bool:
    """Return whether packets with data have the flags that a rule requires."""
    if _NFT_HANDSHAKE.search(text):
        return False
    for negation, mask, required in _FLAGS.findall(text):
        examined, expected = _parse_flags(mask), _parse_flags(required)
        if not any((flags & examined == expected) is not bool(negation) for flags in _DATA_FLAGS):
            return False
    return True


def _parse_flags(text: str) -> frozenset[str]:
    return _ALL_FLAGS if text == "ALL" else frozenset(text.split(",")) - {"NONE"}


def _select_addresses(text: str, peer: Peer) -> Iterator[Selection]:
    for match in _ADDRESS.finditer(text):
        if match[1] or match[4] or "@" in match[5]:
            continue
        try:
            networks = [ipaddress.ip_network(item, strict=False) for item in _split_values(match[5])]
        except ValueError:
            continue
        holders = [item for item in networks if peer.address in item]
        if any(item.num_addresses == 1 for item in holders):
            yield Selection.NAMED
        elif not holders and not _holds_own(networks, peer):
            yield Selection.NONE


def _parse_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(canonicalize_address(text.strip("[]").partition("%")[0]))
    except ValueError:
        return None


def _holds_own(networks: Sequence[Network], peer: Peer) -> bool:
    """Return whether an address of this host may be in one of these networks."""
    own = peer.own_addresses
    return not own or any(address in network for address in own for network in networks)


def _select_ports(text: str, peer: Peer, direction: str) -> Iterator[Selection]:
    """Yield how a rule selects ports: that of the peer, or local ones that the kernel chooses."""
    for match in _PORTS.finditer(text):
        if match[1] or match[4] or "@" in match[5]:
            continue
        try:
            ranges = [_parse_range(item) for item in _split_values(match[5])]
        except ValueError:
            continue
        side = match[2] or match[3]
        to_peer = {"out": side == "d", "in": side == "s"}.get(direction, True)
        to_local = {"out": side == "s", "in": side == "d"}.get(direction, True)
        if to_peer and (peer.port, peer.port) in ranges:
            yield Selection.NAMED if direction else Selection.POSSIBLE
        elif not (to_peer and any(low <= peer.port <= high for low, high in ranges)) and not (
            to_local and any(high >= _FIRST_LOCAL_PORT for _, high in ranges)
        ):
            yield Selection.NONE


def _parse_range(text: str) -> tuple[int, int]:
    low, _, high = text.replace(":", "-").partition("-")
    return int(low), int(high or low)


def _split_values(text: str) -> list[str]:
    return [item for item in text.strip("{} ").replace(" ", "").split(",") if item]
