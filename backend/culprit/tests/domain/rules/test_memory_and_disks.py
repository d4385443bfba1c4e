"""Measures of memory and disks whose logic a table of cases does not show: whose kill it is, and which device."""

from __future__ import annotations

from uuid import uuid4

import pytest
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.measures.disk import queues as disk
from culprit.domain.rules.measures.disk import sync_writes
from culprit.domain.rules.measures.memory import growth as memory_growth
from culprit.domain.rules.measures.memory import heaps, shortage
from culprit.domain.rules.measures.memory import kills as memory_kills
from culprit.domain.rules.measures.places import is_in_scope, is_inside_group
from culprit.domain.rules.registry import CAUSES
from culprit.domain.rules.view import CollectorOutcome, HostEvent, HostView, TableRow
from culprit.tests.domain.rules.test_engine import build_series

CITE = Citation("r", "c", "a", "p", (1,))


def view(facts=None, events=(), **tables) -> HostView:
    rows = {kind: [TableRow(cells, CITE) for cells in supplied] for kind, supplied in tables.items()}
    known = ("cgroup_mem", "kmsg", "proc_threads", "fd_table", "proc_io", "mounts")
    return HostView(
        {item: CollectorOutcome(item, "done") for item in known},
        tables=rows,
        events=events,
        facts=facts or {},
    )


def kill(path: str, comm: str = "java", anon_kb: int = 95_000) -> HostEvent:
    detail = f"Memory cgroup out of memory: Killed process 7 ({comm}) anon-rss:{anon_kb}kB [{path}]"
    return HostEvent("oom_kill_cgroup", 1, "critical", {"pid": "7", "comm": comm}, detail, CITE)


def group(path: str, kills: float = 0.0) -> dict[str, object]:
    return {"path": path, "limit_kb": 100_000.0, "oom_kills": kills, "oom_kills_ever": kills}


def scope(path: str) -> dict[str, object]:
    return {"target": {"kind": "cgroup", "cgroup": path}}


def test_a_kill_of_another_containers_group_is_not_this_hosts() -> None:
    seen = view(events=[kill("/elsewhere")], cgroup_mem=[group("/app")])
    assert [item.value for item in memory_kills.OOM_KILLS.read(seen)] == [0.0]


def test_oom_kills_counts_kill_in_removed_group_of_scope() -> None:
    seen = view(scope("/app"), [kill("/app/worker")], cgroup_mem=[])
    [result] = memory_kills.OOM_KILLS.read(seen)
    assert (result.value, dict(result.subject)) == (1.0, {"cgroup": "/app/worker"})


def test_oom_kills_ignores_kill_outside_scope() -> None:
    seen = view(scope("/app"), [kill("/application")], cgroup_mem=[group("/app"), group("/application", 2.0)])
    assert [item.value for item in memory_kills.OOM_KILLS.read(seen)] == [0.0]


def test_the_larger_of_what_the_log_and_the_group_count() -> None:
    seen = view(events=[kill("/app")], cgroup_mem=[group("/app", 3.0)])
    assert [item.value for item in memory_kills.OOM_KILLS.read(seen)] == [3.0]


@pytest.mark.parametrize(("comm", "shares"), [("java", [95.0]), ("python", [])])
def test_only_a_jvm_is_judged_by_its_heap(comm: str, shares: list[float]) -> None:
    seen = view(events=[kill("/app", comm)], cgroup_mem=[group("/app")])
    assert [item.value for item in heaps.JVM_AT_LIMIT.read(seen)] == shares


def fd(pid: int, path: str, moved: float, comm: str = "app") -> dict[str, object]:
    reported = {"o_sync": 1, "o_dsync": 1, "flags": "06112001", "fd": 3}
    return {"pid": pid, "comm": comm, "path": path, "pos_delta_bytes_per_s": moved, **reported}


def test_calls_are_shared_among_files_by_how_far_they_moved() -> None:
    calls = {"pid": 1, "comm": "app", "wchar_per_s": 1000.0, "syscw_per_s": 100.0}
    seen = view(fds=[fd(1, "/a", 250.0), fd(1, "/b", 750.0), fd(1, "/c", 0.0)], proc_io=[calls])
    assert [item.detail["writes"] for item in sync_writes.SYNC_FILES.read(seen)] == [25, 75, 0]


