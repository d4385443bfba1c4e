"""Volumes of a host: ext4 on loop devices, with old files or with a disk that is small."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.cgroups import Group, list_hierarchies
from lab.environment import LabEnvironment

BLOCK = 4096
MOUNT = """
mkdir -p {where}; loop=$(losetup --find --show --direct-io=on {image})
mount -o {options} $loop {where} || {{ losetup -d $loop; exit 1; }}; losetup -d $loop
"""
# Ends with the process that started it, even when that is killed, and gives the disk its speed back.
GUARD = 'cat >/dev/null; for file in "$@"; do echo "$0 0" >"$file"; done'


def mount_with_old_files(environment: LabEnvironment, rng: random.Random, where: str, size_mb: int) -> str:
    """Mount a volume that has directories of old files; a block of one of them is overwritten.

    Returns that directory.
    """
    tree, image = environment.directory / "tree", environment.directory / "volume"
    years = [str(year) for year in range(2019, 2019 + rng.randrange(4, 7))]
    for year in years:
        (tree / "exports" / year).mkdir(parents=True)
        for number in range(rng.randrange(20, 60)):
            (tree / "exports" / year / f"{number:03}.csv").write_text(f"{year},{rng.random():.6f}\n" * 40)
    old = f"exports/{rng.choice(years)}"
    subprocess.run(["fallocate", "-l", f"{size_mb}M", str(image)], check=True, timeout=60)
    words = ["mkfs.ext4", "-q", "-b", str(BLOCK), "-d", str(tree), str(image)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    listing = ["debugfs", "-R", f"blocks /{old}", str(image)]
    done = subprocess.run(listing, check=True, capture_output=True, text=True, timeout=60)
    with image.open("r+b") as file:
        file.seek(int(done.stdout.split()[0]) * BLOCK)
        file.write(rng.randbytes(BLOCK))
    environment.host_sh(MOUNT.format(where=where, image=image, options="noatime,errors=remount-ro"))
    return f"{where}/{old}"


@contextmanager
def mount_small_disk(
    environment: LabEnvironment, where: str, size_mb: int, mb_per_s: float, groups: tuple[Group, ...],
    options: str = "noatime,dioread_lock",
) -> Iterator[None]:  # fmt: skip
    """Mount an ext4 whose disk writes so much a second and no more. The host cannot read what limits it.

    The limit is at a second loop device beneath that of the volume, for `groups` and for what the kernel writes
    itself: the journal, and dirty pages. The latter exists with version 1 of control groups only. By default, blocks
    are allocated as up to Linux 5.5: a commit of the journal waits for the data in them (dioread_lock).
    """
    root = list_hierarchies().get("blkio")
    if root is None:
        raise RuntimeError("writes of the kernel can be limited with blkio of cgroup v1 only")
    image = environment.directory / "small-disk"
    subprocess.run(["fallocate", "-l", f"{size_mb}M", str(image)], check=True, timeout=60)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True, capture_output=True, timeout=60)
    attach = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    disk = subprocess.run(attach, check=True, capture_output=True, text=True).stdout.strip()
    try:
        number = os.stat(disk).st_rdev  # noqa: PTH116
        environment.host_sh(MOUNT.format(where=where, image=disk, options=options))
    finally:
        subprocess.run(["losetup", "-d", disk], check=True)
    name = f"{os.major(number)}:{os.minor(number)}"
    files = [root / "blkio.throttle.write_bps_device"]
    files += [group.file("blkio", "blkio.throttle.write_bps_device", "io.max") for group in groups]
    words = ["sh", "-c", GUARD, name, *map(str, files)]
    guard = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for file in files:
            file.write_text(f"{name} {int(mb_per_s * 1e6)}")
        environment.host_sh("; ".join(f"mount --bind /dev/null {file}" for file in files))
        yield
    finally:
        guard.communicate()


def read_mount_options(environment: LabEnvironment, where: str) -> str:
    """Return the options of a mount of the host, as the kernel has them."""
    for line in Path(f"/proc/{environment.host.process.pid}/mounts").read_text().splitlines():
        _, path, _, options, *_ = line.split()
        if path == where:
            return options
    return ""
