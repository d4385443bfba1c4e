"""Follow the call and Where am I over HTTP: two enrolled hosts, one of which really called the other."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Host
from culprit.tests.support import runs
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.ingest_run import ingest_run

API = "/api/v1"
FIXTURES = Path(__file__).parents[4] / "collectors" / "tests" / "fixtures"
NOW_NS = 1_795_500_000 * 10**9
#: When the recorded host had been up for so long, the caller and the callee were looked at.
CALLER_BOOT_NS, CALLEE_BOOT_NS = 24_265_600_000_000, 24_272_800_000_000


def recorded(case: str, *names: str) -> dict[str, dict[str, bytes]]:
    folders = {name: FIXTURES / name / case for name in names}
    return {
        name: {one.name: one.read_bytes() for one in folder.iterdir() if one.suffix != ".json"}
        for name, folder in folders.items()
    }


def home(db, host_id, parts, boot_ns) -> object:
    """A run that was read; its load over ten seconds gives it its span of time."""
    texts = [runs.loadavg(tick) for tick in range(11)]
    load = {"loadavg": {"samples": runs.sampled("/proc/loadavg", texts, boot_ns)}}
    clock = runs.clock_now(boot_ns, NOW_NS)
    waiting = runs.waiting_run(db, artifact_store(), {**load, **parts}, host_id=host_id, clock=clock)
    ingest_run(waiting.run_id)
    return waiting.run_id


def change(db, host_id, **values) -> None:
    with unit_of_work(db.sessions) as session:
        host = session.get_one(Host, host_id)
        for name, value in values.items():
            setattr(host, name, value)


@pytest.fixture
def pair(db) -> dict[str, object]:
    """`web` calls `api`; `api` was captured within the network namespace of its server."""
    web = runs.make_host(db, "web", {"role": "feed"})
    api = runs.make_host(db, "api", {"role": "api"})
    change(db, web, facts={"addresses": ["10.77.0.1"]})
    near = recorded("debian-12-caller", "calls", "tcp_waits")
    far = recorded("debian-12-callee", "calls", "tcp_waits", "ss_listen")
    return {
        "web": web,
        "api": api,
        "caller": home(db, web, near, CALLER_BOOT_NS),
        "callee": home(db, api, far, CALLEE_BOOT_NS),
    }


def only_tcp(told: dict) -> dict:
    [one] = [call for call in told["out"] if call["protocol"] == "tcp"]
    return one


def test_a_call_is_followed_to_the_process_that_answers_it_and_back(pair, as_) -> None:
    viewer = as_("viewer")
    told = viewer.get(f"{API}/runs/{pair['caller']}/calls").json()
    call = only_tcp(told)
    place = call["place"]
    assert (place["kind"], place["host"]["name"], place["how"]) == ("host", "api", "connection")
    assert place["run_id"] == str(pair["callee"])
    assert call["ends"]["between"] == call["ends"]["caller"] - call["ends"]["callee"] == 2.0
    assert all(one["lines"] for one in call["citations"])
    there = urlsplit(place["url"])
    assert there.path == f"/runs/{pair['callee']}/calls"
    kept = parse_qs(there.query)
    assert kept["t"] == [f"{told['t0_ns'] // 1000}~{told['t1_ns'] // 1000}"]
    pid = int(kept["pid"][0])

    server = viewer.get(f"{API}/runs/{pair['callee']}/calls?pid={pid}").json()
    assert server["comm"] == "python3"
    [back] = server["into"]
    assert (back["place"]["host"]["name"], back["place"]["pid"]) == ("web", call["pids"][0])
    store = only_tcp(server)
    assert (store["remote"], store["place"]["kind"], store["place"]["comm"]) == (
        *("127.0.0.1", "process", "python3"),
    )  # fmt: skip
    first, own = server["split"]["segments"]
    assert (first["call"], own["call"]) == (store["key"], "")
    assert first["low"] < 0.6 < first["high"]


def test_the_range_of_time_that_is_looked_at_goes_along(pair, as_) -> None:
    query = "from_ns=1795500001000000000&to_ns=1795500002000000000"
    told = as_("viewer").get(f"{API}/runs/{pair['caller']}/calls?{query}").json()
    assert only_tcp(told)["place"]["url"].endswith("&t=1795500001000000~1795500002000000")


def test_a_unix_socket_leads_to_the_process_behind_it(pair, as_) -> None:
    told = as_("viewer").get(f"{API}/runs/{pair['caller']}/calls").json()
    [redis] = [one for one in told["out"] if one["remote"] == "/run/app/redis.sock"]
    assert (redis["place"]["kind"], redis["place"]["comm"]) == ("unix", "redis-server")
    assert f"pid={redis['place']['pid']}" in redis["place"]["url"]


def test_two_hosts_with_one_address_are_not_told_apart(db, pair, as_) -> None:
    other = runs.make_host(db, "other")
    change(db, other, facts={"addresses": ["10.77.0.2"]})
    place = only_tcp(as_("viewer").get(f"{API}/runs/{pair['caller']}/calls").json())["place"]
    assert (place["kind"], place["why"]["key"]) == ("ambiguous", "calls.ambiguous")
    assert sorted(one["name"] for one in place["among"]) == ["api", "other"]
    assert place["url"] is None


def test_an_address_of_nobody_leads_to_enrolling_it(db, pair, as_) -> None:
    change(db, pair["api"], state="retired")
    place = only_tcp(as_("viewer").get(f"{API}/runs/{pair['caller']}/calls").json())["place"]
    assert (place["kind"], place["url"]) == ("not_enrolled", "/hosts/new?address=10.77.0.2")


def test_a_host_out_of_scope_is_not_named(pair, as_) -> None:
    scoped = as_("scoped")
    place = only_tcp(scoped.get(f"{API}/runs/{pair['caller']}/calls").json())["place"]
    assert (place["kind"], place["host"]) == ("not_enrolled", None)
    assert scoped.get(f"{API}/runs/{pair['callee']}/calls").status_code == 404


def test_an_enrolled_host_without_a_capture_says_what_to_do(db, as_) -> None:
    web = runs.make_host(db, "web")
    api = runs.make_host(db, "api")
    change(db, api, address="10.77.0.2")
    near = home(db, web, recorded("debian-12-caller", "calls"), CALLER_BOOT_NS)
    told = as_("viewer").get(f"{API}/runs/{near}/calls").json()
    place = only_tcp(told)["place"]
    assert (place["kind"], place["why"]["key"]) == ("host", "calls.no_run_there")
    assert place["url"].startswith(f"/hosts/{api}?t=")
    assert {one["collector"] for one in told["missing"]} == {"tcp_waits", "ss"}
    assert told["split_why"]["key"] == "missing.not_collected"


def facts_of(swappiness: bytes) -> dict[str, dict[str, bytes]]:
    parts = recorded("debian-12-kernel6.18", "host_facts")
    before = b"/proc/sys/vm/swappiness\n60\n"
    samples = parts["host_facts"]["samples"]
    assert before in samples
    changed = samples.replace(before, b"/proc/sys/vm/swappiness\n%s\n" % swappiness)
    return {"host_facts": {"samples": changed}, **recorded("debian-12-idle", "hardware")}


def test_where_a_run_was_is_told_with_its_lines_and_its_gaps(db, as_) -> None:
    host = runs.make_host(db, "web", {"role": "web"})
    viewer = as_("viewer")
    empty = viewer.get(f"{API}/hosts/{host}/context").json()
    assert (empty["run_id"], empty["twins"]["why"]["key"]) == (None, "context.no_twins")
    assert {gap["reason"]["key"] for one in empty["sections"] for gap in one["gaps"]} == {"context.no_run"}

    run = home(db, host, facts_of(b"10"), CALLER_BOOT_NS)
    told = viewer.get(f"{API}/hosts/{host}/context").json()
    assert told["run_id"] == str(run)
    by_id = {one["id"]: one for one in told["sections"]}
    [cpu] = [one for one in by_id["machine"]["items"] if one["id"] == "cpu_model"]
    assert (cpu["value"], bool(cpu["citation"]["artifact"]), len(cpu["citation"]["lines"])) == (
        "AMD EPYC",
        True,
        1,
    )
    unusual = [one["name"] for one in by_id["limits"]["items"] if one["unusual"]]
    assert "vm.swappiness" in unusual
    assert [gap["collectors"] for gap in by_id["changes"]["gaps"]] == [["changes"]]
    other = runs.make_host(db, "other")
    assert viewer.get(f"{API}/hosts/{other}/context?run_id={run}").status_code == 404


def test_a_healthy_twin_shows_what_is_set_otherwise(db, as_) -> None:
    host = runs.make_host(db, "web1", {"role": "web"})
    twin = runs.make_host(db, "web2", {"role": "web"})
    runs.make_host(db, "db1", {"role": "db"})
    home(db, host, facts_of(b"10"), CALLER_BOOT_NS)
    viewer = as_("viewer")
    alone = viewer.get(f"{API}/hosts/{host}/context").json()["twins"]
    assert (alone["why"]["key"], [one["host"]["name"] for one in alone["twins"]]) == (
        *("context.twins_not_captured", ["web2"]),
    )  # fmt: skip
    evaluate_run(home(db, twin, facts_of(b"60"), CALLER_BOOT_NS))
    twins = viewer.get(f"{API}/hosts/{host}/context").json()["twins"]
    assert twins["twins"][0]["healthy"] is True
    assert twins["compared"] == ["web2"]
    [swappiness] = [one for one in twins["differences"] if one["name"] == "sysctl.vm.swappiness"]
    assert (swappiness["here"], swappiness["there"]) == ("10", {"web2": "60"})
