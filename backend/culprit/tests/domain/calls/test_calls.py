"""Tests of the call graph, address lookup and response time, on a recorded caller and callee."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.calls.address_lookup import (
    CallEndpoint,
    canonicalize_address,
    find_client,
    find_server,
    list_own_addresses,
    resolve_owner,
)
from culprit.domain.calls.calls import CallGraph, HostCall, ServedRequests, build_call_graph
from culprit.domain.calls.response_time import (
    EndpointTimes,
    ResponseTime,
    combine_ends,
    find_logged_times,
    split_response_time,
)
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow, ViewSeries
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence
from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import fixture_folder
from collectors.tests.support import context, part

CITE = Citation("r", "calls", "a", "samples", (1,))
#: Eight threads call a server in another network namespace. For 150 of its 250 ms it waits for a third process.
SPAN = (0, 6_000_000_000)


def recorded(case: str, *names: str) -> HostView:
    parsed = {}
    for name in names:
        folder = fixture_folder(name) / f"debian-12-{case}"
        parts = {item.name: part(item.read_bytes()) for item in folder.iterdir() if item.suffix != ".json"}
        parsed[name] = COLLECTORS[name].parse(parts, context())
    facts = {name: dict(item.facts) for name, item in parsed.items()}
    return replace(build_view(parsed, facts=facts), span_ns=SPAN)


@pytest.fixture
def caller() -> HostView:
    return recorded("caller", "calls", "tcp_waits")


@pytest.fixture
def callee() -> HostView:
    return recorded("callee", "calls", "tcp_waits", "ss_listen")


def row(**cells: object) -> TableRow:
    return TableRow(cells, CITE)


def test_call_graph_has_dependency_with_numbers_and_lines(caller: HostView) -> None:
    [call] = [item for item in build_call_graph(caller).outgoing if item.protocol == "tcp"]
    assert (call.comm, call.remote, call.port, call.connections, call.waiting) == (
        *("python3", "10.77.0.2", 8080, 8, 8.0),
    )  # fmt: skip
    assert call.key == "out tcp 10.77.0.2:8080 python3"
    assert 0 < (call.rtt_mean_ms or 0) < 1
    assert {citation.collector: bool(citation.lines) for citation in call.citations} == {
        "calls": True,
        "tcp_waits": True,
    }


def test_call_graph_names_server_of_unix_socket(caller: HostView) -> None:
    results = {item.remote: item for item in build_call_graph(caller).outgoing if item.protocol == "unix"}
    redis = results["/run/app/redis.sock"]
    assert (redis.comm, redis.peer_comm, redis.connections) == ("redis-cli", "redis-server", 1)


def test_call_graph_of_process_has_both_directions(callee: HostView) -> None:
    [server] = {item.pids for item in build_call_graph(callee).incoming if item.port == 8080}
    call_graph = build_call_graph(callee, server[0])
    assert [(item.remote, item.port, item.connections) for item in call_graph.incoming] == [
        ("10.77.0.1", 8080, 8)
    ]
    assert [(item.remote, item.port) for item in call_graph.outgoing] == [("127.0.0.1", 16379)]
    assert call_graph.served is not None
    assert call_graph.served.waiting == 6.0
    assert call_graph.missing == {"ss": Sentence("missing.not_collected", {"collector": "ss"})}


def test_find_server_prefers_observed_connection(caller: HostView, callee: HostView) -> None:
    local = list_own_addresses(caller.facts)
    assert "10.77.0.1" in local
    server = find_server(callee, "10.77.0.2", 8080, local)
    assert isinstance(server, CallEndpoint)
    assert (server.comm, server.source) == ("python3", "connection")
    only_listening = replace(callee, tables={"listeners": callee.rows("listeners")})
    stranger = find_server(only_listening, "10.77.0.2", 8080, local)
    assert isinstance(stranger, CallEndpoint)
    assert (stranger.pid, stranger.source) == (server.pid, "listener")
    assert find_server(callee, "10.77.0.2", 9, local) == Sentence("calls.no_server_found", {"port": 9})
    blind = find_server(HostView(), "10.77.0.2", 9, local)
    assert isinstance(blind, Sentence)
    assert blind.key == "missing.not_collected"


def test_find_client_returns_connected_process(caller: HostView, callee: HostView) -> None:
    [call] = [item for item in build_call_graph(caller).outgoing if item.protocol == "tcp"]
    client = find_client(caller, list_own_addresses(callee.facts), 8080)
    assert isinstance(client, CallEndpoint)
    assert (client.comm, client.pid) == ("python3", call.pids[0])
    assert find_client(caller, list_own_addresses(callee.facts), 9) == Sentence(
        "calls.no_client_found", {"port": 9}
    )


def test_response_time_matches_sleep_times_of_programs(callee: HostView) -> None:
    """The third process sleeps for 150 of 250 ms: 60 %, within the interval that few samples allow."""
    [server] = {item.pids for item in build_call_graph(callee).incoming if item.port == 8080}
    answer = split_response_time(build_call_graph(callee, server[0]), callee)
    assert isinstance(answer, ResponseTime)
    first, own = answer.segments
    assert (first.call, own.call) == ("out tcp 127.0.0.1:16379 python3", "")
    assert first.between[0] < 0.6 < first.between[1]
    assert first.share + own.share == pytest.approx(1.0)
    assert first.ms is None
    assert not answer.parallel


def test_combine_ends_compares_caller_and_callee(caller: HostView, callee: HostView) -> None:
    [call] = [item for item in build_call_graph(caller).outgoing if item.protocol == "tcp"]
    ours = list_own_addresses(caller.facts)
    ends = combine_ends(call, caller, callee, ours)
    assert isinstance(ends, EndpointTimes)
    assert (ends.caller, ends.callee, ends.between) == (8.0, 6.0, 2.0)
    later = replace(callee, span_ns=(SPAN[1], 2 * SPAN[1]))
    assert combine_ends(call, caller, later, ours) == Sentence("calls.other_time")
    assert combine_ends(call, caller, callee, ()) == Sentence("calls.shared_port", {"share": 0})
    unmeasured = combine_ends(call, caller, replace(callee, outcomes={}), ours)
    assert isinstance(unmeasured, Sentence)
    assert unmeasured.key == "calls.far_not_measured"


def test_logged_times_need_overlapping_captures() -> None:
    def host(ms: float, *labels: str) -> HostView:
        t_ns = np.arange(2, dtype=np.int64)
        values = np.full((2, 1), ms)
        series_list = [
            ViewSeries("app.p50_ms", {"route": label} if label else {}, None, (), t_ns, values, None, CITE)
            for label in labels
        ]
        return HostView(series=series_list, span_ns=SPAN)

    logged_times = find_logged_times(host(250.0, ""), host(150.0, ""))
    assert logged_times is not None
    assert (logged_times.caller_ms, logged_times.callee_ms) == (250.0, 150.0)
    assert find_logged_times(host(250.0, ""), host(150.0)) is None
    assert find_logged_times(host(250.0, ""), host(150.0, "/a", "/b")) is None
    assert (
        find_logged_times(host(250.0, ""), replace(host(150.0, ""), span_ns=(SPAN[1], 2 * SPAN[1]))) is None
    )


def test_call_graph_names_missing_collectors() -> None:
    call_graph = build_call_graph(HostView())
    assert (call_graph.outgoing, call_graph.incoming, call_graph.served) == ((), (), None)
    assert set(call_graph.missing) == {"calls", "tcp_waits", "ss"}
    answer = split_response_time(call_graph, HostView())
    assert isinstance(answer, Sentence)
    assert answer.key == "missing.not_collected"


def test_response_time_needs_enough_requests() -> None:
    view = HostView(outcomes={"tcp_waits": CollectorOutcome("tcp_waits", "done")})
    assert split_response_time(CallGraph(), view) == Sentence("calls.no_clients")
    few = split_response_time(CallGraph(served=ServedRequests(0.1, 25.0, 20, (CITE,))), view)
    assert few == Sentence("calls.too_few_observed", {"observed": 2, "samples": 20, "required": 10})


def test_destinations_without_process_appear_for_host_only() -> None:
    cells = {
        "peer": "10.0.0.9",
        "port": 5432,
        "sockets": 40,
        "established": 0,
        "time_wait": 40,
        "syn_sent": 0,
    }
    edge = row(
        direction="out", pid=7, comm="app", remote="10.0.0.8", remote_port=80, connections=2, rtt_mean_ms=1.0
    )
    closed = row(**{**cells, "peer": "10.0.0.8", "port": 80, "time_wait": 3})
    view = HostView(tables={"tcp_destinations": [row(**cells), closed], "calls": [edge]})
    whole = {item.port: item for item in build_call_graph(view).outgoing}
    assert (whole[5432].comm, whole[5432].time_wait) == ("", 40)
    assert (whole[80].comm, whole[80].time_wait) == ("app", 3)
    assert [item.port for item in build_call_graph(view, 7).outgoing] == [80]


def test_build_call_graph_merges_workers_with_same_name() -> None:
    rows = [
        row(direction="out", pid=pid, comm="php-fpm", remote="10.0.0.8", remote_port=6379, connections=1,
            rtt_mean_ms=float(pid), rtt_max_ms=float(pid))
        for pid in (1, 3)
    ]  # fmt: skip
    [call] = build_call_graph(HostView(tables={"calls": rows})).outgoing
    assert (call.pids, call.connections, call.rtt_mean_ms, call.rtt_max_ms) == ((1, 3), 2, 2.0, 3.0)


def test_siblings_share_name_and_port() -> None:
    def worker(pid: int, port: int, comm: str = "nginx") -> TableRow:
        return row(direction="in", pid=pid, comm=comm, local_port=port, remote="10.0.0.9", connections=1)

    rows = [worker(1, 80), worker(2, 80), worker(3, 81), worker(4, 80, "other")]
    call_graph = build_call_graph(HostView(tables={"calls": rows}), 1)
    assert call_graph.pids == (1, 2)
    assert [(item.port, item.connections) for item in call_graph.incoming] == [(80, 2)]
    assert build_call_graph(HostView(tables={"calls": rows}), 3).pids == (3,)


def test_response_time_rejects_several_servers() -> None:
    cells = {"direction": "in", "connections": 4, "waiting": 4.0, "samples": 10}
    rows = [row(**cells, pid=1, comm="nginx", peer="80"), row(**cells, pid=2, comm="app", peer="8080")]
    view = HostView(outcomes={"tcp_waits": CollectorOutcome("tcp_waits", "done")}, tables={"tcp_waits": rows})
    assert split_response_time(build_call_graph(view), view) == Sentence(
        "calls.several_servers", {"names": "app, nginx"}
    )
    assert isinstance(split_response_time(build_call_graph(view, 2), view), ResponseTime)


BOOK = {"a": {"10.0.0.1", "172.17.0.1"}, "b": {"10.0.0.2", "172.17.0.1"}, "c": {"172.17.0.1"}}


@pytest.mark.parametrize(
    ("remote", "local", "kind", "hosts"),
    [
        ("127.0.0.1", "a", "same_host", ("a",)),
        ("::1", "a", "same_host", ("a",)),
        ("10.0.0.1", "a", "same_host", ("a",)),
        ("::ffff:10.0.0.2", "a", "host", ("b",)),
        ("172.17.0.1", "a", "same_host", ("a",)),
        ("172.17.0.1", "", "ambiguous", ("a", "b", "c")),
        ("10.9.9.9", "a", "not_added", ()),
        ("somewhere", "a", "not_added", ()),
    ],
)
def test_resolve_owner_returns_hosts_of_address(
    remote: str, local: str, kind: str, hosts: tuple[str, ...]
) -> None:
    owner = resolve_owner(remote, local, BOOK.get(local, set()), BOOK)
    assert (owner.kind, owner.hosts) == (kind, hosts)
    assert (owner.reason is None) == (kind in {"same_host", "host"})


@given(
    st.ip_addresses().map(str),
    st.dictionaries(st.text("abc", min_size=1), st.sets(st.ip_addresses().map(str))),
)
def test_resolve_owner_returns_only_hosts_with_address(address: str, book: dict[str, set[str]]) -> None:
    known = {
        host: {canonicalize_address(address) for address in addresses} for host, addresses in book.items()
    }
    owner = resolve_owner(address, "", (), known)
    assert all(canonicalize_address(address) in known[host] for host in owner.hosts)
    assert (owner.kind == "host") == (len(owner.hosts) == 1)


@given(
    st.floats(0.6, 50),
    st.lists(st.floats(0.01, 50), max_size=5),
    st.integers(20, 60),
)
def test_response_time_shares_are_valid(served: float, waits: list[float], samples: int) -> None:
    view = HostView(outcomes={"tcp_waits": CollectorOutcome("tcp_waits", "done")})
    out = tuple(
        HostCall("out", "tcp", "app", (1,), f"10.0.0.{at}", 80, waiting=item, samples=samples)
        for at, item in enumerate(waits)
    )
    answer = split_response_time(CallGraph(out, (), ServedRequests(served, None, samples, (CITE,))), view)
    assert isinstance(answer, ResponseTime)
    assert all(0 <= segment.between[0] <= segment.between[1] <= 1 for segment in answer.segments)
    assert all(0 <= segment.share <= 1 for segment in answer.segments)
    assert answer.parallel or sum(segment.share for segment in answer.segments) == pytest.approx(1.0)
