"""Synthetic: differences between versions that were not captured here, as their documents have them: the rest."""

from __future__ import annotations

import pytest

from collectors.catalog.disk import iostat
from collectors.catalog.network import net_dev, snmp
from collectors.catalog.platform import kmsg
from collectors.tests.support import NAN, context, part, same, samples, values

BOOTED = 1_767_225_600 * 10**9
S = 10**9


class TestIostat:
    OLD_JSON = """{"sysstat": {
	"hosts": [
		{
			"nodename": "h", "sysname": "Linux", "release": "4.9", "machine": "x86_64", "number-of-cpus": 2,
			"statistics": [
				{
					"timestamp": "2026-01-01T00:01:41+0000",
					"disk": [
						{"disk_device": "sda", "rrqm": 1.00, "wrqm": 2.00, "r": 3.00, "w": 0.00, "rkB": 2048.00, "wkB": 0.00, "avgrq-sz": 8.00, "avgqu-sz": 0.50, "await": 1.00, "r_await": 1.00, "w_await": 0.00, "svctm": 1.00, "util": 12.50}
					]
				},
				{
					"timestamp": "2026-01-01T00:01:42+0000",
					"disk": [
						{"disk_device": "sda", "rrqm": 1.00, "wr"""

    def test_json_of_sysstat_11_that_was_cut(self) -> None:
        parsed = iostat.parse_iostat({"stdout": part(self.OLD_JSON)}, context())
        same(values(parsed, "disk.r_iops", dev="sda"), [3, NAN])
        same(values(parsed, "disk.read_mb_s", dev="sda"), [2, NAN])
        same(values(parsed, "disk.aqu", dev="sda"), [0.5, NAN])
        assert "disk.w_await_ms" not in {series.metric for series in parsed.series}
        assert {warning.key for warning in parsed.warnings} == {
            "warning.json_cut",
            "warning.lines_unreadable",
        }

    def test_text_of_sysstat_10(self) -> None:
        text = """Linux 3.10.0-1160.el7.x86_64 (h)  2026-01-01  _x86_64_  (2 CPU)

2026-01-01T00:01:41+0000
Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.00     1.00    2.00    4.00     8.00  1024.00    16.00     0.25    1.00    0.50    1.50   0.10   7.00
dm-0              0.00     0.00    0.00    0.00     0.00     0.00     0.00     0.00    0.00    0.00    0.00   0.00   0.00

2026-01-01T00:01:42+0000
Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.00     1.00    4.00    4.00     8.00  1024.00    16.00     0.25    1.00    0.50    1.50   0.10   9.00
"""
        parsed = iostat.parse_iostat({"stdout": part(text), "started": part("100.30\n")}, context())
        same(values(parsed, "disk.r_iops", dev="sda"), [2, 4])
        same(values(parsed, "disk.write_mb_s", dev="sda"), [1, 1])
        same(values(parsed, "disk.util_pct", dev="dm-0"), [0, NAN])
        assert ((parsed.series[0].t_ns - BOOTED) / S).tolist() == [101.3, 102.3]

    def test_diskstats_of_an_old_kernel_with_partitions(self) -> None:
        first = """   8       0 sda 100 0 800 50 200 0 1600 4294967290 0 1000 100
   8       1 sda1 100 0 800 50 200 0 1600 70 0 1000 100
 259       0 nvme0n1 1 0 8 1 0 0 0 0 0 1 1
 259       1 nvme0n1p1 1 0 8 1 0 0 0 0 0 1 1
 253       1 dm-1 5 0 8 1 0 0 0 0 0 1 1
 253      10 dm-10 5 0 8 1 0 0 0 0 0 1 1
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0"""
        second = first.replace(
            "100 0 800 50 200 0 1600 4294967290 0 1000 100", "110 0 4896 70 220 0 1600 34 0 1500 1100"
        )
        parsed = iostat.parse_iostat(
            samples((10, "/proc/diskstats", first), (12, "/proc/diskstats", second)), context()
        )
        assert {s.labels["dev"] for s in parsed.series} == {"sda", "nvme0n1", "dm-1", "dm-10"}
        same(values(parsed, "disk.r_iops", dev="sda"), [5])
        same(values(parsed, "disk.r_await_ms", dev="sda"), [2])
        same(values(parsed, "disk.w_await_ms", dev="sda"), [2])
        same(values(parsed, "disk.read_mb_s", dev="sda"), [1])
        same(values(parsed, "disk.util_pct", dev="sda"), [25])
        same(values(parsed, "disk.aqu", dev="sda"), [0.5])
        assert "disk.r_await_ms" not in {s.metric for s in parsed.series if s.labels["dev"] == "dm-1"}


