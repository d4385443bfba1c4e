"""A guest is what it says, and leaves nothing but the cache of its image. Slow: it is built first, then emulated."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.lab.cgroups import hierarchies
from e2e.lab.guest import Guest
from e2e.lab.guest_image import archive
from e2e.lab.guest_service import NEEDS

ROOT = Path(__file__).parents[3]
needs_qemu = pytest.mark.skipif(
    os.geteuid() != 0 or not all(shutil.which(program) for program in NEEDS), reason="needs root and qemu"
)


def test_an_archive_names_directories_before_their_files() -> None:
    packed = archive({"handover/init": b"#!/bin/sh\n", "dev/": b""})
    names = []
    while packed:
        size, name_size = int(packed[54:62], 16), int(packed[94:102], 16)
        names.append((packed[110 : 110 + name_size - 1].decode(), packed[14:22].decode()))
        content = -(-(110 + name_size) // 4) * 4
        packed = packed[content + -(-size // 4) * 4 :]
    assert names == [
        ("handover", "000041ED"),
        ("handover/init", "000081C0"),
        ("dev", "000041ED"),
        ("TRAILER!!!", "00000000"),
    ]


@pytest.mark.slow
@needs_qemu
def test_a_guest_has_two_nodes_one_cgroup_hierarchy_and_swap() -> None:
    with Guest(disk_files={"index": 4}, max_s=240) as guest:
        nodes = guest.sh("cat /sys/devices/system/node/node[01]/cpulist").split()
        mounts = guest.sh("cat /proc/mounts")
        swap_kb = guest.sh("tail -n 1 /proc/swaps").split()[2]
        index_bytes = guest.sh("stat -c %s /srv/data/index")
        guest.limit("api", {"memory.max": "67108864"})
        pid = guest.serve([guest.program("items"), "port=8080", "heap_mb=8", "touch=2"], "api")
        group = guest.sh(f"cat /proc/{pid}/cgroup")
        seen = guest.load(10).baseline(3)
    assert nodes == ["0", "1"]
    assert [line.split()[1] for line in mounts.splitlines() if " cgroup" in line] == ["/sys/fs/cgroup"]
    assert int(swap_kb) > 250_000
    assert int(index_bytes) == 4 << 20
    assert group.strip() == "0::/services/api"
    assert seen["ok"] > 10
    assert not guest.directory.exists()


@pytest.mark.slow
@needs_qemu
def test_a_guest_ends_with_its_owner() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "e2e.lab.guest"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as owner:
        assert owner.stdout is not None
        directory = Path(owner.stdout.readline().split(" -i ")[1].split()[0]).parent
        assert directory.exists()
        owner.send_signal(signal.SIGKILL)
    end = time.monotonic() + 15
    while directory.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not directory.exists()
    told = [
        Path(file).read_text() for root in hierarchies().values() for file in root.glob("lab/*/cgroup.procs")
    ]
    assert not [
        pid
        for text in told
        for pid in text.split()
        if str(directory) in Path(f"/proc/{pid}/cmdline").read_text()
    ]
