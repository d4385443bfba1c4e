"""Synthetic output of network tools about devices and dropped packets, as their sources and documentation define it."""

from __future__ import annotations

import json

import pytest

from collectors.catalog.network import conntrack, firewall, links, qdisc, softnet
from collectors.tests.support import context, read_rows, read_values, samples

STAT = "/proc/net/stat/nf_conntrack"
COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
MAX = "/proc/sys/net/netfilter/nf_conntrack_max"
SOFTNET = "/proc/net/softnet_stat"
ONLINE = "/sys/devices/system/cpu/online"


class TestSoftnet:
    def test_nine_columns_have_no_rps_and_rows_are_the_online_cpus(self) -> None:
        """Before Linux 2.6.35."""
        before = (
            "0000000a 00000000 00000000 0 0 0 0 0 00000000\n00000014 00000000 00000001 0 0 0 0 0 00000000"
        )
        after = "0000000a 00000005 00000000 0 0 0 0 0 00000000\n00000028 00000000 00000003 0 0 0 0 0 00000000"
        parsed = softnet.parse_softnet(
            samples((1, SOFTNET, before), (1, ONLINE, "0,3"), (2, SOFTNET, after)), context()
        )
        assert parsed.series[0].axis_values == ("0", "3")
        assert read_values(parsed, "softnet.processed_per_s") == [[0, 20]]
        assert read_values(parsed, "softnet.dropped_per_s") == [[5, 0]]
        assert read_values(parsed, "softnet.squeezed_per_s") == [[0, 2]]
        assert "softnet.rps_per_s" not in {series.metric for series in parsed.series}

    def test_the_thirteenth_column_is_the_cpu_and_counters_wrap(self) -> None:
        row = "{} 0 0 0 0 0 0 0 0 00000001 0 00000000 {}"
        parsed = softnet.parse_softnet(
            samples(
                (1, SOFTNET, row.format("fffffff0", "00000007")),
                (2, SOFTNET, row.format("00000010", "00000007")),
            ),
            context(),
        )
        assert parsed.series[0].axis_values == ("7",)
        assert read_values(parsed, "softnet.processed_per_s") == [[32]]


class TestConntrack:
    HEADER = (
        "entries searched found new invalid ignore delete delete_list insert insert_failed drop early_drop"
    )

    def test_an_old_header_without_search_restart(self) -> None:
        """Linux 3.x; the count comes from the statistics, which are of the target's namespace."""
        zeros = "0000000c " + "00000000 " * 8
        parsed = conntrack.parse_conntrack(
            samples(
                (1, COUNT, "1"),
                (1, MAX, "24"),
                (
                    1,
                    STAT,
                    f"{self.HEADER}\n{zeros}00000000 00000000 00000000\n{zeros}0000000f 00000001 00000000",
                ),
                (
                    2,
                    STAT,
                    f"{self.HEADER}\n{zeros}00000001 00000010 00000002\n{zeros}0000000f 00000003 00000000",
                ),
            ),
            context(),
        )
        assert read_values(parsed, "conntrack.count") == [[12], [12]]
        assert read_values(parsed, "conntrack.fill_pct") == [[50], [50]]
        assert read_values(parsed, "conntrack.drops_per_s") == [[18]]
        assert read_values(parsed, "conntrack.early_drops_per_s") == [[2]]
        assert read_values(parsed, "conntrack.insert_failed_per_s") == [[1]]
        assert parsed.facts == {"conntrack_max": 24}

    def test_without_statistics_or_a_limit(self) -> None:
        parsed = conntrack.parse_conntrack(samples((1, COUNT, "7"), (1, MAX, "0")), context())
        assert read_values(parsed, "conntrack.count") == [[7]]
        assert "conntrack.fill_pct" not in {series.metric for series in parsed.series}


