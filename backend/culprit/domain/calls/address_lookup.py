"""Resolve the host that owns an address and the process at the other end of a connection. Pure.

An address alone identifies little: loopback is always the local host, the bridge of a container engine has the same
address on every host, and a translated address hides another one. Unknown owners are returned as such, with a reason.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.domain.calls.calls import CALLS, LISTENERS, merge_citations
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import HostView, TableRow

OwnerKind = Literal["same_host", "host", "ambiguous", "not_added"]
#: The addresses that ss prints for a listener on every address.
_ANY_ADDRESS = frozenset({"*", "0.0.0.0", "::"})  # noqa: S104 - nothing is bound here


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The owner of an address: the IDs of the hosts that have it, several if the address is ambiguous."""

    kind: OwnerKind
    hosts: tuple[str, ...] = ()
    reason: Sentence | None = None


@dataclass(frozen=True, slots=True)
class CallEndpoint:
    """The process at a port. `source` is `connection` if a connection was observed, else `listener`."""

    pid: int | None
    comm: str
    source: Literal["connection", "listener"]
    citations: tuple[Citation, ...]


def canonicalize_address(address: str) -> str:
    """Return the canonical form of an address; a mapped IPv4 address becomes IPv4, other text is unchanged."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or parsed)


def list_own_addresses(facts: Mapping[str, object]) -> frozenset[str]:
    """Return the addresses of a host, or of the network namespace of the scope, from facts of the host or of a run."""
    own_addresses: set[str] = set()
    fact = facts.get(CALLS)
    for source in (facts, fact if isinstance(fact, Mapping) else {}):
        listed = source.get("addresses")
        if isinstance(listed, list | tuple):
            own_addresses |= {canonicalize_address(item) for item in listed if isinstance(item, str)}
    return frozenset(own_addresses)


def resolve_owner(
    remote: str,
    local_host: str,
    local_addresses: Collection[str],
    address_book: Mapping[str, Collection[str]],
) -> AddressOwner:
    """Return the owner of `remote`, as seen from `local_host`. `address_book` has the addresses of added hosts.

    Routing prefers a local address, so the local host wins even if other hosts have the same address.
    """
    address = canonicalize_address(remote)
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        loopback = False
    if loopback or address in local_addresses:
        return AddressOwner("same_host", (local_host,) if local_host else ())
    owners = tuple(sorted(host for host, addresses in address_book.items() if address in addresses))
    if local_host and local_host in owners:
        return AddressOwner("same_host", (local_host,))
    if len(owners) > 1:
        return AddressOwner(
            "ambiguous", owners, Sentence("calls.ambiguous", {"address": address, "count": len(owners)})
        )
    if owners:
        return AddressOwner("host", owners)
    return AddressOwner("not_added", (), Sentence("calls.unknown_address", {"address": address}))


def find_server(view: HostView, address: str, port: int, callers: Iterable[str]) -> CallEndpoint | Sentence:
    """Return the process that served `callers` at a port, else its listener, else the reason why neither is known.

    A connection that was observed at both ends is proof. A listener is no proof where addresses are translated.
    """
    clients = {canonicalize_address(caller) for caller in callers}
    observed = [
        row
        for row in view.rows("calls")
        if row.text("direction") == "in"
        and row.number("local_port") == port
        and canonicalize_address(row.text("remote")) in clients
    ]
    if (endpoint := _build_observed_endpoint(observed)) is not None and endpoint.pid:
        return endpoint
    bound_addresses = {canonicalize_address(address), *_ANY_ADDRESS}
    listening = [
        row
        for row in view.rows("listeners")
        if row.number("port") == port and canonicalize_address(row.text("address")) in bound_addresses
    ]
    listening.sort(key=lambda row: row.number("pid") is None)
    if listening:
        pid = listening[0].number("pid")
        cites = merge_citations(row.citation for row in listening)
        return CallEndpoint(int(pid) if pid else None, listening[0].text("process"), "listener", cites)
    if not view.has_data(LISTENERS) and not view.has_data(CALLS):
        return view.missing_reason([LISTENERS, CALLS])
    return Sentence("calls.no_server_found", {"port": port})


def find_client(view: HostView, addresses: Iterable[str], port: int) -> CallEndpoint | Sentence:
    """Return the process connected to a port of one of `addresses`, else the reason why it is not known."""
    servers = {canonicalize_address(address) for address in addresses}
    observed = [
        row
        for row in view.rows("calls")
        if row.text("direction") == "out"
        and row.number("remote_port") == port
        and canonicalize_address(row.text("remote")) in servers
    ]
    if (endpoint := _build_observed_endpoint(observed)) is not None:
        return endpoint
    return (
        Sentence("calls.no_client_found", {"port": port})
        if view.has_data(CALLS)
        else view.missing_reason([CALLS])
    )


def _build_observed_endpoint(rows: list[TableRow]) -> CallEndpoint | None:
    """Return the process with the most connections, preferring rows with a process ID."""
    if not rows:
        return None
    busiest = min(rows, key=lambda row: (not row.number("pid"), -(row.number("connections") or 0.0)))
    pid = busiest.number("pid")
    same_name = [row.citation for row in rows if row.text("comm") == busiest.text("comm")]
    return CallEndpoint(
        int(pid) if pid else None, busiest.text("comm"), "connection", merge_citations(same_name)
    )
