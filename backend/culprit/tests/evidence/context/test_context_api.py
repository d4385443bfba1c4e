"""Tests of the call graph and the host context over HTTP, on a recorded call between two hosts."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.host import Host
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs

from collectors.tests.fixture_files import fixture_folder

API = "/api/v1"
NOW_NS = 1_795_500_000 * 10**9
#: Uptime of the recorded host at the captures of caller and callee.
CALLER_BOOT_NS, CALLEE_BOOT_NS = 24_265_600_000_000, 24_272_800_000_000


def recorded(case: str, *names: str) -> dict[str, dict[str, bytes]]:
    folders = {name: fixture_folder(name) / case for name in names}
    return {
        name: {item.name: item.read_bytes() for item in folder.iterdir() if item.suffix != ".json"}
        for name, folder in folders.items()
    }


def ingest(db, host_id, parts, boot_ns) -> object:
    """Ingest a run; its load average over ten seconds sets its time range."""
    texts = [runs.loadavg(tick) for tick in range(11)]
    load = {"loadavg": {"samples": runs.sampled("/proc/loadavg", texts, boot_ns)}}
    clock = runs.clock_now(boot_ns, NOW_NS)
    waiting = runs.waiting_run(db, artifact_store(), {**load, **parts}, host_id=host_id, clock=clock)
    ingest_run(waiting.run_id)
    return waiting.run_id


def update_host(db, host_id, **values) -> None:
    with unit_of_work(db.sessions) as session:
        host = session.get_one(Host, host_id)
        for name, value in values.items():
            setattr(host, name, value)


@pytest.fixture
def pair(db) -> dict[str, object]:
    """`web` calls `api`; `api` was captured within the network namespace of its server."""
    web = runs.make_host(db, "web", {"role": "feed"})
    api = runs.make_host(db, "api", {"role": "api"})
    update_host(db, web, facts={"addresses": ["10.77.0.1"]})
    near = recorded("debian-12-caller", "calls", "tcp_waits")
    far = recorded("debian-12-callee", "calls", "tcp_waits", "ss_listen")
    return {
        "web": web,
        "api": api,
        "caller": ingest(db, web, near, CALLER_BOOT_NS),
        "callee": ingest(db, api, far, CALLEE_BOOT_NS),
    }


def only_tcp(graph: dict) -> dict:
    [item] = [call for call in graph["outgoing"] if call["protocol"] == "tcp"]
    return item


def test_call_graph_resolves_server_and_client(pair, as_) -> None:
    viewer = as_("viewer")
    graph = viewer.get(f"{API}/runs/{pair['caller']}/calls").json()
    call = only_tcp(graph)
    endpoint = call["endpoint"]
    assert (endpoint["kind"], endpoint["host"]["name"], endpoint["source"]) == ("host", "api", "connection")
    assert endpoint["run_id"] == str(pair["callee"])
    assert (
        call["endpoint_times"]["between"]
        == call["endpoint_times"]["caller"] - call["endpoint_times"]["callee"]
        == 2.0
    )
    assert all(citation["lines"] for citation in call["citations"])
    url = urlsplit(endpoint["url"])
    assert url.path == f"/runs/{pair['callee']}/calls"
    query = parse_qs(url.query)
    assert query["t"] == [f"{graph['t0_ns'] // 1000}~{graph['t1_ns'] // 1000}"]
    pid = int(query["pid"][0])

    server = viewer.get(f"{API}/runs/{pair['callee']}/calls?pid={pid}").json()
    assert server["comm"] == "python3"
    [back] = server["incoming"]
    assert (back["endpoint"]["host"]["name"], back["endpoint"]["pid"]) == ("web", call["pids"][0])
    store = only_tcp(server)
    assert (store["remote"], store["endpoint"]["kind"], store["endpoint"]["comm"]) == (
        *("127.0.0.1", "process", "python3"),
    )  # fmt: skip
    first, own = server["response_time"]["segments"]
    assert (first["call"], own["call"]) == (store["key"], "")
    assert first["low"] < 0.6 < first["high"]


def test_call_graph_urls_keep_time_range(pair, as_) -> None:
    query = "from_ns=1795500001000000000&to_ns=1795500002000000000"
    graph = as_("viewer").get(f"{API}/runs/{pair['caller']}/calls?{query}").json()
    assert only_tcp(graph)["endpoint"]["url"].endswith("&t=1795500001000000~1795500002000000")


def test_call_graph_resolves_unix_socket(pair, as_) -> None:
    graph = as_("viewer").get(f"{API}/runs/{pair['caller']}/calls").json()
    [redis] = [item for item in graph["outgoing"] if item["remote"] == "/run/app/redis.sock"]
    assert (redis["endpoint"]["kind"], redis["endpoint"]["comm"]) == ("unix", "redis-server")
    assert f"pid={redis['endpoint']['pid']}" in redis["endpoint"]["url"]


def test_call_graph_reports_ambiguous_address(db, pair, as_) -> None:
    other = runs.make_host(db, "other")
    update_host(db, other, facts={"addresses": ["10.77.0.2"]})
    endpoint = only_tcp(as_("viewer").get(f"{API}/runs/{pair['caller']}/calls").json())["endpoint"]
    assert (endpoint["kind"], endpoint["reason"]["key"]) == ("ambiguous", "calls.ambiguous")
    assert sorted(item["name"] for item in endpoint["candidates"]) == ["api", "other"]
    assert endpoint["url"] is None


def test_call_graph_links_unknown_address_to_adding_host(db, pair, as_) -> None:
    update_host(db, pair["api"], state="retired")
    endpoint = only_tcp(as_("viewer").get(f"{API}/runs/{pair['caller']}/calls").json())["endpoint"]
    assert (endpoint["kind"], endpoint["url"]) == ("not_added", "/hosts/new?address=10.77.0.2")


def test_call_graph_hides_host_out_of_scope(pair, as_) -> None:
    scoped = as_("scoped")
    endpoint = only_tcp(scoped.get(f"{API}/runs/{pair['caller']}/calls").json())["endpoint"]
    assert (endpoint["kind"], endpoint["host"]) == ("not_added", None)
    assert scoped.get(f"{API}/runs/{pair['callee']}/calls").status_code == 404


def test_call_graph_explains_host_without_capture(db, as_) -> None:
    web = runs.make_host(db, "web")
    api = runs.make_host(db, "api")
    update_host(db, api, address="10.77.0.2")
    near = ingest(db, web, recorded("debian-12-caller", "calls"), CALLER_BOOT_NS)
    graph = as_("viewer").get(f"{API}/runs/{near}/calls").json()
    endpoint = only_tcp(graph)["endpoint"]
    assert (endpoint["kind"], endpoint["reason"]["key"]) == ("host", "calls.no_run_on_host")
    assert endpoint["url"].startswith(f"/hosts/{api}?t=")
    assert {item["collector"] for item in graph["missing"]} == {"tcp_waits", "ss"}
    assert graph["response_time_reason"]["key"] == "missing.not_collected"


def facts_of(swappiness: bytes) -> dict[str, dict[str, bytes]]:
    parts = recorded("debian-12-kernel6.18", "host_facts")
    before = b"/proc/sys/vm/swappiness\n60\n"
    samples = parts["host_facts"]["samples"]
    assert before in samples
    changed = samples.replace(before, b"/proc/sys/vm/swappiness\n%s\n" % swappiness)
    return {"host_facts": {"samples": changed}, **recorded("debian-12-idle", "hardware")}


def test_host_context_has_citations_and_gaps(db, as_) -> None:
    host = runs.make_host(db, "web", {"role": "web"})
    viewer = as_("viewer")
    empty = viewer.get(f"{API}/hosts/{host}/context").json()
    assert (empty["run_id"], empty["peer_comparison"]["reason"]["key"]) == (None, "context.no_peers")
    assert {gap["reason"]["key"] for section in empty["sections"] for gap in section["gaps"]} == {
        "context.no_run"
    }

    run = ingest(db, host, facts_of(b"10"), CALLER_BOOT_NS)
    graph = viewer.get(f"{API}/hosts/{host}/context").json()
    assert graph["run_id"] == str(run)
    by_id = {section["id"]: section for section in graph["sections"]}
    [cpu] = [item for item in by_id["machine"]["items"] if item["id"] == "cpu_model"]
    assert (cpu["value"], bool(cpu["citation"]["artifact"]), len(cpu["citation"]["lines"])) == (
        "AMD EPYC",
        True,
        1,
    )
    names = [item["name"] for item in by_id["limits"]["items"] if item["atypical"]]
    assert "vm.swappiness" in names
    assert [gap["collectors"] for gap in by_id["changes"]["gaps"]] == [["changes"]]
    other = runs.make_host(db, "other")
    assert viewer.get(f"{API}/hosts/{other}/context?run_id={run}").status_code == 404


def test_host_context_compares_with_healthy_peer(db, as_) -> None:
    host = runs.make_host(db, "web1", {"role": "web"})
    peer = runs.make_host(db, "web2", {"role": "web"})
    runs.make_host(db, "db1", {"role": "db"})
    ingest(db, host, facts_of(b"10"), CALLER_BOOT_NS)
    viewer = as_("viewer")
    alone = viewer.get(f"{API}/hosts/{host}/context").json()["peer_comparison"]
    assert (alone["reason"]["key"], [item["host"]["name"] for item in alone["peers"]]) == (
        *("context.peers_not_captured", ["web2"]),
    )  # fmt: skip
    evaluate_run(ingest(db, peer, facts_of(b"60"), CALLER_BOOT_NS))
    comparison = viewer.get(f"{API}/hosts/{host}/context").json()["peer_comparison"]
    assert comparison["peers"][0]["healthy"] is True
    assert comparison["compared"] == ["web2"]
    [swappiness] = [
        difference for difference in comparison["differences"] if difference["name"] == "sysctl.vm.swappiness"
    ]
    assert (swappiness["local"], swappiness["peers"]) == ("10", {"web2": "60"})