class TestQdisc:
    def test_text_of_an_old_tc(self) -> None:
        """iproute2 before 4.17, and netem as the classic example of loss has it."""
        text = (
            "qdisc netem 800d: dev eth0 root refcnt 2 limit 1000 delay 100.0ms loss 30%\n"
            " Sent {} bytes {} pkt (dropped {}, overlimits 0 requeues 1) \n"
            " backlog 12Kb 8p requeues 1 \n"
            "qdisc fq_codel 0: dev eth1 parent 1:10 limit 10240p flows 1024\n"
            " Sent 0 bytes 0 pkts (dropped 0, overlimits 0 requeues 0)\n"
        )
        parsed = qdisc.parse_qdisc(
            samples((1, "tc", text.format(100, 4, 0)), (3, "tc", text.format(500, 10, 4))), context()
        )
        netem, codel = read_rows(parsed, "qdiscs")
        assert (netem["dev"], netem["kind"], netem["handle"], netem["parent"]) == (
            "eth0",
            "netem",
            "800d:",
            "root",
        )
        assert (netem["netem_loss_pct"], netem["netem_delay_ms"]) == (30, 100)
        assert (netem["packets_per_s"], netem["drops_per_s"], netem["drop_pct"]) == (3, 2, 40)
        assert (netem["backlog_bytes"], netem["queue_packets"], netem["drops_total"]) == (12 << 10, 8, 4)
        assert (codel["parent"], codel["drop_pct"]) == ("1:10", None)

    def test_netem_in_json(self) -> None:
        items = {
            "kind": "netem",
            "handle": "1:",
            "dev": "eth0",
            "root": True,
            "options": {
                "limit": 1000,
                "delay": {"delay": 0.02, "jitter": 0},
                "loss-random": {"loss": 0.3, "correlation": 0},
            },
            "packets": 10,
            "drops": 4,
        }
        parsed = qdisc.parse_qdisc(
            samples((1, "tc", json.dumps([items])), (2, "tc", json.dumps([items]))), context()
        )
        [row] = read_rows(parsed, "qdiscs")
        assert (row["netem_loss_pct"], row["netem_delay_ms"], row["drops"]) == (30, 20, 0)
        assert "loss-random.loss 0.3" in row["options"]

    def test_a_discipline_that_was_replaced_has_no_rates(self) -> None:
        item = '[{{"kind":"pfifo","handle":"{}","dev":"e","root":true,"packets":5,"drops":1}}]'
        parsed = qdisc.parse_qdisc(
            samples((1, "tc", item.format("1:")), (2, "tc", item.format("2:"))), context()
        )
        [row] = read_rows(parsed, "qdiscs")
        assert (row["packets_per_s"], row["drops"], row["drops_total"]) == (None, None, 1)

    def test_json_that_was_cut_yields_what_came_before(self) -> None:
        item = '[{"kind":"a","dev":"x"},\n{"kind":"b","dev":"y"'
        assert [
            row["kind"] for row in read_rows(qdisc.parse_qdisc(samples((1, "tc", item)), context()), "qdiscs")
        ] == ["a"]

    def test_closed_namespace_gives_a_warning(self) -> None:
        parsed = qdisc.parse_qdisc(
            samples((1, "namespace", "closed"), (1, "tc", '[{"kind":"a","dev":"x"}]')), context()
        )
        assert [warning.key for warning in parsed.warnings] == ["warning.namespace_closed"]
        assert parsed.facts == {"namespace": "own"}


