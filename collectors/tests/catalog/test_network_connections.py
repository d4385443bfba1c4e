"""Synthetic output of network tools about connections and probes, as their sources and documentation define it."""

from __future__ import annotations

import numpy as np
import pytest

from collectors.catalog.application import calls
from collectors.catalog.network import pcap, ss, ss_listen, tcp_probe
from collectors.contract import Parsed
from collectors.parse.network import addresses, probe_lines, socket_counts
from collectors.parse.proc.sampled import Snapshot
from collectors.tests.support import context, part, read_rows, read_values, samples


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

    def read(self, *checks: str, addresses: str = "") -> Parsed:
        taken = [(at, "calls", text) for at, text in enumerate(checks, 1)]
        return calls.parse_calls(
            samples((0, "namespace", "own"), (0, "addresses", addresses), *taken), context()
        )

    def test_counts_are_of_the_fullest_look_and_what_is_sent_again_of_the_time_between(self) -> None:
        first = self.TWO.format(seen=5, rest=0, count=2, sent=3)
        parsed = self.read(first, self.TWO.format(seen=4, rest=0, count=1, sent=5))
        app, asking, served = sorted(read_rows(parsed, "calls"), key=lambda row: str(row["remote"]))
        assert (app["pid"], app["comm"], app["in_scope"], app["connections"]) == (42, "app one", 1, 2)
        assert (app["connections_mean"], app["rtt_mean_ms"], app["retransmitted"]) == (1.5, 3.0, 2)
        assert (asking["pid"], asking["syn_sent"], asking["rtt_mean_ms"]) == (None, 1, None)
        assert (served["local"], served["remote"], served["close_wait"]) == ("10.0.0.1", "fe80::9", 1)
        assert (served["local_port"], served["remote_port"], served["in_scope"]) == (8080, None, None)
        [table] = parsed.tables
        assert table.lines[0] == 8

    def test_partial_sample_is_ignored_and_many_sockets_warn(self) -> None:
        whole = self.TWO.format(seen=10_000, rest=12, count=2, sent=3)
        parsed = self.read(whole, "edge\tout\t42\t1\t10.0.0.1")
        assert [warning.key for warning in parsed.warnings] == ["warning.calls_cut"]
        assert parsed.warnings[0].params == {"seen": 10_000, "rest": 12}
        assert read_rows(parsed, "calls")[0]["samples"] == 1
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
        reported = "lo 127.0.0.1/8\nlo ::1/128\neth0 10.0.0.1/24\neth0 fe80::1/64\ndocker0 172.17.0.1/16\nx y\neth0 fd00::2/64"
        facts = self.read(self.TWO.format(seen=5, rest=0, count=2, sent=3), addresses=reported).facts
        assert facts["addresses"] == ["10.0.0.1", "172.17.0.1", "fd00::2"]


