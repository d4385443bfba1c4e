"""The same stress per CPU, per link or per limit gives the same verdict on small and on large hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.readings import get_required_collectors
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import RuleInput
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow, ViewSeries
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = (2, 16, 64, 256)
SECONDS = 10
Build = Callable[[int, float], HostView]
"""Builds a host of so many CPUs under a stress: 1 is at the threshold of its rule."""


def build_series(
    metric: str, collector: str, columns: Iterable[float], axis: str = "", **labels: str
) -> ViewSeries:
    values = np.tile(np.array(list(columns), float), (SECONDS, 1))
    names = tuple(str(at) for at in range(values.shape[1])) if axis else ()
    t_ns = (np.arange(SECONDS, dtype=np.int64) + 1) * 10**9
    citation = Citation("", collector, collector, metric)
    return ViewSeries(
        metric, labels, axis or None, names, t_ns, values, list(range(1, SECONDS + 1)), citation
    )


def build_view(
    *series: ViewSeries,
    cpus: int,
    facts: Mapping[str, object] | None = None,
    **tables: list[dict[str, object]],
) -> HostView:
    """Build a host on which every collector of the rules ran."""
    names = {item for rule in RULES.values() for read in rule.inputs() for item in _list_collectors(read)}
    stored = {
        kind: [TableRow(cells, Citation("", kind, kind, "", (at + 1,))) for at, cells in enumerate(rows)]  # type: ignore[arg-type]
        for kind, rows in tables.items()
    }
    outcomes = {name: CollectorOutcome(name, "done") for name in names}
    return HostView(outcomes, series, stored, facts={"cpus": cpus, **(facts or {})}, seconds=SECONDS)


def _list_collectors(read: RuleInput) -> list[str]:
    return [name for any_of in get_required_collectors(read) for name in any_of]


# -- hosts under one stress ------------------------------------------------------------------------------------------


def lose_segments(cpus: int, stress: float) -> HostView:
    """Each CPU sends 2,000 segments a second, and a hundredth of them times the stress are sent again."""
    sent = 2000.0 * cpus
    return build_view(
        build_series("tcp.out_segs_per_s", "snmp", [sent]),
        build_series("tcp.retrans_segs_per_s", "snmp", [sent * 0.0101 * stress]),
        build_series("tcp.syn_retrans_per_s", "netstat_ext", [0.0]),
        build_series("net.rx_drop_per_s", "net_dev", [0.0], dev="eth0"),
        cpus=cpus,
    )


def repeat_handshakes(cpus: int, stress: float) -> HostView:
    opened = 500.0 * cpus
    return build_view(
        build_series("tcp.passive_opens_per_s", "snmp", [opened]),
        build_series("tcp.active_opens_per_s", "snmp", [0.0]),
        build_series("tcp.syn_retrans_per_s", "netstat_ext", [opened * 0.0101 * stress]),
        build_series("tcp.retrans_pct", "snmp", [1.5]),
        cpus=cpus,
    )


def overrun_backlogs(cpus: int, stress: float) -> HostView:
    """Each CPU takes 50,000 packets a second and drops one in a thousand times the stress."""
    return build_view(
        build_series("softnet.processed_per_s", "softnet", [50_000.0] * cpus, "cpu"),
        build_series("softnet.dropped_per_s", "softnet", [50.05 * stress] * cpus, "cpu"),
        build_series("cpu.soft_pct", "cpu_stat", [40.0] * cpus, "cpu"),
        cpus=cpus,
    )


def overrun_single_backlog(cpus: int, stress: float) -> HostView:
    """All packets reach one CPU; the others idle, so that the mean over all CPUs is small."""
    idle = [0.0] * (cpus - 1)
    return build_view(
        build_series("softnet.processed_per_s", "softnet", [50_000.0, *idle], "cpu"),
        build_series("softnet.dropped_per_s", "softnet", [50.05 * stress, *idle], "cpu"),
        build_series("cpu.soft_pct", "cpu_stat", [40.0, *idle], "cpu"),
        cpus=cpus,
    )


def fill_udp_buffers(cpus: int, stress: float) -> HostView:
    received = 10_000.0 * cpus
    return build_view(
        build_series("net.udp_in_per_s", "snmp", [received]),
        build_series("net.udp_rcvbuf_errors_per_s", "snmp", [received * 0.0101 * stress]),
        build_series("cpu.soft_pct", "cpu_stat", [40.0] + [0.0] * (cpus - 1), "cpu"),
        cpus=cpus,
    )


def hold_queue(cpus: int, stress: float) -> HostView:
    """A service accepts 1,000 connections a second for each CPU; its queue holds those of 100 ms times the stress."""
    arrivals = 1000.0 * cpus
    listener = {
        "port": 80, "pid": 7, "process": "web", "samples": 20, "queue_min": arrivals * 0.1 * stress,
        "queue_max": 10**6, "backlog": 10**6, "fill_pct": 1.0,
    }  # fmt: skip
    passive = build_series("tcp.passive_opens_per_s", "snmp", [arrivals])
    return build_view(passive, cpus=cpus, listeners=[listener])


def drop_in_queue(cpus: int, stress: float) -> HostView:
    packets = 10_000.0 * cpus
    drops = packets * SECONDS * 0.001 * stress
    row = {
        "dev": "eth0", "kind": "pfifo", "packets_per_s": packets, "drops": drops, "drops_per_s": drops / SECONDS,
        "drop_pct": 100 * drops / (packets * SECONDS),
    }  # fmt: skip
    return build_view(cpus=cpus, qdiscs=[row])


def fill_link(cpus: int, stress: float) -> HostView:
    """A link of 1 Gbit/s for each CPU, of which 90 % times the stress are used."""
    speed = 1000.0 * cpus
    used = build_series("net.rx_mb_s", "net_dev", [0.9 * stress * speed * 1e6 / (8 * 2**20)], dev="eth0")
    return build_view(used, cpus=cpus, links=[{"dev": "eth0", "kind": "device", "speed": speed}])


def fill_conntrack(cpus: int, stress: float) -> HostView:
    """`nf_conntrack_max` grows with the memory of a host."""
    return build_view(build_series("conntrack.fill_pct", "conntrack", [min(100.0, 75.0 * stress)]), cpus=cpus)


def take_ports(cpus: int, stress: float) -> HostView:
    """A host with 400 ports for each CPU. The same share is taken on all sizes: ports are whole numbers."""
    ports = 400 * cpus
    used = cpus * round(400 * min(1.0, 0.5 * stress))
    row = {
        "peer": "10.0.0.9", "port": 80, "source": "10.0.0.7", "established": used, "time_wait": 0, "syn_sent": 0,
        "local_ports": used, "port_use_pct": 100 * used / ports,
    }  # fmt: skip
    return build_view(cpus=cpus, tcp_destinations=[row], facts={"ss": {"ephemeral_ports": ports}})


def leave_sockets(cpus: int, stress: float) -> HostView:
    """A process with 200 open files for each CPU, half of which times the stress are in CLOSE_WAIT."""
    files = 200 * cpus
    left = round(min(1.0, 0.5 * stress) * files)
    waiting = {
        "pid": 7,
        "comm": "app",
        "local_port": 80,
        "count_first": left,
        "count_last": left,
        "growth_per_s": 0.0,
    }
    opened = {"pid": 7, "comm": "app", "open_first": files, "open_last": files, "growth": 0, "used_pct": 10.0}
    return build_view(cpus=cpus, close_wait=[waiting], fd_counts=[opened])


def compute_statements(cpus: int, stress: float) -> HostView:
    """All CPUs are busy, a tenth of them times the stress with statements of 20 ms."""
    share = min(0.99, 0.1 * stress)
    database, other = 100.0 * cpus * share, 100.0 * cpus * (1 - share)
    groups = [
        {"pid": 1, "comm": "postgres", "cgroup": "/db", "threads": 1, "cpu_pct": database},
        {"pid": 2, "comm": "app", "cgroup": "/app", "threads": 1, "cpu_pct": other},
    ]
    thread = {"pid": 1, "tid": 1, "samples": 100, "cpu_pct": database, "voluntary_per_s": 10 * database / 20}
    return build_view(cpus=cpus, thread_groups=groups, threads=[thread])


CASES: list[tuple[str, Build]] = [
    ("F-NET-LOSS-ELSEWHERE", lose_segments),
    ("F-NET-SYN-RETRANS", repeat_handshakes),
    ("F-SOFTNET-DROP", overrun_backlogs),
    ("F-SOFTNET-DROP", overrun_single_backlog),
    ("F-NET-UDP-BUFFER-FULL", fill_udp_buffers),
    ("F-NET-QUEUE-STANDS", hold_queue),
    ("F-NET-QDISC-DROP", drop_in_queue),
    ("F-NET-UTIL", fill_link),
    ("F-NET-CONNTRACK-FULL", fill_conntrack),
    ("F-NET-PORT-EXHAUSTION", take_ports),
    ("F-TCP-CLOSE-WAIT", leave_sockets),
    ("F-DB-BUSY", compute_statements),
]
IDS = [f"{rule}-{build.__name__}" for rule, build in CASES]


def judge(rule: str, seen: HostView) -> str:
    return evaluate_rules([RULES[rule]], seen)[0].state


@pytest.mark.parametrize(("rule", "build"), CASES, ids=IDS)
def test_verdicts_do_not_depend_on_the_number_of_cpus(rule: str, build: Build) -> None:
    assert {judge(rule, build(cpus, 1.3)) for cpus in SIZES} == {"matched"}
    assert {judge(rule, build(cpus, 0.4)) for cpus in SIZES} == {"not_matched"}


@pytest.mark.parametrize(("rule", "build"), CASES, ids=IDS)
@settings(deadline=None)
@given(stress=st.floats(0.01, 20))
def test_hosts_of_two_sizes_never_contradict_each_other(rule: str, build: Build, stress: float) -> None:
    """More traffic has narrower intervals, so a large host may decide where a small one cannot; never the opposite."""
    states = [judge(rule, build(cpus, stress)) for cpus in SIZES]
    assert len({state for state in states if state != "inconclusive"}) <= 1
    decided = [state != "inconclusive" for state in states]
    assert decided == sorted(decided), states


def test_a_bond_counts_each_packet_once() -> None:
    """The bond counts what its two devices count; a VLAN on it counts a third time."""

    def judge_drops(devices: dict[str, tuple[str, float]]) -> list[float]:
        series = [
            build_series(metric, "net_dev", [per_s], dev=dev)
            for dev, (_, per_s) in devices.items()
            for metric in ("net.rx_pps", "net.tx_pps")
        ]
        links = [{"dev": dev, "kind": kind} for dev, (kind, _) in devices.items()]
        rule = {
            "table": "filter", "chain": "INPUT", "verdict": "DROP", "matches": "dport 80", "packets": 1000,
            "packets_total": 1000, "packets_per_s": 100.0,
        }  # fmt: skip
        seen = build_view(*series, cpus=4, links=links, firewall_rules=[rule], listeners=[{"port": 80}])
        finding = evaluate_rules([RULES["F-NET-FW-DROP"]], seen)[0]
        return [finding.numbers[0].value]

    single = judge_drops({"eth0": ("device", 10_000.0)})
    bonded = judge_drops(
        {
            "eth0": ("device", 5000.0), "eth1": ("device", 5000.0), "bond0": ("bond", 10_000.0),
            "bond0.7": ("vlan", 10_000.0), "lo": ("loopback", 99_999.0),
        }
    )  # fmt: skip
    assert bonded == pytest.approx(single) and single[0] == pytest.approx(100 * 100 / 20_100)


def test_a_short_queue_that_moves_fast_is_no_queue() -> None:
    """Twelve connections at 10,000 a second wait for one millisecond, at 20 a second for 600 ms."""

    def judge_queue(per_s: float) -> str:
        listener = {"port": 80, "pid": 7, "process": "web", "samples": 20, "queue_min": 12, "queue_max": 20}
        passive = build_series("tcp.passive_opens_per_s", "snmp", [per_s])
        return judge("F-NET-QUEUE-STANDS", build_view(passive, cpus=4, listeners=[listener]))

    assert [judge_queue(per_s) for per_s in (10_000, 20, 0)] == ["not_matched", "matched", "matched"]
