"""Measures of the network family that take more than one table: who waits in a listener's process, and stacks."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import CollectorOutcome, HostView, Stacks, TableRow, ViewSeries

from collectors.parse.perf import folded

CITE = Citation("r", "c", "a", "samples", (1,))
SEARCH = "svc;connect;tcp_v4_connect;inet_hash_connect;__inet_hash_connect;__inet_check_established"


def rows(*cells: dict[str, object]) -> list[TableRow]:
    return [TableRow(cell, CITE) for cell in cells]  # type: ignore[arg-type]


def still(metric: str) -> ViewSeries:
    """A counter that does not move."""
    return ViewSeries(
        metric, {}, None, (), np.arange(2, dtype=np.int64) * 10**9, np.zeros((2, 1)), [1, 2], CITE
    )


def pool(
    least: int = 12,
    runnable: float = 0.1,
    wchan: str = "hrtimer_nanosleep",
    established: int = 0,
    samples: int = 40,
) -> HostView:
    """A service of four threads with a queue that never fell below `least`."""
    listener = {
        **{"port": 8080, "pid": 7, "process": "web", "samples": samples, "queue_min": least, "queue_max": 90},
        **{"backlog": 4096, "fill_pct": 2.2},
    }
    threads = [{"pid": 7, "tid": 7 + n, "samples": 50, "wchan": wchan, "comm": "web"} for n in range(4)]
    group = {"pid": 7, "comm": "web", "threads": 4, "mean_runnable": runnable}
    destination = {"peer": "10.0.0.9", "port": 80, "source": "10.0.0.7", "established": established}
    names = ("ss_listen", "proc_threads", "ss", "netstat_ext", "snmp")
    tables = {
        "listeners": rows(listener),
        "threads": rows(*threads),
        "thread_groups": rows(group),
        "tcp_destinations": rows(destination),
    }
    view = HostView({name: CollectorOutcome(name, "done") for name in names}, tables=tables)

    return replace(view, series=[still("tcp.listen_overflows_per_s")])


def state(rule: str, view: HostView) -> str:
    return evaluate_rules([RULES[rule]], view)[0].state


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, "matched", id="F-NET-ACCEPT-STANDING/blocked-workers"),
        pytest.param({"least": 200}, "matched", id="F-NET-ACCEPT-STANDING/hundreds-wait"),
        pytest.param({"least": 0}, "not_matched", id="F-NET-ACCEPT-STANDING/bursts-drain"),
        pytest.param({"runnable": 3.5}, "not_matched", id="F-NET-ACCEPT-STANDING/they-want-the-cpu"),
        pytest.param(
            {"wchan": "futex_wait_queue"}, "not_matched", id="F-NET-ACCEPT-STANDING/they-want-a-lock"
        ),
        pytest.param({"established": 4}, "not_matched", id="F-NET-ACCEPT-STANDING/all-wait-for-a-peer"),
        pytest.param({"samples": 2}, "not_matched", id="F-NET-ACCEPT-STANDING/two-samples"),
    ],
)
def test_persistent_queue_with_blocked_workers(changes: dict, expected: str) -> None:
    assert state("F-NET-ACCEPT-STANDING", pool(**changes)) == expected


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        pytest.param(12, "matched", id="F-NET-QUEUE-STANDS/stands"),
        pytest.param(0, "not_matched", id="F-NET-QUEUE-STANDS/drains"),
    ],
)
def test_persistent_queue_is_not_too_short(least: int, expected: str) -> None:
    assert state("F-NET-QUEUE-STANDS", pool(least)) == expected
    overflow = replace(still("tcp.listen_overflows_per_s"), values=np.full((2, 1), 9.0))
    rules = evaluate_rules(RULES.values(), replace(pool(least), series=[overflow]))
    named = [cause.cause for cause in rank_causes(rules, RULES, CAUSES).causes]
    assert ("listen-queue-overflow" in named) is (expected == "not_matched")


def stacks(text: str, time_wait: int = 900) -> HostView:
    """Stacks as folded text, on a host with a thousand ports."""
    profile = StackProfile(folded.parse_folded(io.BytesIO(text.encode())))
    destination = {
        **{"peer": "10.0.0.9", "port": 80, "source": "10.0.0.7", "time_wait": time_wait},
        **{"local_ports": time_wait, "port_use_pct": time_wait / 10},
    }
    return HostView(
        {name: CollectorOutcome(name, "done") for name in ("ss", "perf_record")},
        tables={"tcp_destinations": rows(destination)},
        facts={"ss": {"ephemeral_ports": 1000}},
        stacks={"on_cpu": Stacks("on_cpu", profile, CITE)},
    )


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(stacks(f"{SEARCH} 400\nsvc;main 400"), "matched", id="F-FLAME-INET-HASH-CONNECT/half"),
        pytest.param(stacks(f"{SEARCH} 4\nsvc;main 900"), "not_matched", id="F-FLAME-INET-HASH-CONNECT/rare"),
        pytest.param(
            stacks(f"{SEARCH} 400\nsvc;main 400", 30),
            "not_matched",
            id="F-FLAME-INET-HASH-CONNECT/ports-are-free",
        ),
        pytest.param(
            stacks(f"{SEARCH} 2\nsvc;main 10"), "inconclusive", id="F-FLAME-INET-HASH-CONNECT/few-samples"
        ),
    ],
)
def test_the_search_for_a_port_in_stacks(view: HostView, expected: str) -> None:
    assert state("F-FLAME-INET-HASH-CONNECT", view) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "svc;nf_hook_slow;nft_do_chain 300\nsvc;main 700", "matched", id="F-FLAME-NETFILTER/rules"
        ),
        pytest.param("svc;nf_hook_slow 20\nsvc;main 900", "not_matched", id="F-FLAME-NETFILTER/few"),
    ],
)
def test_packet_filters_in_stacks(text: str, expected: str) -> None:
    assert state("F-FLAME-NETFILTER", stacks(text)) == expected
