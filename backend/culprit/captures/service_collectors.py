"""Collectors that are added to a plan to measure the service of its hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from collectors.contract import Sentence, Tier
from collectors.plans import Plan, PlannedCollector
from collectors.registry import COLLECTORS
from collectors.runner.program import resolve_options
from culprit.captures import queries
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service

LOG, ACCEPTS = "app_metrics", "accepts"
SERVICES_DIFFER = Sentence("capture.services_differ")
Options = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ServiceCollector:
    """A collector that measures a service, its options, and the reason."""

    collector: str
    options: Mapping[str, str]
    why: Sentence


def select_for_host(session: Session, host: Host) -> ServiceCollector | None:
    """Return the collector for the service of the host, or None if no light collector can measure it.

    A collector of its log is preferred to a collector of its port.
    """
    return _select_preferred(queries.list_measurable_services(session), host)


def _select_preferred(services: Sequence[Service], host: Host) -> ServiceCollector | None:
    """Prefer a service with a readable log, then the one with the most labels."""
    there = [service for service in services if service.selector.items() <= host.labels.items()]
    there.sort(key=lambda item: (item.source_kind != "access_log", -len(item.selector), item.name))
    return _build_collector(there[0]) if there else None


def _build_collector(service: Service) -> ServiceCollector | None:
    source, name = service.source, service.name
    if service.source_kind == "access_log":
        why = Sentence("capture.service_log", {"service": name, "path": source["path"]})
        service_collector = ServiceCollector(LOG, {"path": source["path"], "format": source["format"]}, why)
    else:
        port = str(source["port"])
        service_collector = ServiceCollector(
            ACCEPTS, {"port": port}, Sentence("capture.service_port", {"service": name, "port": port})
        )
    return (
        service_collector
        if COLLECTORS[service_collector.collector].tier is Tier.LIGHT and _is_accepted(service_collector)
        else None
    )


def _is_accepted(service_collector: ServiceCollector) -> bool:
    """Return whether the collector accepts these options. An incompatible service does not prevent a capture."""
    try:
        resolve_options(COLLECTORS[service_collector.collector], service_collector.options)
    except ValueError:
        return False
    return True


def select_for_hosts(
    session: Session, hosts: Sequence[Host]
) -> tuple[ServiceCollector | None, Sentence | None]:
    """Return the collector that measures the services of all hosts, or the reason why there is none.

    A capture has one set of options for all its hosts, so that a log of one service is not read on hosts of
    another.
    """
    services = queries.list_measurable_services(session)
    services_by_host = [_select_preferred(services, host) for host in hosts]
    first = services_by_host[0] if services_by_host else None
    if first is None or any(_get_identity(host) != _get_identity(first) for host in services_by_host):
        return None, SERVICES_DIFFER if any(services_by_host) else None
    return first, None


def _get_identity(service_collector: ServiceCollector | None) -> object:
    return (service_collector.collector, dict(service_collector.options)) if service_collector else None


def add_to_plan(
    plan: Plan, options: Options, service_collector: ServiceCollector | None
) -> tuple[Plan, dict[str, dict[str, str]]]:
    """Return the plan and its options with the service collector added. Options that the requester set are kept."""
    supplied = {name: dict(values) for name, values in options.items()}
    if service_collector is None or service_collector.collector in supplied:
        return plan, supplied
    supplied[service_collector.collector] = dict(service_collector.options)
    if all(collector.id != service_collector.collector for collector in plan.collectors):
        seconds = max(1, min(plan.seconds, COLLECTORS[service_collector.collector].seconds_max))
        plan = replace(
            plan, collectors=(*plan.collectors, PlannedCollector(service_collector.collector, seconds))
        )
    return plan, supplied


def service_collector_options(session: Session, host: Host) -> dict[str, dict[str, str]]:
    """Return the options of the collector that measures the host's service, by collector; empty if none does."""
    selected = select_for_host(session, host)
    return {selected.collector: dict(selected.options)} if selected else {}
