"""Workers that accept their own connections, and threads that send files: where their requests are."""

from __future__ import annotations

import pytest
from culprit.domain.rules.measures.service_time.accounts import TimeAccount, read_service_times
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait

WORKERS = range(21, 31)


def read_account(**tables) -> TimeAccount:
    return read_service_times(make_view(**tables)).accounts[0]


def read_workers(*activities: tuple, idle: str = "accept", unread: float = 3.0) -> TimeAccount:
    """Return the account of ten workers on port 9000; each of `activities` is what one of them does half the time."""
    of_workers = dict(zip(WORKERS, activities, strict=False))
    return read_account(
        process_time=[
            make_process(20, "php-fpm"),
            *(make_process(pid, "php-fpm", ppid=20) for pid in WORKERS),
        ],
        thread_time=[
            make_time(20, "events", 1.0, "unix", "epoll_wait"),
            *(make_time(pid, idle, 0.5 if pid in of_workers else 1.0, "9000") for pid in WORKERS),
            *(make_time(pid, activity, 0.5, *more) for pid, (activity, *more) in of_workers.items()),
        ],
        tcp_waits=[make_wait(21, "php-fpm", "in", "9000", 0.0, 900, unread=unread)],
        listeners=[{"address": "127.0.0.1", "port": 9000, "process": "php-fpm", "pid": 20, "queue_min": 0}],
    )


def test_a_request_that_a_worker_accepted_does_not_queue_although_it_is_not_read_to_the_end():
    account = read_workers(("dns", "10.0.0.2:53", "poll"))
    assert (account.waiting, account.queued) == (3.0, 0.0)
    in_pool = read_workers(("dns", "10.0.0.2:53", "poll"), idle="condition")
    assert (in_pool.waiting, in_pool.queued) == (0.0, 3.0), (
        "a pool behind one acceptor: accepted requests queue"
    )


def test_requests_queue_behind_an_acceptor_whose_workers_are_all_busy():
    account = read_account(
        process_time=[make_process(20, "java", threads=5)],
        thread_time=[
            make_time(20, "accept", 1.0, "9000"),
            make_time(20, "peer", 4.0, "10.0.0.2:80", "recvfrom"),
        ],
        tcp_waits=[make_wait(20, "java", "in", "9000", 4.0, 900, unread=3.0)],
        listeners=[{"address": "127.0.0.1", "port": 9000, "process": "java", "pid": 20, "queue_min": 0}],
    )
    assert (account.waiting, account.queued) == (4.0, 3.0)


def test_polls_on_unknown_sockets_wait_for_what_known_polls_wait_for():
    account = read_workers(("dns", "10.0.0.2:53", "poll"), *[("events", "", "poll")] * 5)
    dns = account.share(lambda activity, _: activity == "dns")
    assert dns.value == pytest.approx(1.0)
    assert account.total == pytest.approx(3.0)


def test_polls_on_unknown_sockets_hold_a_request_where_no_poll_is_known():
    account = read_workers(*[("events", "", "poll")] * 6)
    assert account.share(lambda activity, _: activity == "events").value == pytest.approx(1.0)
    few = read_workers(*[("events", "", "poll")] * 6, unread=1.0)
    assert few.total == pytest.approx(1.0), "no more than there are requests; the others are idle"


def test_a_thread_that_waits_for_a_disk_while_it_sends_a_file_holds_a_request():
    def read_sender(operation: str) -> TimeAccount:
        return read_account(
            process_time=[make_process(11, "nginx")],
            thread_time=[
                make_time(11, "disk", 0.75, "/srv/film.mp4", operation),
                make_time(11, "events", 0.25),
            ],
            tcp_waits=[make_wait(11, "nginx", "in", "80", 0.0, 400, unread=0.2)],
        )

    assert read_sender("sendfile").waiting == pytest.approx(0.75)
    assert read_sender("fsync").waiting == 0.0
