"""Synthetic: differences between versions that were not captured here, as their documents have them."""

from __future__ import annotations

import numpy as np
import pytest

from collectors.catalog import (
    cpu_stat,
    interrupts,
    iostat,
    kmsg,
    loadavg,
    meminfo,
    net_dev,
    numastat,
    perf_record,
    proc_top,
    psi,
    snmp,
    softirqs,
    vmstat,
    vmstat_proc,
)
from collectors.contract import Parsed
from collectors.tests.support import SIMPLE, context, part, samples

BOOTED = 1_767_225_600 * 10**9
S = 10**9


def values(parsed: Parsed, metric: str, **labels: str) -> np.ndarray:
    [one] = [s for s in parsed.series if s.metric == metric and dict(s.labels) == labels]
    return one.values


def axis(parsed: Parsed, metric: str, **labels: str) -> tuple[str, ...]:
    [one] = [s for s in parsed.series if s.metric == metric and dict(s.labels) == labels]
    return one.axis_values


def same(found: np.ndarray, wanted: list) -> None:
    np.testing.assert_allclose(found, np.array(wanted, float).reshape(found.shape), rtol=1e-9)


NAN = float("nan")


class TestSoftirqs:
    def test_a_counter_wraps_at_32_bits(self) -> None:
        parsed = softirqs.parse(
            samples(
                (1, "/proc/softirqs", "      CPU0\n NET_RX: 4294967290"),
                (2, "/proc/softirqs", "      CPU0\n NET_RX: 10"),
            ),
            context(),
        )
        same(values(parsed, "softirq.rate_per_s", vector="NET_RX"), [16])

    def test_a_counter_that_falls_from_below_the_middle_was_reset(self) -> None:
        parsed = softirqs.parse(
            samples(
                (1, "/proc/softirqs", "  CPU0 CPU1\n NET_RX: 1000 5"),
                (2, "/proc/softirqs", "  CPU0 CPU1\n NET_RX: 10 7"),
            ),
            context(),
        )
        same(values(parsed, "softirq.rate_per_s", vector="NET_RX"), [NAN, 2])

    def test_the_header_numbers_the_cpus_and_one_goes_away(self) -> None:
        parsed = softirqs.parse(
            samples(
                (1, "/proc/softirqs", "  CPU0 CPU2 CPU10\n TIMER: 1 2 3\n RCU: 0 0 0"),
                (2, "/proc/softirqs", "  CPU0 CPU10\n TIMER: 2 13\n RCU: 0 0"),
                (4, "/proc/softirqs", "  CPU0 CPU2 CPU10\n TIMER: 6 100 33\n RCU: 0 0 0"),
            ),
            context(),
        )
        assert axis(parsed, "softirq.rate_per_s", vector="TIMER") == ("0", "2", "10")
        same(values(parsed, "softirq.rate_per_s", vector="TIMER"), [[1, NAN, 10], [2, NAN, 10]])
        same(values(parsed, "softirq.total_per_s", vector="TIMER"), [11, 12])
        same(values(parsed, "softirq.vector_share_pct", vector="TIMER"), [100, 100])

    def test_a_row_that_was_cut_is_no_data(self) -> None:
        parsed = softirqs.parse(
            samples(
                (1, "/proc/softirqs", "  CPU0 CPU1\n TIMER: 1 2"),
                (2, "/proc/softirqs", "  CPU0 CPU1\n TIMER: 2"),
            ),
            context(),
        )
        same(values(parsed, "softirq.rate_per_s", vector="TIMER"), [1, NAN])

    def test_rates_are_by_the_time_that_passed(self) -> None:
        parsed = softirqs.parse(
            samples((1, "/proc/softirqs", "CPU0\nHI: 0"), (3.5, "/proc/softirqs", "CPU0\nHI: 10")), context()
        )
        same(values(parsed, "softirq.rate_per_s", vector="HI"), [4])
        assert parsed.series[0].t_ns.tolist() == [BOOTED + int(3.5 * S)]


