"""Measures of waiting and of profiles on numbers made for them."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.measures.cpu import profile as cpu_profile
from culprit.domain.rules.measures.cpu import run_queue as cpu_crowds
from culprit.domain.rules.measures.cpu import wait as cpu_wait
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.view import CollectorOutcome, HostView

from collectors.contract import Context, Parsed
from collectors.parse.perf import perf_script
from collectors.registry import COLLECTORS
from collectors.tests.support import SIMPLE, part


def parsed(collector: str, name: str, text: str) -> Parsed:
    way = COLLECTORS[collector].methods[0].name
    return COLLECTORS[collector].parse({name: part(text)}, Context(SIMPLE, way, 8.0, {}))


def scheduler(*rows: str) -> Parsed:
    head = "time\tseconds\n=\t10.00\nprocess\tpid\tthreads\trun_ns\twait_ns\tswitches\tcgroup\tcomm\n"
    return parsed("proc_schedstat", "stdout", head + "".join(f"p\t{row}\n" for row in rows))


def limits(path: str = "/none", quota: str = "max", throttled: int = 0) -> Parsed:
    at = f"/sys/fs/cgroup{path}/cpu"
    checks = [
        f"@ {n} {1000 + 10 * n}.00\n{at}.max:{quota} 100000\n{at}.stat:nr_periods {100 * n}\n"
        f"{at}.stat:nr_throttled {throttled * n}\n{at}.stat:usage_usec {n}\n"
        for n in (0, 1)
    ]
    return parsed("cgroup_cpu", "stdout", "mount /sys/fs/cgroup cgroup2\n" + "".join(checks))


def stat(pid: int, comm: str, ticks: int, *, nice: int = 0, cpu: int = 0, kernel: bool = False) -> str:
    flags, parent = (69238848, 2) if kernel else (4194560, 1)
    fields = f"R {parent} 0 0 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 {nice} 1 0 25"
    return f"{pid} ({comm}) {fields} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n"


def processes(*tasks: tuple[int, str, int, dict[str, int]]) -> Parsed:
    text = ""
    for tick, boot in ((0, 1000), (10, 1010)):
        for pid, comm, ticks, more in tasks:
            text += f"@ {tick} {boot}000000000 /proc/{pid}/stat\n"
            text += stat(pid, comm, ticks if tick else 0, **more)  # type: ignore[arg-type]
    return parsed("proc_top", "samples", text)


def waiting(*rows: str, top: Parsed | None = None, limit: Parsed | None = None) -> HostView:
    results = {"proc_schedstat": scheduler(*rows), "cgroup_cpu": limit or limits()}
    return build_view({**results, "proc_top": top or processes()}, facts={"cpus": 2})


def matched(view: HostView, rule: str) -> list[Finding]:
    return [rule for rule in evaluate_rules([RULES[rule]], view) if rule.state == "matched"]


STARVED = "10\t9\t100000000\t40000000000\t100\t/app\titems"


def test_crowds_sums_groups_and_keeps_ungrouped_processes() -> None:
    view = waiting(
        "1\t1\t1000000000\t0\t10\t/app\ta",
        "2\t1\t2000000000\t0\t10\t/app\tb",
        "3\t1\t1\t1\t1\t/\tc",
        "4\t1\t1\t1\t1\t/\td",
    )
    results = {item.subject: item.run_s for item in cpu_crowds.list_crowds(view)}
    assert results[("cgroup", "/app"),] == 3.0
    assert {(("cgroup", "/"), ("pid", "3")), (("cgroup", "/"), ("pid", "4"))} < results.keys()


def test_crowds_ignores_nice_processes_and_capture() -> None:
    top = processes((10, "sha256sum", 900, {"nice": 19}))
    view = waiting(
        STARVED,
        STARVED.replace("10\t9", "11\t9").replace("/app", "/culprit-01a2188b-204d-7bd0-a602-8a5d5592e340"),
        top=top,
    )
    assert cpu_crowds.list_crowds(view) == []


def test_the_limit_above_counts() -> None:
    view = waiting(STARVED.replace("/app", "/pod/app"), limit=limits("/pod", "50000", 90))
    crowd = cpu_crowds.list_crowds(view)[0]
    assert cpu_crowds.allowed_cpus(view, crowd) == 0.5
    assert cpu_wait.THROTTLED_CROWD.read(view)[0].value == 90
    assert cpu_wait.OTHERS_SHARE.read(view) == []


def test_a_group_of_a_like_name_is_not_above() -> None:
    view = waiting(STARVED.replace("/app", "/pod-2/app"), limit=limits("/pod", "50000", 90))
    assert cpu_wait.THROTTLED_CROWD.read(view) == []


def test_who_uses_the_cpu_is_whom_it_is_laid_to() -> None:
    program = (99, "sh", 950, {"cpu": 1})
    thread = (36, "ksmd", 950, {"kernel": True})
    related_program, related_thread = (
        waiting(STARVED, top=processes(program)) for program in (program, thread)
    )
    assert matched(related_program, "F-SCHED-NEIGHBOUR")[0].detail["by"] == "sh"
    assert not matched(related_program, "F-KTHREAD-STARVES")
    assert matched(related_thread, "F-KTHREAD-STARVES")[0].detail["by"] == "ksmd"
    assert not matched(related_thread, "F-SCHED-NEIGHBOUR")
    assert not matched(waiting(STARVED, top=processes((10, "items", 950, {}))), "F-SCHED-NEIGHBOUR")


def test_kernel_class_merges_kernel_workers() -> None:
    names = {
        cpu_wait.kernel_class(item) for item in ("kworker/u8:3-btrfs", "kworker/0:1", "kworker/u9:0+flush")
    }
    assert names == {"kworker"}
    assert cpu_wait.kernel_class("kdamond.0") == "kdamond"


def profiled(hot: int, others: int, leaf: str = "count_quoted") -> HostView:
    header = "items     17/17    [000]  {at}.000000000:   10101010 cpu-clock:ppp: \n"
    item = header + "\t1 {leaf} (/bin/items)\n\t2 serve (/bin/items)\n\n"
    text = "".join(
        item.format(at=100 + at, leaf=leaf if at < hot else f"other_{at % 5}") for at in range(hot + others)
    )
    profile = StackProfile(perf_script.parse_perf_script(io.BytesIO(text.encode())))
    view = build_view({"perf_record": Parsed()}, profiles={"on_cpu": profile}, facts={"cpus": 2})
    top = build_view({"proc_top": processes((17, "items", 400, {}))})
    return replace(view, outcomes=view.outcomes | top.outcomes | {"ss_listen": CollectorOutcome("ss_listen", "done")}, tables={
        **top.tables, "listeners": [replace(top.tables["processes"][0], cells={"pid": 17, "process": "items"})],
    })  # fmt: skip


def test_a_hot_function_of_a_service_fires() -> None:
    result = matched(profiled(180, 20), "F-FLAME-HOT-FUNCTION")
    assert result[0].detail["function"] == "count_quoted"
    assert result[0].numbers[0].citations[0].frame == "count_quoted"
    assert result[0].numbers[0].value == pytest.approx(90.0)


@pytest.mark.parametrize("leaf", ["_PyEval_EvalFrameDefault", "sqlite3VdbeExec", "[unknown]"])
def test_engines_are_no_hot_functions(leaf: str) -> None:
    assert not matched(profiled(180, 20, leaf), "F-FLAME-HOT-FUNCTION")


def test_evenly_busy_is_quiet_and_few_samples_are_inconclusive() -> None:
    assert not matched(profiled(60, 140), "F-FLAME-HOT-FUNCTION")
    assert evaluate_rules([RULES["F-FLAME-HOT-FUNCTION"]], profiled(60, 5))[0].state == "inconclusive"


def test_who_does_not_listen_is_no_service() -> None:
    view = profiled(180, 20)
    assert cpu_profile.HOT_FUNCTION.read(replace(view, tables={**view.tables, "listeners": []})) == []


def test_a_function_that_grew_fires_against_a_profile_only() -> None:
    view = profiled(400, 200)
    rule = RULES["F-FLAME-DIFF"]
    assert evaluate_rules([rule], view)[0].state == "not_evaluated"
    matching_rule = evaluate_rules([rule], view.with_baseline(profiled(100, 500)))[0]
    assert (matching_rule.state, matching_rule.detail["function"]) == ("matched", "count_quoted")
    assert evaluate_rules([rule], view.with_baseline(profiled(400, 200)))[0].state == "not_matched"


def test_profile_rules_report_lost_samples_and_unknown_frames() -> None:
    view = profiled(100, 100)
    bad = replace(view.stacks["on_cpu"], lost=50, unknown_share=0.5)
    view = replace(view, stacks={"on_cpu": bad})
    assert matched(view, "F-PERF-LOST")[0].numbers[0].value == pytest.approx(20.0)
    assert matched(view, "F-PERF-UNKNOWN-FRAMES")[0].numbers[0].value == pytest.approx(50.0)


def test_capture_disturbed_matches_capture_cpu() -> None:
    text = "@ 0 1000000000000 /proc/stat\ncpu  0 0 0 0 0 0 0\n@ 1 1001000000000 /proc/stat\ncpu  50 0 0 50 0 0 0\n"
    view = build_view({"cpu_stat": parsed("cpu_stat", "samples", text)})
    assert not matched(view, "F-CAPTURE-DISTURBED")
    assert matched(replace(view, capture_cpu_cores=1.5), "F-CAPTURE-DISTURBED")
    assert not matched(replace(view, capture_cpu_cores=0.1), "F-CAPTURE-DISTURBED")


def test_causes_that_no_fault_has_proven_are_only_possible() -> None:
    unproven = {"cpu-frequency-limited", "hypervisor-steal"}
    assert all(not CAUSES[item].proven_by for item in unproven)


def test_a_long_turn_of_few_is_no_queue_and_is_known_all_the_same() -> None:
    rare, queue = (waiting(f"10\t9\t100000000\t{ms}000000\t10\t/app\titems") for ms in (900, 9000))
    assert cpu_wait.DELAY.read(rare)[0].value == 90.0
    assert not matched(rare, "F-SCHED-DELAY") and matched(queue, "F-SCHED-DELAY")


def cpu_time(cpus: int, busy_pct: int) -> Parsed:
    text = ""
    for tick in range(11):
        busy, idle = busy_pct * tick, (100 - busy_pct) * tick
        text += f"@ {tick} {1000 + tick}000000000 /proc/stat\n"
        text += f"cpu  {busy * cpus} 0 0 {idle * cpus} 0 0 0 0 0 0\n"
        text += "".join(f"cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 0 0\n" for cpu in range(cpus))
    return parsed("cpu_stat", "samples", text)


@pytest.mark.parametrize("cpus", [2, 16, 64, 256])
def test_exhausted_host_is_recognized_on_any_number_of_cpus(cpus: int) -> None:
    """The same work for each CPU gives the same result: it depends on shares of time alone."""

    def view(busy_pct: int, wait_s: float) -> HostView:
        run_ns, wait_ns = int(10e9 * cpus * 0.9), int(wait_s * cpus * 1e9)
        services = [
            f"{pid}\t{cpus}\t{run_ns // 3}\t{wait_ns // 3}\t9000\t/svc{pid}\tsvc{pid}" for pid in (7, 8, 9)
        ]
        results = {"proc_schedstat": scheduler(*services), "cgroup_cpu": limits()}
        return build_view({**results, "cpu_stat": cpu_time(cpus, busy_pct)}, facts={"cpus": cpus})

    exhausted = matched(view(100, 22.5), "F-CPU-EXHAUSTED")
    assert {round(finding.numbers[0].value, 2) for finding in exhausted} == {3.5}
    assert [finding.severity for finding in exhausted] == ["warn"] * 3
    assert matched(view(100, 3.0), "F-CPU-EXHAUSTED") == []
    assert matched(view(80, 22.5), "F-CPU-EXHAUSTED") == []
