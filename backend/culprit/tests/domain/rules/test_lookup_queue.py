"""Look-ups of names that queue for a few threads, against name servers that answer late."""

from __future__ import annotations

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait


@pytest.mark.parametrize(
    ("oldest_query_ms", "answer_ms", "longest_wait_ms", "cause"),
    [
        (0, 31.0, 5000, "worker-pool-exhausted"),
        (500, 31.0, 5000, "slow-name-resolution"),  # queries to names that the server has not cached
        (0, 400.0, 5000, "slow-name-resolution"),
        (0, 31.0, 2000, "slow-name-resolution"),  # a query may take 250 ms, more than a tenth of the wait
    ],
)
def test_requests_that_wait_for_many_queries_queue_for_the_threads_that_look_names_up(
    oldest_query_ms: float, answer_ms: float, longest_wait_ms: float, cause: str
) -> None:
    """An event loop with a single thread for look-ups: 32 samples of it show 32 queries in eight seconds."""
    view = make_view(
        process_time=[make_process(7, "web", threads=3)],
        thread_time=[
            make_time(7, "dns", 0.95, "10.0.0.2:53"),
            make_time(7, "events", 1.0),
            make_time(7, "condition", 1.0),
        ],
        tcp_waits=[make_wait(7, "web", "in", "80", 100.0, longest_wait_ms)],
        dns_waits=[
            {
                "server": "10.0.0.2",
                "queries": 32,
                "samples": 32,
                "waiting": 1.0,
                "oldest": oldest_query_ms,
                "kept": 0,
            }
        ],
        dns_probes=[{"server": "10.0.0.2", "time": answer_ms, "outcome": "answer", "question": "root"}],
    )
    ranking = rank_causes(evaluate_rules(RULES.values(), view), RULES, CAUSES, read_service_times(view))
    assert [(item.cause, item.confidence) for item in ranking.causes] == [(cause, "likely")]


@pytest.mark.parametrize(
    ("uid", "oldest_ms", "cause"),
    [
        (5, 300.0, "slow-name-resolution"),
        (5, 20.0, None),  # many quick look-ups
        (6, 300.0, "lock-contention"),  # of another user: they wait for something inside the process
    ],
)
def test_requests_in_idle_threads_wait_for_open_queries_of_their_user(
    uid: int, oldest_ms: float, cause: str | None
) -> None:
    """A runtime with an event loop: no thread waits for the name server, and all requests share a look-up."""
    view = make_view(
        process_time=[make_process(7, "shop", threads=4)],
        thread_time=[make_time(7, "park", 3.9), make_time(7, "events", 0.1)],
        tcp_waits=[make_wait(7, "shop", "in", "80", 3.0, 700.0)],
        dns_waits=[
            {
                "server": "10.0.0.2", "uid": uid, "queries": 40, "samples": 32, "waiting": 1.6,
                "oldest": oldest_ms, "kept": 0,
            }
        ],
    )  # fmt: skip
    ranking = rank_causes(evaluate_rules(RULES.values(), view), RULES, CAUSES, read_service_times(view))
    assert [item.cause for item in ranking.causes][:1] == ([cause] if cause else [])


def test_requests_of_unknown_callers_count_for_the_service_behind_the_port() -> None:
    """The socket of a short connection is closed before its program is looked up."""
    view = make_view(
        process_time=[make_process(7, "php-fpm", threads=1), make_process(8, "php-fpm", 7, threads=1)],
        thread_time=[make_time(8, "peer", 0.9, "10.0.0.9:3306"), make_time(7, "events", 1.0)],
        listeners=[{"address": "127.0.0.1", "port": 9000, "pid": 7, "queue_min": 0}],
        tcp_waits=[make_wait(0, "", "out", "127.0.0.1:9000", 2.0, 900.0)],
    )
    [account] = [item for item in read_service_times(view).accounts if item.service.name == "php-fpm"]
    assert (account.waiting, account.oldest_ms) == (2.0, 900.0)


@pytest.mark.parametrize(("owner", "is_wait"), [(None, True), (7, True), (8, False)])
def test_a_query_of_another_program_of_the_same_user_is_no_wait(owner: int | None, is_wait: bool) -> None:
    """nginx keeps a connected socket to its name server, and the application next to it has the same user."""
    view = make_view(
        process_time=[make_process(7, "web", threads=3)],
        thread_time=[make_time(7, "events", 1.0), make_time(7, "condition", 2.0)],
        tcp_waits=[make_wait(7, "web", "in", "80", 2.0, 450)],
        dns_waits=[
            {
                "server": "10.0.0.2",
                "queries": 1,
                "samples": 32,
                "waiting": 1.0,
                "oldest": 7780,
                "kept": 0,
                "pid": owner,
                "uid": make_process(7, "web", threads=3)["uid"],
            }
        ],
    )
    amounts = read_service_times(view).accounts[0].amounts
    assert any(activity == "dns" for activity, _ in amounts) is is_wait