class TestCpuStat:
    def test_guests_are_taken_out_of_user(self) -> None:
        parsed = cpu_stat.parse(
            samples(
                (1, "/proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0"),
                (2, "/proc/stat", "cpu 60 0 20 10 0 0 10 0 40 0\ncpu0 60 0 20 10 0 0 10 0 40 0"),
            ),
            context(),
        )
        same(values(parsed, "cpu.usr_pct"), [20])
        same(values(parsed, "cpu.guest_pct"), [40])
        same(values(parsed, "cpu.busy_pct"), [90])
        same(values(parsed, "cpu.sys_share_of_busy_pct"), [100 * 30 / 90])

    def test_idle_may_slip_back_and_a_cpu_may_go_away(self) -> None:
        parsed = cpu_stat.parse(
            samples(
                (1, "/proc/stat", "cpu 0 0 0 100000\ncpu0 0 0 0 50000\ncpu3 0 0 0 50000"),
                (2, "/proc/stat", "cpu 10 0 0 99998\ncpu0 10 0 0 49999\ncpu3 0 0 0 50100"),
                (3, "/proc/stat", "cpu 20 0 0 100090\ncpu0 20 0 0 50090"),
            ),
            context(),
        )
        same(values(parsed, "cpu.busy_pct"), [[100, 0], [10, NAN]])
        same(values(parsed, "cpu.steal_pct"), [[0, 0], [0, NAN]])
        assert axis(parsed, "cpu.busy_pct") == ("0", "3")

    def test_a_cpu_without_ticks_gives_no_data(self) -> None:
        text = "cpu 1 0 1 5 0 0 0 0 0 0\ncpu0 1 0 1 5 0 0 0 0 0 0\nctxt 5\nprocesses 7\nprocs_running 3"
        parsed = cpu_stat.parse(samples((1, "/proc/stat", text), (2, "/proc/stat", text)), context())
        assert {one.metric for one in parsed.series} == {"sched.forks_per_s", "sched.runq_per_cpu"}
        same(values(parsed, "sched.runq_per_cpu"), [3, 3])


