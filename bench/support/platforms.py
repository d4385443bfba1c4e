"""A platform of a checkout's own for one measurement, and the browser that looks at it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from culprit.launch import children, install, machine
from culprit.launch.checks.journeys import wait_ready
from culprit.launch.paths import ROOT
from culprit.launch.progress import Progress

E2E = ROOT / "e2e"
STOP = ((int(signal.SIGTERM), 40.0),)
OF_OTHERS = ("CULPRIT_", "DATABASE_URL", "REDIS_URL", "PYTHONPATH", "VIRTUAL_ENV")


class Broken(SystemExit):
    """What was to be measured did not work; the message says what."""


def stop_on_term() -> None:
    """SIGTERM ends us as Ctrl-C does, so that all is stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def environment(home: Path, **more: str) -> dict[str, str]:
    """Ours, without the settings of another platform."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_OTHERS)}
    return kept | {"CULPRIT_HOME": str(home)} | more


def prepare_browser() -> str:
    """The path of Chromium; Playwright is installed where it is missing. Raises Broken."""
    chromium = shutil.which("chromium")
    if not chromium:
        raise Broken("no chromium on this machine: apt-get install chromium")
    if not (E2E / "node_modules" / "playwright-core").exists():
        with contextlib.redirect_stdout(sys.stderr):
            install.node_modules(E2E, Progress(), dev=True)
    return chromium


def browse(script: str, asked: Mapping[str, object], timeout_s: float) -> dict[str, Any]:
    """Runs a script beside this file under node; what it prints last is one JSON object. Raises Broken."""
    node = shutil.which("node", path=install.node_environment()["PATH"]) or "node"
    child = subprocess.Popen(
        children.guarded([node, str(Path(__file__).with_name(script))]),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
        env=install.node_environment() | {"BENCH": json.dumps({"e2e": str(E2E), **asked})},
    )  # fmt: skip
    try:
        said, _ = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{script} took more than {timeout_s:.0f} s") from error
    finally:
        children.stop(child, STOP if child.poll() is None else ())
    if child.returncode:
        raise Broken(f"{script} failed")
    return dict(json.loads(said.decode().strip().splitlines()[-1]))


@contextlib.contextmanager
def running(root: Path, home: Path, log: Path, wait_s: float, **more: str) -> Iterator[dict[str, Any]]:
    """`./culprit up` of the checkout `root`: what it says about itself, its `phases` and `ready_s` added.

    Stopped on the way out; its data stay. Raises Broken where it does not come up.
    """
    port = machine.free_port("127.0.0.1", 0)
    timings = log.with_suffix(".timings.json")
    timings.unlink(missing_ok=True)
    command = [str(root / "culprit"), "up", "--listen", f"127.0.0.1:{port}", "--timings", str(timings)]
    began = time.monotonic()
    with log.open("wb") as output:
        platform = subprocess.Popen(
            children.guarded(command),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=root, start_new_session=True,
            env=environment(home, **more),
        )  # fmt: skip
    try:
        said = wait_ready(platform, home, wait_s)
        ready_s = time.monotonic() - began
        if said is None:
            raise Broken(f"the platform did not start:\n{log.read_text('utf-8', 'replace')[-1500:]}")
        end = time.monotonic() + 5
        while not timings.exists() and time.monotonic() < end:
            time.sleep(0.05)
        phases = json.loads(timings.read_text("utf-8"))["phases"]
        yield said | {"ready_s": ready_s, "phases": phases}
    finally:
        children.stop(platform, STOP)


def purge(root: Path, home: Path) -> None:
    """Removes all data of a platform that was stopped."""
    subprocess.run(
        [str(root / "culprit"), "down", "--purge"],
        env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
