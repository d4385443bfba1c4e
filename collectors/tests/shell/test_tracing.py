"""Probes are taken away at every end, and after a KILL by the next run. Real ones, where this machine has them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.catalog.application import uprobe
from collectors.contract import Script

TRACEFS = Path("/sys/kernel/tracing")
UPROBES = TRACEFS / "uprobe_events"
LIBC = Path("/lib/x86_64-linux-gnu/libc.so.6")
WAY = uprobe.COLLECTOR.methods[0]

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(UPROBES, os.W_OK) or not LIBC.exists(),
    reason="needs root, tracefs and uprobes",
)


def left() -> set[str]:
    """Names of ours, of instances and of groups of probes."""
    groups = {line.split(":", 1)[1].split("/")[0] for line in UPROBES.read_text().splitlines()}
    names = {item.name for item in (TRACEFS / "instances").iterdir()}
    return {group for group in groups | names if group.startswith("culprit_")}


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run of ten seconds whose probe is set."""
    process = start(tmp_path, 10)
    deadline = time.monotonic() + 8
    while not any(name.startswith(f"culprit_{process.pid}_") for name in left()):
        if time.monotonic() > deadline or process.poll() is not None:
            pytest.skip("perf finds no functions here")
        time.sleep(0.05)
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()


def start(folder: Path, seconds: int) -> subprocess.Popen[bytes]:
    assert isinstance(WAY, Script)
    environment = {"SECS": str(seconds), "BYTES": "65536", "OPT_FUNCTION": "fsync", "OPT_BINARY": str(LIBC)}
    return subprocess.Popen(
        ["/bin/sh", "-c", WAY.sh],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_term_takes_the_probe_away(begun: subprocess.Popen[bytes]) -> None:
    os.killpg(begun.pid, signal.SIGTERM)
    begun.wait(timeout=8)
    assert not {name for name in left() if name.startswith(f"culprit_{begun.pid}_")}


def test_next_run_removes_leftovers_of_a_killed_run(begun: subprocess.Popen[bytes], tmp_path: Path) -> None:
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait(timeout=8)
    mine = {name for name in left() if name.startswith(f"culprit_{begun.pid}_")}
    assert mine
    assert start(tmp_path, 1).wait(timeout=20) == 0
    assert not mine & left()
    assert any(f"swept {name}" in (tmp_path / "status.txt").read_text() for name in mine)


def test_what_a_living_run_set_is_left_alone(begun: subprocess.Popen[bytes], tmp_path: Path) -> None:
    mine = {name for name in left() if name.startswith(f"culprit_{begun.pid}_")}
    assert start(tmp_path, 1).wait(timeout=20) == 0
    assert mine <= left()
    os.killpg(begun.pid, signal.SIGTERM)
    begun.wait(timeout=8)
