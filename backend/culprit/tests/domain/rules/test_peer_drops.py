"""Whether this host dropped the packets of a peer itself, or a device on the path did."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation, Finding
from culprit.domain.rules.measures.network.rule_selection import Peer, Selection, select_packets
from culprit.domain.rules.measures.service_time.accounts import read_service_times
from culprit.domain.rules.ranking.rank import rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import HostView, TableRow
from culprit.tests.domain.rules.service_rows import make_process, make_time, make_wait
from culprit.tests.domain.rules.test_scale_network import build_series, build_view

OWN = frozenset({"10.0.0.7"})
PEER = "10.0.0.9:5432"
PATH_COUNTERS = ("qdisc", "net_dev", "softnet")


def build_rule(matches: str, chain: str = "INPUT", per_s: float | None = 80.0, family: str = "ip") -> dict:
    """Return a row of `firewall_rules`; `per_s` is None for a rule without a counter."""
    count = None if per_s is None else 10 * per_s
    return {
        "backend": "nft", "family": family, "table": "filter", "chain": chain, "verdict": "DROP", "matches": matches,
        "packets": count, "packets_per_s": per_s, "packets_total": count,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("matches", "chain", "selection"),
    [
        ("-m conntrack --ctstate INVALID -j DROP", "INPUT", "NAMED"),
        ("-m state --state INVALID -j DROP", "INPUT", "NAMED"),
        ("ct state { invalid, untracked } counter drop", "input", "NAMED"),
        ("-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -m conntrack --ctstate NEW -j DROP", "INPUT", "NAMED"),
        ("-s 10.0.0.9/32 -j DROP", "INPUT", "NAMED"),
        ("ip saddr 10.0.0.9 tcp sport 5432 counter drop", "input", "NAMED"),
        ("-p tcp -m tcp --dport 5432 -j DROP", "OUTPUT", "NAMED"),
        ("-p tcp -m tcp --sport 5432 -j DROP", "INPUT", "NAMED"),
        ("(policy)", "INPUT", "POSSIBLE"),
        ("-s 10.0.0.0/8 -j DROP", "INPUT", "POSSIBLE"),
        ("-m set --match-set banned src -j DROP", "INPUT", "POSSIBLE"),
        ("-p tcp -m multiport --dports 25,32768:60999 -j DROP", "INPUT", "POSSIBLE"),
        ("-p tcp -m tcp ! --dport 443 -j DROP", "OUTPUT", "POSSIBLE"),
        ("-m conntrack ! --ctstate INVALID -j DROP", "INPUT", "POSSIBLE"),
        ("-p tcp -m tcp --tcp-flags ACK ACK -j DROP", "INPUT", "POSSIBLE"),
        ("tcp dport 5432 counter drop", "guard", "POSSIBLE"),
        ("(policy)", "FORWARD", "NONE"),
        ("-p udp -m udp --dport 5432 -j DROP", "OUTPUT", "NONE"),
        ("udp dport 5432 counter drop", "guard", "NONE"),
        ("-p tcp -m tcp --dport 5432 -j DROP", "INPUT", "NONE"),
        ("-p tcp -m tcp --dport 25 -j DROP", "INPUT", "NONE"),
        ("tcp dport { 25, 445 } counter drop", "guard", "NONE"),
        ("-s 203.0.113.7/32 -j DROP", "INPUT", "NONE"),
        ("ip saddr 203.0.113.0/24 ct state invalid counter drop", "input", "NONE"),
        ("-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j DROP", "INPUT", "NONE"),
        ("-p tcp -m tcp --tcp-flags FIN,SYN,RST,PSH,ACK,URG NONE -j DROP", "INPUT", "NONE"),
        ("-i lo -j DROP", "INPUT", "NONE"),
    ],
)  # fmt: skip
def test_a_rule_selects_packets_of_an_open_connection(matches: str, chain: str, selection: str) -> None:
    peer = Peer.from_target(PEER, OWN)
    assert peer is not None
    assert (
        select_packets(
            TableRow(build_rule(matches, chain), Citation("r", "firewall", "firewall", "samples")), peer
        )
        == Selection[selection]
    )


@pytest.mark.parametrize(("target", "family"), [(PEER, "ip6"), ("[2001:db8::9]:5432", "ip")])
def test_rules_of_another_family_select_nothing(target: str, family: str) -> None:
    peer = Peer.from_target(target, OWN)
    assert peer is not None
    row = TableRow(
        build_rule("-m conntrack --ctstate INVALID -j DROP", family=family),
        Citation("r", "firewall", "firewall", "samples"),
    )
    assert select_packets(row, peer) is Selection.NONE


@pytest.mark.parametrize("target", ["/run/app.sock", "10.0.0.9:http", "", "-"])
def test_a_target_that_is_no_address_and_port_is_no_peer(target: str) -> None:
    assert Peer.from_target(target, OWN) is None


def build_loss(rules: Sequence[dict], **rates: float) -> HostView:
    """Return a host whose ten workers wait for a peer to which 50 segments a second are sent again."""
    seen = {"tcp.retrans_segs_per_s": 50.0, "tcp.out_segs_per_s": 500.0, "tcp.syn_retrans_per_s": 0.0} | rates
    series = [
        build_series(name, "netstat_ext" if "syn" in name else "snmp", [value] * 10)
        for name, value in seen.items()
    ]
    series += [build_series("net.rx_pps", "net_dev", [500.0] * 10, dev="eth0")]
    series += [build_series("softnet.processed_per_s", "softnet", [500.0] * 10)]
    return build_view(
        *series, cpus=4, firewall_rules=rules,
        qdiscs=[{"dev": "eth0", "kind": "pfifo", "drops_per_s": 0, "drops": 0}],
        process_time=[make_process(7, "web", threads=10)],
        thread_time=[make_time(7, "peer", 10.0, PEER, longest_ms=3000)],
        tcp_waits=[
            make_wait(7, "web", "out", PEER, 0.5, connections=32, unsent=9),
            make_wait(7, "web", "in", "80", 10.0, 3000, connections=10),
        ],
    )  # fmt: skip


def evaluate_loss(rules: Sequence[dict], **rates: float) -> dict[str, Finding]:
    """Return the findings about such a host, by rule."""
    names = ("F-NET-LOSS-TO-PEER", "F-NET-PEER-SILENT", "F-NET-FW-DROPS-PEER")
    findings = evaluate_rules([RULES[name] for name in names], build_loss(rules, **rates))
    return {item.rule: item for item in findings}


@pytest.mark.parametrize(
    ("rules", "rates", "likely"),
    [
        pytest.param(
            [build_rule("-m conntrack --ctstate INVALID -j DROP")], {}, ["firewall-drop"], id="own-firewall"
        ),
        pytest.param([], {}, ["packet-loss-upstream"], id="path"),
        pytest.param([build_rule("(policy)")], {}, [], id="firewall-or-path"),
        pytest.param([], {"tcp.retrans_segs_per_s": 0.0}, ["slow-dependency"], id="nothing-is-sent-again"),
    ],
)
def test_a_peer_to_which_packets_get_lost_is_not_slow(
    rules: Sequence[dict], rates: dict[str, float], likely: list[str]
) -> None:
    view = build_loss(rules, **rates)
    ranking = rank_causes(evaluate_rules(RULES.values(), view), RULES, CAUSES, read_service_times(view))
    assert [item.cause for item in ranking.causes if item.confidence == "likely"] == likely


@pytest.mark.parametrize(
    ("rules", "to_peer", "drops_peer"),
    [
        pytest.param(
            [build_rule("-p tcp -m tcp --dport 25 -j DROP", per_s=900)], "matched", "not_matched", id="other"
        ),
        pytest.param(
            [build_rule("-m conntrack --ctstate INVALID -j DROP")], "not_matched", "matched", id="forgotten"
        ),
        pytest.param(
            [build_rule("-m conntrack --ctstate INVALID -j DROP", per_s=1.0)],
            "matched",
            "not_matched",
            id="few",
        ),
        pytest.param(
            [build_rule("(policy)")], "not_matched", "not_matched", id="default-that-may-be-the-reason"
        ),
        pytest.param(
            [build_rule("(policy)", per_s=3.0)], "matched", "not_matched", id="default-that-drops-few"
        ),
        pytest.param(
            [build_rule("ct state invalid drop", per_s=None)],
            "inconclusive",
            "not_evaluated",
            id="without-counter",
        ),
    ],
)
def test_loss_is_upstream_only_where_this_host_is_excluded(
    rules: Sequence[dict], to_peer: str, drops_peer: str
) -> None:
    findings = evaluate_loss(rules)
    assert findings["F-NET-LOSS-TO-PEER"].state == to_peer
    assert findings["F-NET-FW-DROPS-PEER"].state == drops_peer
    is_counted = all(rule["packets_total"] is not None for rule in rules)
    assert findings["F-NET-PEER-SILENT"].state == ("matched" if is_counted else "inconclusive")


def test_no_drop_is_compared_where_nothing_is_sent_again() -> None:
    findings = evaluate_loss(
        [build_rule("-m conntrack --ctstate INVALID -j DROP")], **{"tcp.retrans_segs_per_s": 0.0}
    )
    assert {item.state for item in findings.values()} == {"not_matched"}
