"""Measures of the network family that take more than one table: who waits in a listener's process, and stacks."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from culprit.core.rules.contract import Citation
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.rank import rank
from culprit.core.rules.registry import CAUSES, RULES
from culprit.core.rules.view import Lane, Outcome, Row, Stacks, View
from culprit.core.stacks import Profile

from collectors.parse import folded

CITE = Citation("r", "c", "a", "samples", (1,))
SEARCH = "svc;connect;tcp_v4_connect;inet_hash_connect;__inet_hash_connect;__inet_check_established"


def rows(*cells: dict[str, object]) -> list[Row]:
    return [Row(one, CITE) for one in cells]  # type: ignore[arg-type]


def still(metric: str) -> Lane:
    """A counter that does not move."""
    return Lane(metric, {}, None, (), np.arange(2, dtype=np.int64) * 10**9, np.zeros((2, 1)), [1, 2], CITE)


def pool(
    least: int = 12,
    runnable: float = 0.1,
    wchan: str = "hrtimer_nanosleep",
    established: int = 0,
    looks: int = 40,
) -> View:
    """A service of four threads with a queue that never fell below `least`."""
    listener = {
        **{"port": 8080, "pid": 7, "process": "web", "looks": looks, "queue_min": least, "queue_max": 90},
        **{"backlog": 4096, "fill_pct": 2.2},
    }
    threads = [{"pid": 7, "tid": 7 + n, "wchan": wchan, "comm": "web"} for n in range(4)]
    group = {"pid": 7, "comm": "web", "threads": 4, "mean_runnable": runnable}
    destination = {"peer": "10.0.0.9", "port": 80, "source": "10.0.0.7", "established": established}
    names = ("ss_listen", "proc_threads", "ss", "netstat_ext")
    tables = {
        "listeners": rows(listener),
        "threads": rows(*threads),
        "thread_groups": rows(group),
        "tcp_destinations": rows(destination),
    }
    view = View({name: Outcome(name, "done") for name in names}, tables=tables)

    return replace(view, lanes=[still("tcp.listen_overflows_per_s")])


def state(rule: str, view: View) -> str:
    return evaluate([RULES[rule]], view)[0].state


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, "fired", id="F-NET-ACCEPT-STANDING/blocked-workers"),
        pytest.param({"least": 200}, "fired", id="F-NET-ACCEPT-STANDING/hundreds-wait"),
        pytest.param({"least": 0}, "quiet", id="F-NET-ACCEPT-STANDING/bursts-drain"),
        pytest.param({"runnable": 3.5}, "quiet", id="F-NET-ACCEPT-STANDING/they-want-the-cpu"),
        pytest.param({"wchan": "futex_wait_queue"}, "quiet", id="F-NET-ACCEPT-STANDING/they-want-a-lock"),
        pytest.param({"established": 4}, "quiet", id="F-NET-ACCEPT-STANDING/each-asks-somebody"),
        pytest.param({"looks": 2}, "quiet", id="F-NET-ACCEPT-STANDING/two-looks"),
    ],
)
def test_a_standing_queue_with_blocked_workers(changes: dict, expected: str) -> None:
    assert state("F-NET-ACCEPT-STANDING", pool(**changes)) == expected


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        pytest.param(12, "fired", id="F-NET-QUEUE-STANDS/stands"),
        pytest.param(0, "quiet", id="F-NET-QUEUE-STANDS/drains"),
    ],
)
def test_a_queue_that_stands_is_not_too_short(least: int, expected: str) -> None:
    assert state("F-NET-QUEUE-STANDS", pool(least)) == expected
    overflow = replace(still("tcp.listen_overflows_per_s"), values=np.full((2, 1), 9.0))
    found = evaluate(RULES.values(), replace(pool(least), lanes=[overflow]))
    named = [one.cause for one in rank(found, RULES, CAUSES).causes]
    assert ("listen-queue-overflow" in named) is (expected == "quiet")


def stacks(text: str, time_wait: int = 900) -> View:
    """Stacks as folded text, on a host with a thousand ports."""
    profile = Profile(folded.read(io.BytesIO(text.encode())))
    destination = {
        **{"peer": "10.0.0.9", "port": 80, "source": "10.0.0.7", "time_wait": time_wait},
        **{"local_ports": time_wait, "port_use_pct": time_wait / 10},
    }
    return View(
        {name: Outcome(name, "done") for name in ("ss", "perf_record")},
        tables={"tcp_destinations": rows(destination)},
        facts={"ss": {"ephemeral_ports": 1000}},
        stacks={"on_cpu": Stacks("on_cpu", profile, CITE)},
    )


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(stacks(f"{SEARCH} 400\nsvc;main 400"), "fired", id="F-FLAME-INET-HASH-CONNECT/half"),
        pytest.param(stacks(f"{SEARCH} 4\nsvc;main 900"), "quiet", id="F-FLAME-INET-HASH-CONNECT/rare"),
        pytest.param(
            stacks(f"{SEARCH} 400\nsvc;main 400", 30), "quiet", id="F-FLAME-INET-HASH-CONNECT/ports-are-free"
        ),
        pytest.param(
            stacks(f"{SEARCH} 2\nsvc;main 10"), "inconclusive", id="F-FLAME-INET-HASH-CONNECT/few-samples"
        ),
    ],
)
def test_the_search_for_a_port_in_stacks(view: View, expected: str) -> None:
    assert state("F-FLAME-INET-HASH-CONNECT", view) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "svc;nf_hook_slow;nft_do_chain 300\nsvc;main 700", "fired", id="F-FLAME-NETFILTER/rules"
        ),
        pytest.param("svc;nf_hook_slow 20\nsvc;main 900", "quiet", id="F-FLAME-NETFILTER/few"),
    ],
)
def test_packet_filters_in_stacks(text: str, expected: str) -> None:
    assert state("F-FLAME-NETFILTER", stacks(text)) == expected
