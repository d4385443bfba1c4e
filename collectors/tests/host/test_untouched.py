"""A run of everything that there is changes nothing on the host: no setting, no package, no file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import uuid
from pathlib import Path

import pytest

from collectors.registry import COLLECTORS
from collectors.runner import program
from collectors.tests.host.harness import Live
from lab.hosts import LabHost

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="hosts with private directories need root")

# What the kernel counts or assigns; it also lowers perf's rate when its interrupts take too long.
MOVES = re.compile(
    r"/proc/sys/(fs/(dentry-state|file-nr|inode-nr|inode-state|quota)|kernel/(random|ns_last_pid|pty/nr)"
    r"|kernel/perf_event_max_sample_rate|net/netfilter/nf_conntrack_count|kernel/perf_cpu_time_max_percent)"
)
PLACES = (
    "/etc",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local",
    "/var/lib/dpkg",
    "/var/spool/cron",
    f"{Path.home()}/.ssh",
    "/boot",
)


def settings() -> dict[str, bytes]:
    """Every value under /proc/sys that can be read and stays as it is."""
    results = {}
    for directory, _, files in os.walk("/proc/sys"):
        for name in files:
            path = f"{directory}/{name}"
            if not MOVES.match(path):
                with contextlib.suppress(OSError):
                    results[path] = Path(path).read_bytes()
    return results


def tree() -> dict[str, tuple[int, int, int]]:
    """Size, time of change and mode of every file in places where software and settings live."""
    results = {}
    for place in PLACES:
        for directory, directories, files in os.walk(place):
            for name in (*directories, *files):
                with contextlib.suppress(OSError):
                    stat = os.lstat(f"{directory}/{name}")
                    results[f"{directory}/{name}"] = (stat.st_size, stat.st_mtime_ns, stat.st_mode)
    return results


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if Path(path).exists() else ""


def test_nothing_is_installed_and_no_setting_changed(host: LabHost) -> None:
    jobs = [program.CollectorJob.of(collector, 1) for collector in COLLECTORS.values()]
    limits = program.RunnerLimits(run=str(uuid.uuid4()), silence_s=20, deadline_s=120, need_bytes=64 << 20)
    before = settings(), tree(), digest("/proc/modules")
    live = Live(jobs, limits, login=host.ssh())
    assert live.end(150) == 0, live.lines
    after = settings(), tree(), digest("/proc/modules")
    assert set(live.outcomes()) == set(COLLECTORS)
    assert len(before[0]) > 300
    for was, now in zip(before[:2], after[:2], strict=True):
        assert {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)} == set()
    assert not host.files()
