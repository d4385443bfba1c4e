"""Measure how much is stored: by kind and day, by kind and host. Reads rows only, no files."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.orm import Session

from culprit.evidence.retention.citation_queries import find_cited_runs
from culprit.evidence.retention.sources import STORAGE_KINDS
from culprit.evidence.retention.usage_queries import (
    get_database_size,
    load_host_names,
    sum_by_day,
    sum_by_host,
    sum_relations,
    sum_removed,
    sum_total,
)
from culprit.infra.artifacts.store import ArtifactStore
from culprit.json_types import Json

MAX_HOSTS = 100
#: Tables that retention does not delete from, and why; their `pg_total_relation_size` is reported as permanent.
PERMANENT_TABLES = {
    "audit": ("audit_entry",),
    "reports": ("report", "report_version", "report_share", "report_visit"),
    "answers": ("finding", "evaluation", "diagnosis"),
    "incidents": (
        "incident",
        "incident_run",
        "journal_entry",
        "pin",
        "step_verdict",
        "verdict_pin",
        "hypothesis",
    ),
}


def measure_storage(session: Session, store: ArtifactStore) -> Json:
    """Return what is stored, in bytes. Days are UTC days of the runs, as `2026-01-31`."""
    cited = list(find_cited_runs(session))
    kinds: Json = {}
    days: dict[str, dict[str, int]] = {}
    hosts: dict[str, dict[str, int]] = {}
    for kind, source in STORAGE_KINDS.items():
        kinds[kind] = sum_total(session, source, cited)
        days[kind] = sum_by_day(session, source)
        for host_id, size in sum_by_host(session, source):
            hosts.setdefault(str(host_id) if host_id else "", {})[kind] = size
    space = store.space()
    return {
        "disk": {"total": space.total, "free": space.free, "low": space.is_low},
        "database_bytes": get_database_size(session),
        "kinds": kinds,
        "permanent": {name: sum_relations(session, tables) for name, tables in PERMANENT_TABLES.items()},
        "days": days,
        "hosts": _list_largest_hosts(session, hosts),
        "removed": sum_removed(session),
    }


def _list_largest_hosts(session: Session, hosts: dict[str, dict[str, int]]) -> list[Json]:
    """Return the hosts that use the most space, and the others as one item."""
    order = sorted(hosts, key=lambda host: -sum(hosts[host].values()))
    displayed, others = order[:MAX_HOSTS], order[MAX_HOSTS:]
    ids = [UUID(item) for item in displayed if item]
    names = load_host_names(session, ids)
    reported: list[Json] = [
        {"host_id": item or None, "name": names.get(item, ""), "kinds": hosts[item]} for item in displayed
    ]
    if others:
        rest: dict[str, int] = {}
        for other in others:
            for kind, size in hosts[other].items():
                rest[kind] = rest.get(kind, 0) + size
        reported.append({"host_id": None, "name": "", "other_host_count": len(others), "kinds": rest})
    return reported
