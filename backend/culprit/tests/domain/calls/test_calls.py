"""Whom processes call, whose an address is, and where the response time goes: from a real caller and its callee."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from culprit.core.calls import Call, Calls, Served, calls
from culprit.core.rules.contract import Citation
from culprit.core.rules.parsed_view import view_of
from culprit.core.rules.view import Lane, Outcome, Row, View
from culprit.core.time_split import Ends, Split, both_ends, logged, split
from culprit.core.whereabouts import Answerer, answerer, asker, canonical, own_addresses, place
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence
from collectors.registry import COLLECTORS
from collectors.tests.support import context, part

FIXTURES = Path(__file__).parents[4] / "collectors" / "tests" / "fixtures"
CITE = Citation("r", "calls", "a", "samples", (1,))
#: Eight threads ask a server in another network namespace, which asks a third process 150 of its 250 ms.
SPAN = (0, 6_000_000_000)


def recorded(case: str, *names: str) -> View:
    parsed = {}
    for name in names:
        folder = FIXTURES / name / f"debian-12-{case}"
        parts = {one.name: part(one.read_bytes()) for one in folder.iterdir() if one.suffix != ".json"}
        parsed[name] = COLLECTORS[name].parse(parts, context())
    facts = {name: dict(one.facts) for name, one in parsed.items()}
    return replace(view_of(parsed, facts=facts), span_ns=SPAN)


@pytest.fixture
def caller() -> View:
    return recorded("caller", "calls", "tcp_waits")


@pytest.fixture
def callee() -> View:
    return recorded("callee", "calls", "tcp_waits", "ss_listen")


def row(**cells: object) -> Row:
    return Row(cells, CITE)


def test_a_caller_has_one_dependency_with_its_numbers_and_lines(caller: View) -> None:
    [call] = [one for one in calls(caller).out if one.protocol == "tcp"]
    assert (call.comm, call.remote, call.port, call.connections, call.waiting) == (
        *("python3", "10.77.0.2", 8080, 8, 8.0),
    )  # fmt: skip
    assert call.key == "out tcp 10.77.0.2:8080 python3"
    assert 0 < (call.rtt_mean_ms or 0) < 1
    assert {one.collector: bool(one.lines) for one in call.citations} == {"calls": True, "tcp_waits": True}


def test_unix_sockets_name_the_process_behind_their_path(caller: View) -> None:
    found = {one.remote: one for one in calls(caller).out if one.protocol == "unix"}
    redis = found["/run/app/redis.sock"]
    assert (redis.comm, redis.peer_comm, redis.connections) == ("redis-cli", "redis-server", 1)


def test_one_process_is_seen_from_inside_and_outside(callee: View) -> None:
    [server] = {one.pids for one in calls(callee).into if one.port == 8080}
    found = calls(callee, server[0])
    assert [(one.remote, one.port, one.connections) for one in found.into] == [("10.77.0.1", 8080, 8)]
    assert [(one.remote, one.port) for one in found.out] == [("127.0.0.1", 16379)]
    assert found.served is not None
    assert found.served.waiting == 6.0
    assert found.missing == {"ss": Sentence("missing.not_collected", {"collector": "ss"})}


def test_the_far_end_of_a_connection_is_found_and_proven(caller: View, callee: View) -> None:
    mine = own_addresses(caller.facts)
    assert "10.77.0.1" in mine
    found = answerer(callee, "10.77.0.2", 8080, mine)
    assert isinstance(found, Answerer)
    assert (found.comm, found.how) == ("python3", "connection")
    only_listening = replace(callee, tables={"listeners": callee.rows("listeners")})
    stranger = answerer(only_listening, "10.77.0.2", 8080, mine)
    assert isinstance(stranger, Answerer)
    assert (stranger.pid, stranger.how) == (found.pid, "listener")
    assert answerer(callee, "10.77.0.2", 9, mine) == Sentence("calls.nobody_listens", {"port": 9})
    blind = answerer(View(), "10.77.0.2", 9, mine)
    assert isinstance(blind, Sentence)
    assert blind.key == "missing.not_collected"


def test_who_asks_is_found_at_the_other_end(caller: View, callee: View) -> None:
    [call] = [one for one in calls(caller).out if one.protocol == "tcp"]
    found = asker(caller, own_addresses(callee.facts), 8080)
    assert isinstance(found, Answerer)
    assert (found.comm, found.pid) == ("python3", call.pids[0])
    assert asker(caller, own_addresses(callee.facts), 9) == Sentence("calls.nobody_calls", {"port": 9})


def test_the_response_time_is_split_as_the_programs_sleep(callee: View) -> None:
    """150 of 250 ms are asleep in the third process: 60 %, give or take what few looks allow."""
    [server] = {one.pids for one in calls(callee).into if one.port == 8080}
    answer = split(calls(callee, server[0]), callee)
    assert isinstance(answer, Split)
    first, own = answer.segments
    assert (first.call, own.call) == ("out tcp 127.0.0.1:16379 python3", "")
    assert first.between[0] < 0.6 < first.between[1]
    assert first.share + own.share == pytest.approx(1.0)
    assert first.ms is None
    assert not answer.parallel


def test_both_ends_of_one_wait(caller: View, callee: View) -> None:
    [call] = [one for one in calls(caller).out if one.protocol == "tcp"]
    ours = own_addresses(caller.facts)
    ends = both_ends(call, caller, callee, ours)
    assert isinstance(ends, Ends)
    assert (ends.caller, ends.callee, ends.between) == (8.0, 6.0, 2.0)
    later = replace(callee, span_ns=(SPAN[1], 2 * SPAN[1]))
    assert both_ends(call, caller, later, ours) == Sentence("calls.other_time")
    assert both_ends(call, caller, callee, ()) == Sentence("calls.others_ask_too", {"share": 0})
    unmeasured = both_ends(call, caller, replace(callee, outcomes={}), ours)
    assert isinstance(unmeasured, Sentence)
    assert unmeasured.key == "calls.far_not_measured"


def test_medians_of_both_logs_stand_side_by_side_where_both_are_of_one_time() -> None:
    def host(ms: float, *labels: str) -> View:
        t_ns = np.arange(2, dtype=np.int64)
        values = np.full((2, 1), ms)
        lanes = [
            Lane("app.p50_ms", {"route": one} if one else {}, None, (), t_ns, values, None, CITE)
            for one in labels
        ]
        return View(lanes=lanes, span_ns=SPAN)

    found = logged(host(250.0, ""), host(150.0, ""))
    assert found is not None
    assert (found.caller_ms, found.callee_ms) == (250.0, 150.0)
    assert logged(host(250.0, ""), host(150.0)) is None
    assert logged(host(250.0, ""), host(150.0, "/a", "/b")) is None
    assert logged(host(250.0, ""), replace(host(150.0, ""), span_ns=(SPAN[1], 2 * SPAN[1]))) is None


def test_what_was_not_collected_says_so() -> None:
    found = calls(View())
    assert (found.out, found.into, found.served) == ((), (), None)
    assert set(found.missing) == {"calls", "tcp_waits", "ss"}
    answer = split(found, View())
    assert isinstance(answer, Sentence)
    assert answer.key == "missing.not_collected"


def test_few_requests_and_none_are_no_shares() -> None:
    view = View(outcomes={"tcp_waits": Outcome("tcp_waits", "done")})
    assert split(Calls(), view) == Sentence("calls.nobody_asks")
    few = split(Calls(served=Served(0.1, 25.0, 20, (CITE,))), view)
    assert few == Sentence("calls.too_few_met", {"met": 2, "looks": 20, "needed": 10})


def test_destinations_without_a_process_are_kept_for_the_whole_host_only() -> None:
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
    view = View(tables={"tcp_destinations": [row(**cells), closed], "calls": [edge]})
    whole = {one.port: one for one in calls(view).out}
    assert (whole[5432].comm, whole[5432].time_wait) == ("", 40)
    assert (whole[80].comm, whole[80].time_wait) == ("app", 3)
    assert [one.port for one in calls(view, 7).out] == [80]


def test_workers_of_one_name_are_one_caller() -> None:
    rows = [
        row(direction="out", pid=pid, comm="php-fpm", remote="10.0.0.8", remote_port=6379, connections=1,
            rtt_mean_ms=float(pid), rtt_max_ms=float(pid))
        for pid in (1, 3)
    ]  # fmt: skip
    [call] = calls(View(tables={"calls": rows})).out
    assert (call.pids, call.connections, call.rtt_mean_ms, call.rtt_max_ms) == ((1, 3), 2, 2.0, 3.0)


def test_workers_that_share_a_port_are_one_service_and_those_of_another_port_are_not() -> None:
    def worker(pid: int, port: int, comm: str = "nginx") -> Row:
        return row(direction="in", pid=pid, comm=comm, local_port=port, remote="10.0.0.9", connections=1)

    rows = [worker(1, 80), worker(2, 80), worker(3, 81), worker(4, 80, "other")]
    found = calls(View(tables={"calls": rows}), 1)
    assert found.pids == (1, 2)
    assert [(one.port, one.connections) for one in found.into] == [(80, 2)]
    assert calls(View(tables={"calls": rows}), 3).pids == (3,)


def test_one_process_that_serves_another_is_no_split_of_both() -> None:
    cells = {"direction": "in", "connections": 4, "waiting": 4.0, "looks": 10}
    rows = [row(**cells, pid=1, comm="nginx", peer="80"), row(**cells, pid=2, comm="app", peer="8080")]
    view = View(outcomes={"tcp_waits": Outcome("tcp_waits", "done")}, tables={"tcp_waits": rows})
    assert split(calls(view), view) == Sentence("calls.several_serve", {"names": "app, nginx"})
    assert isinstance(split(calls(view, 2), view), Split)


BOOK = {"a": {"10.0.0.1", "172.17.0.1"}, "b": {"10.0.0.2", "172.17.0.1"}, "c": {"172.17.0.1"}}


@pytest.mark.parametrize(
    ("remote", "mine", "kind", "hosts"),
    [
        ("127.0.0.1", "a", "same_host", ("a",)),
        ("::1", "a", "same_host", ("a",)),
        ("10.0.0.1", "a", "same_host", ("a",)),
        ("::ffff:10.0.0.2", "a", "host", ("b",)),
        ("172.17.0.1", "a", "same_host", ("a",)),
        ("172.17.0.1", "", "ambiguous", ("a", "b", "c")),
        ("10.9.9.9", "a", "not_enrolled", ()),
        ("somewhere", "a", "not_enrolled", ()),
    ],
)
def test_whose_an_address_is(remote: str, mine: str, kind: str, hosts: tuple[str, ...]) -> None:
    found = place(remote, mine, BOOK.get(mine, set()), BOOK)
    assert (found.kind, found.hosts) == (kind, hosts)
    assert (found.why is None) == (kind in {"same_host", "host"})


@given(
    st.ip_addresses().map(str),
    st.dictionaries(st.text("abc", min_size=1), st.sets(st.ip_addresses().map(str))),
)
def test_an_address_is_given_only_to_a_host_that_has_it(address: str, book: dict[str, set[str]]) -> None:
    known = {host: {canonical(one) for one in addresses} for host, addresses in book.items()}
    found = place(address, "", (), known)
    assert all(canonical(address) in known[host] for host in found.hosts)
    assert (found.kind == "host") == (len(found.hosts) == 1)


@given(
    st.floats(0.6, 50),
    st.lists(st.floats(0.01, 50), max_size=5),
    st.integers(20, 60),
)
def test_shares_are_shares(served: float, waits: list[float], looks: int) -> None:
    view = View(outcomes={"tcp_waits": Outcome("tcp_waits", "done")})
    out = tuple(
        Call("out", "tcp", "app", (1,), f"10.0.0.{at}", 80, waiting=one, looks=looks)
        for at, one in enumerate(waits)
    )
    answer = split(Calls(out, (), Served(served, None, looks, (CITE,))), view)
    assert isinstance(answer, Split)
    assert all(0 <= one.between[0] <= one.between[1] <= 1 for one in answer.segments)
    assert all(0 <= one.share <= 1 for one in answer.segments)
    assert answer.parallel or sum(one.share for one in answer.segments) == pytest.approx(1.0)
