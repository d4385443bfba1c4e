"""Synthetic: differences between versions that were not captured here, as their documents have them: memory."""

from __future__ import annotations

from collectors.catalog.cpu import loadavg, psi
from collectors.catalog.memory import meminfo, numastat, vmstat_proc
from collectors.tests.support import NAN, axis, context, same, samples, values

BOOTED = 1_767_225_600 * 10**9
S = 10**9


class TestNuma:
    def node(self, seconds: float, local: int, other: int, node: int = 0) -> tuple[float, str, str]:
        text = f"numa_hit {local + other}\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node {local}\nother_node {other}"
        return seconds, f"/sys/devices/system/node/node{node}/numastat", text

    def test_memory_from_the_wrong_node(self) -> None:
        parsed = numastat.parse_numastat(
            samples(self.node(1, 0, 0), self.node(1, 0, 0, 1), self.node(2, 100, 0), self.node(2, 10, 30, 1)),
            context(),
        )
        assert axis(parsed, "numa.other_node_ratio_pct") == ("0", "1")
        same(values(parsed, "numa.other_node_ratio_pct"), [0, 75])
        same(values(parsed, "numa.miss_per_s"), [0, 0])
        assert parsed.facts["numa_nodes"] == 2 and parsed.facts["numa_applicable"] is True

    def test_a_node_that_was_read_once_less(self) -> None:
        parsed = numastat.parse_numastat(
            samples(self.node(1, 0, 0), self.node(1, 0, 0, 1), self.node(2, 100, 0)), context()
        )
        same(values(parsed, "numa.local_node_per_s"), [100, NAN])


class TestMemory:
    def test_counters_split_by_zone_are_summed(self) -> None:
        first = (
            "pgscan_kswapd_normal 1\npgscan_kswapd_dma 2\nallocstall 5\nworkingset_refault 1\npgmajfault 0"
        )
        second = (
            "pgscan_kswapd_normal 11\npgscan_kswapd_dma 4\nallocstall 9\nworkingset_refault 3\npgmajfault 830"
        )
        parsed = vmstat_proc.parse_vmstat_proc(
            samples((1, "/proc/vmstat", first), (2, "/proc/vmstat", second)), context()
        )
        same(values(parsed, "mem.pgscan_kswapd_per_s"), [12])
        same(values(parsed, "mem.allocstall_per_s"), [4])
        same(values(parsed, "mem.pgmajfault_per_s"), [830])
        assert "mem.oom_kill_delta" not in {series.metric for series in parsed.series}

    def test_old_kernel_without_available_memory(self) -> None:
        parsed = meminfo.parse_meminfo(
            samples((1, "/proc/meminfo", "MemTotal: 100 kB\nMemFree: 5 kB")), context()
        )
        assert {series.metric for series in parsed.series} == {"mem.total_kb"}

    def test_memory_that_failed_where_the_kernel_counts_it(self) -> None:
        text = "MemTotal: 100 kB\nHardwareCorrupted:     8 kB"
        parsed = meminfo.parse_meminfo(samples((1, "/proc/meminfo", text)), context())
        same(values(parsed, "mem.hardware_corrupted_kb"), [8])

    def test_psi_of_a_kernel_without_a_full_line_for_cpu(self) -> None:
        texts = [f"some avg10=1.50 avg60=0 avg300=0 total={total}" for total in (0, 250_000)]
        parsed = psi.parse_psi(
            samples(*[(1 + n, "/proc/pressure/cpu", t) for n, t in enumerate(texts)]), context()
        )
        same(values(parsed, "psi.some_pct", resource="cpu"), [25])
        assert {series.metric for series in parsed.series} == {"psi.some_pct", "psi.some_avg10_pct"}

    def test_load_by_the_cpus_that_are_online(self) -> None:
        parsed = loadavg.parse_loadavg(
            samples(
                (1, "/proc/loadavg", "8.00 4.00 2.00 3/700 123"),
                (1, "/sys/devices/system/cpu/online", "0-2,7"),
                (2, "/proc/loadavg", "8.00 4.00 2.00 3/700 123"),
                (2, "/sys/devices/system/cpu/online", "0-1"),
            ),
            context(),
        )
        same(values(parsed, "load.avg1_per_cpu"), [2, 4])
