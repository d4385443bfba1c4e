"""A host against its own earlier facts: real recordings that are altered in single lines, read one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from culprit.domain.hosts.fact_names import FactReading, list_preflight_facts
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.jobs.ingest.store_facts import FactReader, store_facts
from culprit.tests.support import runs
from sqlalchemy import func, select

from collectors.tests.fixture_files import fixture_folder

API = "/api/v1"
HOUR_NS = 3600 * 10**9
NOW_NS = 1_795_500_000 * 10**9
BOOT_NS = 4_725_150_000_000
FACTS = (fixture_folder("host_facts") / "debian-12-kernel6.18" / "samples").read_bytes()
MOUNTS = (fixture_folder("mounts") / "debian-12-osync" / "stdout").read_bytes()
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
    [entry] = changes(as_("investigator"), host)["changes"]
    assert (entry["source"], entry["name"]) == ("host_facts", "sysctl.vm.swappiness")
    assert entry["before"]["run_id"] == str(second) != str(first), "the last reading before it"
    assert entry["after"]["value"] == "10"
    assert (
        entry["before"]["at_ns"] - NOW_NS == 5 * HOUR_NS and entry["after"]["at_ns"] - NOW_NS == 9 * HOUR_NS
    )
    client = as_("investigator")
    assert (
        line_of(client, entry["before"]) == entry["before"]["value"] == "60"
        and line_of(client, entry["after"]) == "10"
    )
    sections = client.get(f"{API}/hosts/{host}/context").json()["sections"]
    [item] = [item for section in sections for item in section["items"] if item["id"] == "fact"]
    assert (item["name"], item["value"], item["previous"]) == ("sysctl.vm.swappiness", "10", "60")
    assert item["citation"]["lines"] == item["previous_citation"]["lines"] == [entry["after"]["line"]]
    assert item["citation"]["artifact"] != item["previous_citation"]["artifact"]
    assert item["at_s"] - item["previous_at_s"] == 4 * 3600


def test_a_mount_comes_and_goes(as_, host, look) -> None:
    look(0)
    look(1, mounts=MOUNTS.replace(b"= mountinfo\n", b"= mountinfo\n" + DISK))
    look(2, mounts=MOUNTS.replace(b"= mountinfo\n", b"= mountinfo\n" + DISK.replace(b"noatime", b"relatime")))
    look(3)
    values = [
        (change["before"]["value"], change["after"]["value"])
        for change in changes(as_("viewer"), host)["changes"]
    ]
    noatime, relatime = (f"/dev/sdb xfs rw,{option},logbufs=8" for option in ("noatime", "relatime"))
    assert values == [(relatime, None), (noatime, relatime), (None, noatime)]


def test_what_was_not_read_in_full_is_not_gone(as_, host, look) -> None:
    look(0, mounts=MOUNTS.replace(b"= mountinfo\n", b"= mountinfo\n" + DISK))
    look(1, state="timed_out")
    assert changes(as_("viewer"), host)["changes"] == []
    look(2, facts=FACTS[: len(FACTS) // 2])
    assert [
        change for change in changes(as_("viewer"), host)["changes"] if change["name"].startswith("sysctl.")
    ] == []


def test_facts_that_stay_cost_no_row(session, host, look) -> None:
    look(0)
    count = session.scalar(select(func.count()).select_from(HostFact))
    assert count > 50
    for hour in (1, 2):
        run_id = look(hour)
    assert session.scalar(select(func.count()).select_from(HostFact)) == count
    seen = session.scalars(select(HostFact.seen_ns).distinct()).all()
    assert [item - NOW_NS for item in seen] == [2 * HOUR_NS]
    assert session.scalars(select(HostFact.last_run_id).distinct()).all() == [run_id]
    rows = select(HostFact.id, HostFact.value, HostFact.since_ns, HostFact.seen_ns).order_by(HostFact.id)
    before = session.execute(rows).all()
    ingest_run(run_id)
    assert session.execute(rows).all() == before, "reading a run again changes nothing"


def test_an_older_recording_that_comes_later_falls_into_its_place(db, as_, host, look) -> None:
    look(9, setting("10"))
    look(0)
    run_id = look(5, setting("10"))
    [item] = changes(as_("viewer"), host)["changes"]
    assert (item["before"]["at_ns"] - NOW_NS, item["after"]["at_ns"] - NOW_NS) == (0, 5 * HOUR_NS)
    with unit_of_work(db.sessions) as session:
        for artifact in session.scalars(select(Artifact).where(Artifact.run_id == run_id)):
            session.delete(artifact)
    [item] = changes(as_("viewer"), host)["changes"]
    assert item["after"]["artifact_id"] is None and item["after"]["value"] == "10", "it outlives the bytes"


def test_what_is_known_and_since_when(as_, host, look) -> None:
    empty = changes(as_("viewer"), host)
    assert (empty["first_ns"], empty["last_ns"], empty["facts"], empty["changes"]) == (None, None, 0, [])
    look(0)
    reported = changes(as_("viewer"), host, since_ns=NOW_NS + 6 * HOUR_NS)
    assert reported["changes_total"] == 0 and reported["first_ns"] == NOW_NS and reported["facts"] > 50
    bad = as_("viewer").get(f"{API}/hosts/{host}/changes", params={"since_ns": 5, "until_ns": 5})
    assert (bad.status_code, bad.json()["key"]) == (422, "timeline.empty_range")


def test_a_look_at_the_host_is_remembered_without_an_artifact(db, as_, host) -> None:
    facts = {"arch": "x86_64", "mem_bytes": 1 << 34, "tools": {"perf": "6.1"}, "uptime": 5}
    for hour, memory in enumerate((1 << 34, 1 << 35)):
        with unit_of_work(db.sessions) as session:
            preflight_facts = list_preflight_facts({**facts, "mem_bytes": memory})
            store_facts(
                session, host, FactReader("preflight", NOW_NS + hour * HOUR_NS), preflight_facts, whole=False
            )
    [item] = changes(as_("viewer"), host)["changes"]
    assert (item["name"], item["before"]["value"], item["after"]["value"]) == (
        "mem_bytes",
        str(1 << 34),
        str(1 << 35),
    )
    assert item["before"]["artifact_id"] is item["after"]["artifact_id"] is None


def test_a_host_that_never_stays_the_same_is_bounded(db, session, host, monkeypatch) -> None:
    monkeypatch.setattr("culprit.jobs.ingest.store_facts.MAX_SPANS", 10)
    for hour in range(30):
        with unit_of_work(db.sessions) as opened:
            facts = [FactReading("a", str(hour), "", None), FactReading("b", "same", "", None)]
            store_facts(opened, host, FactReader("x", NOW_NS + hour), facts, whole=True)
    rows = session.scalars(select(HostFact)).all()
    assert len(rows) == 10 and {row.value for row in rows if row.name == "b"} == {"same"}
    assert UUID(str(rows[0].host_id)) == UUID(str(host))
