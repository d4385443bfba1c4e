"""What a guest boots from: a small Debian root and Debian's kernel, built once and kept in a cache.

The kernel is the one for real machines: that for clouds has no machine checks, and no drivers of network cards.

The root is read only in spirit: every guest writes to a snapshot of it. What differs between guests (keys, the
start-up script, programs) travels in a second initial RAM disk, appended to the one built here.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
PACKAGES = (
    "openssh-server", "procps", "sysstat", "numactl", "linux-perf", "python3-minimal", "libpython3-stdlib",
    "iproute2", "kmod", "strace", "busybox-static", "ethtool", "smartmontools", "chrony",
)  # fmt: skip
DRIVERS = ("virtio_pci", "virtio_blk", "virtio_net", "crc32c_generic", "ext4")
# Modules that no guest has the hardware for; they are most of what the kernel's package weighs.
UNNEEDED = (
    "sound",
    "drivers/gpu",
    "drivers/media",
    "drivers/staging",
    "drivers/infiniband",
    "drivers/net/wireless",
)
BUILD_S = 1200.0
# Free space of the root, in MiB: images are sparse, so that it costs nothing until it is written.
SPARE_MB = 400
# Apt lists, translations and manuals are half of a small Debian; caches of packages go as well.
BUILD = """
set -e
debootstrap --variant=minbase --include={packages} {suite} {root} {mirror}
chroot {root} sh -ec '
    export LC_ALL=C
    apt-get -q update
    cd /var/tmp
    apt-get -q download $(apt-cache depends linux-image-amd64 | sed -n "s/^ *Depends: //p" | head -n 1)
    dpkg-deb -x linux-image-*.deb kernel
    mv kernel/lib/modules /usr/lib/
    mv kernel/boot/vmlinuz-* /boot/
    version=$(ls /usr/lib/modules)
    for part in {unneeded}; do rm -r /usr/lib/modules/$version/kernel/$part; done
    depmod $version
    modprobe -S $version --all --show-depends {drivers} | sed -n "s/^insmod //p" >/boot/drivers
    rm -rf linux-image-*.deb kernel /var/lib/apt/lists/* /var/cache/apt/*
    rm -rf /usr/share/doc /usr/share/man /usr/share/locale /etc/ssh/ssh_host_*
'
size=$(du -sm {root} | cut -f 1)
truncate -s $((size + {spare_mb}))M {image}
mkfs.ext4 -q -d {root} {image}
"""
FIRST = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
while read -r driver; do /bin/busybox insmod "$driver"; done </drivers
while [ ! -e /dev/vda ]; do /bin/busybox sleep 0.1; done
/bin/busybox mount -t ext4 -o noatime /dev/vda /root
/bin/busybox mount -t tmpfs -o mode=755 tmpfs /root/run
/bin/busybox mount --move /dev /root/dev
/bin/busybox mv /handover /root/run/lab
exec /bin/busybox switch_root /root /run/lab/init
"""


@dataclass(frozen=True, slots=True)
class Image:
    """Files in the cache."""

    kernel: Path
    initrd: Path
    root: Path


def cache_directory() -> Path:
    """$CULPRIT_LAB_CACHE, else a place in the user's cache."""
    return Path(os.environ.get("CULPRIT_LAB_CACHE") or Path.home() / ".cache/culprit-lab")


def get_image(cache: Path | None = None) -> Image:
    """The image, built first where the cache has none (minutes, and about 200 MB of packages).

    Another recipe is another image; those of older recipes are removed. Raises RuntimeError with the last words
    of the builder.
    """
    cache = cache or cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    recipe = "\0".join((SUITE, *PACKAGES, *DRIVERS, *UNNEEDED, BUILD, FIRST))
    home = cache / f"guest-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.exists():
            for old in cache.glob("guest-*"):
                shutil.rmtree(old)
            _build(cache, home)
    return Image(home / "vmlinuz", home / "initrd", home / "root.img")


def _build(cache: Path, home: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as folder:
        root, done = Path(folder) / "root", Path(folder) / "done"
        done.mkdir()
        script = BUILD.format(
            packages=",".join(PACKAGES), suite=SUITE, root=root, mirror=MIRROR, drivers=" ".join(DRIVERS),
            unneeded=" ".join(UNNEEDED), spare_mb=SPARE_MB, image=done / "root.img",
        )  # fmt: skip
        # A mount namespace of its own: all mounts of debootstrap go with it.
        built = subprocess.run(
            ["unshare", "-m", "--propagation", "private", "sh", "-c", script],
            capture_output=True, text=True, timeout=BUILD_S, check=False,
        )  # fmt: skip
        if built.returncode:
            raise RuntimeError(f"the guest's root: {(built.stdout + built.stderr)[-1500:]}")
        (kernel,) = (root / "boot").glob("vmlinuz-*")
        shutil.copy(kernel, done / "vmlinuz")
        (done / "initrd").write_bytes(build_archive(_first_files(root)))
        done.rename(home)


def _first_files(root: Path) -> dict[str, bytes]:
    drivers = (root / "boot/drivers").read_text().split()
    names = [Path(driver).name for driver in drivers]
    results = {Path(driver).name: (root / driver.lstrip("/")).read_bytes() for driver in drivers}
    return {
        "init": FIRST.encode(),
        "bin/busybox": (root / "bin/busybox").read_bytes(),
        "drivers": "".join(f"/{name}\n" for name in dict.fromkeys(names)).encode(),
        "root/": b"", "dev/": b"",
    } | results  # fmt: skip


def build_archive(files: Mapping[str, bytes]) -> bytes:
    """A cpio archive ("newc": initramfs-buffer-format in the kernel's documentation) of files that root may execute.

    A name that ends in a slash is a directory; those that files need are created automatically. Archives may be
    appended to one another.
    """
    entries: dict[str, tuple[int, bytes]] = {}
    for name, content in files.items():
        for parent in reversed(Path(name).parents[:-1]):
            entries.setdefault(str(parent), (0o40755, b""))
        entries[name.rstrip("/")] = (0o40755, b"") if name.endswith("/") else (0o100700, content)
    packed = [_entry(number, name, *entry) for number, (name, entry) in enumerate(entries.items(), 1)]
    return b"".join(packed) + _entry(0, "TRAILER!!!", 0, b"")


def _entry(inode: int, name: str, mode: int, content: bytes) -> bytes:
    links = 2 if mode & 0o40000 else 1
    numbers = (inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % number for number in numbers) + name.encode() + b"\0"
    return _padded(head) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + bytes(-len(part) % 4)
