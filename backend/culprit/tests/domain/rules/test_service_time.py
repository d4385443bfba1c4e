"""Time accounts of services from samples of threads, counters and connections."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, TimeAccount, read_service_times
from culprit.domain.rules.measures.service_time.services import map_services
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Context
from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import fixture_folder
from collectors.tests.support import SIMPLE, part


def find(times: ServiceTimes, name: str) -> TimeAccount:
    return next(item for item in times.accounts if item.service.name == name)


def shares(account: TimeAccount) -> dict[str, float]:
    return {
        f"{activity} {target}".strip(): round(
            account.share(lambda *key, at=(activity, target): key == at).value, 3
        )
        for activity, target in account.amounts
    }


def lock_view() -> HostView:
    """16 workers: one computes, 13 wait for a mutex, 2 wait for requests; 14 requests are in progress."""
    return make_view(
        process_time=[make_process(7, "items", threads=16, run=0.9, wait=0.1)],
        thread_time=[
            make_time(7, "running", 0.9),
            make_time(7, "runnable", 0.1),
            make_time(7, "lock", 13.0, "0x7f00"),
            make_time(7, "client", 2.0, "8000"),
        ],
        tcp_waits=[make_wait(7, "items", "in", "8000", 14.0)],
    )


def test_account_holds_all_time_of_threads() -> None:
    account = find(read_service_times(lock_view()), "items")
    assert account.total + sum(item.number for item in account.idle.values()) == pytest.approx(16.0)
    assert shares(account) == {"running": 0.064, "runnable": 0.007, "lock 0x7f00": 0.929}
    lock = account.share(lambda activity, _: activity == "lock")
    assert 0.85 < lock.low < lock.value < lock.high < 0.97
    assert account.samples == 16 * 80


@given(
    st.floats(0, 1), st.floats(0, 1), st.lists(st.tuples(st.sampled_from(
        ("disk", "lock", "peer", "events", "condition", "park", "unknown", "new-activity")
    ), st.floats(0.01, 5)), max_size=6, unique_by=lambda item: item[0]), st.floats(0, 30),
)  # fmt: skip
def test_amounts_add_up_to_threads_and_requests(run, wait, activities, waiting) -> None:
    threads = run + wait + sum(number for _, number in activities) or 1.0
    view = make_view(
        process_time=[make_process(7, "items", threads=threads, run=run, wait=wait)],
        thread_time=[make_time(7, activity, number) for activity, number in activities],
        tcp_waits=[make_wait(7, "items", "in", "80", waiting)],
    )
    for account in read_service_times(view).accounts:
        every = account.total + sum(item.number for item in account.idle.values())
        unseen = max(0.0, every - threads)
        assert every >= threads - 1e-6 or threads <= 1.0
        assert unseen <= waiting + 1e-6
        for key, amount in account.amounts.items():
            share = account.share(lambda *item, at=key: item == at)
            assert -1e-9 <= share.low <= share.value + 1e-9 <= share.high + 2e-9 <= 1 + 1e-6
            assert amount.low <= amount.number + 1e-9 <= amount.high + 2e-9


def chain_view() -> HostView:
    """The web server waits for workers over a Unix socket, the workers for a database over TCP, the database for a lock."""
    return make_view(
        process_time=[
            make_process(10, "nginx", ppid=1),
            make_process(11, "nginx", ppid=10, run=0.02),
            make_process(20, "php-fpm", ppid=1),
            make_process(21, "php-fpm", ppid=20, run=0.05),
            make_process(22, "php-fpm", ppid=20, run=0.05),
            make_process(30, "mariadbd", ppid=1, threads=10, run=0.1),
        ],
        thread_time=[
            make_time(10, "signal", 1.0),
            make_time(11, "events", 0.98),
            make_time(20, "events", 1.0),
            make_time(21, "peer", 0.95, "127.0.0.1:3306", "recvfrom"),
            make_time(22, "peer", 0.95, "127.0.0.1:3306", "recvfrom"),
            make_time(30, "condition", 8.0, "0x1"),
            make_time(30, "events", 1.9),
        ],
        tcp_waits=[
            make_wait(11, "nginx", "in", "80", 4.0, 3000),
            make_wait(11, "nginx", "out", "unix:/run/php.sock", 4.0, 3000),
        ],
        listeners=[{"address": "127.0.0.1", "port": 3306, "process": "mariadbd", "pid": 30, "queue_min": 0}],
        unix_calls=[
            {"path": "/run/php.sock", "pid": 11, "comm": "nginx", "peer_pid": 21, "peer_comm": "php-fpm"}
        ],
    )


def test_wait_for_local_peer_continues_at_the_peer() -> None:
    times = read_service_times(chain_view())
    names = [account.service.name for account in times.accounts]
    assert names == ["nginx", "php-fpm", "mariadbd"]
    assert [item.service.name for item in times.list_chain(times.accounts[0])] == names
    database = find(times, "mariadbd")
    assert database.waiting == pytest.approx(1.9)
    assert shares(database) == {"running": 0.053, "condition 0x1": 0.947}
    assert find(times, "php-fpm").waiting == pytest.approx(4.0)


def test_requests_in_no_thread_are_unknown() -> None:
    view = make_view(
        process_time=[make_process(7, "node", run=0.1)],
        thread_time=[make_time(7, "events", 0.9)],
        tcp_waits=[make_wait(7, "node", "in", "80", 5.0)],
    )
    account = find(read_service_times(view), "node")
    assert shares(account) == {"running": 0.02, "unknown": 0.98}


def test_requests_behind_a_busy_thread_are_its_time() -> None:
    view = make_view(
        process_time=[make_process(7, "redis-server", threads=4, run=0.99)],
        thread_time=[make_time(7, "condition", 3.0, "0x2"), make_time(7, "events", 0.01)],
        tcp_waits=[make_wait(7, "redis-server", "in", "6379", 2.0, unread=9.0)],
    )
    account = find(read_service_times(view), "redis-server")
    assert (shares(account), account.queued) == ({"running": 1.0}, 9.0)


def test_unanswered_requests_count_where_an_event_loop_waits_for_many() -> None:
    view = make_view(
        process_time=[make_process(7, "haproxy", run=0.2)],
        thread_time=[make_time(7, "events", 0.8)],
        tcp_waits=[
            make_wait(7, "haproxy", "in", "80", 9.0),
            make_wait(7, "haproxy", "out", "[::ffff:10.9.9.9]:80", 9.0),
        ],
    )
    assert shares(find(read_service_times(view), "haproxy")) == {"running": 0.022, "peer 10.9.9.9:80": 0.978}


def test_two_services_that_call_each_other_end() -> None:
    view = make_view(
        process_time=[make_process(7, "a"), make_process(8, "b")],
        thread_time=[
            make_time(7, "peer", 1.0, "127.0.0.1:82"),
            make_time(8, "peer", 1.0, "10.0.0.5:81"),
            make_time(7, "client", 0.0, "81"),
            make_time(8, "client", 0.0, "82"),
        ],
    )
    times = read_service_times(view)
    assert [account.service.name for account in times.accounts] == ["a", "b"]
    assert [item.service.name for item in times.list_chain(times.accounts[1])] == ["b", "a"]


@pytest.mark.parametrize(("cpus_held_s", "throttled"), [(0.0, 0.0), (6.0, 1.5), (12.0, 3.0)])
def test_throttled_time_is_split_from_runnable(cpus_held_s: float, throttled: float) -> None:
    """4 threads want to run, 0.5 do. Both CPUs of the group are held back for so many seconds of 8.

    The capture takes longer than the counters of groups, because other collectors begin earlier and end later.
    """
    view = make_view(
        seconds=20.0,
        process_time=[make_process(7, "app", threads=4, run=0.5, wait=3.5)],
        thread_time=[],
        cgroup_cpu=[{"path": "/app", "throttled_s": cpus_held_s, "seconds": 8.0}],
        tcp_waits=[make_wait(7, "app", "in", "80", 4.0)],
    )
    account = find(read_service_times(view), "app")
    held = account.amounts.get(("throttled", ""))
    assert (held.number if held else 0.0) == pytest.approx(throttled)
    assert account.total == pytest.approx(4.0)


def test_processes_that_ran_instead_are_named() -> None:
    view = make_view(
        process_time=[make_process(7, "web", run=0.2, wait=0.8), make_process(9, "backup", run=1.8)],
        thread_time=[],
        tcp_waits=[make_wait(7, "web", "in", "80", 4.0)],
    )
    [user] = find(read_service_times(view), "web").ran_instead
    assert (user.name, round(user.share, 2)) == ("backup", 0.9)


def test_a_supervisor_and_its_services_are_separate_services() -> None:
    processes = [
        make_process(1, "python3", ppid=0),
        make_process(2, "python3", ppid=1),
        make_process(3, "python3", ppid=2),
        make_process(4, "python3", ppid=1),
    ]
    times = [make_time(pid, "accept", 1.0, port) for pid, port in ((2, "80"), (3, "80"), (4, "81"))]
    services = map_services(make_view(process_time=processes, thread_time=times)).services
    assert sorted(sorted(service.pids) for service in services) == [["1"], ["2", "3"], ["4"]]


def test_children_of_a_supervisor_that_share_a_port_are_joined() -> None:
    """A mail server starts a process for each connection; another program of it, and another port, are apart."""
    processes = [
        make_process(5, "dovecot"),
        *(make_process(pid, "imap", ppid=5) for pid in (7, 8, 9)),
        make_process(10, "pop3", ppid=5),
    ]
    connections = [
        make_wait(pid, "imap", "in", port, 0) for pid, port in ((7, "143"), (8, "143"), (9, "993"))
    ]
    connections.append(make_wait(10, "pop3", "in", "143", 0))
    view = make_view(process_time=processes, thread_time=[], tcp_waits=connections)
    pids = sorted(sorted(service.pids) for service in map_services(view).services)
    assert pids == [["10"], ["5"], ["7", "8"], ["9"]]


def test_daemons_that_init_adopted_stay_separate_services() -> None:
    """Two servers of one port number listen at two addresses or in two namespaces."""
    processes = [make_process(7, "redis-server"), make_process(8, "redis-server")]
    connections = [make_wait(pid, "redis-server", "in", "6379", 0) for pid in (7, 8)]
    view = make_view(process_time=processes, thread_time=[], tcp_waits=connections)
    assert sorted(sorted(service.pids) for service in map_services(view).services) == [["7"], ["8"]]


def test_a_supervisor_in_another_control_group_is_no_part_of_its_only_service() -> None:
    def list_services(group: str) -> list[list[str]]:
        processes = [
            make_process(1, "python3", ppid=0, cgroup="/system/agent"),
            make_process(2, "python3", ppid=1, cgroup=group),
            make_process(3, "python3", ppid=2, cgroup=group),
        ]
        view = make_view(process_time=processes, thread_time=[make_time(2, "accept", 1.0, "80")])
        return sorted(sorted(service.pids) for service in map_services(view).services)

    assert list_services("/system/web") == [["1"], ["2", "3"]]
    assert list_services("/system/agent") == [["1", "2", "3"]]


def test_requests_of_a_server_that_was_not_sampled_wait_for_something_unknown() -> None:
    """Only the processes that did most are sampled; a frozen one did nothing."""
    view = make_view(
        process_time=[make_process(7, "web")],
        thread_time=[make_time(7, "peer", 4.0, "127.0.0.1:6379")],
        processes=[{"pid": 8, "ppid": 1, "comm": "redis-server", "cpu": 0.0}],
        listeners=[
            {"address": "127.0.0.1", "port": 6379, "process": "redis-server", "pid": 8, "queue_min": 5}
        ],
    )
    account = find(read_service_times(view), "redis-server")
    assert {key: amount.number for key, amount in account.amounts.items()} == {("unknown", ""): 5.0}


def test_roles_of_a_program_share_a_service() -> None:
    processes = [make_process(1, "gunicorn: maste"), make_process(2, "gunicorn: worke", ppid=1)]
    [service] = map_services(make_view(process_time=processes, thread_time=[])).services
    assert service.pids == {"1", "2"}


def test_a_named_service_has_an_account_without_requests() -> None:
    view = make_view(
        target={"kind": "process", "pid": 7},
        process_time=[make_process(7, "job", run=0.9), make_process(8, "other", run=0.1)],
        thread_time=[make_time(7, "disk", 0.1, "sda")],
    )
    assert [account.service.name for account in read_service_times(view).accounts] == ["job"]


def test_no_samples_of_threads_give_no_account() -> None:
    times = read_service_times(make_view(tcp_waits=[make_wait(7, "web", "in", "80", 4.0)]))
    assert times.accounts == ()


@cache
def golden(name: str) -> HostView:
    """A view of a recording of `proc_threads` on a real host."""
    folder = fixture_folder("proc_threads") / name
    method = json.loads((folder / "how.json").read_text())["method"]
    parts = {"stdout": part((folder / "stdout").read_bytes())}
    parsed = COLLECTORS["proc_threads"].parse(parts, Context(SIMPLE, method, 5.0, {}))
    return build_view({"proc_threads": parsed}, seconds=5.0)


def build_golden(name: str, program: str) -> TimeAccount:
    """The account of a program in a recording, as if the capture had named it."""
    view = golden(name)
    pid = next(row.number("pid") for row in view.rows("process_time") if row.text("comm") == program)
    named = replace(view, facts={**view.facts, "target": {"kind": "process", "pid": int(pid or 0)}})
    return find(read_service_times(named), program)


@pytest.mark.parametrize(
    ("program", "activity"),
    [
        ("mutex", "lock"), ("flock", "lock"), ("fsync", "disk"), ("direct", "disk"), ("faults", "fault"),
        ("stat", "filesystem"), ("ask", "peer"), ("ask-poll", "peer"), ("dns", "dns"), ("compute-sleep", "runnable"),
    ],
)  # fmt: skip
def test_real_programs_spend_their_time_where_they_were_written_to(program: str, activity: str) -> None:
    account = build_golden("debian-12-waits", program)
    waits = {key: item for key, item in account.amounts.items() if key[0] not in ("running", "runnable")}
    assert max(waits or account.amounts, key=lambda key: account.amounts[key].number)[0] == activity


def test_a_real_server_that_sleeps_holds_the_requests_of_its_real_callers() -> None:
    """Six callers wait for a server over TCP; it sleeps in six threads, and no connection was looked at."""
    account = build_golden("debian-12-waits", "serve")
    callers = [build_golden("debian-12-waits", name) for name in ("ask", "ask-poll")]
    requested = sum(caller.amounts["peer", "127.0.0.1:7711"].number for caller in callers)
    assert account.waiting == pytest.approx(requested)
    inside = sum(account.amounts[activity, ""].number for activity in ("sleep", "runnable"))
    assert inside == pytest.approx(requested, rel=0.05)
    assert {name for caller in callers for name in (it.name for it in caller.callees.values())} == {"serve"}


@pytest.mark.parametrize("program", ["musl-pool", "java", "gopool", "python3", "node"])
def test_idle_pools_of_real_runtimes_are_idle(program: str) -> None:
    account = build_golden("debian-12-runtimes", program)
    assert {activity for activity, _ in account.amounts} <= {"running", "runnable"}


@pytest.mark.parametrize("name", ["debian-12-waits", "debian-12-runtimes"])
def test_every_process_of_a_recording_is_accounted_for(name: str) -> None:
    view = golden(name)
    programs = {row.text("comm") for row in view.rows("process_time") if (row.number("wall_ms") or 0) > 0}
    for program in programs - {"sh", "bash", "python"}:
        account = build_golden(name, program)
        threads = sum(row.number("threads") or 0.0 for row in account.service.rows)
        busy, idle = account.amounts.values(), account.idle.values()
        assert sum(item.number for item in (*busy, *idle)) == pytest.approx(threads, rel=0.01), program
        assert all(item.low <= item.number + 1e-9 and item.number <= item.high + 1e-9 for item in busy)


def test_requests_go_on_over_unix_sockets_behind_an_event_loop() -> None:
    """No counter shows unanswered data on Unix sockets: connections and the busy threads behind them limit it."""
    view = make_view(
        process_time=[
            make_process(11, "nginx"), make_process(21, "php-fpm"), make_process(22, "php-fpm", ppid=21),
            make_process(23, "php-fpm", ppid=21), make_process(30, "mariadbd", threads=4),
        ],
        thread_time=[
            make_time(11, "events", 1.0), make_time(21, "events", 1.0),
            make_time(22, "peer", 1.0, "127.0.0.1:3306"), make_time(23, "peer", 1.0, "127.0.0.1:3306"),
            make_time(30, "condition", 2.0, "0x1"), make_time(30, "condition", 1.0, "0x2"), make_time(30, "events", 1.0),
        ],
        tcp_waits=[make_wait(11, "nginx", "in", "80", 3.0)],
        listeners=[{"address": "127.0.0.1", "port": 3306, "process": "mariadbd", "pid": 30, "queue_min": 0}],
        unix_calls=[
            {"path": "/run/php.sock", "pid": 11, "peer_pid": pid, "connections": 1} for pid in (22, 23)
        ],
    )  # fmt: skip
    times = read_service_times(view)
    assert [item.service.name for item in times.list_chain(times.accounts[0])] == [
        "nginx",
        "php-fpm",
        "mariadbd",
    ]
    assert shares(times.accounts[0]) == {"peer /run/php.sock": 0.667, "unknown": 0.333}
    condition = find(times, "mariadbd").share(lambda activity, _: activity == "condition")
    assert condition.low == pytest.approx(1.0)


@pytest.mark.parametrize(("busy", "unseen"), [(2.1, False), (1.2, True)])
def test_requests_queue_behind_busy_workers_where_most_are_busy(busy: float, unseen: bool) -> None:
    """Three workers and five requests: if two workers are busy, the others queue behind them; otherwise none knows."""
    view = make_view(
        process_time=[make_process(7, "web", threads=3, run=busy)],
        thread_time=[make_time(7, "running", busy), make_time(7, "accept", 3.0 - busy)],
        tcp_waits=[make_wait(7, "web", "in", "80", 5.0)],
    )
    account = find(read_service_times(view), "web")
    assert (("unknown", "") in account.amounts) is unseen
    assert (account.share_of("running", "").value == pytest.approx(1.0)) is not unseen
