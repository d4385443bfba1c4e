"""Which threads wait for a peer, and whether the peer or the queue in front of the workers is what requests wait for."""

from __future__ import annotations

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.measures.service_time.accounts import TimeAccount, read_service_times
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait

BACKEND = "10.9.9.9:80"


def build_workers(queue: float, longest_ms: float) -> HostView:
    """Four workers that always wait for a peer, and a queue in front of them."""
    return make_view(
        process_time=[make_process(7, "web", threads=4)],
        thread_time=[make_time(7, "peer", 4.0, BACKEND, longest_ms=longest_ms)],
        tcp_waits=[make_wait(7, "web", "in", "80", 4.0, 5000), make_wait(7, "web", "out", BACKEND, 4.0, longest_ms)],
        listeners=[{"address": "*", "port": 80, "pid": 7, "process": "web", "queue_min": queue}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("queue", "longest_ms", "is_slow"),
    [
        pytest.param(0, 90, True, id="no-queue"),
        pytest.param(400, 90, False, id="short-calls-behind-a-queue"),
        pytest.param(400, 1500, True, id="long-calls-behind-a-queue"),
    ],
)
def test_a_peer_is_slow_where_its_calls_are_long_or_most_of_a_request(queue, longest_ms, is_slow) -> None:
    findings = evaluate_rules([RULES["F-TIME-PEER"]], build_workers(queue, longest_ms))
    assert any(item.state == "matched" for item in findings) is is_slow


def read_account(**tables: list[dict]) -> TimeAccount:
    [account] = read_service_times(make_view(**tables)).accounts
    return account


def build_polls(*, owed: float, in_hand: float, operation: str = "poll") -> dict[str, list[dict]]:
    """Ten workers, each with a client and a connection to a peer, in a call that names no descriptor."""
    connections = {"connections": 10, "waiting_samples": 20 if owed else 0}
    return {
        "process_time": [make_process(7, "web", threads=10)],
        "thread_time": [make_time(7, "peer", 10.0, BACKEND, operation)],
        "tcp_waits": [
            make_wait(7, "web", "in", "80", in_hand, connections=10),
            make_wait(7, "web", "out", BACKEND, owed, 300 if owed else 0, **connections),
        ],
        "listeners": [{"address": "*", "port": 80, "pid": 7, "process": "web", "queue_min": 5}],
    }


def test_polls_wait_for_clients_where_the_peer_owes_nothing() -> None:
    account = read_account(**build_polls(owed=0.0, in_hand=0.0))
    assert ("peer", BACKEND) not in account.amounts
    assert account.amounts["held", ""].number == pytest.approx(10.0)
    assert (account.busy_threads, account.free_threads) == pytest.approx((10.0, 0.0))


@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(build_polls(owed=10.0, in_hand=0.0), id="peer-owes-answers"),
        pytest.param(build_polls(owed=0.0, in_hand=10.0), id="peer-has-begun-to-answer"),
        pytest.param(build_polls(owed=0.0, in_hand=0.0, operation="recvfrom"), id="descriptor-is-known"),
    ],
)
def test_a_wait_for_a_peer_stays_where_it_is(tables: dict[str, list[dict]]) -> None:
    assert read_account(**tables).amounts["peer", BACKEND].number == pytest.approx(10.0)


@pytest.mark.parametrize(("resolvers", "is_queue"), [(2, True), (4, False)])
def test_look_ups_of_an_event_loop_queue_for_threads_that_always_resolve(
    resolvers: int, is_queue: bool
) -> None:
    """An event loop with a hundred requests and threads that look up names, of which two are busy at any time."""
    account = read_account(
        process_time=[make_process(7, "node", threads=9)],
        thread_time=[
            make_time(7, "dns", 2.0, "10.0.0.53:53", "poll", threads=resolvers),
            make_time(7, "condition", 6.0), make_time(7, "events", 1.0),
        ],
        tcp_waits=[make_wait(7, "node", "in", "80", 100.0)],
    )  # fmt: skip
    share = account.share_of("dns", "10.0.0.53:53").value
    assert share == pytest.approx(1.0 if is_queue else 0.02, abs=0.01)


@pytest.mark.parametrize(("owed", "waits"), [(6.0, 6.0), (20.0, 10.0), (0.0, 0.0)])
def test_receives_on_unknown_sockets_wait_for_peers_that_owe_answers(owed: float, waits: float) -> None:
    """Ten threads receive on sockets whose addresses were read too late."""
    account = read_account(
        process_time=[make_process(7, "web", threads=10)],
        thread_time=[make_time(7, "events", 10.0, "socket", "recvfrom")],
        tcp_waits=[
            make_wait(7, "web", "in", "80", 10.0, connections=10),
            make_wait(7, "web", "out", BACKEND, owed, connections=10),
        ],
    )
    assert account.busy_threads == pytest.approx(waits)
    assert account.free_threads == pytest.approx(10.0 - waits)


STOPPED = {"pid": 9, "comm": "store", "state": "T", "tracer": 0, "tracer_comm": ""}


@pytest.mark.parametrize(
    ("tables", "run", "activity"),
    [
        pytest.param({"held_processes": [STOPPED]}, 0.0, "tracer", id="signal"),
        pytest.param(
            {"frozen_groups": [{"path": "/store", "processes": 1}]}, 0.0, "tracer", id="control-group"
        ),
        pytest.param({"held_processes": [STOPPED]}, 0.2, "unknown", id="ran-in-the-window"),
        pytest.param({"held_processes": [STOPPED | {"pid": 8}]}, 0.0, "unknown", id="another-process"),
    ],
)
def test_requests_of_a_stopped_process_wait_for_it(tables: dict, run: float, activity: str) -> None:
    """An event loop that a signal stopped looks idle: the kernel shows the call in which it was stopped."""
    account = read_account(
        process_time=[make_process(9, "store", run=run)],
        thread_time=[make_time(9, "events", 1.0 - run)],
        tcp_waits=[make_wait(9, "store", "in", "6379", 5.0, 9000)],
        **tables,
    )
    waiting = account.share(lambda name, _: name == activity)
    assert waiting.value == pytest.approx(1.0 - run / 5.0, abs=0.05)


def test_servers_of_a_unix_socket_and_of_a_port_have_names() -> None:
    """Threads in a futex of a program that serves a Unix socket only."""
    thread = {
        "pid": 7,
        "tid": 7,
        "comm": "cache",
        "wchan": "futex_wait_queue",
        "wchan_pct": 90.0,
        "voluntary_per_s": 5.0,
    }
    view = make_view(
        listeners=[],
        threads=[thread | {"tid": number} for number in range(7, 15)],
        unix_calls=[
            {"path": "/run/cache.sock", "pid": 5, "comm": "web", "peer_pid": 7, "peer_comm": "cache"}
        ],
    )
    [finding] = evaluate_rules([RULES["F-LOCK-FUTEX-BUSY"]], view)
    assert finding.detail["name"] == "cache"
