"""Which host and service the labels of an alert mean, and how many hosts may be captured for it at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

#: Labels that name a host, the most definite first. Exporters put `host:port` into `instance`.
HOST_LABELS = (
    "culprit_host",
    "hostname",
    "host",
    "nodename",
    "node",
    "server",
    "instance",
    "exported_instance",
)
#: Labels that name a service.
SERVICE_LABELS = ("culprit_service", "service", "service_name", "app", "job")

#: Of a service's hosts so many may be captured at once because of alerts: a share, and a number by tier.
SHARE = 0.10
MOST = {"light": 20, "standard": 5}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A host that an alert may mean."""

    id: UUID
    name: str
    address: str


def host_names(labels: Mapping[str, str], names: Sequence[str] = HOST_LABELS) -> list[str]:
    """What the labels call the host, the most definite first, without ports, in lower case."""
    found = (_without_port(labels[name].strip().lower()) for name in names if labels.get(name, "").strip())
    return [one for one in dict.fromkeys(found) if one]


def service_names(labels: Mapping[str, str], names: Sequence[str] = SERVICE_LABELS) -> list[str]:
    """What the labels call the service, the most definite first."""
    return list(dict.fromkeys(labels[name].strip() for name in names if labels.get(name, "").strip()))


def _without_port(text: str) -> str:
    """`feed-7:9100` as `feed-7`, `[2001:db8::1]:9100` as `2001:db8::1`; addresses of IPv6 stay whole."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    head, _, tail = text.rpartition(":")
    return head if head and ":" not in head and tail.isdigit() else text


def choose(names: Sequence[str], hosts: Sequence[Candidate]) -> list[Candidate]:
    """The hosts that the first fitting name means: by name, else by address, else by the name before its first dot.

    More than one means that nobody can tell: none of them is captured for a guess.
    """
    for name in names:
        for fits in (
            [one for one in hosts if one.name.lower() == name],
            [one for one in hosts if one.address.lower() == name],
            [one for one in hosts if _same_short(one.name.lower(), name)],
        ):
            if fits:
                return fits
    return []


def _same_short(one: str, other: str) -> bool:
    """Whether one of the names is the other without its domain; two domains are two hosts."""
    return ("." not in one or "." not in other) and short(one) == short(other)


def short(name: str) -> str:
    """A host's name before its first dot; an address stays whole."""
    head = name.lower().partition(".")[0]
    return name.lower() if head.isdigit() or ":" in name else head


def cap(tier: str, hosts: int) -> int:
    """How many of a service's hosts may be captured at once at a tier: 10 %, at least one."""
    return max(1, min(int(hosts * SHARE), MOST.get(tier, 0)))
