"""The forecast of a host follows its preflight check and what its last runs took."""

from __future__ import annotations

import time
from datetime import timedelta
from uuid import UUID

import pytest
from culprit.captures.forecast import forecast_collector_pct, forecast_symbols, load_host_sizes
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.preflight import Preflight

from collectors.cost import HostSize, forecast_cpu_s
from collectors.parse.perf import perf_data
from collectors.runner import symbols

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


def add_fetch(db, host: UUID, cpu_s: float, sent: int, known: int = 0) -> None:
    """Add a run with symbols: those that were known before the fetch, and those that the host sent."""
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="custom", collectors=[], state="done")
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, host_id=host, state="done")
        session.add(run)
        session.flush()
        fetch = RunCollector(
            run_id=run.id, collector=symbols.ID, state="done", cpu_ms=1000 * cpu_s, started_ns=time.time_ns()
        )
        session.add(fetch)
        session.flush()
        for size, at in ((sent, utc_now()), (known, utc_now() - timedelta(seconds=9))):
            session.add(
                Artifact(
                    run_id=run.id, run_collector_id=fetch.id, part=f"{size}.blocks", sha256="0" * 64, size=9 * size,
                    stored_size=size, created_at=at,
                )
            )  # fmt: skip


def forecast(db, *hosts: UUID, collectors: tuple[str, ...] = ("perf_record",)):
    with db.sessions() as session:
        return forecast_symbols(session, hosts, collectors)


@pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not installed")
def test_the_forecast_of_symbols_follows_the_last_fetches(db, make_host):
    host, other = (UUID(str(make_host(name, {}))) for name in ("web-1", "web-2"))
    assert forecast(db, host, collectors=("meminfo", "perf_sched")) is None
    first = forecast(db, host)
    assert (first.is_first, first.bytes, first.cpu_s) == (True, 10_000_000, 0.9)
    assert first.text["key"] == "capture.symbols_first" and first.max_bytes == symbols.MAX_BYTES
    add_fetch(db, host, 0.8, 4_000_000)
    add_fetch(db, host, 0, 0, known=4_000_000)
    again = forecast(db, host)
    assert (again.is_first, again.bytes, again.cpu_s) == (False, 2_000_000, 0.4)
    assert again.text["key"] == "capture.symbols_again" and again.text["params"]["mb"] == 2.0
    assert forecast(db, host, other) == first, "the host where it costs most"
    for _ in range(5):
        add_fetch(db, host, 0, 0, known=4_000_000)
    assert forecast(db, host).bytes == 0