class TestNetwork:
    HEADER = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n"

    def test_no_space_after_the_colon_and_a_drop_ratio(self) -> None:
        first = self.HEADER + "  eth0:1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0"
        second = self.HEADER + "  eth0:10485760 109 0 1 0 0 0 0 2000 20 0 0 0 0 0 0"
        parsed = net_dev.parse_net_dev(
            samples((1, "/proc/net/dev", first), (2, "/proc/net/dev", second)), context()
        )
        same(values(parsed, "net.rx_pps", dev="eth0"), [99])
        same(values(parsed, "net.drop_ratio_pct", dev="eth0"), [1])
        same(values(parsed, "net.tx_pps", dev="eth0"), [0])

    def test_no_packets_is_no_ratio(self) -> None:
        text = self.HEADER + " eth0: 5 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
        parsed = net_dev.parse_net_dev(
            samples((1, "/proc/net/dev", text), (2, "/proc/net/dev", text)), context()
        )
        assert "net.drop_ratio_pct" not in {series.metric for series in parsed.series}
        assert {series.labels["dev"] for series in parsed.series} == {"eth0"}

    def test_counters_are_taken_by_name(self) -> None:
        first = "Tcp: RtoMin MaxConn OutSegs RetransSegs New\nTcp: 200 -1 1000 10 7\nTcp: 1 2 3 4 5"
        second = (
            "Tcp: RtoMin MaxConn OutSegs RetransSegs New\nTcp: 200 -1 1090 20 7\nUdp: InDatagrams\nUdp: 5"
        )
        parsed = snmp.parse_snmp(
            samples((1, "/proc/net/snmp", first), (2, "/proc/net/snmp", second)), context()
        )
        same(values(parsed, "tcp.retrans_pct"), [10])
        same(values(parsed, "tcp.retrans_segs_per_s"), [10])


