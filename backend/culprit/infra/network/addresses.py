"""Resolve names and check addresses against the network allow-list.

The allow-list is applied to the address that is used: a name is resolved once, the result is checked, and the
connection goes to that address. Without a matching rule no connection is made.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from culprit.infra.ssh.errors import SshError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Only a specific rule opens these: loopback, link-local, and the metadata services of clouds.
RESTRICTED_NETWORKS: tuple[Network, ...] = tuple(
    ipaddress.ip_network(cidr)
    for cidr in (
        "127.0.0.0/8",
        "::1/128",
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::/32",  # AWS: instance metadata at ::254, credentials of EKS pods at ::23
        "fd20:ce::254/128",  # Google Cloud
        "100.100.100.200/32",
        "168.63.129.16/32",
        "192.0.0.192/32",
    )
)
# Unspecified, multicast, broadcast.
UNUSABLE: tuple[Network, ...] = tuple(
    ipaddress.ip_network(cidr)
    for cidr in ("0.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8")
)


@dataclass(frozen=True, slots=True)
class AddressRule:
    """One rule of the allow-list: addresses of `cidr` on ports `port_from` to `port_to`, both included."""

    cidr: str
    port_from: int
    port_to: int


def parse_literal(address: str) -> IpAddress | None:
    """Return the address of a literal, with IPv4-mapped IPv6 as IPv4, or None for a name.

    Only the canonical dotted form counts as IPv4. `127.1`, `0x7f000001` and the like are treated as names,
    and the result of the resolver is checked again by `permitted`.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    return unmap_address(ip)


def unmap_address(ip: IpAddress) -> IpAddress:
    """Return mapped, 6to4 and NAT64 forms as the IPv4 address that packets would reach."""
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


def is_permitted(ip: IpAddress, port: int, rules: Iterable[AddressRule]) -> bool:
    """Return whether a rule allows this address and port.

    A rule includes a guarded network only if it is inside it: 10.0.0.0/8 or 0.0.0.0/0 allow neither
    loopback nor the metadata service of a cloud. Unspecified, multicast and broadcast addresses are never
    allowed.
    """
    ip = unmap_address(ip)
    if any(ip in network for network in UNUSABLE):
        return False
    guarded = next((network for network in RESTRICTED_NETWORKS if ip in network), None)
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


def resolve_address(address: str, port: int, rules: Iterable[AddressRule]) -> str:
    """Return the address to connect to. Raises SshError `dns` or `not_allowed`.

    The error never contains the resolved address of a forbidden name.
    """
    try:
        result = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SshError("dns", address=address) from error
    rules = tuple(rules)
    for *_, sockaddr in result:
        ip = parse_literal(str(sockaddr[0]).partition("%")[0])
        if ip is not None and is_permitted(ip, port, rules):
            return str(ip)
    raise SshError("not_allowed", address=address, port=port)
