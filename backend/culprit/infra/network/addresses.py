"""Names to addresses, and which of them may be dialled.

The allow-list decides on the address that is really dialled: a name is resolved once, the answer is
checked, and the connection goes to that very address. Without a matching rule nothing is dialled.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from culprit.infra.ssh_errors import SshError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Only a rule of their own opens these: ourselves, the link, and where clouds hand out credentials.
GUARDED: tuple[Network, ...] = tuple(
    ipaddress.ip_network(cidr)
    for cidr in (
        "127.0.0.0/8",
        "::1/128",
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::254/128",
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
    )
)
# Unspecified, multicast, broadcast.
NOBODY: tuple[Network, ...] = tuple(
    ipaddress.ip_network(cidr)
    for cidr in ("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the allow-list: addresses of `cidr` on ports `port_from` to `port_to`, both included."""

    cidr: str
    port_from: int
    port_to: int


def plain(address: str) -> IpAddress | None:
    """The address that a literal really means: IPv4 in IPv6 clothes comes out as IPv4. None for a name.

    Only the canonical dotted form counts as IPv4; `127.1`, `0x7f000001` and the like are no literals here,
    and what the resolver makes of them is checked again by `permitted`.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    return unmapped(ip)


def unmapped(ip: IpAddress) -> IpAddress:
    """Mapped, 6to4-embedded and NAT64 forms as the IPv4 address that packets would reach."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id is not None:
            ip = ipaddress.IPv6Address(int(ip))
        if ip.ipv4_mapped is not None:
            return ip.ipv4_mapped
        if ip.sixtofour is not None:
            return ip.sixtofour
        if ip in ipaddress.IPv6Network("64:ff9b::/96") or (
            ip in ipaddress.IPv6Network("::/96") and int(ip) > 1
        ):
            return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip


def permitted(ip: IpAddress, port: int, rules: Iterable[Rule]) -> bool:
    """Whether a rule names this address and port.

    A rule covers a guarded network only where it lies within it: 10.0.0.0/8 or 0.0.0.0/0 allow neither
    loopback nor the metadata service of a cloud. Addresses that are no host's are never dialled.
    """
    ip = unmapped(ip)
    if any(ip in network for network in NOBODY):
        return False
    guarded = next((network for network in GUARDED if ip in network), None)
    return any(
        rule.port_from <= port <= rule.port_to and _covers(ipaddress.ip_network(rule.cidr), ip, guarded)
        for rule in rules
    )


def _covers(allowed: Network, ip: IpAddress, guarded: Network | None) -> bool:
    if ip not in allowed:
        return False
    if guarded is None:
        return True
    return allowed.version == guarded.version and allowed.subnet_of(guarded)  # type: ignore[arg-type]


def resolve(address: str, port: int, rules: Iterable[Rule]) -> str:
    """The one address to dial for `address`; raises SshError `dns` or `not_allowed`.

    The answer never says what a forbidden name resolved to.
    """
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SshError("dns", address=address) from error
    rules = tuple(rules)
    for *_, sockaddr in found:
        ip = plain(str(sockaddr[0]).partition("%")[0])
        if ip is not None and permitted(ip, port, rules):
            return str(ip)
    raise SshError("not_allowed", address=address, port=port)
