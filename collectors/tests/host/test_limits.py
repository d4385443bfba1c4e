"""Control groups hold what they promise: measured by what a greedy collector gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collectors.tests.host.harness import Live, Room, cages, script

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not any(Path("/sys/fs/cgroup").glob("*/cgroup.procs")),
    reason="needs root and control groups",
)
BUSY = "while :; do :; done"


def run(room: Room, sh: str, **limits: object) -> Live:
    """A run of that one script. Skips where nothing but niceness is to be had."""
    live = Live([script("greedy", sh, seconds=2, grace_s=8)], room.limits(**limits))
    assert live.end(60) in (0, 3), live.lines
    limiter = live.lines_of("hello")["limiter"]
    if not limiter.startswith(("cgroup", "systemd")) or limiter == "cgroup2_tracking":
        pytest.skip(f"only {limiter} here")
    assert not cages(live.limits.run)
    live.gone(room, 3)
    return live


def test_cpu(room: Room) -> None:
    """Three loops for 3 s get a fifth of one CPU, in sum."""
    loops = " ".join(f"({BUSY}) & p{n}=$!;" for n in range(3))
    live = run(room, f"{loops} sleep 3; kill $p0 $p1 $p2; wait; exit 0", cpu_pct=20)
    got = live.outcomes()["greedy"]
    assert 100 < got.cpu_ms < 1200, got


def test_memory(room: Room) -> None:
    """A collector that wants more than its share ends alone; its status is still collected."""
    live = run(room, "tail -c 200000000 /dev/zero; echo $? >status; exit 0", memory_bytes=64 << 20)
    assert int(live.parts()["greedy", "status"]) != 0


def test_processes(room: Room) -> None:
    """A collector that forks without end does not take the host along."""
    forks = "n=0; while [ $n -lt 200 ]; do sleep 1 & n=$((n + 1)); echo $n >count; done"
    live = run(room, f"sh -c '{forks}'; echo $? >status; exit 0", tasks=40)
    assert int(live.parts()["greedy", "count"]) < 40
    assert int(live.parts()["greedy", "status"]) != 0
