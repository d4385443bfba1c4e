"""Synthetic: what network tools and kernels print elsewhere, as their sources and documents have it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from collectors.catalog import (
    calls,
    conntrack,
    firewall,
    links,
    pcap,
    qdisc,
    softnet,
    ss,
    ss_listen,
    tcp_probe,
)
from collectors.contract import Parsed
from collectors.parse import addresses, probe_lines, socket_counts
from collectors.parse.sampled import Snapshot
from collectors.tests.support import context, part, samples

NAN = float("nan")
STAT = "/proc/net/stat/nf_conntrack"
COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"
MAX = "/proc/sys/net/netfilter/nf_conntrack_max"
SOFTNET = "/proc/net/softnet_stat"
ONLINE = "/sys/devices/system/cpu/online"


def values(parsed: Parsed, metric: str) -> list:
    [one] = [s for s in parsed.series if s.metric == metric]
    return one.values.tolist()


def rows(parsed: Parsed, kind: str) -> list[dict]:
    [table] = [one for one in parsed.tables if one.kind == kind]
    names = [column.id for column in table.columns]
    assert len(table.lines) == len(table.rows)
    return [dict(zip(names, row, strict=True)) for row in table.rows]


class TestCalls:
    """What the counting on the host prints; `-` where nothing is known."""

    TWO = "\n".join(
        (
            "seen\t{seen}",
            "rest\tin\t{rest}",
            "edge\tout\t42\t1\t10.0.0.1\t-\t10.0.0.2\t6379\t{count}\t0\t0\t6\t2\t4\t{sent}\t0\t0\t5\tapp one",
            "edge\tout\t-\t0\t10.0.0.1\t-\t10.0.0.3\t80\t0\t1\t0\t0\t0\t0\t0\t0\t1\t0\t",
            "edge\tin\t7\t-\t[::ffff:10.0.0.1]\t8080\t[fe80::9%eth0]\t-\t1\t0\t1\t1.5\t1\t1.5\t3\t1\t10\t0\tb",
        )
    )

    def read(self, *looks: str, addresses: str = "") -> Parsed:
        taken = [(at, "calls", text) for at, text in enumerate(looks, 1)]
        return calls.parse(samples((0, "namespace", "own"), (0, "addresses", addresses), *taken), context())

    def test_counts_are_of_the_fullest_look_and_what_is_sent_again_of_the_time_between(self) -> None:
        first = self.TWO.format(seen=5, rest=0, count=2, sent=3)
        parsed = self.read(first, self.TWO.format(seen=4, rest=0, count=1, sent=5))
        app, asking, served = sorted(rows(parsed, "calls"), key=lambda row: str(row["remote"]))
        assert (app["pid"], app["comm"], app["in_scope"], app["connections"]) == (42, "app one", 1, 2)
        assert (app["connections_mean"], app["rtt_mean_ms"], app["retransmitted"]) == (1.5, 3.0, 2)
        assert (asking["pid"], asking["syn_sent"], asking["rtt_mean_ms"]) == (None, 1, None)
        assert (served["local"], served["remote"], served["close_wait"]) == ("10.0.0.1", "fe80::9", 1)
        assert (served["local_port"], served["remote_port"], served["in_scope"]) == (8080, None, None)
        [table] = parsed.tables
        assert table.lines[0] == 8

    def test_a_look_that_was_cut_short_does_not_count_and_many_sockets_are_said(self) -> None:
        whole = self.TWO.format(seen=10_000, rest=12, count=2, sent=3)
        parsed = self.read(whole, "edge\tout\t42\t1\t10.0.0.1")
        assert [one.key for one in parsed.warnings] == ["warning.calls_cut"]
        assert parsed.warnings[0].params == {"seen": 10_000, "rest": 12}
        assert rows(parsed, "calls")[0]["looks"] == 1
        assert not self.read("edge\tout").readable

    def test_hostile_lines_are_left_out(self) -> None:
        bad = "\n".join(
            (
                "seen\t1", "edge", "edge\tup" + "\t1" * 17, "edge\tout" + "\t99999" * 17, "unix\tx" + "\ty" * 5,
                "edge\tout" + "\t-" * 17, "rest\tin\tmany",
            )
        )  # fmt: skip
        assert self.read(bad).tables == ()

    def test_addresses_are_those_that_others_may_know(self) -> None:
        told = "lo 127.0.0.1/8\nlo ::1/128\neth0 10.0.0.1/24\neth0 fe80::1/64\ndocker0 172.17.0.1/16\nx y\neth0 fd00::2/64"
        facts = self.read(self.TWO.format(seen=5, rest=0, count=2, sent=3), addresses=told).facts
        assert facts["addresses"] == ["10.0.0.1", "172.17.0.1", "fd00::2"]


class TestSoftnet:
    def test_nine_columns_have_no_rps_and_rows_are_the_online_cpus(self) -> None:
        """Before Linux 2.6.35."""
        before = (
            "0000000a 00000000 00000000 0 0 0 0 0 00000000\n00000014 00000000 00000001 0 0 0 0 0 00000000"
        )
        after = "0000000a 00000005 00000000 0 0 0 0 0 00000000\n00000028 00000000 00000003 0 0 0 0 0 00000000"
        parsed = softnet.parse(
            samples((1, SOFTNET, before), (1, ONLINE, "0,3"), (2, SOFTNET, after)), context()
        )
        assert parsed.series[0].axis_values == ("0", "3")
        assert values(parsed, "softnet.processed_per_s") == [[0, 20]]
        assert values(parsed, "softnet.dropped_per_s") == [[5, 0]]
        assert values(parsed, "softnet.squeezed_per_s") == [[0, 2]]
        assert "softnet.rps_per_s" not in {one.metric for one in parsed.series}

    def test_the_thirteenth_column_is_the_cpu_and_counters_wrap(self) -> None:
        row = "{} 0 0 0 0 0 0 0 0 00000001 0 00000000 {}"
        parsed = softnet.parse(
            samples(
                (1, SOFTNET, row.format("fffffff0", "00000007")),
                (2, SOFTNET, row.format("00000010", "00000007")),
            ),
            context(),
        )
        assert parsed.series[0].axis_values == ("7",)
        assert values(parsed, "softnet.processed_per_s") == [[32]]


class TestConntrack:
    HEADER = (
        "entries searched found new invalid ignore delete delete_list insert insert_failed drop early_drop"
    )

    def test_an_old_header_without_search_restart(self) -> None:
        """Linux 3.x; the count comes from the statistics, which are of the target's namespace."""
        zeros = "0000000c " + "00000000 " * 8
        parsed = conntrack.parse(
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
        assert values(parsed, "conntrack.count") == [[12], [12]]
        assert values(parsed, "conntrack.fill_pct") == [[50], [50]]
        assert values(parsed, "conntrack.drops_per_s") == [[18]]
        assert values(parsed, "conntrack.early_drops_per_s") == [[2]]
        assert values(parsed, "conntrack.insert_failed_per_s") == [[1]]
        assert parsed.facts == {"conntrack_max": 24}

    def test_without_statistics_or_a_limit(self) -> None:
        parsed = conntrack.parse(samples((1, COUNT, "7"), (1, MAX, "0")), context())
        assert values(parsed, "conntrack.count") == [[7]]
        assert "conntrack.fill_pct" not in {one.metric for one in parsed.series}


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
        parsed = qdisc.parse(
            samples((1, "tc", text.format(100, 4, 0)), (3, "tc", text.format(500, 10, 4))), context()
        )
        netem, codel = rows(parsed, "qdiscs")
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
        one = {
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
        parsed = qdisc.parse(samples((1, "tc", json.dumps([one])), (2, "tc", json.dumps([one]))), context())
        [row] = rows(parsed, "qdiscs")
        assert (row["netem_loss_pct"], row["netem_delay_ms"], row["drops"]) == (30, 20, 0)
        assert "loss-random.loss 0.3" in row["options"]

    def test_a_discipline_that_was_replaced_has_no_rates(self) -> None:
        one = '[{{"kind":"pfifo","handle":"{}","dev":"e","root":true,"packets":5,"drops":1}}]'
        parsed = qdisc.parse(samples((1, "tc", one.format("1:")), (2, "tc", one.format("2:"))), context())
        [row] = rows(parsed, "qdiscs")
        assert (row["packets_per_s"], row["drops"], row["drops_total"]) == (None, None, 1)

    def test_json_that_was_cut_yields_what_came_before(self) -> None:
        one = '[{"kind":"a","dev":"x"},\n{"kind":"b","dev":"y"'
        assert [row["kind"] for row in rows(qdisc.parse(samples((1, "tc", one)), context()), "qdiscs")] == [
            "a"
        ]

    def test_a_closed_namespace_is_said(self) -> None:
        parsed = qdisc.parse(
            samples((1, "namespace", "closed"), (1, "tc", '[{"kind":"a","dev":"x"}]')), context()
        )
        assert [one.key for one in parsed.warnings] == ["warning.namespace_closed"]
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
        parsed = firewall.parse(samples((1, "rules", first), (3, "rules", last)), context())
        found = {
            (row["chain"], row["verdict"], row["matches"]): row for row in rows(parsed, "firewall_rules")
        }
        policy = found["INPUT", "DROP", "(policy)"]
        assert (policy["packets"], policy["packets_per_s"], policy["drop_pct"]) == (20, 10, 20)
        dropped = found["INPUT", "DROP", "-s 10.0.0.0/8 -j DROP"]
        assert (dropped["packets"], dropped["packets_per_s"], dropped["drop_pct"]) == (2, 1, 2)
        assert found["INPUT", "REJECT", "-p udp -j REJECT"]["packets"] == 3
        uncounted = found["KUBE-X", "DROP", "-j DROP"]
        assert (uncounted["packets"], uncounted["packets_total"], uncounted["drop_pct"]) == (None, None, None)
        assert parsed.facts["firewall_lines"] == 12

    def test_one_reading_has_totals_and_no_rates(self) -> None:
        parsed = firewall.parse(samples((1, "rules", "rule nft ip filter INPUT 5 -j DROP")), context())
        [row] = rows(parsed, "firewall_rules")
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
        parsed = firewall.parse(samples((1, "rules", f"rule x ip t c - {text}")), context())
        [row] = rows(parsed, "firewall_rules")
        assert row["verdict"] == "DROP"
        assert row["random_probability"] == (None if chance is None else pytest.approx(chance, rel=1e-6))


class TestLinks:
    def test_counters_of_a_card_and_a_link_that_flapped(self) -> None:
        def told(crc: int, changes: int) -> str:
            rx, tx = {"packets": 100 + crc, "crc_errors": crc}, {"packets": 0, "carrier_changes": changes}
            one = {"ifindex": 2, "ifname": "eth0", "mtu": 9000, "flags": ["UP", "LOWER_UP"]}
            return json.dumps([{**one, "operstate": "UP", "stats64": {"rx": rx, "tx": tx}}])

        parsed = links.parse(
            samples(
                (1, "links", told(0, 1)),
                (1, "hardware", "eth0 25000 full mlx5_core"),
                (1, "ethtool eth0", "     rx_crc_errors_phy: 7\n     rx_discards_phy: 0"),
                (3, "links", told(10, 4)),
                (3, "ethtool eth0", "     rx_crc_errors_phy: 17\n     rx_discards_phy: 0"),
            ),
            context(),
        )
        [row] = rows(parsed, "links")
        assert (row["mtu"], row["speed"], row["duplex"], row["driver"]) == (9000, 25000, "full", "mlx5_core")
        assert (row["rx_crc_errors_per_s"], row["carrier_changes"]) == (5, 3)
        assert rows(parsed, "nic_counters") == [
            {"dev": "eth0", "name": "rx_crc_errors_phy", "per_s": 5, "total": 17}
        ]

    def test_both_ends_of_a_veth_in_one_namespace(self) -> None:
        one = {"linkinfo": {"info_kind": "veth"}}
        ends = [
            {**one, "ifname": "a", "mtu": 1500, "link": "b"},
            {**one, "ifname": "b", "mtu": 100, "link": "a"},
        ]
        parsed = links.parse(samples((1, "links", json.dumps(ends))), context())
        assert [(row["mtu"], row["peer_mtu"]) for row in rows(parsed, "links")] == [(1500, 100), (100, 1500)]


class TestSockets:
    def test_hexadecimal_states_addresses_and_ports_of_proc(self) -> None:
        text = (
            "total 9\nstate 3 01\nstate 2 06\nstate 1 0C\nstate 1 03\n"
            "dest 5 3 2 0 5 0100000A 0200000A:18EB\n"
            "dest 1 1 0 0 1 0000000000000000FFFF00000100000A 0000000000000000FFFF00000300000A:0050\n"
            "wait 4 1234 *"
        )
        found = socket_counts.read(Snapshot(0, 1, "counts", 1, text.encode()))
        assert {name: count for name, (count, _) in found.states.items()} == {
            "ESTAB": 3,
            "TIME-WAIT": 2,
            "SYN-RECV": 2,
        }
        assert set(found.destinations) == {("10.0.0.1", "10.0.0.2", 6379), ("10.0.0.1", "10.0.0.3", 80)}
        assert set(found.waiting) == {(0x1234, "", None)}

    def test_reserved_ports_are_not_for_the_kernel_to_choose(self) -> None:
        """The seed's own case: 32768-65000, and more than 30,000 in TIME_WAIT towards one redis."""
        parsed = ss.parse(
            samples(
                (1, "ip_local_port_range", "32768\t65000"),
                (1, "ip_local_reserved_ports", "8080,33000-33232,64990-65100"),
                (
                    1,
                    "counts",
                    "total 30000\nstate 30000 TIME-WAIT\ndest 30000 0 30000 0 30000 10.0.0.1 10.0.0.122:6390",
                ),
            ),
            context(),
        )
        assert parsed.facts["ephemeral_ports"] == 32233 - 233 - 11
        [row] = rows(parsed, "tcp_destinations")
        assert row["port_use_pct"] == pytest.approx(100 * 30000 / 31989)

    def test_a_host_without_sockets_is_no_failure(self) -> None:
        parsed = ss.parse(samples((1, "counts", "total 0")), context())
        assert parsed.readable and not parsed.tables
        assert np.nansum(parsed.series[0].values) == 0

    def test_addresses_as_ss_writes_them(self) -> None:
        assert addresses.split(b"[::ffff:10.0.0.1]:80") == ("10.0.0.1", 80)
        assert addresses.split(b"[fe80::1%eth0]:80") == ("fe80::1%eth0", 80)
        assert addresses.split(b"*:http") == ("*", None)
        assert addresses.of_proc(b"00000000000000000000000001000000:0016") == ("::1", 22)

    def test_the_fullest_of_sockets_that_share_a_port(self) -> None:
        look = "LISTEN 0 128 0.0.0.0:80 0.0.0.0:*\nLISTEN 129 128 0.0.0.0:80 0.0.0.0:*"
        parsed = ss_listen.parse(samples((1, "queues", look), (2, "queues", look)), context())
        [row] = rows(parsed, "listeners")
        assert (row["queue_max"], row["fill_pct"], row["full_looks"], row["looks"]) == (129, 129 / 1.28, 2, 2)
        assert len(values(parsed, "tcp.accept_queue_fill_pct")) == 2


class TestPackets:
    SYN = "IP {} > 10.0.0.1.80: Flags [S], seq {}, win 64, options [mss 1460,sackOK], length 0"
    SYN_ACK = "IP 10.0.0.1.80 > {}: Flags [S.], seq 9, ack 2, win 64, options [mss 1360], length 0"

    def parsed(self, *lines: str) -> dict:
        [row] = rows(pcap.parse({"stdout": part("\n".join(lines) + "\n")}, context()), "tcp_handshakes")
        return row

    def test_a_tcpdump_that_names_no_device(self) -> None:
        """Before 4.99: nothing stands between the time and IP."""
        row = self.parsed(
            "10.000001 " + self.SYN.format("10.0.0.9.5000", 1),
            "11.000001 " + self.SYN.format("10.0.0.9.5000", 1),
            "11.250001 " + self.SYN_ACK.format("10.0.0.9.5000"),
        )
        assert (row["syn"], row["syn_retransmitted"], row["syn_ack"], row["unanswered"]) == (1, 1, 1, 0)
        assert (row["mss_client_min"], row["mss_server_min"], row["handshake_max_ms"]) == (1460, 1360, 1250)

    def test_a_packet_that_passes_two_devices_is_one(self) -> None:
        syn = self.SYN.format("10.0.0.9.5000", 1)
        row = self.parsed(f"10.1 veth0 In  {syn}", f"10.2 eth0  Out {syn}")
        assert (row["syn"], row["syn_retransmitted"]) == (1, 0)

    def test_a_port_that_is_used_again_is_a_new_connection(self) -> None:
        row = self.parsed(
            "10.1 " + self.SYN.format("10.0.0.9.5000", 1),
            "10.2 " + self.SYN_ACK.format("10.0.0.9.5000"),
            "99.1 " + self.SYN.format("10.0.0.9.5000", 7),
        )
        assert (row["syn"], row["syn_retransmitted"], row["unanswered"]) == (2, 0, 1)

    def test_a_segment_that_was_seen_before(self) -> None:
        data = "IP6 2001:db8::9.5000 > 2001:db8::1.443: Flags [P.], seq 5:105, ack 1, win 9, length 100"
        row = self.parsed(f"1.1 {data}", f"1.3 {data}")
        assert (row["server"], row["port"], row["segments"], row["duplicate_segments"]) == (
            "2001:db8::1",
            443,
            2,
            1,
        )


class TestProbes:
    def test_ten_probes_say_little(self) -> None:
        """Half of ten lost is anything from a quarter to three quarters."""
        low, high = probe_lines.wilson_pct(5, 10)
        assert (round(low), round(high)) == (24, 76)
        assert probe_lines.wilson_pct(0, 200)[1] == pytest.approx(1.885, abs=0.01)

    def test_a_slow_handshake_is_a_lost_syn_and_a_refusal_is_an_answer(self) -> None:
        text = "target a:1\nprobe 1.00 ok 0.4\nprobe 2.00 ok 1003.2\nprobe 3.00 timeout 3500\nprobe 4.00 refused 0.1\n"
        parsed = tcp_probe.parse({"stdout": part(text)}, context())
        [row] = rows(parsed, "probes")
        assert (row["sent"], row["answered"], row["lost"], row["loss_pct"], row["slow"]) == (4, 2, 2, 50, 1)
        assert np.isnan(values(parsed, "probe.connect_ms")[2][0])
