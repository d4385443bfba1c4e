"""A guest has the requested hardware, and leaves nothing but the cache of its image. Slow: it is built first, then emulated."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.cgroups import list_hierarchies
from lab.faults.guest_hardware import CORRECTED, MEMORY_BANK
from lab.guest import Guest
from lab.guest_hardware import BLOCK, SECTOR, build_blkdebug_config, make_disk
from lab.guest_image import build_archive
from lab.guest_service import NEEDS
from lab.programs.true_time import PACKET, SINCE_1900_S, answer_request

ROOT = Path(__file__).parents[2]
needs_qemu = pytest.mark.skipif(
    os.geteuid() != 0 or not all(shutil.which(program) for program in NEEDS), reason="needs root and qemu"
)


def test_an_archive_names_directories_before_their_files() -> None:
    packed = build_archive({"handover/init": b"#!/bin/sh\n", "dev/": b""})
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


@pytest.mark.skipif(not shutil.which("debugfs"), reason="needs e2fsprogs")
def test_bad_sectors_are_those_of_the_pages(tmp_path: Path) -> None:
    image = make_disk(tmp_path, {"table": 2})
    pages = (0, 17, 511)
    sectors = [
        int(number)
        for number in re.findall(r'sector = "(\d+)"', build_blkdebug_config(image, {"table": pages}))
    ]
    table, disk = (tmp_path / "files/table").read_bytes(), image.read_bytes()
    assert len(sectors) == len(pages)
    for page, sector in zip(pages, sectors, strict=True):
        assert disk[sector * SECTOR :][:BLOCK] == table[page * BLOCK :][:BLOCK]


def test_time_server_returns_the_set_time() -> None:
    requested = bytearray(48)
    requested[0], requested[40:] = 0x23, b"to match"
    message = PACKET.unpack(answer_request(bytes(requested), 1_000_000_000.25))
    leap_version_mode, stratum, *_, sent, received, transmitted = message
    assert (leap_version_mode, stratum) == (0x24, 2)
    assert sent.to_bytes(8, "big") == b"to match"
    assert received == transmitted == (1_000_000_000 + SINCE_1900_S << 32) + (1 << 30)


@pytest.mark.slow
@needs_qemu
def test_a_spoiled_disk_a_pulled_plug_and_a_machine_check_are_real_to_the_kernel() -> None:
    read = "dd if=/srv/data/table of=/dev/null bs=4096 iflag=direct"
    disk = {"disk_files": {"table": 4}, "disk_kind": "scsi", "bad_pages": {"table": [300]}}
    with Guest(card="e1000", cpu="Nehalem", max_s=240, **disk) as guest:
        guest.sh(read)
        guest.spoil()
        with pytest.raises(RuntimeError, match="No data available"):
            guest.sh(read)
        guest.monitor.set_link(False)
        guest.sh("echo 1 >/sys/devices/system/machinecheck/machinecheck0/check_interval")
        guest.monitor.machine_check(1, MEMORY_BANK, CORRECTED, 0, 0x1234000)
        time.sleep(4)
        log = guest.sh("dmesg")
    assert "critical medium error, dev sda" in log
    assert "eth1 NIC Link is Down" in log
    assert "CPU 1: Machine Check: 0 Bank 8" in log


@pytest.mark.slow
@needs_qemu
def test_guest_has_two_nodes_a_cgroup_hierarchy_and_swap() -> None:
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
        [sys.executable, "-m", "lab.guest"],
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
    texts = [
        Path(file).read_text()
        for root in list_hierarchies().values()
        for file in root.glob("lab/*/cgroup.procs")
    ]
    assert not [
        pid
        for text in texts
        for pid in text.split()
        if str(directory) in Path(f"/proc/{pid}/cmdline").read_text()
    ]
