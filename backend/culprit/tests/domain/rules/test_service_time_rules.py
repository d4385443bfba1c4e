"""Rules about the time of services, and the causes that follow: which match, which do not, and what is explained."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.json_form import ranking_to_json
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import Ranking, rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_rank import cause as make_cause
from culprit.tests.domain.rules.test_rank import make_finding
from culprit.tests.domain.rules.test_rank import rule as make_rule

TIME_RULES = [rule for name, rule in RULES.items() if name.startswith("F-TIME-") or name == "F-SERVICE-WAITS"]


def match(view: HostView) -> set[str]:
    return {item.rule for item in evaluate_rules(TIME_RULES, view) if item.state == "matched"}


def rank(view: HostView) -> Ranking:
    return rank_causes(evaluate_rules(RULES.values(), view), RULES, CAUSES, read_service_times(view))


def name_causes(view: HostView) -> list[tuple[str, str]]:
    return [(item.cause, item.confidence) for item in rank(view).causes]


def waiting_service(
    *times: dict, threads: float = 4, requests: float = 5, run: float = 0.0, wait: float = 0.0, **tables
) -> HostView:
    """A service with requests in progress, the oldest for 500 ms."""
    return make_view(
        process_time=[
            make_process(7, "web", threads=threads, run=run, wait=wait),
            *tables.pop("processes_beside", []),
        ],
        thread_time=[item | {"pid": 7} for item in times],
        tcp_waits=[make_wait(7, "web", "in", "80", requests), *tables.pop("connections", [])],
        **tables,
    )


@pytest.mark.parametrize(
    ("rule", "view"),
    [
        ("F-TIME-LOCK", waiting_service(make_time(7, "lock", 3.5, "0x7f"), make_time(7, "client", 0.5))),
        ("F-TIME-DISK", waiting_service(make_time(7, "disk", 3.5, "sda"), make_time(7, "client", 0.5))),
        ("F-TIME-FAULT", waiting_service(make_time(7, "fault", 3.5), make_time(7, "client", 0.5))),
        ("F-TIME-FILESYSTEM", waiting_service(make_time(7, "filesystem", 4.0, "/mnt"))),
        ("F-TIME-PERMISSION", waiting_service(make_time(7, "permission", 4.0))),
        ("F-TIME-DNS", waiting_service(make_time(7, "dns", 4.0, "10.0.0.2:53"))),
        ("F-TIME-PEER", waiting_service(make_time(7, "peer", 4.0, "10.9.9.9:80"))),
        ("F-TIME-STOPPED", waiting_service(make_time(7, "tracer", 4.0))),
        ("F-TIME-PIPE", waiting_service(make_time(7, "pipe", 4.0, detail="write"))),
        ("F-TIME-CLIENT", waiting_service(make_time(7, "client", 4.0, "80", "sendto"))),
        ("F-TIME-CONDITION", waiting_service(make_time(7, "condition", 3.0), make_time(7, "accept", 1.0), requests=3)),
        ("F-TIME-PARK", waiting_service(make_time(7, "park", 3.0), make_time(7, "events", 1.0), requests=3)),
        ("F-TIME-SEMAPHORE", waiting_service(make_time(7, "semaphore", 3.0), make_time(7, "events", 1.0), requests=3)),
        ("F-TIME-SLEEP", waiting_service(make_time(7, "sleep", 3.0), make_time(7, "events", 1.0), requests=3)),
        ("F-TIME-CHILD", waiting_service(make_time(7, "child", 3.0), make_time(7, "events", 1.0), requests=3)),
        ("F-TIME-UNSEEN", waiting_service(make_time(7, "events", 4.0))),
        ("F-TIME-RUNNING", waiting_service(make_time(7, "condition", 3.0), run=1.0)),
        ("F-TIME-RUNNABLE", waiting_service(make_time(7, "condition", 1.0), run=0.6, wait=2.4)),
        (
            "F-TIME-NEIGHBOR",
            waiting_service(run=0.6, wait=3.4, processes_beside=[make_process(9, "zstd", run=1.4, threads=2)]),
        ),
        ("F-TIME-THROTTLED", waiting_service(run=0.5, wait=3.5, cgroup_cpu=[{"path": "/web", "throttled_s": 12.0, "seconds": 8.0}])),
        ("F-TIME-SINGLE-THREAD", waiting_service(make_time(7, "condition", 3.0), run=1.0)),
        (
            "F-TIME-POOL",
            waiting_service(
                make_time(7, "peer", 4.0, "10.9.9.9:80"),
                listeners=[{"address": "*", "port": 80, "pid": 7, "queue_min": 3}],
            ),
        ),
        (
            "F-TIME-LOCAL-PEER",
            waiting_service(
                make_time(7, "peer", 4.0, "127.0.0.1:6379"),
                listeners=[{"address": "*", "port": 6379, "pid": 9, "queue_min": 0}],
                processes_beside=[make_process(9, "redis-server")],
            ),
        ),
        ("F-SERVICE-WAITS", waiting_service(make_time(7, "events", 4.0))),
    ],
)  # fmt: skip
def test_largest_wait_matches(rule: str, view: HostView) -> None:
    matched = match(view)
    assert {rule, "F-SERVICE-WAITS"} <= matched
    allowed = {
        "F-TIME-NEIGHBOR": {"F-TIME-RUNNABLE"},
        "F-TIME-POOL": {"F-TIME-PEER"},
        "F-TIME-LOCAL-PEER": {"F-TIME-UNSEEN"},
        "F-SERVICE-WAITS": {"F-TIME-UNSEEN"},
        "F-TIME-RUNNING": {"F-TIME-SINGLE-THREAD"},
        "F-TIME-SINGLE-THREAD": {"F-TIME-RUNNING"},
    }
    assert matched - {rule, "F-SERVICE-WAITS", "F-TIME-CONTENDED"} <= allowed.get(rule, set())


@pytest.mark.parametrize("change", ["no requests", "short waits", "small share", "few samples"])
def test_small_or_harmless_waits_do_not_match(change: str) -> None:
    number = 0.6 if change == "small share" else 3.5
    more = {"samples": 2} if change == "few samples" else {}
    rest = {"samples": 2} if change == "few samples" else {}
    waiting = {"no requests": 0.0}.get(change, 5.0)
    view = make_view(
        process_time=[make_process(7, "web", threads=8)],
        thread_time=[
            make_time(7, "lock", number, **more),
            make_time(7, "disk", 4.0, **rest),
            make_time(7, "client", 4.0 - number),
        ],
        tcp_waits=[make_wait(7, "web", "in", "80", waiting, 30 if change == "short waits" else 500)],
    )
    assert "F-TIME-LOCK" not in match(view)
    assert not [item for item in rank(view).causes if item.confidence == "likely"]


def test_idle_pool_is_no_lock() -> None:
    """Six idle threads in a condition variable while one request computes."""
    view = waiting_service(make_time(7, "condition", 6.0), make_time(7, "accept", 1.0), threads=8, run=1.0)
    view = make_view(
        process_time=[make_process(7, "web", threads=8, run=1.0)],
        thread_time=[make_time(7, "condition", 6.0), make_time(7, "accept", 1.0)],
        tcp_waits=[make_wait(7, "web", "in", "80", 1.0)],
    )
    assert match(view) == {"F-SERVICE-WAITS", "F-TIME-RUNNING"}


def test_lock_is_named_with_its_share() -> None:
    view = waiting_service(make_time(7, "lock", 3.0, "0x7f"), make_time(7, "client", 0.2), run=0.8)
    ranking = rank(view)
    [cause] = ranking.causes
    assert (cause.cause, cause.confidence) == ("lock-contention", "likely")
    assert cause.share is not None
    assert round(cause.share.value, 2) == 0.79
    assert ranking.unexplained == pytest.approx(0.2105, abs=1e-3)


def chain(*database: dict, **more: float) -> HostView:
    """nginx waits for php-fpm over a Unix socket, php-fpm for MariaDB over TCP."""
    return make_view(
        process_time=[
            make_process(11, "nginx", run=0.02),
            make_process(21, "php-fpm", run=0.03),
            make_process(22, "php-fpm", run=0.03, ppid=21),
            make_process(30, "mariadbd", threads=10, **more),
        ],
        thread_time=[
            make_time(11, "events", 0.98),
            make_time(21, "peer", 0.97, "unix:/run/mysqld.sock", "recvfrom"),
            make_time(22, "peer", 0.97, "unix:/run/mysqld.sock", "recvfrom"),
            *database,
        ],
        tcp_waits=[
            make_wait(11, "nginx", "in", "80", 2.0, 3000),
            make_wait(11, "nginx", "out", "127.0.0.1:9000", 2.0, 3000),
        ],
        listeners=[
            {"address": "127.0.0.1", "port": 9000, "process": "php-fpm", "pid": 21, "queue_min": 0},
        ],
        unix_calls=[
            {"path": "/run/mysqld.sock", "pid": 21, "comm": "php-fpm", "peer_pid": 30, "peer_comm": "x"}
        ],
    )


def test_the_end_of_a_chain_is_the_cause() -> None:
    view = chain(
        make_time(30, "lock", 1.8, "0x7f"), make_time(30, "client", 8.0, "/run/mysqld.sock"), run=0.1
    )
    ranking = rank(view)
    assert [(item.cause, item.confidence) for item in ranking.causes] == [("lock-contention", "likely")]
    [cause] = ranking.causes
    assert dict(cause.scope)["pid"] == "30"
    assert "slow-dependency" in cause.explains
    assert cause.share is not None
    assert 0.85 < cause.share.value < 0.95
    assert ranking.unexplained == pytest.approx(1 - cause.share.value)


def test_a_remote_peer_at_the_end_of_a_chain_is_the_cause() -> None:
    view = chain(make_time(30, "peer", 1.9, "10.9.9.9:3306"), make_time(30, "client", 8.0), run=0.05)
    [cause] = rank(view).causes
    assert (cause.cause, dict(cause.scope)["dst"]) == ("slow-dependency", "10.9.9.9:3306")


@pytest.mark.parametrize(
    ("mechanisms", "requests", "expected", "share"),
    [
        (("lock",), 4, "likely", 0.975),
        # A runnable thread may hold the lock, for a tenth of the time.
        (("runnable",), 4, "possible", 0.1225),
        (("runnable",), 0, "possible", None),
        ((), 4, "likely", None),
    ],
)
def test_a_tenth_of_the_time_is_needed(mechanisms, requests, expected, share) -> None:
    """A proven cause with direct evidence at the slow service: likely only with its mechanism."""
    view = waiting_service(make_time(7, "lock", 3.9, "0x7f"), requests=requests, wait=0.1)
    pattern, cause = make_rule("R", "x", harm=False), make_cause("x", mechanisms=mechanisms)
    findings = [*evaluate_rules(TIME_RULES, view), make_finding(pattern, value=1e6, pid="7")]
    rules = {item.id: item for item in (*TIME_RULES, pattern)}
    ranking = rank_causes(findings, rules, CAUSES | {"x": cause}, read_service_times(view))
    [named] = [item for item in ranking.causes if item.cause == "x"] or [
        item for item in ranking.causes if "x" in item.explains
    ]
    assert named.confidence == expected
    assert (named.share and named.share.value) == (share and pytest.approx(share))


def test_harm_elsewhere_does_not_make_a_pattern_likely() -> None:
    """Requests of the web server wait; the pattern is in a log shipper that no request waits for."""
    view = waiting_service(
        make_time(7, "peer", 4.0, "10.9.9.9:80"), processes_beside=[make_process(9, "shipper", run=0.5)]
    )
    pattern, cause = make_rule("R", "x", harm=False), make_cause("x")
    findings = [*evaluate_rules(TIME_RULES, view), make_finding(pattern, value=1e6, pid="9")]
    rules = {item.id: item for item in (*TIME_RULES, pattern)}
    ranking = rank_causes(findings, rules, CAUSES | {"x": cause}, read_service_times(view))
    assert [(item.cause, item.confidence) for item in ranking.causes] == [
        ("slow-dependency", "likely"),
        ("x", "possible"),
    ]


def test_a_cause_without_mechanism_leaves_the_rest_open() -> None:
    view = waiting_service(make_time(7, "lock", 4.0, "0x7f"))
    pattern, cause = make_rule("R", "x"), make_cause("x", explains=("lock-contention",))
    findings = [*evaluate_rules(TIME_RULES, view), make_finding(pattern, pid="7")]
    rules = {item.id: item for item in (*TIME_RULES, pattern)}
    assert rank_causes(findings, rules, CAUSES | {"x": cause}, read_service_times(view)).unexplained is None
    only_lock = rank_causes(findings[:-1], rules, CAUSES, read_service_times(view))
    assert only_lock.unexplained == pytest.approx(0.0)
    nothing = rank_causes([item for item in findings if item.rule == "F-SERVICE-WAITS"], rules, CAUSES,
                          read_service_times(view))  # fmt: skip
    assert nothing.unexplained == pytest.approx(1.0)


def test_the_order_of_rules_and_findings_changes_nothing() -> None:
    view = chain(
        make_time(30, "lock", 1.0, "0x7f"),
        make_time(30, "disk", 0.8, "sda"),
        make_time(30, "client", 8.0),
        run=0.1,
    )
    expected = ranking_to_json(rank(view), [])
    rules = list(RULES.values())
    for seed in range(8):
        random.Random(seed).shuffle(rules)
        findings = evaluate_rules(rules, view)
        random.Random(seed + 1).shuffle(findings)
        again = rank_causes(findings, {rule.id: rule for rule in rules}, CAUSES, read_service_times(view))
        answer = ranking_to_json(again, [])
        assert answer["causes"] == expected["causes"]
        assert answer["unexplained_pct"] == expected["unexplained_pct"]
        assert answer["time_accounts"] == expected["time_accounts"]


@pytest.mark.parametrize("build", [lambda: chain(make_time(30, "client", 10.0)), waiting_service])
def test_every_number_cites_rows(build: Callable[[], HostView]) -> None:
    for finding in evaluate_rules(TIME_RULES, build()):
        for number in finding.numbers:
            assert number.citations or not number.value, (finding.rule, number.measure)


def test_findings_without_a_cause_are_listed_the_gravest_first() -> None:
    """A finding that supports nothing is not lost, even a direct one; evidence of a named cause is not repeated."""
    rules = [
        make_rule("R1", strength=Strength.CONTEXT), make_rule("R2", strength=Strength.DIRECT),
        make_rule("R3", "x"), make_rule("R4", strength=Strength.CONTEXT),
    ]  # fmt: skip
    findings = [make_finding(item, value=value) for item, value in zip(rules, (2, 2, 2, 64), strict=True)]
    findings[3] = replace(findings[3], severity="critical")
    ranking = rank_causes(findings, {item.id: item for item in rules}, {"x": make_cause("x")})
    answer = ranking_to_json(ranking, findings)
    assert [item["rule"] for item in answer["context"]] == ["R4", "R2", "R1"]


def test_what_explains_no_time_neither_leads_nor_absorbs_what_explains_most_of_it() -> None:
    """A name server that fails, while the service waits for a peer and asks for no name, is a direct finding."""
    view = waiting_service(make_time(7, "peer", 4.0, "10.9.9.9:80"))
    probe = make_rule("F-DNS-SERVER-FAILS", "failing-name-resolution", strength=Strength.DIRECT)
    findings = [*evaluate_rules(TIME_RULES, view), make_finding(probe, value=100)]
    ranking = rank_causes(findings, RULES, CAUSES, read_service_times(view))
    assert [(item.cause, item.explains) for item in ranking.causes] == [
        ("slow-dependency", ()),
        ("failing-name-resolution", ()),
    ]


def test_a_process_that_was_never_sampled_does_not_hide_the_service_of_its_port() -> None:
    view = make_view(
        process_time=[make_process(30, "postgres", threads=1)],
        listeners=[{"address": "127.0.0.1", "port": 5432, "process": "postgres", "pid": 30, "queue_min": 0}],
        tcp_waits=[make_wait(99, "postgres", "in", "5432", 1.0)],
    )
    service = read_service_times(view).services.find_by_target("127.0.0.1:5432")
    assert service is not None
    assert service.pids == {"30"}


def test_a_queue_in_front_of_a_service_is_harm_for_its_time() -> None:
    """On a host out of CPU requests pass quickly once a worker takes them; they wait before."""
    busy = {"run": 0.4, "wait": 3.4, "requests": 0.0}
    others = [make_process(9, "batch", run=1.5)]
    queued = [
        {"address": "10.0.0.5", "port": 80, "process": "web", "pid": 7, "queue_min": 40, "queue_max": 60}
    ]
    quiet = waiting_service(processes_beside=others, **busy)
    crowded = waiting_service(
        processes_beside=others, connections=[make_wait(7, "web", "in", "80", 0.0, 0.0, unread=20.0)],
        listeners=queued, **busy,
    )  # fmt: skip
    assert "F-TIME-NEIGHBOR" not in match(quiet)
    assert "F-TIME-NEIGHBOR" in match(crowded)


@pytest.mark.parametrize(("name", "is_neighbor"), [("sort", True), ("python3", False)])
def test_processes_with_the_same_name_are_a_neighbor_unless_it_is_an_interpreter(
    name: str, is_neighbor: bool
) -> None:
    """Two jobs that sort, each by a parent of its own, use more than all others; of two scripts nothing is known."""
    others = [
        make_process(9, name, run=0.5), make_process(10, name, run=0.5), make_process(11, "gzip", run=0.6),
    ]  # fmt: skip
    view = waiting_service(run=0.4, wait=3.4, processes_beside=others)
    assert ("F-TIME-NEIGHBOR" in match(view)) is is_neighbor


def test_requests_in_threads_that_look_idle_may_wait_for_a_program_that_is_stopped() -> None:
    view = waiting_service(make_time(7, "park", 4.0))
    late = make_rule("F-JVM-STOPS-SAMPLED", "gc-pauses", strength=Strength.MECHANISM, harm=True)
    findings = [*evaluate_rules(TIME_RULES, view), make_finding(late, value=250, pid="7")]
    [cause] = rank_causes(findings, RULES, CAUSES, read_service_times(view)).causes
    assert (cause.cause, cause.confidence) == ("gc-pauses", "possible")
    assert cause.share is not None
    assert cause.share.low < 0.1 < 0.9 < cause.share.value


def test_a_queue_before_free_threads_is_not_explained_by_what_they_do() -> None:
    """A server at its limit of open files accepts nothing: its threads are idle, and the little they do is no reason."""
    idle = [make_time(7, "events", 1.5)]
    queued = [make_wait(7, "web", "in", "80", 0.0, 0.0, unread=400.0)]
    view = waiting_service(
        *idle, threads=2, requests=0.0, run=0.15, wait=0.35, connections=queued,
        processes_beside=[make_process(9, "batch", run=1.5)],
    )  # fmt: skip
    [account] = read_service_times(view).accounts
    assert (account.queued, round(account.total, 2)) == (400.0, 0.5)
    assert account.share_of("runnable", "").value < 0.01
    assert "F-TIME-NEIGHBOR" not in match(view)


def test_a_service_of_this_host_that_answers_late_is_no_likely_cause() -> None:
    listening = [{"address": "127.0.0.1", "port": 3306, "process": "db", "pid": 30, "queue_min": 0}]
    view = waiting_service(
        make_time(7, "peer", 4.0, "127.0.0.1:3306"),
        processes_beside=[make_process(30, "db", threads=4)],
        listeners=listening,
    )
    late = make_rule("F-DEP-SLOW-REPLY", "slow-dependency", strength=Strength.MECHANISM)
    findings = [
        *evaluate_rules(TIME_RULES, view),
        make_finding(late, value=400, pid="7", dst="127.0.0.1:3306"),
    ]
    named = rank_causes(findings, RULES, CAUSES, read_service_times(view)).causes
    assert [(item.cause, item.confidence) for item in named] == [("slow-dependency", "possible")]


@pytest.mark.parametrize(
    ("groups", "confidence"), [(("/web",), "likely"), (("/job",), "possible"), (("/job", "/web"), "likely")]
)
def test_a_wait_in_the_kernel_is_that_of_a_group(groups: tuple[str, ...], confidence: str) -> None:
    """A job of the same name in another group waits for a full pipe as intended; no client waits for it."""
    waits = [
        {"pid": 7 + at, "comm": "web", "cgroup": group, "kind": "pipe_write", "function": "pipe_write",
         "scans": 6, "scans_waiting": 6, "mean_threads": 4, "kernel_thread": 0}
        for at, group in enumerate(groups)
    ]  # fmt: skip
    activity = "pipe" if "/web" in groups else "disk"
    view = waiting_service(make_time(7, activity, 4.0), kernel_waits=waits)
    [item] = [item for item in rank(view).causes if item.cause == "output-pipe-full"]
    assert (item.confidence, dict(item.scope)["cgroup"]) == (confidence, groups[-1])
