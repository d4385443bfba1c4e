"""Programs that the tests want from Debian: installed when we are root, else the phase says what mends it."""

from __future__ import annotations

import os
import shutil
import subprocess

from culprit.launch import children, machine
from culprit.launch.apt_packages import SYSTEM_PATH
from culprit.launch.paths import ROOT

PACKAGES = {
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "perf": "linux-perf",
    "iostat": "sysstat",
    "numastat": "numactl",
    "busybox": "busybox",
    "ip": "iproute2",
    "sudo": "sudo",
    "faketime": "faketime",
    "gawk": "gawk",
    "tcsh": "tcsh",
    "fish": "fish",
    "ksh93": "ksh",
    "chromium": "chromium",
    "debootstrap": "debootstrap",
    "iptables": "iptables",
    "nft": "nftables",
    "redis-server": "redis-server",
    "gcc": "gcc libc6-dev",
    "tcpdump": "tcpdump",
    "strace": "strace",
    "java": "default-jdk-headless",
    "mkfs.btrfs": "btrfs-progs",
    "ethtool": "ethtool",
}
HOST_TOOLS = ("sshd", "ssh", "perf", "iostat", "numastat", "busybox", "ip")
# What hosts may have as login shell, awk and way to root, and a wall clock that somebody sets.
VARIANTS = ("sudo", "gawk", "tcsh", "fish", "ksh93", "faketime")
# What faults of the lab are made of.
LAB = ("iptables", "nft", "redis-server", "gcc", "tcpdump", "strace", "java", "mkfs.btrfs", "ethtool")
INSTALL_TIMEOUT_S = 900
#: A certified OpenID provider, that sign-in is tried against.
OIDC = ROOT / "tools" / "oidc"


def lacking(programs: tuple[str, ...]) -> list[str]:
    """Packages of those of `programs` that this machine does not have."""
    path = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"
    missing = [PACKAGES[program] for program in programs if shutil.which(program, path=path) is None]
    return [package for packages in missing for package in packages.split()]


def provide(programs: tuple[str, ...]) -> str:
    """Install what is missing where that is possible; returns what mends it where it is not, else ''."""
    packages = lacking(programs)
    if not packages:
        return ""
    mend = f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(packages)}"
    distribution, _ = machine.distribution()
    if os.geteuid() != 0 or distribution not in {"debian", "ubuntu"}:
        return mend
    # Services that come with a package are not started: no runlevel in which they would be.
    environment = dict(os.environ) | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1", "LC_ALL": "C"}
    update = ["apt-get", "-q", "update"]
    install = ["apt-get", "-q", "-y", "--no-install-recommends", "install", *packages]
    for command in (install, update, install):
        done = subprocess.run(
            children.guarded(command), env=environment, capture_output=True, check=False,
            stdin=subprocess.DEVNULL, timeout=INSTALL_TIMEOUT_S,
        )  # fmt: skip
        if command is install and done.returncode == 0:
            return ""
    return mend
