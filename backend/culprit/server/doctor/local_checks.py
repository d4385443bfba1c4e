"""Checks that need no other process: settings, keys, the data directory, and what the server runs."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from culprit.infra.artifacts.store import StoreSpace
from culprit.infra.sandbox.confinement import get_sandbox
from culprit.infra.settings import Settings
from culprit.server.doctor.commands import RepairCommands
from culprit.server.doctor.results import ServiceCheck, get_first_line

READER = "culprit_native"
RUST = "apt-get install cargo-web rustc-web gcc, then ./culprit up"
NEW_KEY = "openssl rand -base64 32"


def check_local_parts(config: Settings, commands: RepairCommands) -> Iterator[ServiceCheck]:
    """Yield the checks of this module."""
    yield check_secret_key(config)
    yield from check_home(config.home)
    yield check_addresses(config)
    yield check_interface(config, commands)
    yield check_native_reader(commands)
    yield check_perf(commands)
    yield check_sandbox()


def check_secret_key(config: Settings) -> ServiceCheck:
    """Check that a key is set and valid, and that its file is closed to others."""
    name, path = "secret key", config.secret_key_file
    if config.secret_key is not None:
        path = None
    elif path is None:
        message = "Neither CULPRIT_SECRET_KEY nor CULPRIT_SECRET_KEY_FILE is set, so stored credentials cannot be read."
        return ServiceCheck(name, "problem", message, NEW_KEY)
    try:
        config.key_ring()
    except OSError as error:
        reason = f"The file {path} cannot be read: {error.strerror}."
        return ServiceCheck(name, "problem", reason, f"ls -l {path}")
    except ValueError as error:
        reason = get_first_line(error).replace("the secret key", "CULPRIT_SECRET_KEY or an old key")
        return ServiceCheck(name, "problem", f"No key can be used: {reason}.", NEW_KEY)
    if path is not None and path.stat().st_mode & 0o077:
        mode = stat.S_IMODE(path.stat().st_mode)
        message = f"Other users can read the file {path} (mode {mode:o})."
        return ServiceCheck(name, "problem", message, f"chmod 600 {path}")
    return ServiceCheck(name, "ok", "A key is set.")


def check_home(home: Path) -> Iterator[ServiceCheck]:
    """Check that CULPRIT_HOME can be written, is closed to others and has space."""
    name = "data directory"
    if not os.path.isdir(home):  # noqa: PTH112 - Path.is_dir raises where a parent is closed
        message = f"{home} does not exist, or user {os.geteuid()} cannot open it."
        yield ServiceCheck(name, "problem", message, f"install -d -m 700 -o {os.geteuid()} {home}")
        return
    try:
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(b"\0")
    except OSError as error:
        message = f"User {os.geteuid()} cannot write to {home}: {error.strerror}."
        yield ServiceCheck(name, "problem", message, f"chown -R {os.geteuid()} {home}")
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        message = f"Other users can open {home} (mode {mode:o})."
        yield ServiceCheck(name, "warning", message, f"chmod 700 {home}")
    else:
        yield ServiceCheck(name, "ok", f"{home} can be written and is closed to other users.")
    yield check_space(home)


def check_space(home: Path) -> ServiceCheck:
    """Check the free space with the limit below which captures are refused."""
    usage = shutil.disk_usage(home)
    free_gib, total_gib = usage.free / 2**30, usage.total / 2**30
    amount = f"{free_gib:.1f} of {total_gib:.1f} GiB are free in {home}"
    if StoreSpace(usage.total, usage.free).is_low:
        command = "./culprit storage show, then ./culprit storage set-retention"
        return ServiceCheck("disk", "problem", f"New captures are refused: {amount}.", command)
    files = os.statvfs(home)
    if files.f_files and files.f_favail < files.f_files * 0.05:
        message = f"Less than 5 % of the inodes of {home} are free."
        return ServiceCheck("disk", "warning", message, f"df -i {home}")
    return ServiceCheck("disk", "ok", f"{amount}.")


def check_addresses(config: Settings) -> ServiceCheck:
    """Check that links have a usable address, with TLS where other machines connect."""
    name, parts = "public address", urlsplit(config.public_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = f"CULPRIT_PUBLIC_URL is not an address: {config.public_url}."
        return ServiceCheck(name, "problem", message, "export CULPRIT_PUBLIC_URL=https://culprit.example.org")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        message = f"Passwords and sessions travel without encryption, because {config.public_url} has no TLS."
        command = "put a proxy with TLS in front and set CULPRIT_PUBLIC_URL=https://…"
        return ServiceCheck(name, "warning", message, command)
    return ServiceCheck(name, "ok", f"Links begin with {config.public_url}.")


def _is_loopback(hostname: str) -> bool:
    try:
        return ipaddress.ip_address(hostname).is_loopback
    except ValueError:
        return hostname == "localhost"


def check_interface(config: Settings, commands: RepairCommands) -> ServiceCheck:
    """Check that the built interface is there."""
    page = config.ui_dir / "index.html"
    if page.is_file():
        return ServiceCheck("interface", "ok", "The web interface is built.")
    build = "./culprit up" if commands.launcher else "npm ci && npx vite build, in frontend/"
    return ServiceCheck("interface", "warning", f"The web interface is not built: {page} is missing.", build)


def check_native_reader(commands: RepairCommands) -> ServiceCheck:
    """Check that the native reader of perf.data is installed."""
    if importlib.util.find_spec(READER) is not None:
        return ServiceCheck("native reader", "ok", "The native reader of perf.data is installed.")
    message = "The native reader is missing, so perf.data is read several times more slowly."
    return ServiceCheck(
        "native reader",
        "warning",
        message,
        RUST if commands.launcher else "install the wheel of backend/native (maturin build --release)",
    )


def check_perf(commands: RepairCommands) -> ServiceCheck:
    """Check that perf, which reads imported files, is installed."""
    if path := shutil.which("perf"):
        return ServiceCheck("perf", "ok", f"perf is installed ({path}).")
    message = "perf is missing on this machine, so imported perf.data files cannot be read."
    return ServiceCheck("perf", "warning", message, "apt-get install linux-perf")


def check_sandbox() -> ServiceCheck:
    """Check the sandbox of the processes that parse untrusted files."""
    sandbox = get_sandbox()
    if sandbox.mode == "none":
        message = f"Processes that parse untrusted files can read what the server can read: {sandbox.problem}"
        return ServiceCheck("sandbox", "warning", message, "cat /sys/kernel/security/lsm")
    return ServiceCheck("sandbox", "ok", f"Untrusted files are parsed in a sandbox ({sandbox.describe()}).")