class TestVmstat:
    HEADER = "procs -----memory----- ---swap-- -----io---- -system-- ------cpu-----"

    def reports(self, titles: str, *lines: str) -> str:
        return "\n".join([self.HEADER, titles, *lines]) + "\n"

    def test_procps_3_without_guest_column_in_another_zone(self) -> None:
        text = self.reports(
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 CST",
            " 9  9      0      9      9      9    9    9     9     9    9    9  9  9  9  9  9 2026-01-01 08:00:00",
            " 1  2      3      4      5      6    7    8     9    10   11   12 13 14 15 16 17 2026-01-01 08:00:01",
        )
        parsed = vmstat.parse({"stdout": part(text), "started": part("100.50\n")}, context())
        same(values(parsed, "sched.runq"), [1])
        same(values(parsed, "cpu.total_steal_pct"), [17])
        assert "cpu.total_guest_pct" not in {one.metric for one in parsed.series}
        assert parsed.series[0].t_ns.tolist() == [BOOTED + int(101.5 * S)]
        assert parsed.series[0].lines is not None and parsed.series[0].lines.tolist() == [4]

    def test_busybox_prints_no_time(self) -> None:
        text = self.reports(
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa",
            " 1  0      0    100      1      2    0    0     0     0    1    2  3  4 93  0",
            " 2  0      0    100      1      2    0    0     0     0    1    2  3  4 93  0",
        )
        found = vmstat.parse({"stdout": part(text), "started": part("5.00 1.0\n")}, context())
        same(values(found, "sched.runq"), [2])
        unknown = vmstat.parse({"stdout": part(text)}, context())
        assert [one.key for one in unknown.warnings] == ["warning.no_time"] and not unknown.readable

    def test_a_line_that_was_cut_is_left_out(self) -> None:
        titles = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC"
        text = self.reports(
            titles, *[f" {n}  0 0 1 1 1 0 0 0 0 1 1 1 1 98 0 0 2026-01-01 00:00:0{n}" for n in range(3)]
        )
        parsed = vmstat.parse({"stdout": part(text + " 7  0 0 1")}, context())
        same(values(parsed, "sched.runq"), [1, 2])
        assert [one.key for one in parsed.warnings] == ["warning.lines_unreadable"]

    def test_a_stall_is_kept_by_the_stamps(self) -> None:
        """Between the second and the third report the tool stood still for five seconds."""
        titles = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC"
        stamps = ["00:01:40", "00:01:41", "00:01:42", "00:01:48"]
        text = self.reports(
            titles, *[f" 1  0 0 1 1 1 0 0 0 0 1 1 1 1 98 0 0 2026-01-01 {one}" for one in stamps]
        )
        parsed = vmstat.parse({"stdout": part(text), "started": part("100.20\n")}, context())
        seconds = (parsed.series[0].t_ns - BOOTED) / S
        np.testing.assert_allclose(seconds, [101.2, 102.2, 108.0])


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
        parsed = iostat.parse({"stdout": part(self.OLD_JSON)}, context())
        same(values(parsed, "disk.r_iops", dev="sda"), [3, NAN])
        same(values(parsed, "disk.read_mb_s", dev="sda"), [2, NAN])
        same(values(parsed, "disk.aqu", dev="sda"), [0.5, NAN])
        assert "disk.w_await_ms" not in {one.metric for one in parsed.series}
        assert {one.key for one in parsed.warnings} == {"warning.json_cut", "warning.lines_unreadable"}

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
        parsed = iostat.parse({"stdout": part(text), "started": part("100.30\n")}, context())
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
        parsed = iostat.parse(
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


class TestNuma:
    def node(self, seconds: float, local: int, other: int, node: int = 0) -> tuple[float, str, str]:
        text = f"numa_hit {local + other}\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node {local}\nother_node {other}"
        return seconds, f"/sys/devices/system/node/node{node}/numastat", text

    def test_memory_from_the_wrong_node(self) -> None:
        parsed = numastat.parse(
            samples(self.node(1, 0, 0), self.node(1, 0, 0, 1), self.node(2, 100, 0), self.node(2, 10, 30, 1)),
            context(),
        )
        assert axis(parsed, "numa.other_node_ratio_pct") == ("0", "1")
        same(values(parsed, "numa.other_node_ratio_pct"), [0, 75])
        same(values(parsed, "numa.miss_per_s"), [0, 0])
        assert parsed.facts["numa_nodes"] == 2 and parsed.facts["numa_applicable"] is True

    def test_a_node_that_was_read_once_less(self) -> None:
        parsed = numastat.parse(
            samples(self.node(1, 0, 0), self.node(1, 0, 0, 1), self.node(2, 100, 0)), context()
        )
        same(values(parsed, "numa.local_node_per_s"), [100, NAN])


class TestNetwork:
    HEADER = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n"

    def test_no_space_after_the_colon_and_a_drop_ratio(self) -> None:
        first = self.HEADER + "  eth0:1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0"
        second = self.HEADER + "  eth0:10485760 109 0 1 0 0 0 0 2000 20 0 0 0 0 0 0"
        parsed = net_dev.parse(samples((1, "/proc/net/dev", first), (2, "/proc/net/dev", second)), context())
        same(values(parsed, "net.rx_pps", dev="eth0"), [99])
        same(values(parsed, "net.drop_ratio_pct", dev="eth0"), [1])
        same(values(parsed, "net.tx_pps", dev="eth0"), [0])

    def test_no_packets_is_no_ratio(self) -> None:
        text = self.HEADER + " eth0: 5 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
        parsed = net_dev.parse(samples((1, "/proc/net/dev", text), (2, "/proc/net/dev", text)), context())
        assert "net.drop_ratio_pct" not in {one.metric for one in parsed.series}
        assert {one.labels["dev"] for one in parsed.series} == {"eth0"}

    def test_counters_are_taken_by_name(self) -> None:
        first = "Tcp: RtoMin MaxConn OutSegs RetransSegs New\nTcp: 200 -1 1000 10 7\nTcp: 1 2 3 4 5"
        second = (
            "Tcp: RtoMin MaxConn OutSegs RetransSegs New\nTcp: 200 -1 1090 20 7\nUdp: InDatagrams\nUdp: 5"
        )
        parsed = snmp.parse(samples((1, "/proc/net/snmp", first), (2, "/proc/net/snmp", second)), context())
        same(values(parsed, "tcp.retrans_pct"), [10])
        same(values(parsed, "tcp.retrans_segs_per_s"), [10])


class TestMemory:
    def test_counters_split_by_zone_are_summed(self) -> None:
        first = (
            "pgscan_kswapd_normal 1\npgscan_kswapd_dma 2\nallocstall 5\nworkingset_refault 1\npgmajfault 0"
        )
        second = (
            "pgscan_kswapd_normal 11\npgscan_kswapd_dma 4\nallocstall 9\nworkingset_refault 3\npgmajfault 830"
        )
        parsed = vmstat_proc.parse(
            samples((1, "/proc/vmstat", first), (2, "/proc/vmstat", second)), context()
        )
        same(values(parsed, "mem.pgscan_kswapd_per_s"), [12])
        same(values(parsed, "mem.allocstall_per_s"), [4])
        same(values(parsed, "mem.pgmajfault_per_s"), [830])
        assert "mem.oom_kill_delta" not in {one.metric for one in parsed.series}

    def test_an_old_kernel_does_not_say_what_is_available(self) -> None:
        parsed = meminfo.parse(samples((1, "/proc/meminfo", "MemTotal: 100 kB\nMemFree: 5 kB")), context())
        assert {one.metric for one in parsed.series} == {"mem.total_kb"}

    def test_psi_of_a_kernel_without_a_full_line_for_cpu(self) -> None:
        texts = [f"some avg10=1.50 avg60=0 avg300=0 total={total}" for total in (0, 250_000)]
        parsed = psi.parse(
            samples(*[(1 + n, "/proc/pressure/cpu", t) for n, t in enumerate(texts)]), context()
        )
        same(values(parsed, "psi.some_pct", resource="cpu"), [25])
        assert {one.metric for one in parsed.series} == {"psi.some_pct", "psi.some_avg10_pct"}

    def test_load_by_the_cpus_that_are_online(self) -> None:
        parsed = loadavg.parse(
            samples(
                (1, "/proc/loadavg", "8.00 4.00 2.00 3/700 123"),
                (1, "/sys/devices/system/cpu/online", "0-2,7"),
                (2, "/proc/loadavg", "8.00 4.00 2.00 3/700 123"),
                (2, "/sys/devices/system/cpu/online", "0-1"),
            ),
            context(),
        )
        same(values(parsed, "load.avg1_per_cpu"), [2, 4])


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
        parsed = kmsg.parse({"stdout": part(f"<4>[   12.500000] {text}\n")}, context())
        [event] = parsed.events
        assert (event.kind, event.t_ns, event.line) == (kind, BOOTED + int(12.5 * S), 1)

    def test_lines_of_programs_do_not_count(self) -> None:
        text = "<30>[   12.5] systemd[1]: Out of memory: Killed process 1 (x) total-vm:1kB\n<6>[ 13.000000] eth0: hello\n"
        assert kmsg.parse({"stdout": part(text)}, context()).events == ()

    def test_like_lines_become_one_event_over_a_span(self) -> None:
        lines = [f"<4>[ {n}.000000] nf_conntrack: table full, dropping packet" for n in (100, 101, 105, 300)]
        events = kmsg.parse({"stdout": part("\n".join(lines))}, context()).events
        assert [(e.t_ns - BOOTED) // S for e in events] == [100, 300]
        assert events[0].end_ns == BOOTED + 105 * S and events[0].title.params["count"] == 3
        assert events[1].end_ns is None

    def test_one_kill_in_two_lines_and_its_cgroup(self) -> None:
        text = (
            "<6>[ 10.000000] Task in /docker/abc killed as a result of limit of /docker/abc\n"
            "<3>[ 10.000001] Memory cgroup out of memory: Kill process 4242 (my (app)) score 9 or sacrifice child\n"
            "<3>[ 10.000002] Killed process 4242 (my (app)) total-vm:1kB, anon-rss:2kB\n"
        )
        [event] = kmsg.parse({"stdout": part(text)}, context()).events
        assert (event.kind, event.title.params["comm"], event.title.params["count"]) == (
            "oom_kill_cgroup",
            "my (app)",
            1,
        )
        assert event.detail.endswith("[/docker/abc]")

    def test_the_journals_form(self) -> None:
        text = "[   12.345678] host kernel: Out of memory: Killed process 7 (x) total-vm:1kB\n[ 13.0] host sshd[7]: kernel: x\n"
        [event] = kmsg.parse({"stdout": part(text)}, context()).events
        assert event.kind == "oom_kill"


class TestTasks:
    def stat(self, comm: str, utime: int, state: str = "R", started: int = 100, flags: int = 0x400000) -> str:
        return (
            f"42 ({comm}) {state} 1 42 42 0 -1 {flags} 0 0 5 0 {utime} 10 0 0 20 -5 3 0 {started} 1000 250 "
            "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
        )

    def test_a_name_with_spaces_and_parentheses(self) -> None:
        path = "/proc/42/stat"
        parsed = proc_top.parse(
            samples((10, path, self.stat("a ) R 9 (b", 0)), (12, path, self.stat("a ) R 9 (b", 100, "D"))),
            context(),
        )
        # both snapshots carry their own tick, as the sampler gives them
        [table] = parsed.tables
        row = dict(zip([column.id for column in table.columns], table.rows[0], strict=True))
        assert (row["comm"], row["state"], row["cpu"], row["nice"]) == ("a ) R 9 (b", "D", 50.0, -5)
        same(values(parsed, "proc.d_state_count"), [0, 1])

    def test_a_pid_that_was_used_again(self) -> None:
        path = "/proc/42/stat"
        parsed = proc_top.parse(
            samples((10, path, self.stat("old", 9000)), (12, path, self.stat("new", 50, started=1100))),
            context(),
        )
        row = parsed.tables[0].rows[0]
        assert row[1] == "new" and row[4] == pytest.approx(60.0)

    def test_kernel_threads_are_told_apart(self) -> None:
        path = "/proc/42/stat"
        text = [self.stat("ksoftirqd/0", n, flags=0x208040) for n in (0, 10)]
        parsed = proc_top.parse(samples((1, path, text[0]), (2, path, text[1])), context())
        assert parsed.tables[0].rows[0][3] == 1

    def test_interrupts_of_one_cpu(self) -> None:
        first = "     CPU0 CPU1\n 24: 0 4294967290 PCI-MSI 1-edge eth0-rx-0\nERR: 5"
        second = "     CPU0 CPU1\n 24: 0 294 PCI-MSI 1-edge eth0-rx-0\nERR: 9"
        parsed = interrupts.parse(
            samples((1, "/proc/interrupts", first), (4, "/proc/interrupts", second)), context()
        )
        assert parsed.tables[0].rows == (("24", "PCI-MSI 1-edge eth0-rx-0", 100.0, 1, 100.0),)


class TestPerf:
    def test_what_perf_complains_of(self) -> None:
        parsed = perf_record.parse(
            {
                "script.txt": part("x"),
                "perf.data": part("x"),
                "record.log": part(
                    "WARNING: Kernel address maps (/proc/{kallsyms,modules}) are restricted,\n"
                    "check /proc/sys/kernel/kptr_restrict and /proc/sys/kernel/perf_event_paranoid.\n"
                    "[ perf record: perf size limit reached (32 KB), stopping session ]\n"
                ),
                "stats.txt": part(
                    "Aggregated stats:\n  SAMPLE events: 90\n  LOST events: 2\ncycles stats:\n SAMPLE events: 90\n"
                ),
                "status.txt": part("clock none\nscript_exit 141\nscript_cut 1\n"),
            },
            context(),
        )
        assert {one.key for one in parsed.warnings} == {
            "warning.kernel_symbols_hidden",
            "warning.perf_size_limit",
            "warning.perf_lost",
            "warning.perf_script_failed",
            "warning.perf_text_cut",
            "warning.perf_clock_unknown",
        }
        [profile] = parsed.profiles
        assert profile.clock is None and profile.raw_part == "perf.data"
        assert parsed.facts["perf_report_samples"] == 90

    def test_the_clock_of_the_fixture(self) -> None:
        assert SIMPLE.uncertainty("monotonic") == 0 and SIMPLE.known
