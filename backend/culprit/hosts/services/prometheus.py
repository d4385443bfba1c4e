"""Query a service's Prometheus: four quantiles, the rate and the errors, one `query_range` each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from collectors.parse.reports.prometheus_import import QUANTILES
from culprit.accounts import sealed_columns
from culprit.infra.models.hosts.service import Service
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError, Reply, Request, parse_base_url, send_request
from culprit.infra.vault import Vault

MAX_STEPS = 600
"""Values of one series in one answer. Prometheus itself refuses more than 11000."""


@dataclass(frozen=True, slots=True)
class QueryRange:
    """Seconds of UTC from `start_s` to `end_s`, in at most `steps` steps of at least `least_s` seconds."""

    start_s: float
    end_s: float
    steps: int = MAX_STEPS
    least_s: int = 1

    @property
    def step_s(self) -> int:
        """Return the step in whole seconds, so that all queries of a range have the same times."""
        return max(self.least_s, math.ceil((self.end_s - self.start_s) / self.steps))


@dataclass(frozen=True, slots=True)
class PrometheusSource:
    """Server, token and queries, read from the database before the network is used."""

    service: str
    url: str
    queries: Mapping[str, str]
    latency_unit: str
    token: str | None = field(repr=False)
    rules: tuple[AddressRule, ...] = ()


def load_source(row: Service, rules: tuple[AddressRule, ...], box: Vault) -> PrometheusSource:
    """Return the source of a service with Prometheus. Raises SecretUnreadableError."""
    source: Mapping[str, Any] = row.source
    queries = dict(_build_queries(source["queries"]))
    return PrometheusSource(
        row.name, source["url"], queries, source["latency_unit"], sealed_columns.open_secret(row, box), rules
    )


def _build_queries(supplied: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "rate", supplied["rate"]
    yield "errors", supplied["errors"]
    for name, quantile in QUANTILES.items():
        yield name, supplied["latency"].replace("$quantile", quantile)


def query_range(
    prometheus_source: PrometheusSource, name: str, window: QueryRange, *, total_s: float
) -> Reply:
    """Run one query. Raises OutgoingError; a refused query is a reply with its reason."""
    endpoint = parse_base_url(prometheus_source.url)
    reported = urlencode(
        {
            "query": prometheus_source.queries[name],
            "start": f"{window.start_s:.3f}",
            "end": f"{window.end_s:.3f}",
            "step": window.step_s,
            "timeout": f"{max(1, int(total_s))}s",
        }
    )
    secret = {"Authorization": f"Bearer {prometheus_source.token}"} if prometheus_source.token else {}
    request = Request(endpoint, f"{endpoint.path}/api/v1/query_range?{reported}", secret)
    reply = send_request(request, prometheus_source.rules, total_s=total_s)
    # 400 and 422 have a reason in the same form; other states are not from Prometheus' query API.
    if reply.status not in {200, 400, 422}:
        raise OutgoingError("status", host=endpoint.host, status=reply.status)
    return reply
