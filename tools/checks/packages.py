"""Debian packages that the tests need: installed as root, else the phase reports the command that installs them."""

from __future__ import annotations

import os
import shutil
import subprocess

from culprit.launcher.install import requirements
from culprit.launcher.install.apt_packages import SYSTEM_PATH
from culprit.launcher.paths import ROOT
from culprit.launcher.supervision import child_processes

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
    "chromium-headless-shell": "chromium-headless-shell",
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
# Variants of login shell, awk and root access on hosts, and a program that sets the wall clock.
VARIANTS = ("sudo", "gawk", "tcsh", "fish", "ksh93", "faketime")
# What faults of the lab are made of.
LAB = ("iptables", "nft", "redis-server", "gcc", "tcpdump", "strace", "java", "mkfs.btrfs", "ethtool")
INSTALL_TIMEOUT_S = 900
#: A certified OpenID provider, that sign-in is tried against.
OIDC = ROOT / "tools" / "oidc"


def list_missing_packages(programs: tuple[str, ...]) -> list[str]:
    """Packages of those of `programs` that this machine does not have."""
    path = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"
    missing = [PACKAGES[program] for program in programs if shutil.which(program, path=path) is None]
    return [package for packages in missing for package in packages.split()]


def install_packages(programs: tuple[str, ...]) -> str:
    """Install missing packages; return the command for it where that is not possible, else ''."""
    packages = list_missing_packages(programs)
    if not packages:
        return ""
    remedy = f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(packages)}"
    if os.geteuid() != 0 or requirements.read_distribution() not in {"debian", "ubuntu"}:
        return remedy
    # Services that come with a package are not started: no runlevel in which they would be.
    environment = dict(os.environ) | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1", "LC_ALL": "C"}
    update = ["apt-get", "-q", "update"]
    install = ["apt-get", "-q", "-y", "--no-install-recommends", "install", *packages]
    for command in (install, update, install):
        done = subprocess.run(
            child_processes.guard_command(command), env=environment, capture_output=True, check=False,
            stdin=subprocess.DEVNULL, timeout=INSTALL_TIMEOUT_S,
        )  # fmt: skip
        if command is install and done.returncode == 0:
            return ""
    return remedy
