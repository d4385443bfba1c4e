"""Questions to a service's Prometheus: four quantiles, the rate and the errors, each by one `query_range`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from collectors.parse.prometheus_import import QUANTILES
from culprit.auth import sealed
from culprit.infra.addresses import Rule
from culprit.infra.outgoing import OutgoingError, Reply, Request, fetch, place_of
from culprit.infra.secrets import Vault
from culprit.models import Service

MAX_STEPS = 600
"""Values of one series in one answer. Prometheus itself refuses more than 11000."""


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds of UTC from `start_s` to `end_s`, in at most `steps` steps of at least `least_s` seconds."""

    start_s: float
    end_s: float
    steps: int = MAX_STEPS
    least_s: int = 1

    @property
    def step_s(self) -> int:
        """Whole seconds, so that all queries of a window share one grid."""
        return max(self.least_s, math.ceil((self.end_s - self.start_s) / self.steps))


@dataclass(frozen=True, slots=True)
class Asked:
    """All that is needed to ask, read from the database before the network is waited for."""

    service: str
    url: str
    queries: Mapping[str, str]
    latency_unit: str
    token: str | None = field(repr=False)
    rules: tuple[Rule, ...] = ()


def asked_of(row: Service, rules: tuple[Rule, ...], box: Vault) -> Asked:
    """The questions of a service whose source is Prometheus. Raises SecretUnreadable."""
    source: Mapping[str, Any] = row.source
    queries = dict(_queries(source["queries"]))
    return Asked(row.name, source["url"], queries, source["latency_unit"], sealed.opened(row, box), rules)


def _queries(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "rate", given["rate"]
    yield "errors", given["errors"]
    for name, quantile in QUANTILES.items():
        yield name, given["latency"].replace("$quantile", quantile)


def ask(asked: Asked, name: str, window: Window, *, total_s: float) -> Reply:
    """What Prometheus says to one query. Raises OutgoingError; a refused query is a reply with its reason."""
    place = place_of(asked.url)
    told = urlencode(
        {
            "query": asked.queries[name],
            "start": f"{window.start_s:.3f}",
            "end": f"{window.end_s:.3f}",
            "step": window.step_s,
            "timeout": f"{max(1, int(total_s))}s",
        }
    )
    secret = {"Authorization": f"Bearer {asked.token}"} if asked.token else {}
    request = Request(place, f"{place.path}/api/v1/query_range?{told}", secret)
    reply = fetch(request, asked.rules, total_s=total_s)
    # 400 and 422 carry a reason in the same form; anything else is no answer of Prometheus to this question.
    if reply.status not in {200, 400, 422}:
        raise OutgoingError("status", host=place.host, status=reply.status)
    return reply