OLD_AND_NEW = [
    ("Out of memory: Kill process 4242 (java) score 917 or sacrifice child", "oom_kill"),
    ("Out of memory: Killed process 4242 (java) total-vm:1kB, anon-rss:1kB", "oom_kill"),
    ("Memory cgroup out of memory: Kill process 4242 (java) score 917 or sacrifice child", "oom_kill_cgroup"),
    ("nf_conntrack: table full, dropping packet", "conntrack_full"),
    ("nf_conntrack: nf_conntrack: table full, dropping packet", "conntrack_full"),
    ("nf_conntrack: table full in netns 4026532251, dropping packet", "conntrack_full"),
    (
        "TCP: request_sock_TCP: Possible SYN flooding on port 80. Sending cookies.  Check SNMP counters.",
        "syn_flood",
    ),
    ("TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:8080. Dropping request.", "syn_flood"),
    ("INFO: task jbd2/sda1-8:312 blocked for more than 120 seconds.", "hung_task"),
    ("INFO: task kworker/u8:2:77 <writer> blocked for more than 120 seconds.", "hung_task"),
    ("BUG: soft lockup - CPU#3 stuck for 22s! [java:4242]", "soft_lockup"),
    ("watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [java:4242]", "soft_lockup"),
    ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 3", "hard_lockup"),
    ("rcu: INFO: rcu_sched self-detected stall on CPU", "rcu_stall"),
    ("INFO: rcu_preempt detected stalls on CPUs/tasks:", "rcu_stall"),
    ("mce: [Hardware Error]: Machine check events logged", "machine_check"),
    ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0", "machine_check"),
    ("NETDEV WATCHDOG: eth0 (ixgbe): transmit queue 3 timed out", "nic_reset"),
    ("e1000e 0000:00:19.0 eth0: Detected Hardware Unit Hang:", "nic_reset"),
    ("ixgbe 0000:01:00.0 eth2: NIC Link is Down", "nic_link_down"),
    ("blk_update_request: I/O error, dev sda, sector 12345", "io_error"),
    ("I/O error, dev nvme0n1, sector 1 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 0", "io_error"),
    ("nvme0n1: I/O Cmd(0x2) @ LBA 14496, 8 blocks, I/O Error (sct 0x2 / sc 0x81) ", "io_error"),
    ("Buffer I/O error on dev sda1, logical block 5, lost async page write", "io_error"),
    ("nvme nvme0: I/O 123 QID 4 timeout, aborting", "io_timeout"),
    ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls", "fs_error"),
    ("EXT4-fs (sda1): Remounting filesystem read-only", "fs_error"),
    ("swapper/0: page allocation failure: order:2, mode:0x20", "page_allocation_failure"),
    ("TCP: out of memory -- consider tuning tcp_mem", "tcp_memory"),
    ("neighbour: arp_cache: neighbor table overflow!", "neighbour_overflow"),
    (
        "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because",
        "clocksource_unstable",
    ),
    ("CPU0: Core temperature above threshold, cpu clock throttled (total events = 1)", "cpu_throttled"),
    (
        "perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
        "perf_slowed",
    ),
    ("BUG: unable to handle page fault for address: 0000000000001234", "kernel_bug"),
    ("bash (4242): drop_caches: 3", "caches_dropped"),
]


class TestKernelLog:
    @pytest.mark.parametrize(("text", "kind"), OLD_AND_NEW)
    def test_old_and_new_texts(self, text: str, kind: str) -> None:
        parsed = kmsg.parse_kmsg({"stdout": part(f"<4>[   12.500000] {text}\n")}, context())
        [event] = parsed.events
        assert (event.kind, event.t_ns, event.line) == (kind, BOOTED + int(12.5 * S), 1)

    def test_lines_of_programs_do_not_count(self) -> None:
        text = "<30>[   12.5] systemd[1]: Out of memory: Killed process 1 (x) total-vm:1kB\n<6>[ 13.000000] eth0: hello\n"
        assert kmsg.parse_kmsg({"stdout": part(text)}, context()).events == ()

    def test_similar_lines_are_merged_into_an_event(self) -> None:
        lines = [f"<4>[ {n}.000000] nf_conntrack: table full, dropping packet" for n in (100, 101, 105, 300)]
        events = kmsg.parse_kmsg({"stdout": part("\n".join(lines))}, context()).events
        assert [(e.t_ns - BOOTED) // S for e in events] == [100, 300]
        assert events[0].end_ns == BOOTED + 105 * S and events[0].title.params["count"] == 3
        assert events[1].end_ns is None

    def test_kill_in_two_lines_has_its_cgroup(self) -> None:
        text = (
            "<6>[ 10.000000] Task in /docker/abc killed as a result of limit of /docker/abc\n"
            "<3>[ 10.000001] Memory cgroup out of memory: Kill process 4242 (my (app)) score 9 or sacrifice child\n"
            "<3>[ 10.000002] Killed process 4242 (my (app)) total-vm:1kB, anon-rss:2kB\n"
        )
        [event] = kmsg.parse_kmsg({"stdout": part(text)}, context()).events
        assert (event.kind, event.title.params["comm"], event.title.params["count"]) == (
            "oom_kill_cgroup",
            "my (app)",
            1,
        )
        assert event.detail.endswith("[/docker/abc]")

    def test_the_journals_form(self) -> None:
        text = "[   12.345678] host kernel: Out of memory: Killed process 7 (x) total-vm:1kB\n[ 13.0] host sshd[7]: kernel: x\n"
        [event] = kmsg.parse_kmsg({"stdout": part(text)}, context()).events
        assert event.kind == "oom_kill"
