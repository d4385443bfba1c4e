"""A host against its own earlier facts: real recordings that are altered in single lines, read one after another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from culprit.core.fact_names import Fact, of_check
from culprit.infra.artifacts import artifact_store
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, HostFact
from culprit.tests.support import runs
from culprit.workflows import keep_facts
from culprit.workflows.ingest_run import ingest_run
from culprit.workflows.keep_facts import Source, keep
from sqlalchemy import func, select

API = "/api/v1"
FIXTURES = Path(__file__).parents[4] / "collectors" / "tests" / "fixtures"
HOUR_NS = 3600 * 10**9
NOW_NS = 1_795_500_000 * 10**9
BOOT_NS = 4_725_150_000_000
FACTS = (FIXTURES / "host_facts" / "debian-12-kernel6.18" / "samples").read_bytes()
MOUNTS = (FIXTURES / "mounts" / "debian-12-osync" / "stdout").read_bytes()
DISK = b"99 73 8:16 / /data rw,noatime - xfs /dev/sdb rw,logbufs=8\n"


@pytest.fixture
def host(db) -> object:
    return runs.make_host(db, "feed-7", {"role": "feed"})


@pytest.fixture
def look(db, host) -> Callable[..., object]:
    """One run at an hour, of these bytes."""

    def take(hour: int, facts: bytes = FACTS, mounts: bytes = MOUNTS, state: str = "done") -> object:
        at_ns = NOW_NS + hour * HOUR_NS
        load = runs.sampled("/proc/loadavg", [runs.loadavg(tick) for tick in range(3)], BOOT_NS)
        parts = {"loadavg": {"samples": load}, "host_facts": {"samples": facts}, "mounts": {"stdout": mounts}}
        clock = runs.clock_now(BOOT_NS, at_ns)
        waiting = runs.waiting_run(
            db, artifact_store(), parts, host_id=host, clock=clock, states={"mounts": state}
        )
        ingest_run(waiting.run_id)
        return waiting.run_id

    return take


def changes(client: Any, host: object, **query: Any) -> dict[str, Any]:
    query = {"since_ns": NOW_NS - HOUR_NS, "until_ns": NOW_NS + 100 * HOUR_NS, **query}
    answer = client.get(f"{API}/hosts/{host}/changes", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def setting(value: str) -> bytes:
    before, path, rest = FACTS.rpartition(b"/proc/sys/vm/swappiness\n")
    return before + path + value.encode() + rest[rest.index(b"\n") :]


def line_of(client: Any, seen: dict[str, Any]) -> str:
    url = f"{API}/artifacts/{seen['artifact_id']}/lines"
    return client.get(url, params={"from": seen["line"], "count": 1}).json()["lines"][0]


def test_a_setting_that_changed_is_cited_at_both_ends(as_, host, look) -> None:
    first, second = look(0), look(5)
    look(9, setting("10"))
    [one] = changes(as_("investigator"), host)["changes"]
    assert (one["source"], one["name"]) == ("host_facts", "sysctl.vm.swappiness")
    assert one["before"]["run_id"] == str(second) != str(first), "the last reading before it"
    assert one["after"]["value"] == "10"
    assert one["before"]["at_ns"] - NOW_NS == 5 * HOUR_NS and one["after"]["at_ns"] - NOW_NS == 9 * HOUR_NS
    client = as_("investigator")
    assert (
        line_of(client, one["before"]) == one["before"]["value"] == "60"
        and line_of(client, one["after"]) == "10"
    )
    sections = client.get(f"{API}/hosts/{host}/context").json()["sections"]
    [item] = [one for section in sections for one in section["items"] if one["id"] == "fact"]
    assert (item["name"], item["value"], item["was"]) == ("sysctl.vm.swappiness", "10", "60")
    assert item["citation"]["lines"] == item["was_citation"]["lines"] == [one["after"]["line"]]
    assert item["citation"]["artifact"] != item["was_citation"]["artifact"]
    assert item["at_s"] - item["was_at_s"] == 4 * 3600


def test_a_mount_comes_and_goes(as_, host, look) -> None:
    look(0)
    look(1, mounts=MOUNTS.replace(b"= mountinfo\n", b"= mountinfo\n" + DISK))
    look(2, mounts=MOUNTS.replace(b"= mountinfo\n", b"= mountinfo\n" + DISK.replace(b"noatime", b"relatime")))
    look(3)
    told = [
        (one["before"]["value"], one["after"]["value"]) for one in changes(as_("viewer"), host)["changes"]
    ]
    noatime, relatime = (f"/dev/sdb xfs rw,{option},logbufs=8" for option in ("noatime", "relatime"))
    assert told == [(relatime, None), (noatime, relatime), (None, noatime)]


def test_what_was_not_read_in_full_is_not_gone(as_, host, look) -> None:
    look(0, mounts=MOUNTS.replace(b"= mountinfo\n", b"= mountinfo\n" + DISK))
    look(1, state="timed_out")
    assert changes(as_("viewer"), host)["changes"] == []
    look(2, facts=FACTS[: len(FACTS) // 2])
    assert [one for one in changes(as_("viewer"), host)["changes"] if one["name"].startswith("sysctl.")] == []


def test_facts_that_stay_cost_no_row(session, host, look) -> None:
    look(0)
    count = session.scalar(select(func.count()).select_from(HostFact))
    assert count > 50
    for hour in (1, 2):
        run_id = look(hour)
    assert session.scalar(select(func.count()).select_from(HostFact)) == count
    seen = session.scalars(select(HostFact.seen_ns).distinct()).all()
    assert [one - NOW_NS for one in seen] == [2 * HOUR_NS]
    assert session.scalars(select(HostFact.last_run_id).distinct()).all() == [run_id]
    rows = select(HostFact.id, HostFact.value, HostFact.since_ns, HostFact.seen_ns).order_by(HostFact.id)
    before = session.execute(rows).all()
    ingest_run(run_id)
    assert session.execute(rows).all() == before, "reading a run again changes nothing"


def test_an_older_recording_that_comes_later_falls_into_its_place(db, as_, host, look) -> None:
    look(9, setting("10"))
    look(0)
    run_id = look(5, setting("10"))
    [one] = changes(as_("viewer"), host)["changes"]
    assert (one["before"]["at_ns"] - NOW_NS, one["after"]["at_ns"] - NOW_NS) == (0, 5 * HOUR_NS)
    with unit_of_work(db.sessions) as session:
        for artifact in session.scalars(select(Artifact).where(Artifact.run_id == run_id)):
            session.delete(artifact)
    [one] = changes(as_("viewer"), host)["changes"]
    assert one["after"]["artifact_id"] is None and one["after"]["value"] == "10", "it outlives the bytes"


def test_what_is_known_and_since_when(as_, host, look) -> None:
    empty = changes(as_("viewer"), host)
    assert (empty["first_ns"], empty["last_ns"], empty["facts"], empty["changes"]) == (None, None, 0, [])
    look(0)
    told = changes(as_("viewer"), host, since_ns=NOW_NS + 6 * HOUR_NS)
    assert told["changes_total"] == 0 and told["first_ns"] == NOW_NS and told["facts"] > 50
    bad = as_("viewer").get(f"{API}/hosts/{host}/changes", params={"since_ns": 5, "until_ns": 5})
    assert (bad.status_code, bad.json()["key"]) == (422, "timeline.empty_range")


def test_a_look_at_the_host_is_remembered_without_an_artifact(db, as_, host) -> None:
    facts = {"arch": "x86_64", "mem_bytes": 1 << 34, "tools": {"perf": "6.1"}, "uptime": 5}
    for hour, memory in enumerate((1 << 34, 1 << 35)):
        with unit_of_work(db.sessions) as session:
            told = of_check({**facts, "mem_bytes": memory})
            keep(session, host, Source("preflight", NOW_NS + hour * HOUR_NS), told, whole=False)
    [one] = changes(as_("viewer"), host)["changes"]
    assert (one["name"], one["before"]["value"], one["after"]["value"]) == (
        "mem_bytes",
        str(1 << 34),
        str(1 << 35),
    )
    assert one["before"]["artifact_id"] is one["after"]["artifact_id"] is None


def test_a_host_that_never_stays_the_same_is_bounded(db, session, host, monkeypatch) -> None:
    monkeypatch.setattr(keep_facts, "MAX_SPANS", 10)
    for hour in range(30):
        with unit_of_work(db.sessions) as opened:
            facts = [Fact("a", str(hour), "", None), Fact("b", "same", "", None)]
            keep(opened, host, Source("x", NOW_NS + hour), facts, whole=True)
    rows = session.scalars(select(HostFact)).all()
    assert len(rows) == 10 and {row.value for row in rows if row.name == "b"} == {"same"}
    assert UUID(str(rows[0].host_id)) == UUID(str(host))
