"""What a capture takes beside its plan: the requests of the service that is declared for its hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from collectors.bundle import options_of
from collectors.contract import Sentence, Tier
from collectors.plans import Plan, PlannedCollector
from collectors.registry import COLLECTORS
from culprit.captures import queries
from culprit.models import Host, Service

LOG, ACCEPTS = "app_metrics", "accepts"
DIFFER = Sentence("capture.services_differ")
Options = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Beside:
    """A collector that measures a declared service, its options, and why it is taken."""

    collector: str
    options: Mapping[str, str]
    why: Sentence


def of_host(session: Session, host: Host) -> Beside | None:
    """What measures the host's declared service: its log, else its port. None where nothing light does."""
    return _chosen(queries.measurable_services(session), host)


def _chosen(services: Sequence[Service], host: Host) -> Beside | None:
    """Of several services the one whose log can be read, then the one that names most labels."""
    there = [one for one in services if one.selector.items() <= host.labels.items()]
    there.sort(key=lambda one: (one.source_kind != "access_log", -len(one.selector), one.name))
    return _beside(there[0]) if there else None


def _beside(service: Service) -> Beside | None:
    source, name = service.source, service.name
    if service.source_kind == "access_log":
        why = Sentence("capture.beside_log", {"service": name, "path": source["path"]})
        one = Beside(LOG, {"path": source["path"], "format": source["format"]}, why)
    else:
        port = str(source["port"])
        one = Beside(
            ACCEPTS, {"port": port}, Sentence("capture.beside_port", {"service": name, "port": port})
        )
    return one if COLLECTORS[one.collector].tier is Tier.LIGHT and _takes(one) else None


def _takes(one: Beside) -> bool:
    """Whether the collector takes these options: a service that was declared otherwise stops no capture."""
    try:
        options_of(COLLECTORS[one.collector], one.options)
    except ValueError:
        return False
    return True


def of_hosts(session: Session, hosts: Sequence[Host]) -> tuple[Beside | None, Sentence | None]:
    """What measures the services of all these hosts alike, and why nothing does where they differ.

    A capture has one set of options for all its hosts: a log of one service is not read on hosts of another.
    """
    services = queries.measurable_services(session)
    found = [_chosen(services, host) for host in hosts]
    first = found[0] if found else None
    if first is None or any(_same(one) != _same(first) for one in found):
        return None, DIFFER if any(found) else None
    return first, None


def _same(one: Beside | None) -> object:
    return (one.collector, dict(one.options)) if one else None


def with_it(plan: Plan, options: Options, beside: Beside | None) -> tuple[Plan, dict[str, dict[str, str]]]:
    """The plan and its options with what is taken beside them; what somebody chose themselves stays as it is."""
    given = {name: dict(values) for name, values in options.items()}
    if beside is None or beside.collector in given:
        return plan, given
    given[beside.collector] = dict(beside.options)
    if all(one.id != beside.collector for one in plan.collectors):
        seconds = max(1, min(plan.seconds, COLLECTORS[beside.collector].seconds_max))
        plan = replace(plan, collectors=(*plan.collectors, PlannedCollector(beside.collector, seconds)))
    return plan, given
