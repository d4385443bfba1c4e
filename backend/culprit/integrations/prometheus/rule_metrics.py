"""Render the latest values of rules as Prometheus metrics.

A value has no timestamp and is present only while it is recent: a scraper then marks the series as stale,
which it does not do for a value with a timestamp. A separate metric holds the time of the measurement of each
host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.analysis.fleet import responses
from culprit.analysis.fleet.responses import FleetHostRow
from culprit.domain.integrations.prometheus import PrometheusMetric, RuleValue, build_metric, select_values
from culprit.domain.rules.readings import get_unit
from culprit.domain.rules.registry import RULES
from culprit.infra.db.clock import utc_now
from culprit.integrations.prometheus import queries

MAX_VALUES = 20_000
NAMED: dict[str, PrometheusMetric] = {
    rule.id: build_metric(rule.id, rule.title, get_unit(rule.measure)) for rule in RULES.values()
}


def render_exposition(
    session: Session,
    actor: Actor,
    rules: frozenset[str],
    labels: Sequence[tuple[str, str]],
    max_age: timedelta,
) -> bytes:
    """Return the text that is scraped. Raises ForbiddenError."""
    snapshot = responses.load_snapshot(session, actor, labels)
    result, hosts_left_out = responses.load_hosts(session, snapshot)
    since = utc_now() - max_age
    values, left_out = select_values(_iter_rule_values(result, since), rules, MAX_VALUES)
    services = queries.list_host_services(session, actor, [item.row.id for item in result])
    families = [
        *_build_rule_families(values),
        _build_age_family(result),
        _build_service_family(result, services),
        _build_gauge(
            "culprit_rule_hosts_left_out",
            "Hosts without values because of the limit of 500 hosts.",
            hosts_left_out,
        ),
        _build_gauge(
            "culprit_rule_values_left_out", "Values of rules that were left out as too many.", left_out
        ),
    ]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_FixedCollector(families))
    return generate_latest(registry)


class _FixedCollector(Collector):
    """Collector with given values, in the form of the client library."""

    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Any:
        """Return all metrics."""
        return self._families

    def describe(self) -> Any:
        """Return no metrics, so that registration collects nothing."""
        return []


def _iter_rule_values(host_rows: Sequence[FleetHostRow], since: datetime) -> Iterator[RuleValue]:
    for host in host_rows:
        for rule_result in host.results.values():
            if responses.get_end_time(host.runs[rule_result.run_index]) >= since:
                matched = {"matched": True, "not_matched": False}.get(rule_result.state)
                yield RuleValue(rule_result.rule, host.row.name, rule_result.value, matched)


def _build_rule_families(values: Sequence[RuleValue]) -> list[GaugeMetricFamily]:
    matched = GaugeMetricFamily(
        "culprit_rule_matched",
        "Whether a rule matched in the last evaluation of a host; absent if inconclusive.",
        labels=["rule", "host"],
    )
    families: dict[str, GaugeMetricFamily] = {}
    for value in values:
        metric = NAMED[value.rule]
        if value.matched is not None:
            matched.add_metric([value.rule, value.host], float(value.matched))
        if value.value is None:
            continue
        if metric.name not in families:
            families[metric.name] = GaugeMetricFamily(metric.name, metric.help, labels=["host"])
        families[metric.name].add_metric([value.host], value.value * metric.factor)
    return [matched, *families.values()]


def _build_age_family(host_rows: Sequence[FleetHostRow]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "culprit_host_measured_timestamp_seconds",
        "When a host was last measured, by its own clock as it was aligned.",
        labels=["host"],
    )
    for host in host_rows:
        if host.runs:
            family.add_metric([host.row.name], host.runs[0].t1_ns / 1e9)
    return family


def _build_service_family(
    host_rows: Sequence[FleetHostRow], services: Sequence[tuple[Any, str]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "culprit_host_service_info",
        "Which services run on a host, to be joined with.",
        labels=["host", "service"],
    )
    names = {host.row.id: host.row.name for host in host_rows}
    for host_id, service in services:
        family.add_metric([names[host_id], service], 1.0)
    return family


def _build_gauge(name: str, message: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, message, value=value)
