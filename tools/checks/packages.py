"""Debian packages that the tests need: installed as root, else the phase reports the command that installs them.

python -m tools.checks.packages --set real       # the software at fault in lab/real; nothing else installs it
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    "musl-gcc": "musl-tools",
    "promtool": "prometheus",
    "buildah": "buildah",
}
HOST_TOOLS = ("sshd", "ssh", "perf", "iostat", "numastat", "busybox", "ip")
# Variants of login shell, awk, root access and C library on hosts, and a program that sets the wall clock.
VARIANTS = ("sudo", "gawk", "tcsh", "fish", "ksh93", "faketime", "musl-gcc")
# Programs that faults of the lab use.
LAB = ("iptables", "nft", "redis-server", "gcc", "tcpdump", "strace", "java", "mkfs.btrfs", "ethtool")
# Real software of lab/real, by package: several have no program of their own, or one whose name has a version.
REAL_SOFTWARE = tuple(
    """nginx-light php-fpm php-mysql php-pgsql haproxy gunicorn python3-flask mariadb-server redis-server postgresql
    golang-go default-jdk-headless nodejs wrk apache2 apache2-utils sysbench dnsmasq-base sshfs fuse3 memcached
    strace curl varnish pgbouncer python3-psycopg2 rsyslog dovecot-imapd unbound bind9 tomcat10 lighttpd
    sqlite3 slapd ldap-utils python3-ldap rabbitmq-server python3-pika squid python3-numpy libopenblas0-openmp
    python3-pymysql openssh-sftp-server mosquitto fcgiwrap git python3-aiohttp python3-requests influxdb
    beanstalkd caddy""".split()  # noqa: SIM905
)
SETS = {
    "real": tuple(
        dict.fromkeys(
            package
            for names in (*(PACKAGES[program] for program in (*HOST_TOOLS, *LAB)), *REAL_SOFTWARE)
            for package in names.split()
        )
    )
}
INSTALL_COMMAND = "PYTHONPATH=backend:. .venv/bin/python -m tools.checks.packages --set"
#: Debian asks this program before a package starts its service; 101 forbids it (invoke-rc.d(8)).
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = "#!/bin/sh\nexit 101\n"
INSTALL_TIMEOUT_S = 900
#: A certified OpenID provider for tests of sign-in.
OIDC = ROOT / "tools" / "oidc"


def list_missing_packages(programs: tuple[str, ...]) -> list[str]:
    """Return the packages of those `programs` that are missing on this machine."""
    path = f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}"
    missing = [PACKAGES[program] for program in programs if shutil.which(program, path=path) is None]
    return [package for packages in missing for package in packages.split()]


def install_packages(programs: tuple[str, ...]) -> str:
    """Install missing packages; return the command for it where that is not possible, else ''."""
    packages = list_missing_packages(programs)
    if not packages:
        return ""
    return "" if _can_install() and _run_apt(packages) else _format_command(packages)


def list_missing_set(name: str) -> list[str]:
    """Return the packages of a set that are not installed; all of them where dpkg is missing. Raises KeyError."""
    packages = SETS[name]
    try:
        query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *packages]
        listing = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return list(packages)
    installed = {line.split()[0] for line in listing.splitlines() if line.endswith(" installed")}
    return [package for package in packages if package not in installed]


def install_set(name: str) -> str:
    """Install a set without starting a service; return the command for it where that is not possible, else ''."""
    packages = list_missing_set(name)
    if not packages:
        return ""
    if not _can_install():
        return f"sudo {INSTALL_COMMAND} {name}"
    with forbid_service_starts():
        return "" if _run_apt(packages) else _format_command(packages)


@contextmanager
def forbid_service_starts(policy: Path = POLICY) -> Iterator[None]:
    """Forbid packages to start services while they are installed. A policy that is there already stays and applies."""
    try:
        with policy.open("x") as file:
            file.write(POLICY_TEXT)
    except FileExistsError:
        yield
        return
    try:
        policy.chmod(0o755)
        yield
    finally:
        policy.unlink(missing_ok=True)


def _can_install() -> bool:
    return os.geteuid() == 0 and requirements.read_distribution() in {"debian", "ubuntu"}


def _format_command(packages: list[str]) -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {' '.join(packages)}"


def _run_apt(packages: list[str]) -> bool:
    """Install packages, with new lists where the first attempt fails. Return whether they are installed."""
    # Runlevel 1 starts no services, so those of a package are not started.
    environment = dict(os.environ) | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1", "LC_ALL": "C"}
    update = ["apt-get", "-q", "update"]
    # Another session may be installing packages at the same time.
    wait = ["-o", f"DPkg::Lock::Timeout={INSTALL_TIMEOUT_S // 2}"]
    install = ["apt-get", "-q", "-y", *wait, "--no-install-recommends", "install", *packages]
    for command in (install, update, install):
        done = subprocess.run(
            child_processes.guard_command(command), env=environment, capture_output=True, check=False,
            stdin=subprocess.DEVNULL, timeout=INSTALL_TIMEOUT_S,
        )  # fmt: skip
        if command is install and done.returncode == 0:
            return True
    return False


def main() -> int:
    """Install a set, or print the command that does it."""
    parser = argparse.ArgumentParser(prog="packages", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", required=True, choices=SETS)
    parser.add_argument("--list", action="store_true", help="only print what is missing")
    options = parser.parse_args()
    if options.list:
        sys.stdout.write("".join(f"{package}\n" for package in list_missing_set(options.set)))
        return 0
    command = install_set(options.set)
    if command:
        sys.stderr.write(f"Cannot install the packages. Run: {command}\n")
    return int(bool(command))


if __name__ == "__main__":
    sys.exit(main())
