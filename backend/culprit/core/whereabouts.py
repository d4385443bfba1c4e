"""Whose an address is, and who answers at a port of it. Pure.

An address says little by itself: loopback is whoever asks, the bridge of a container engine has the same address on
every host, and behind a translated address stands another one. What cannot be known is said and never guessed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from collectors.contract import Sentence
from culprit.core.calls import CALLS, LISTENERS, cited
from culprit.core.rules.contract import Citation
from culprit.core.rules.view import View

Kind = Literal["same_host", "host", "ambiguous", "not_enrolled"]
#: How ss writes that a listener takes connections to every address.
_ANY = frozenset({"*", "0.0.0.0", "::"})  # noqa: S104 - nothing is bound here


@dataclass(frozen=True, slots=True)
class Place:
    """Whose an address is: the ids of enrolled hosts that have it, one unless it is ambiguous."""

    kind: Kind
    hosts: tuple[str, ...] = ()
    why: Sentence | None = None


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who answers at a port. `how` says whether it was met at the other end of the connection or only listens."""

    pid: int | None
    comm: str
    how: Literal["connection", "listener"]
    citations: tuple[Citation, ...]


def canonical(address: str) -> str:
    """One spelling for each address, an IPv4 address that is mapped into IPv6 as IPv4; other text as it is."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = read.ipv4_mapped if isinstance(read, ipaddress.IPv6Address) else None
    return str(mapped or read)


def own_addresses(facts: Mapping[str, object]) -> frozenset[str]:
    """The addresses of a host (or of the target's namespace) by its facts or those of one of its runs."""
    found: set[str] = set()
    told = facts.get(CALLS)
    for source in (facts, told if isinstance(told, Mapping) else {}):
        listed = source.get("addresses")
        if isinstance(listed, list | tuple):
            found |= {canonical(one) for one in listed if isinstance(one, str)}
    return frozenset(found)


def place(remote: str, mine: str, own: Collection[str], book: Mapping[str, Collection[str]]) -> Place:
    """Whose `remote` is, as seen from host `mine` with addresses `own`; `book` has the addresses of enrolled hosts.

    Routing takes an own address before anything else, so that comes first, however many hosts have it too.
    """
    address = canonical(remote)
    try:
        local = ipaddress.ip_address(address).is_loopback
    except ValueError:
        local = False
    if local or address in own:
        return Place("same_host", (mine,) if mine else ())
    having = tuple(sorted(host for host, addresses in book.items() if address in addresses))
    if mine and mine in having:
        return Place("same_host", (mine,))
    if len(having) > 1:
        return Place(
            "ambiguous", having, Sentence("calls.ambiguous", {"address": address, "count": len(having)})
        )
    if having:
        return Place("host", having)
    return Place("not_enrolled", (), Sentence("calls.not_enrolled", {"address": address}))


def answerer(view: View, address: str, port: int, callers: Iterable[str]) -> Answerer | Sentence:
    """Who answered `callers` at that port, else who listens there; why nobody is known otherwise.

    A connection that was met at both ends is proof. A listener is not, where addresses are translated on the way.
    """
    asking = {canonical(one) for one in callers}
    met = [
        row
        for row in view.rows("calls")
        if row.text("direction") == "in"
        and row.number("local_port") == port
        and canonical(row.text("remote")) in asking
    ]
    met.sort(key=lambda row: (not row.number("pid"), -(row.number("connections") or 0.0)))
    if met and met[0].number("pid"):
        pid = met[0].number("pid")
        same = [row.cite for row in met if row.text("comm") == met[0].text("comm")]
        return Answerer(int(pid) if pid else None, met[0].text("comm"), "connection", cited(same))
    at = {canonical(address), *_ANY}
    listening = [
        row
        for row in view.rows("listeners")
        if row.number("port") == port and canonical(row.text("address")) in at
    ]
    listening.sort(key=lambda row: row.number("pid") is None)
    if listening:
        pid = listening[0].number("pid")
        cites = cited(row.cite for row in listening)
        return Answerer(int(pid) if pid else None, listening[0].text("process"), "listener", cites)
    if not view.has(LISTENERS) and not view.has(CALLS):
        return view.why_not([LISTENERS, CALLS])
    return Sentence("calls.nobody_listens", {"port": port})


def asker(view: View, addresses: Iterable[str], port: int) -> Answerer | Sentence:
    """Whose connections lead to that port of one of `addresses`; why nobody is known otherwise."""
    asked = {canonical(one) for one in addresses}
    met = [
        row
        for row in view.rows("calls")
        if row.text("direction") == "out"
        and row.number("remote_port") == port
        and canonical(row.text("remote")) in asked
    ]
    met.sort(key=lambda row: (not row.number("pid"), -(row.number("connections") or 0.0)))
    if met:
        pid = met[0].number("pid")
        same = [row.cite for row in met if row.text("comm") == met[0].text("comm")]
        return Answerer(int(pid) if pid else None, met[0].text("comm"), "connection", cited(same))
    return Sentence("calls.nobody_calls", {"port": port}) if view.has(CALLS) else view.why_not([CALLS])
