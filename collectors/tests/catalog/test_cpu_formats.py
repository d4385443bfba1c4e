"""Synthetic: differences between versions that were not captured here, as their documents have them: CPUs and tasks."""

from __future__ import annotations

import numpy as np
import pytest

from collectors.catalog.cpu import cpu_stat, interrupts, perf_record, softirqs, vmstat
from collectors.catalog.platform import proc_top
from collectors.contract import Parsed
from collectors.tests.support import NAN, SIMPLE, axis, context, part, same, samples, values

BOOTED = 1_767_225_600 * 10**9
S = 10**9


class TestSoftirqs:
    def test_a_counter_wraps_at_32_bits(self) -> None:
        parsed = softirqs.parse_softirqs(
            samples(
                (1, "/proc/softirqs", "      CPU0\n NET_RX: 4294967290"),
                (2, "/proc/softirqs", "      CPU0\n NET_RX: 10"),
            ),
            context(),
        )
        same(values(parsed, "softirq.rate_per_s", vector="NET_RX"), [16])

    def test_a_counter_that_falls_from_below_the_middle_was_reset(self) -> None:
        parsed = softirqs.parse_softirqs(
            samples(
                (1, "/proc/softirqs", "  CPU0 CPU1\n NET_RX: 1000 5"),
                (2, "/proc/softirqs", "  CPU0 CPU1\n NET_RX: 10 7"),
            ),
            context(),
        )
        same(values(parsed, "softirq.rate_per_s", vector="NET_RX"), [NAN, 2])

    def test_header_numbers_cpus_and_a_cpu_goes_offline(self) -> None:
        parsed = softirqs.parse_softirqs(
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
        parsed = softirqs.parse_softirqs(
            samples(
                (1, "/proc/softirqs", "  CPU0 CPU1\n TIMER: 1 2"),
                (2, "/proc/softirqs", "  CPU0 CPU1\n TIMER: 2"),
            ),
            context(),
        )
        same(values(parsed, "softirq.rate_per_s", vector="TIMER"), [1, NAN])

    def test_rates_are_by_the_time_that_passed(self) -> None:
        parsed = softirqs.parse_softirqs(
            samples((1, "/proc/softirqs", "CPU0\nHI: 0"), (3.5, "/proc/softirqs", "CPU0\nHI: 10")), context()
        )
        same(values(parsed, "softirq.rate_per_s", vector="HI"), [4])
        assert parsed.series[0].t_ns.tolist() == [BOOTED + int(3.5 * S)]


class TestCpuStat:
    def test_guests_are_taken_out_of_user(self) -> None:
        parsed = cpu_stat.parse_cpu_stat(
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
        parsed = cpu_stat.parse_cpu_stat(
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
        parsed = cpu_stat.parse_cpu_stat(samples((1, "/proc/stat", text), (2, "/proc/stat", text)), context())
        assert {series.metric for series in parsed.series} == {"sched.forks_per_s", "sched.runq_per_cpu"}
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
        parsed = vmstat.parse_vmstat({"stdout": part(text), "started": part("100.50\n")}, context())
        same(values(parsed, "sched.runq"), [1])
        same(values(parsed, "cpu.total_steal_pct"), [17])
        assert "cpu.total_guest_pct" not in {series.metric for series in parsed.series}
        assert parsed.series[0].t_ns.tolist() == [BOOTED + int(101.5 * S)]
        assert parsed.series[0].lines is not None and parsed.series[0].lines.tolist() == [4]

    def test_busybox_prints_no_time(self) -> None:
        text = self.reports(
            " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa",
            " 1  0      0    100      1      2    0    0     0     0    1    2  3  4 93  0",
            " 2  0      0    100      1      2    0    0     0     0    1    2  3  4 93  0",
        )
        matching_vmstat = vmstat.parse_vmstat(
            {"stdout": part(text), "started": part("5.00 1.0\n")}, context()
        )
        same(values(matching_vmstat, "sched.runq"), [2])
        unknown = vmstat.parse_vmstat({"stdout": part(text)}, context())
        assert [warning.key for warning in unknown.warnings] == ["warning.no_time"] and not unknown.readable

    def test_a_line_that_was_cut_is_left_out(self) -> None:
        titles = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC"
        text = self.reports(
            titles, *[f" {n}  0 0 1 1 1 0 0 0 0 1 1 1 1 98 0 0 2026-01-01 00:00:0{n}" for n in range(3)]
        )
        parsed = vmstat.parse_vmstat({"stdout": part(text + " 7  0 0 1")}, context())
        same(values(parsed, "sched.runq"), [1, 2])
        assert [warning.key for warning in parsed.warnings] == ["warning.lines_unreadable"]

    def test_a_stall_is_kept_by_the_stamps(self) -> None:
        """Between the second and the third report the tool stood still for five seconds."""
        titles = " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC"
        stamps = ["00:01:40", "00:01:41", "00:01:42", "00:01:48"]
        text = self.reports(
            titles, *[f" 1  0 0 1 1 1 0 0 0 0 1 1 1 1 98 0 0 2026-01-01 {stamp}" for stamp in stamps]
        )
        parsed = vmstat.parse_vmstat({"stdout": part(text), "started": part("100.20\n")}, context())
        seconds = (parsed.series[0].t_ns - BOOTED) / S
        np.testing.assert_allclose(seconds, [101.2, 102.2, 108.0])


class TestTasks:
    def stat(self, comm: str, utime: int, state: str = "R", started: int = 100, flags: int = 0x400000) -> str:
        return (
            f"42 ({comm}) {state} 1 42 42 0 -1 {flags} 0 0 5 0 {utime} 10 0 0 20 -5 3 0 {started} 1000 250 "
            "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0"
        )

    def test_a_name_with_spaces_and_parentheses(self) -> None:
        path = "/proc/42/stat"
        parsed = proc_top.parse_proc_top(
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
        parsed = proc_top.parse_proc_top(
            samples((10, path, self.stat("old", 9000)), (12, path, self.stat("new", 50, started=1100))),
            context(),
        )
        row = parsed.tables[0].rows[0]
        assert row[1] == "new" and row[4] == pytest.approx(60.0)

    def test_kernel_threads_are_classified(self) -> None:
        path = "/proc/42/stat"
        text = [self.stat("ksoftirqd/0", n, flags=0x208040) for n in (0, 10)]
        parsed = proc_top.parse_proc_top(samples((1, path, text[0]), (2, path, text[1])), context())
        assert parsed.tables[0].rows[0][3] == 1

    def test_a_script_is_charged_for_the_programs_that_it_waited_for(self) -> None:
        """Of a shell that ran one short program after the other for four seconds."""
        path = "/proc/25602/stat"
        first, last = (
            f"25602 (sh) S 25601 25597 5101 0 -1 4194304 {times} 20 0 1 0 142441 2654208 402 18446744073709551615 "
            "94492821729280 94492821806009 140728977182288 0 0 0 0 6 65536 1 0 0 17 0 0 0 0 0 0 94492821835312 "
            "94492821840448 94493514403840 140728977189511 140728977189583 140728977189583 140728977190892 0"
            for times in ("294 4401 0 0 0 0 4 27", "1486 30569 0 0 1 2 40 195")
        )
        parsed = proc_top.parse_proc_top(samples((1425.43, path, first), (1429.44, path, last)), context())
        row = self.read_row(parsed, 25602)
        assert row["cpu"] == pytest.approx(100 * 0.03 / 4.01)
        assert row["cpu_with_ended"] == pytest.approx(100 * 2.07 / 4.01)

    def test_time_before_the_capture_is_not_charged_when_a_program_ends(self) -> None:
        """Process 43 ran for long and ended with 3.2 s, 3.0 s of which it had used before; 44 was its child."""
        parent, child, grandchild = "/proc/42/stat", "/proc/43/stat", "/proc/44/stat"
        waiting, waited = (self.stat("sh", 0).replace(" 10 0 0 20", f" 10 {n} 0 20") for n in (0, 330))
        running = self.stat("tar", 290).replace("42 (tar) R 1", "43 (tar) R 42")
        packing = self.stat("xz", 0).replace("42 (xz) R 1", "44 (xz) R 43")
        text = "\n".join(
            (
                f"@ 0 {10 * 10**9} {parent}\n{waiting}",
                f"@ 0 {10 * 10**9} {child}\n{running}",
                f"@ 0 {10 * 10**9} {grandchild}\n{packing}",
                f"@ 1 {12 * 10**9} {parent}\n{waited}",
            )
        )
        parsed = proc_top.parse_proc_top({"samples": part(text + "\n")}, context())
        assert self.read_row(parsed, 42)["cpu_with_ended"] == pytest.approx(10.0)

    def read_row(self, parsed: Parsed, pid: int) -> dict[str, object]:
        """Return the row of a process by the names of its columns."""
        [table] = parsed.tables
        names = [column.id for column in table.columns]
        rows = [dict(zip(names, row, strict=True)) for row in table.rows]
        return next(row for row in rows if row["pid"] == pid)

    def test_interrupts_of_a_cpu(self) -> None:
        first = "     CPU0 CPU1\n 24: 0 4294967290 PCI-MSI 1-edge eth0-rx-0\nERR: 5"
        second = "     CPU0 CPU1\n 24: 0 294 PCI-MSI 1-edge eth0-rx-0\nERR: 9"
        parsed = interrupts.parse_interrupts(
            samples((1, "/proc/interrupts", first), (4, "/proc/interrupts", second)), context()
        )
        assert parsed.tables[0].rows == (("24", "PCI-MSI 1-edge eth0-rx-0", 100.0, 1, 100.0),)


class TestPerf:
    def test_what_perf_complains_of(self) -> None:
        parsed = perf_record.parse_perf_record(
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
        assert {warning.key for warning in parsed.warnings} == {
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