class TestSockets:
    def test_hexadecimal_states_addresses_and_ports_of_proc(self) -> None:
        text = (
            "total 9\nstate 3 01\nstate 2 06\nstate 1 0C\nstate 1 03\n"
            "dest 5 3 2 0 5 0100000A 0200000A:18EB\n"
            "dest 1 1 0 0 1 0000000000000000FFFF00000100000A 0000000000000000FFFF00000300000A:0050\n"
            "wait 4 1234 *"
        )
        matching_socket_counts = socket_counts.parse_socket_counts(Snapshot(0, 1, "counts", 1, text.encode()))
        assert {name: count for name, (count, _) in matching_socket_counts.states.items()} == {
            "ESTAB": 3,
            "TIME-WAIT": 2,
            "SYN-RECV": 2,
        }
        assert set(matching_socket_counts.destinations) == {
            ("10.0.0.1", "10.0.0.2", 6379),
            ("10.0.0.1", "10.0.0.3", 80),
        }
        assert set(matching_socket_counts.waiting) == {(0x1234, "", None)}

    def test_reserved_ports_are_not_for_the_kernel_to_choose(self) -> None:
        """The seed's own case: 32768-65000, and more than 30,000 in TIME_WAIT towards one redis."""
        parsed = ss.parse_ss(
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
        [row] = read_rows(parsed, "tcp_destinations")
        assert row["port_use_pct"] == pytest.approx(100 * 30000 / 31989)

    def test_a_host_without_sockets_is_no_failure(self) -> None:
        parsed = ss.parse_ss(samples((1, "counts", "total 0")), context())
        assert parsed.readable and not parsed.tables
        assert np.nansum(parsed.series[0].values) == 0

    def test_addresses_as_ss_writes_them(self) -> None:
        assert addresses.split_address(b"[::ffff:10.0.0.1]:80") == ("10.0.0.1", 80)
        assert addresses.split_address(b"[fe80::1%eth0]:80") == ("fe80::1%eth0", 80)
        assert addresses.split_address(b"*:http") == ("*", None)
        assert addresses.decode_proc_address(b"00000000000000000000000001000000:0016") == ("::1", 22)

    def test_the_fullest_of_sockets_that_share_a_port(self) -> None:
        check = "LISTEN 0 128 0.0.0.0:80 0.0.0.0:*\nLISTEN 129 128 0.0.0.0:80 0.0.0.0:*"
        parsed = ss_listen.parse_ss_listen(samples((1, "queues", check), (2, "queues", check)), context())
        [row] = read_rows(parsed, "listeners")
        assert (row["queue_max"], row["fill_pct"], row["full_samples"], row["samples"]) == (
            129,
            129 / 1.28,
            2,
            2,
        )
        assert len(read_values(parsed, "tcp.accept_queue_fill_pct")) == 2


class TestPackets:
    SYN = "IP {} > 10.0.0.1.80: Flags [S], seq {}, win 64, options [mss 1460,sackOK], length 0"
    SYN_ACK = "IP 10.0.0.1.80 > {}: Flags [S.], seq 9, ack 2, win 64, options [mss 1360], length 0"

    def parsed(self, *lines: str) -> dict:
        [row] = read_rows(
            pcap.parse_pcap({"stdout": part("\n".join(lines) + "\n")}, context()), "tcp_handshakes"
        )
        return row

    def test_a_tcpdump_that_names_no_device(self) -> None:
        """Before 4.99: nothing is between the time and IP."""
        row = self.parsed(
            "10.000001 " + self.SYN.format("10.0.0.9.5000", 1),
            "11.000001 " + self.SYN.format("10.0.0.9.5000", 1),
            "11.250001 " + self.SYN_ACK.format("10.0.0.9.5000"),
        )
        assert (row["syn"], row["syn_retransmitted"], row["syn_ack"], row["unanswered"]) == (1, 1, 1, 0)
        assert (row["mss_client_min"], row["mss_server_min"], row["handshake_max_ms"]) == (1460, 1360, 1250)

    def test_packet_on_two_devices_counts_once(self) -> None:
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
    def test_ten_probes_give_a_wide_interval(self) -> None:
        """Half of ten lost is anything from a quarter to three quarters."""
        low, high = probe_lines.wilson_interval_pct(5, 10)
        assert (round(low), round(high)) == (24, 76)
        assert probe_lines.wilson_interval_pct(0, 200)[1] == pytest.approx(1.885, abs=0.01)

    def test_a_slow_handshake_is_a_lost_syn_and_a_refusal_is_an_answer(self) -> None:
        text = "target a:1\nprobe 1.00 ok 0.4\nprobe 2.00 ok 1003.2\nprobe 3.00 timeout 3500\nprobe 4.00 refused 0.1\n"
        parsed = tcp_probe.parse_tcp_probe({"stdout": part(text)}, context())
        [row] = read_rows(parsed, "probes")
        assert (row["sent"], row["answered"], row["lost"], row["loss_pct"], row["slow"]) == (4, 2, 2, 50, 1)
        assert np.isnan(read_values(parsed, "probe.connect_ms")[2][0])
