"""What differs between two selections, over HTTP: two ranges of one host, and two hosts."""

from __future__ import annotations

from typing import Any

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.event import StoredEvent
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs

from collectors.tests.fixture_files import fixture_folder

API = "/api/v1"
SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
T0_NS = 1_790_000_000 * SECOND_NS
BOOT_NS = 500 * SECOND_NS
FACTS = (fixture_folder("host_facts") / "debian-12-kernel6.18" / "samples").read_bytes()


def with_swappiness(value: str) -> bytes:
    before, path, rest = FACTS.rpartition(b"/proc/sys/vm/swappiness\n")
    return before + path + value.encode() + rest[rest.index(b"\n") :]


def capture(db: Any, host: object, minute: int, busy: dict[int, int], facts: bytes = FACTS) -> None:
    """One minute of 4 CPUs, of which those in `busy` run that many ticks of 100 per second; the others 10."""
    boot = BOOT_NS + minute * MINUTE_NS
    rows = []
    for tick in range(60):
        user = [tick * busy.get(cpu, 10) + tick % 3 for cpu in range(4)]
        idle = [tick * 100 - ticks for ticks in user]
        lines = [f"cpu  {sum(user)} 0 0 {sum(idle)} 0 0 0 0 0 0\n"]
        lines += [f"cpu{cpu} {user[cpu]} 0 0 {idle[cpu]} 0 0 0 0 0 0\n" for cpu in range(4)]
        rows.append("".join(lines))
    loads = [runs.loadavg(tick % 4) for tick in range(60)]
    parts = {
        "cpu_stat": {"samples": runs.sampled("/proc/stat", rows, boot)},
        "loadavg": {"samples": runs.sampled("/proc/loadavg", loads, boot)},
        "host_facts": {"samples": facts},
    }
    clock = runs.clock_now(boot, T0_NS + boot - BOOT_NS)
    waiting = runs.waiting_run(db, artifact_store(), parts, host_id=host, clock=clock)
    assert ingest_run(waiting.run_id) == "done"


def differences(client: Any, before: tuple[object, int], after: tuple[object, int], **query: Any) -> Any:
    for name, (host, minute) in (("before", before), ("after", after)):
        start = T0_NS + minute * MINUTE_NS
        query |= {f"{name}_host": host, f"{name}_from_ns": start, f"{name}_to_ns": start + MINUTE_NS}
    return client.get(f"{API}/differences", params=query)


@pytest.fixture
def host(db) -> object:
    host = runs.make_host(db, "feed-7", {"role": "feed"})
    capture(db, host, 0, {})
    capture(db, host, 10, {2: 90}, with_swappiness("10"))
    return host


def test_the_cpu_that_became_busy_comes_first(as_, host) -> None:
    body = differences(as_("viewer"), (host, 0), (host, 10)).json()
    first = next(item for item in body["series"] if item["metric"] == "cpu.busy_pct")
    assert (first["axis"], first["column"]) == ("cpu", "2")
    assert (first["columns"], first["columns_changed"]) == (4, 1)
    assert first["before"]["mean"] == pytest.approx(10, abs=1)
    assert first["after"]["mean"] == pytest.approx(90, abs=1)
    assert first["steps"] > 10
    assert first["unit"] == "pct"
    assert 2 < len(first["after"]["points"]) <= 60
    steps = [abs(item["steps"]) for item in body["series"] if item["steps"] is not None]
    assert steps == sorted(steps, reverse=True)
    assert body["series_changed"] == len(body["series"])
    assert body["series_equal"] > 0, "the load averages are the same"
    assert not any(item["metric"].startswith("load") for item in body["series"])


def test_swapped_selections_change_the_sign(as_, host) -> None:
    there = differences(as_("viewer"), (host, 0), (host, 10)).json()
    back = differences(as_("viewer"), (host, 10), (host, 0)).json()
    grew = {item["metric"] for item in there["series"] if (item["steps"] or 0) > 0}
    shrank = {item["metric"] for item in back["series"] if (item["steps"] or 0) < 0}
    assert "cpu.busy_pct" in grew & shrank


def test_the_limit_keeps_the_total(as_, host) -> None:
    body = differences(as_("viewer"), (host, 0), (host, 10), limit=1).json()
    assert len(body["series"]) == 1 < body["series_changed"]


def test_a_setting_that_changed_in_between_is_listed_with_its_lines(as_, host) -> None:
    body = differences(as_("viewer"), (host, 0), (host, 10)).json()
    [fact] = [item for item in body["facts"] if item["name"] == "sysctl.vm.swappiness"]
    assert fact["after"]["value"] == "10" != fact["before"]["value"]
    assert fact["after"]["line"] and fact["after"]["artifact_id"]
    assert body["settings"] == []


def test_events_are_counted_per_kind(as_, host, db) -> None:
    with unit_of_work(db.sessions) as session:
        session.add_all(
            StoredEvent(
                host_id=host, t_ns=T0_NS + (10 * 60 + at) * SECOND_NS, kind="oom_kill", severity="critical",
                title={"key": "event.oom_kill", "params": {"n": at}}, detail="",
            )
            for at in (5, 7)
        )  # fmt: skip
    body = differences(as_("viewer"), (host, 0), (host, 10)).json()
    event = body["events"][0]
    assert (event["kind"], event["before"], event["after"]) == ("oom_kill", 0, 2)
    assert event["after_per_hour"] == pytest.approx(120)
    assert event["title"]["params"] == {"n": 7}, "the newest"


def test_two_hosts_are_compared_with_their_settings(as_, host, db) -> None:
    other = runs.make_host(db, "feed-8", {"role": "feed"})
    capture(db, other, 0, {1: 60}, with_swappiness("1"))
    body = differences(as_("viewer"), (host, 0), (other, 0)).json()
    assert (body["before"]["host"]["name"], body["after"]["host"]["name"]) == ("feed-7", "feed-8")
    busy = next(item for item in body["series"] if item["metric"] == "cpu.busy_pct")
    assert busy["column"] == "1"
    setting = next(item for item in body["settings"] if item["name"] == "sysctl.vm.swappiness")
    assert setting["after"] == "1" != setting["before"]
    assert body["facts"] == []


def test_a_metric_that_a_side_lacks_is_not_compared(as_, host) -> None:
    body = differences(as_("viewer"), (host, 5), (host, 10)).json()
    assert body["before"]["series"] == 0
    assert "cpu.busy_pct" in body["metrics_after_only"]
    assert body["series"] == body["appeared"] == []


def test_the_same_selection_twice_is_refused(as_, host) -> None:
    answer = differences(as_("viewer"), (host, 0), (host, 0))
    assert answer.status_code == 422
    assert answer.json()["key"] == "differences.same_selection"


def test_a_host_outside_the_label_scope_does_not_exist(as_, host, db) -> None:
    other = runs.make_host(db, "db-1", {"role": "db"})
    assert differences(as_("scoped"), (host, 0), (host, 10)).status_code == 200
    assert differences(as_("scoped"), (host, 0), (other, 10)).status_code == 404
    assert differences(as_("scoped"), (other, 0), (host, 10)).status_code == 404
