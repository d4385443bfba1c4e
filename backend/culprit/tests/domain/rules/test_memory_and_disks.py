"""Measures of memory and disks whose logic a table of cases does not show: whose kill it is, and which device."""

from __future__ import annotations

import pytest
from culprit.core.rules.contract import Citation
from culprit.core.rules.measures import disk, heaps, memory_growth, memory_kills, sync_writes
from culprit.core.rules.measures.places import asked_about, inside
from culprit.core.rules.registry import CAUSES
from culprit.core.rules.view import Happening, Outcome, Row, View

CITE = Citation("r", "c", "a", "p", (1,))


def view(facts=None, events=(), **tables) -> View:
    rows = {kind: [Row(cells, CITE) for cells in given] for kind, given in tables.items()}
    known = ("cgroup_mem", "kmsg", "proc_threads", "fd_table", "proc_io", "mounts")
    return View({one: Outcome(one, "done") for one in known}, tables=rows, events=events, facts=facts or {})


def kill(path: str, comm: str = "java", anon_kb: int = 95_000) -> Happening:
    detail = f"Memory cgroup out of memory: Killed process 7 ({comm}) anon-rss:{anon_kb}kB [{path}]"
    return Happening("oom_kill_cgroup", 1, "critical", {"pid": "7", "comm": comm}, detail, CITE)


def group(path: str, kills: float = 0.0) -> dict[str, object]:
    return {"path": path, "limit_kb": 100_000.0, "oom_kills": kills, "oom_kills_ever": kills}


def scope(path: str) -> dict[str, object]:
    return {"target": {"kind": "cgroup", "cgroup": path}}


def test_a_kill_of_another_containers_group_is_not_this_hosts() -> None:
    seen = view(events=[kill("/elsewhere")], cgroup_mem=[group("/app")])
    assert [one.value for one in memory_kills.OOM_KILLS.read(seen)] == [0.0]


def test_a_kill_in_a_group_that_was_asked_about_counts_though_the_group_is_gone() -> None:
    seen = view(scope("/app"), [kill("/app/worker")], cgroup_mem=[])
    [found] = memory_kills.OOM_KILLS.read(seen)
    assert (found.value, dict(found.subject)) == (1.0, {"cgroup": "/app/worker"})


def test_a_kill_beside_the_group_that_was_asked_about_does_not_count() -> None:
    seen = view(scope("/app"), [kill("/application")], cgroup_mem=[group("/app"), group("/application", 2.0)])
    assert [one.value for one in memory_kills.OOM_KILLS.read(seen)] == [0.0]


def test_the_larger_of_what_the_log_and_the_group_count() -> None:
    seen = view(events=[kill("/app")], cgroup_mem=[group("/app", 3.0)])
    assert [one.value for one in memory_kills.OOM_KILLS.read(seen)] == [3.0]


@pytest.mark.parametrize(("comm", "shares"), [("java", [95.0]), ("python", [])])
def test_only_a_jvm_is_judged_by_its_heap(comm: str, shares: list[float]) -> None:
    seen = view(events=[kill("/app", comm)], cgroup_mem=[group("/app")])
    assert [one.value for one in heaps.JVM_AT_LIMIT.read(seen)] == shares


def fd(pid: int, path: str, moved: float, comm: str = "app") -> dict[str, object]:
    told = {"o_sync": 1, "o_dsync": 1, "flags": "06112001", "fd": 3}
    return {"pid": pid, "comm": comm, "path": path, "pos_delta_bytes_per_s": moved, **told}


def test_calls_are_shared_among_files_by_how_far_they_moved() -> None:
    calls = {"pid": 1, "comm": "app", "wchar_per_s": 1000.0, "syscw_per_s": 100.0}
    seen = view(fds=[fd(1, "/a", 250.0), fd(1, "/b", 750.0), fd(1, "/c", 0.0)], proc_io=[calls])
    assert [one.value for one in sync_writes.SYNC_FILES.read(seen)] == [25.0, 75.0, 0.0]


def test_devices_are_not_files() -> None:
    calls = {"pid": 1, "comm": "app", "wchar_per_s": 1000.0, "syscw_per_s": 100.0}
    assert not sync_writes.SYNC_FILES.read(view(fds=[fd(1, "/dev/watchdog", 250.0)], proc_io=[calls]))


def test_a_parent_between_vfork_and_exec_is_not_stuck() -> None:
    waits = [
        {"wchan": "kernel_clone", "tasks": 8, "seen": 16, "scans": 2, "comm": "sh"},
        {"wchan": "folio_wait_bit_common", "tasks": 6, "seen": 9, "scans": 2, "comm": "app"},
    ]
    [found] = disk.STUCK.read(view(wchans=waits))
    assert (found.value, found.detail["comm"]) == (3.0, "app")


def test_names_of_groups_end_where_a_slash_is() -> None:
    assert inside("/app/worker", "/app") and inside("/app", "/app") and inside("/any", "")
    assert not inside("/application", "/app")


def test_processes_outside_the_scope_are_not_asked_about() -> None:
    seen = view(scope("/app"), thread_groups=[{"pid": 1, "cgroup": "/app"}])
    assert asked_about(seen, "1") and not asked_about(seen, "2")
    assert asked_about(view(), "2")


def test_consequences_are_not_named_beside_their_cause() -> None:
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
    [found] = memory_growth.LASTS.read(view(proc_memory=[grows], cgroup_mem=groups, **inside_))
    assert found.value == pytest.approx(2.0), "120,000 KiB at 1,000 KiB a second are two minutes"
    assert list(memory_growth.LASTS.read(view(proc_memory=[grows], cgroup_mem=groups))) == [], "whose limit?"
    slower = grows | {"anon_slowest_kb_per_s": 500.0}
    assert list(memory_growth.BY_NOW.read(view(proc_memory=[slower]))) == []
