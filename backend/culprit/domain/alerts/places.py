"""Find the host and the service that the labels of an alert name, and limit captures per service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

#: Labels that name a host, the most specific first. Exporters put `host:port` into `instance`.
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

#: Limit of simultaneous captures on the hosts of a service: a share, and an absolute number per tier.
MAX_SHARE = 0.10
MAX_BY_TIER = {"light": 20, "standard": 5}


@dataclass(frozen=True, slots=True)
class HostCandidate:
    """A host that an alert may name."""

    id: UUID
    name: str
    address: str


def extract_host_names(labels: Mapping[str, str], names: Sequence[str] = HOST_LABELS) -> list[str]:
    """Return the host names in the labels, the most specific first, without ports, in lower case."""
    candidates = (_strip_port(labels[name].strip().lower()) for name in names if labels.get(name, "").strip())
    return [item for item in dict.fromkeys(candidates) if item]


def extract_service_names(labels: Mapping[str, str], names: Sequence[str] = SERVICE_LABELS) -> list[str]:
    """Return the service names in the labels, the most specific first."""
    return list(dict.fromkeys(labels[name].strip() for name in names if labels.get(name, "").strip()))


def _strip_port(text: str) -> str:
    """Remove the port: `feed-7:9100` → `feed-7`, `[2001:db8::1]:9100` → `2001:db8::1`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    head, _, tail = text.rpartition(":")
    return head if head and ":" not in head and tail.isdigit() else text


def match_hosts(names: Sequence[str], hosts: Sequence[HostCandidate]) -> list[HostCandidate]:
    """Return the hosts that match the first name with a match: by name, then address, then short name.

    More than one result means that the name is ambiguous; the caller captures none of them.
    """
    for name in names:
        for fits in (
            [host for host in hosts if host.name.lower() == name],
            [host for host in hosts if host.address.lower() == name],
            [host for host in hosts if _is_same_short_name(host.name.lower(), name)],
        ):
            if fits:
                return fits
    return []


def _is_same_short_name(item: str, other: str) -> bool:
    """Return whether one name is the other without its domain; different domains are different hosts."""
    return ("." not in item or "." not in other) and to_short_name(item) == to_short_name(other)


def to_short_name(name: str) -> str:
    """Return a host name up to its first dot; an address is returned unchanged."""
    head = name.lower().partition(".")[0]
    return name.lower() if head.isdigit() or ":" in name else head


def compute_capture_limit(tier: str, hosts: int) -> int:
    """Return how many hosts of a service may be captured at once at a tier: 10 %, at least one."""
    return max(1, min(int(hosts * MAX_SHARE), MAX_BY_TIER.get(tier, 0)))
