"""The newest values of rules as Prometheus metrics.

A value carries no timestamp of its own, and is there only while it is fresh: a scraper that does not find it any more
marks the series as stale, which no timestamp would make it do. When a host was measured is a metric beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.core.exposition import Named, Value, chosen, named
from culprit.core.rules.read import unit_of
from culprit.core.rules.registry import RULES
from culprit.exports import queries
from culprit.fleet import read
from culprit.fleet.read import Seen
from culprit.kit.clock import now

MOST_VALUES = 20_000
NAMED: dict[str, Named] = {
    rule.id: named(rule.id, rule.title, unit_of(rule.measure)) for rule in RULES.values()
}


def exposition(
    session: Session,
    actor: Actor,
    rules: frozenset[str],
    labels: Sequence[tuple[str, str]],
    max_age: timedelta,
) -> bytes:
    """The text that is scraped. Raises Forbidden."""
    glance = read.glance(session, actor, labels)
    found, hosts_left_out = read.fleet(session, glance)
    since = now() - max_age
    values, left_out = chosen(_values(found, since), rules, MOST_VALUES)
    services = queries.services_of(session, actor, [one.row.id for one in found])
    families = [
        *_rules(values),
        _measured(found),
        _services(found, services),
        _gauge(
            "culprit_rule_hosts_left_out", "Hosts that are not told of: 500 are the most.", hosts_left_out
        ),
        _gauge("culprit_rule_values_left_out", "Values of rules that were left out as too many.", left_out),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(families))
    return generate_latest(registry)


class _Given(Collector):
    """What was found, as the library wants it."""

    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Any:
        """All of it."""
        return self._families

    def describe(self) -> Any:
        """Nothing beforehand."""
        return []


def _values(found: Sequence[Seen], since: datetime) -> Iterator[Value]:
    for seen in found:
        for word in seen.words.values():
            if read.at(seen.looks[word.look]) >= since:
                fired = {"fired": True, "quiet": False}.get(word.state)
                yield Value(word.rule, seen.row.name, word.value, fired)


def _rules(values: Sequence[Value]) -> list[GaugeMetricFamily]:
    fired = GaugeMetricFamily(
        "culprit_rule_fired",
        "Whether a rule fired when it was last asked of a host; missing where it could not tell.",
        labels=["rule", "host"],
    )
    families: dict[str, GaugeMetricFamily] = {}
    for one in values:
        metric = NAMED[one.rule]
        if one.fired is not None:
            fired.add_metric([one.rule, one.host], float(one.fired))
        if one.value is None:
            continue
        if metric.name not in families:
            families[metric.name] = GaugeMetricFamily(metric.name, metric.help, labels=["host"])
        families[metric.name].add_metric([one.host], one.value * metric.factor)
    return [fired, *families.values()]


def _measured(found: Sequence[Seen]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "culprit_host_measured_timestamp_seconds",
        "When a host was last measured, by its own clock as it was aligned.",
        labels=["host"],
    )
    for seen in found:
        if seen.looks:
            family.add_metric([seen.row.name], seen.looks[0].t1_ns / 1e9)
    return family


def _services(found: Sequence[Seen], services: Sequence[tuple[Any, str]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "culprit_host_service_info",
        "Which services run on a host, to be joined with.",
        labels=["host", "service"],
    )
    names = {seen.row.id: seen.row.name for seen in found}
    for host_id, service in services:
        family.add_metric([names[host_id], service], 1.0)
    return family


def _gauge(name: str, says: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, value=value)