class TestFirewall:
    def test_policies_that_drop_and_rules_that_were_added(self) -> None:
        first = (
            "rule legacy ip filter INPUT 5 -s 10.0.0.0/8 -j DROP\nchain legacy ip filter INPUT DROP 10 100 2"
        )
        last = (
            "rule legacy ip filter INPUT 7 -s 10.0.0.0/8 -j DROP\nrule legacy ip filter INPUT 3 -p udp -j REJECT\n"
            "rule nft ip6 filter KUBE-X - -j DROP\n"
            "chain legacy ip filter INPUT DROP 30 200 3\nlines 12\nbackend legacy ip"
        )
        parsed = firewall.parse_firewall(samples((1, "rules", first), (3, "rules", last)), context())
        results = {
            (row["chain"], row["verdict"], row["matches"]): row for row in read_rows(parsed, "firewall_rules")
        }
        policy = results["INPUT", "DROP", "(policy)"]
        assert (policy["packets"], policy["packets_per_s"], policy["drop_pct"]) == (20, 10, 20)
        dropped = results["INPUT", "DROP", "-s 10.0.0.0/8 -j DROP"]
        assert (dropped["packets"], dropped["packets_per_s"], dropped["drop_pct"]) == (2, 1, 2)
        assert results["INPUT", "REJECT", "-p udp -j REJECT"]["packets"] == 3
        uncounted = results["KUBE-X", "DROP", "-j DROP"]
        assert (uncounted["packets"], uncounted["packets_total"], uncounted["drop_pct"]) == (None, None, None)
        assert parsed.facts["firewall_lines"] == 12

    def test_single_reading_has_totals_without_rates(self) -> None:
        parsed = firewall.parse_firewall(
            samples((1, "rules", "rule nft ip filter INPUT 5 -j DROP")), context()
        )
        [row] = read_rows(parsed, "firewall_rules")
        assert (row["packets"], row["packets_per_s"], row["packets_total"]) == (None, None, 5)

    @pytest.mark.parametrize(
        ("text", "chance"),
        [
            ("-m statistic --mode random --probability 0.30000000019 -j DROP", 0.30000000019),
            ("tcp dport 80 numgen random mod 10 < 3 counter drop # handle 6", 0.3),
            ("tcp dport 80 meta random & 2147483647 < 644245094 counter drop", 0.3),
            ("tcp dport 80 numgen random mod 0 < 3 drop", None),
        ],
    )
    def test_three_ways_to_drop_at_random(self, text: str, chance: float | None) -> None:
        parsed = firewall.parse_firewall(samples((1, "rules", f"rule x ip t c - {text}")), context())
        [row] = read_rows(parsed, "firewall_rules")
        assert row["verdict"] == "DROP"
        assert row["random_probability"] == (None if chance is None else pytest.approx(chance, rel=1e-6))


class TestLinks:
    def test_counters_of_a_card_and_a_link_that_flapped(self) -> None:
        def link_json(crc: int, changes: int) -> str:
            rx, tx = {"packets": 100 + crc, "crc_errors": crc}, {"packets": 0, "carrier_changes": changes}
            items = {"ifindex": 2, "ifname": "eth0", "mtu": 9000, "flags": ["UP", "LOWER_UP"]}
            return json.dumps([{**items, "operstate": "UP", "stats64": {"rx": rx, "tx": tx}}])

        parsed = links.parse_links(
            samples(
                (1, "links", link_json(0, 1)),
                (1, "hardware", "eth0 25000 full mlx5_core"),
                (1, "ethtool eth0", "     rx_crc_errors_phy: 7\n     rx_discards_phy: 0"),
                (3, "links", link_json(10, 4)),
                (3, "ethtool eth0", "     rx_crc_errors_phy: 17\n     rx_discards_phy: 0"),
            ),
            context(),
        )
        [row] = read_rows(parsed, "links")
        assert (row["mtu"], row["speed"], row["duplex"], row["driver"]) == (9000, 25000, "full", "mlx5_core")
        assert (row["rx_crc_errors_per_s"], row["carrier_changes"]) == (5, 3)
        assert read_rows(parsed, "nic_counters") == [
            {"dev": "eth0", "name": "rx_crc_errors_phy", "per_s": 5, "total": 17}
        ]

    def test_both_ends_of_a_veth_in_the_same_namespace(self) -> None:
        items = {"linkinfo": {"info_kind": "veth"}}
        ends = [
            {**items, "ifname": "a", "mtu": 1500, "link": "b"},
            {**items, "ifname": "b", "mtu": 100, "link": "a"},
        ]
        parsed = links.parse_links(samples((1, "links", json.dumps(ends))), context())
        assert [(row["mtu"], row["peer_mtu"]) for row in read_rows(parsed, "links")] == [
            (1500, 100),
            (100, 1500),
        ]
