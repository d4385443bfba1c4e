"""Start a separate platform of a checkout for one measurement, and a browser that opens it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from culprit.launcher.install import locked_packages as install
from culprit.launcher.install import requirements
from culprit.launcher.paths import ROOT
from culprit.launcher.progress import Progress
from culprit.launcher.supervision import child_processes

from tools.checks.e2e import wait_ready

E2E = ROOT / "e2e"
STOP = ((int(signal.SIGTERM), 40.0),)
PLATFORM_VARIABLES = ("CULPRIT_", "DATABASE_URL", "REDIS_URL", "PYTHONPATH", "VIRTUAL_ENV")


class PlatformError(SystemExit):
    """The measurement failed; the message states why."""


def stop_on_term() -> None:
    """Exit on SIGTERM as on Ctrl-C, so that all started processes are stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def build_environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment for a platform in `home`, without the settings of another platform."""
    stored = {name: value for name, value in os.environ.items() if not name.startswith(PLATFORM_VARIABLES)}
    return stored | {"CULPRIT_HOME": str(home)} | more


def prepare_browser() -> str:
    """Return the path of Chromium, and install Playwright if it is missing. Raises PlatformError."""
    chromium = shutil.which("chromium")
    if not chromium:
        raise PlatformError("no chromium on this machine: apt-get install chromium")
    if not (E2E / "node_modules" / "playwright-core").exists():
        with contextlib.redirect_stdout(sys.stderr):
            install.install_node_modules(E2E, Progress(), dev=True)
    return chromium


def run_browser(script: Path, requested: Mapping[str, object], timeout_s: float) -> dict[str, Any]:
    """Run a script with Node.js. Return the JSON object in the last line of its output. Raises PlatformError."""
    node = shutil.which("node", path=install.build_node_environment()["PATH"]) or "node"
    child = subprocess.Popen(
        child_processes.guard_command([node, str(script)]),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
        env=install.build_node_environment() | {"BENCH": json.dumps({"e2e": str(E2E), **requested})},
    )  # fmt: skip
    try:
        message, _ = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise PlatformError(f"{script.name} took more than {timeout_s:.0f} s") from error
    finally:
        child_processes.stop_child(child, STOP if child.poll() is None else ())
    if child.returncode:
        raise PlatformError(f"{script.name} failed")
    return dict(json.loads(message.decode().strip().splitlines()[-1]))


@contextlib.contextmanager
def run_platform(
    root: Path, home: Path, log: Path, wait_s: float, *, prefix: Sequence[str] = (), **more: str
) -> Iterator[dict[str, Any]]:
    """Run `./culprit up` of the checkout `root`. Yield its status with `phases` and `ready_s`.

    `prefix` is a command that starts it, such as `nice`. The platform is stopped at the end; its data is kept. Raises
    PlatformError if it does not start.
    """
    port = requirements.find_free_port("127.0.0.1", 0)
    timings = log.with_suffix(".timings.json")
    timings.unlink(missing_ok=True)
    command = [
        *prefix,
        str(root / "culprit"),
        "up",
        "--listen",
        f"127.0.0.1:{port}",
        "--timings",
        str(timings),
    ]
    began = time.monotonic()
    with log.open("wb") as output:
        platform = subprocess.Popen(
            child_processes.guard_command(command),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=root, start_new_session=True,
            env=build_environment(home, **more),
        )  # fmt: skip
    try:
        message = wait_ready(platform, home, wait_s)
        ready_s = time.monotonic() - began
        if message is None:
            raise PlatformError(f"the platform did not start:\n{log.read_text('utf-8', 'replace')[-1500:]}")
        end = time.monotonic() + 5
        while not timings.exists() and time.monotonic() < end:
            time.sleep(0.05)
        phases = json.loads(timings.read_text("utf-8"))["phases"]
        yield message | {"ready_s": ready_s, "phases": phases}
    finally:
        child_processes.stop_child(platform, STOP)


def purge_data(root: Path, home: Path) -> None:
    """Remove all data of a stopped platform."""
    subprocess.run(
        [str(root / "culprit"), "down", "--purge"],
        env=build_environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