def test_devices_are_not_files() -> None:
    calls = {"pid": 1, "comm": "app", "wchar_per_s": 1000.0, "syscw_per_s": 100.0}
    assert not sync_writes.SYNC_FILES.read(view(fds=[fd(1, "/dev/watchdog", 250.0)], proc_io=[calls]))


def test_a_parent_between_vfork_and_exec_is_not_stuck() -> None:
    waits = [
        {"wchan": "kernel_clone", "tasks": 8, "seen": 16, "scans": 2, "comm": "sh"},
        {"wchan": "folio_wait_bit_common", "tasks": 6, "seen": 9, "scans": 2, "comm": "app"},
    ]
    [result] = disk.STUCK.read(view(wchans=waits))
    assert (result.value, result.detail["comm"]) == (3.0, "app")


def test_names_of_groups_end_where_a_slash_is() -> None:
    assert (
        is_inside_group("/app/worker", "/app")
        and is_inside_group("/app", "/app")
        and is_inside_group("/any", "")
    )
    assert not is_inside_group("/application", "/app")


def test_is_in_scope_excludes_processes_outside_scope() -> None:
    seen = view(scope("/app"), thread_groups=[{"pid": 1, "cgroup": "/app"}])
    assert is_in_scope(seen, "1") and not is_in_scope(seen, "2")
    assert is_in_scope(view(), "2")


def test_causes_explain_their_consequences() -> None:
    assert "memcg-oom-kill" in CAUSES["jvm-heap-over-limit"].explains
    assert {"disk-saturation", "dstate-pileup"} <= set(CAUSES["major-fault-thrashing"].explains)
    assert {"disk-saturation", "dstate-pileup"} <= set(CAUSES["sync-write-amplification"].explains)


def test_memory_lasts_until_the_tightest_limit_above_the_process() -> None:
    grows = {
        "pid": 7, "comm": "app", "readings": 5, "seen_s": 8.0, "anon_first_kb": 10_000, "anon_last_kb": 18_000,
        "anon_growth_kb_per_s": 1000.0, "anon_slowest_kb_per_s": 900.0,
    }  # fmt: skip
    groups = [
        {"path": "/app", "limit_kb": 400_000.0, "usage_kb": 100_000.0},
        {"path": "/app/web", "limit_kb": 160_000.0, "usage_kb": 40_000.0},
        {"path": "/other", "limit_kb": 1000.0, "usage_kb": 999.0},
    ]
    inside_ = {"thread_groups": [{"pid": 7, "comm": "app", "cgroup": "/app/web"}]}
    [result] = memory_growth.LASTS.read(view(proc_memory=[grows], cgroup_mem=groups, **inside_))
    assert result.value == pytest.approx(2.0), "120,000 KiB at 1,000 KiB a second are two minutes"
    assert list(memory_growth.LASTS.read(view(proc_memory=[grows], cgroup_mem=groups))) == [], "whose limit?"
    slower = grows | {"anon_slowest_kb_per_s": 500.0}
    assert list(memory_growth.BY_NOW.read(view(proc_memory=[slower]))) == []
    own = {"thread_groups": [{"pid": 7, "comm": "awk", "cgroup": f"/culprit-{uuid4()}"}]}
    assert list(memory_growth.BY_NOW.read(view(proc_memory=[grows], **own))) == [], "a process of the capture"


@pytest.mark.parametrize(("backing_file", "read_kb"), [("/srv/disk.img", 100 * 1024.0), ("", 200 * 1024.0)])
def test_reads_of_a_loop_device_are_those_of_its_file(backing_file: str, read_kb: float) -> None:
    """The device with the file reads them once more; without that, half of the reads would look like new data."""
    both = [
        build_series("disk.read_mb_s", 100.0, 100.0, collector="iostat", dev=dev) for dev in ("loop0", "vda")
    ]
    rows = [
        TableRow({"dev": dev, "backing_file": file}, CITE)
        for dev, file in (("loop0", backing_file), ("vda", ""))
    ]
    seen = HostView({"iostat": CollectorOutcome("iostat", "done")}, both, tables={"block_devices": rows})
    devices = shortage.read_from_devices(seen)
    assert devices is not None and devices[0] == pytest.approx(read_kb)
