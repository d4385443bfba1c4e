"""Rules about what requests share: whether more workers would help, and what waiting for a lock means."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.view import HostView
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_view, make_wait
from culprit.tests.domain.rules.test_rank import cause as make_cause
from culprit.tests.domain.rules.test_rank import make_finding
from culprit.tests.domain.rules.test_rank import rule as make_rule
from culprit.tests.domain.rules.test_service_time_rules import rank, waiting_service

QUEUE_OF_WEB = {"address": "*", "port": 80, "pid": 7, "queue_min": 3}
DATABASE = [make_process(9, "postgres", threads=4)]


def full_service(
    *times: dict, database: tuple[dict, ...] = (), run: float = 0.0, wait: float = 0.0
) -> HostView:
    """A service with four busy threads before which requests queue, and perhaps a database on the same host."""
    view_of = {"process_time": [make_process(7, "web", threads=4, run=run, wait=wait)]}
    listeners = [QUEUE_OF_WEB]
    if database:
        view_of["process_time"] += DATABASE
        listeners = [QUEUE_OF_WEB, {"address": "*", "port": 5432, "pid": 9, "queue_min": 0}]
    return make_view(
        **view_of,
        thread_time=[*(item | {"pid": 7} for item in times), *(item | {"pid": 9} for item in database)],
        tcp_waits=[make_wait(7, "web", "in", "80", 5)],
        listeners=listeners,
    )


@pytest.mark.parametrize(
    ("view", "is_pool"),
    [
        (full_service(make_time(7, "peer", 4.0, "10.9.9.9:80")), True),
        (full_service(make_time(7, "lock", 4.0, "0x7f")), False),
        (full_service(run=2.0, wait=2.0), False),
        (full_service(run=4.0), True),
        (full_service(make_time(7, "peer", 4.0, "127.0.0.1:5432"), database=(make_time(9, "disk", 4.0, "vda"),)), False),
        (full_service(make_time(7, "peer", 4.0, "127.0.0.1:5432"), database=(make_time(9, "sleep", 4.0),)), True),
    ],
    ids=["remote", "lock", "no free CPU", "free CPUs", "disk of the database", "sleep of the database"],
)  # fmt: skip
def test_pool_is_too_small_only_where_more_workers_would_help(view: HostView, is_pool: bool) -> None:
    ranking = rank(view)
    assert {"F-SERVICE-QUEUES"} <= {item.rule for item in ranking.harm}
    named = {name for item in ranking.causes for name in (item.cause, *item.explains)}
    assert ("worker-pool-exhausted" in named) == is_pool
    assert ("F-TIME-POOL" in {item.rule for item in ranking.refuted}) != is_pool


def test_waiting_for_a_lock_counts_for_what_its_holder_does() -> None:
    limited = make_cause("io-limit", mechanisms=("disk",))
    rule, harm = make_rule("R", "io-limit"), make_rule("H")
    view = full_service(make_time(7, "lock", 2.4, "0x7f"), make_time(7, "disk", 1.6, "log"))
    place = (("cgroup", "/web"), ("pid", "7"))
    findings = [replace(make_finding(item), subject=place) for item in (rule, harm)]
    ranking = rank_causes(findings, {"R": rule, "H": harm}, {"io-limit": limited}, read_service_times(view))
    share = ranking.causes[0].share
    assert share is not None
    assert share.value == pytest.approx(1.0)
    assert 0.1 < share.low < 0.5 < share.high


def confidence_of_full_pool(view: HostView, **place: str) -> str:
    """Return the confidence of full workers and of what they explain, with direct evidence at a place."""
    pool = make_cause("pool", needs_room=True, explains=("overflow",))
    full, overflow = make_rule("R", "pool"), make_rule("O", "overflow")
    subject = tuple(sorted((place or {"cgroup": "/web", "pid": "7"}).items()))
    findings = [replace(make_finding(item), subject=subject) for item in (full, overflow)]
    rules, causes = {"R": full, "O": overflow}, {"pool": pool, "overflow": make_cause("overflow")}
    ranking = rank_causes(findings, rules, causes, read_service_times(view))
    assert [(item.cause, item.explains) for item in ranking.causes] == [("pool", ("overflow",))]
    return ranking.causes[0].confidence


def behind(*times: dict) -> HostView:
    """A full service whose workers wait for the database of this host."""
    return full_service(make_time(7, "peer", 4.0, "127.0.0.1:5432"), database=times)


@pytest.mark.parametrize(
    ("view", "confidence"),
    [
        (full_service(make_time(7, "tracer", 4.0)), "possible"),
        (full_service(make_time(7, "pipe", 4.0, detail="write")), "possible"),
        (full_service(make_time(7, "filesystem", 4.0)), "possible"),
        (full_service(make_time(7, "disk", 2.2, "vda"), make_time(7, "peer", 1.8, "10.9.9.9:80")), "possible"),
        (behind(make_time(9, "condition", 4.0)), "possible"),
        (behind(make_time(9, "tracer", 4.0)), "possible"),
        (full_service(make_time(7, "pipe", 4.0, detail="read")), "likely"),
        (full_service(make_time(7, "disk", 1.8, "vda"), make_time(7, "peer", 2.2, "10.9.9.9:80")), "likely"),
        (full_service(make_time(7, "peer", 4.0, "10.9.9.9:80")), "likely"),
        (full_service(make_time(7, "condition", 4.0)), "likely"),
        (behind(make_time(9, "sleep", 4.0)), "likely"),
        (behind(make_time(9, "peer", 4.0, "10.9.9.9:80")), "likely"),
    ],
    ids=[
        "stopped", "full pipe", "file system", "mostly the disk", "inside the database", "stopped database",
        "child writes", "mostly a peer", "remote peer", "waits of its own",
        "database sleeps", "remote disk of the database",
    ],
)  # fmt: skip
def test_workers_are_likely_too_few_only_where_what_they_wait_for_has_room(view, confidence: str) -> None:
    """Full workers explain the overflow in front of them in both cases."""
    assert confidence_of_full_pool(view) == confidence


def test_room_of_workers_is_judged_by_the_address_that_they_serve() -> None:
    stopped = full_service(make_time(7, "tracer", 4.0))
    assert confidence_of_full_pool(stopped, listener="127.0.0.1:80", process="web") == "possible"
    assert confidence_of_full_pool(stopped, listener="10.9.9.9:80", process="web") == "likely"


def test_room_of_workers_without_a_time_account_is_not_judged() -> None:
    assert confidence_of_full_pool(make_view()) == "likely"


def test_services_that_wait_for_each_other_end_the_search_for_room() -> None:
    circle = behind(make_time(9, "peer", 4.0, "127.0.0.1:80"))
    assert confidence_of_full_pool(circle) == "likely"


@pytest.mark.parametrize(
    ("pid", "confidence"),
    [(7, "likely"), (99, "possible")],
    ids=["process of the service", "another process"],
)
def test_wait_of_a_process_that_ended_is_at_that_process(pid: int, confidence: str) -> None:
    """Neither its name nor its group was read. That harms the service only if it is one of its processes."""
    wait = {
        "pid": pid, "comm": "", "cgroup": "", "kind": "pipe_write", "function": "pipe_write", "scans": 6,
        "scans_waiting": 6, "mean_threads": 4, "kernel_thread": 0,
    }  # fmt: skip
    view = waiting_service(make_time(7, "pipe", 4.0, detail="write"), kernel_waits=[wait])
    [item] = [item for item in rank(view).causes if item.cause == "output-pipe-full"]
    assert (item.confidence, item.scope) == (confidence, (("pid", str(pid)),))


@pytest.mark.parametrize("place", [{}, {"cgroup": "/web"}, {"cgroup": "/batch"}])
@pytest.mark.parametrize("mechanism", ["runnable", "disk", "fault", "peer"])
def test_a_full_resource_is_likely_only_if_the_harm_passes_through_it(mechanism: str, place: dict) -> None:
    """Harm to the whole host names no service, and the services that lose time show what they wait for."""
    harm = make_rule("H", strength=Strength.CONTEXT)
    full = make_rule("R", "full", strength=Strength.MECHANISM, harm=False)
    named_causes = {"full": make_cause("full", mechanisms=(mechanism,))}
    findings = [make_finding(full, **place), make_finding(harm)]
    rules = {"H": harm, "R": full}

    def rank_view(view: HostView) -> list[tuple[str, str]]:
        result = rank_causes(findings, rules, named_causes, read_service_times(view))
        return [(item.cause, item.confidence) for item in result.causes]

    target = "10.0.0.9:1" if mechanism == "peer" else "-"
    runnable = 3.5 if mechanism == "runnable" else 0.0
    inside = [] if runnable else [make_time(7, mechanism, 3.5, target)]
    elsewhere = place.get("cgroup") == "/batch"
    assert rank_view(waiting_service(*inside, wait=runnable)) == [
        ("full", "possible" if elsewhere else "likely")
    ]
    assert rank_view(waiting_service(make_time(7, "pipe", 3.5, detail="write"))) == [("full", "possible")]
    # Without an account, nothing contradicts the rule. Nor does an account where the rule shows the harm itself.
    assert rank_view(make_view()) == [("full", "likely")]
    rules["R"] = replace(full, harm=True)
    findings[:] = [make_finding(full)]
    assert rank_view(waiting_service(make_time(7, "pipe", 3.5, detail="write"))) == [("full", "likely")]
