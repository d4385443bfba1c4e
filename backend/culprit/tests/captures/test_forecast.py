"""The forecast of a host follows its preflight check and what its last runs took."""

from __future__ import annotations

from uuid import UUID

import pytest
from culprit.captures.forecast import forecast_collector_pct, load_host_sizes
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.preflight import Preflight

from collectors.cost import HostSize, forecast_cpu_s

SECONDS = {"meminfo": 10, "limits": 10}


def add_run(db, host: UUID, cpu_s: float, collectors: dict[str, int]) -> None:
    with unit_of_work(db.sessions) as session:
        items = [{"id": name, "seconds": seconds} for name, seconds in collectors.items()]
        capture = Capture(plan="custom", collectors=items, state="done")
        session.add(capture)
        session.flush()
        session.add(Run(capture_id=capture.id, host_id=host, state="done", host_cpu_ms=1000 * cpu_s))


def load_size(db, host: UUID) -> HostSize:
    with db.sessions() as session:
        return load_host_sizes(session, [host])[host]


def test_a_host_without_a_preflight_check_has_the_default_size(db, make_host):
    assert load_size(db, UUID(str(make_host("web-1", {})))) == HostSize()


def test_the_size_is_that_of_the_preflight_check(db, make_host):
    host = UUID(str(make_host("web-1", {})))
    with unit_of_work(db.sessions) as session:
        session.add(
            Preflight(host_id=host, state="done", facts={"processes": 5000, "start_us": 2000, "sockets": 0})
        )
    size = load_size(db, host)
    assert (size.processes, size.start_us, size.sockets) == (5000, 2000, HostSize().sockets)


def test_the_last_runs_correct_the_forecast(db, make_host):
    host = UUID(str(make_host("web-1", {})))
    expected = sum(forecast_cpu_s(SECONDS, HostSize()).values())
    for ratio in (9.0, 1.4, 1.5, 1.6):
        add_run(db, host, ratio * expected, SECONDS)
    assert load_size(db, host).correction == pytest.approx(1.5)
    add_run(db, host, 100 * expected, SECONDS | {"perf_record": 10})
    assert load_size(db, host).correction < 2, "runs with other tiers are no guide"


def test_of_several_hosts_the_most_expensive_counts():
    slow = HostSize(start_us=9000)
    both = forecast_collector_pct(SECONDS, [HostSize(), slow])
    assert both == forecast_collector_pct(SECONDS, [slow])
    assert sum(both.values()) > sum(forecast_collector_pct(SECONDS, [HostSize()]).values())
