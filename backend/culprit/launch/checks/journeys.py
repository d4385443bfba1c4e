"""The e2e phase: a platform of its own, then Playwright with what it needs to know in the environment."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from culprit.launch import children, install, machine
from culprit.launch.checks import needs
from culprit.launch.checks.outcome import Outcome
from culprit.launch.checks.round import Round
from culprit.launch.paths import ROOT

E2E = ROOT / "e2e"
READY_S = 300.0
STOP = ((int(signal.SIGTERM), 40.0),)


def run(round_: Round) -> Outcome:
    """All journeys; with a table of their own in `e2e.xml`."""
    if not (E2E / "package.json").exists():
        return Outcome(failed=1, refused="the folder e2e/ is missing")
    mend = needs.provide((*needs.HOST_TOOLS, "chromium"))
    if mend:
        return Outcome(failed=1, refused=mend)
    for package in (E2E, needs.OIDC):
        install.node_modules(package, round_.progress, dev=True)
    chromium = shutil.which("chromium") or "chromium"
    total = round_.tool(
        "e2e-types", [str(E2E / "node_modules/.bin/tsc"), "--noEmit"], cwd=E2E, env=node(round_)
    )
    home = Path(tempfile.mkdtemp(prefix="culprit-e2e-"))
    log = round_.log("e2e-platform")
    try:
        with log.open("wb") as output:
            platform = start(round_, home, output.fileno())
        try:
            running = wait_ready(platform, home)
            if running is None:
                total.add(Outcome(failed=1, refused="the platform did not start", logs=[log]))
            else:
                total.add(playwright(round_, home, running, chromium))
        finally:
            children.stop(platform, STOP)
    finally:
        purge = [str(ROOT / "culprit"), "down", "--purge"]
        round_.run("e2e-purge", purge, env=round_.environment() | {"CULPRIT_HOME": str(home)})
        shutil.rmtree(home, ignore_errors=True)
    return total


def node(round_: Round) -> dict[str, str]:
    """Node first on the PATH, without settings of another platform."""
    return round_.environment() | {"PATH": install.node_environment()["PATH"], "CI": "1"}


def start(round_: Round, home: Path, log: int) -> subprocess.Popen[bytes]:
    """`./culprit up` on a free port."""
    port = machine.free_port("127.0.0.1", 0)
    environment = round_.environment() | {"CULPRIT_HOME": str(home)}
    return subprocess.Popen(
        children.guarded([str(ROOT / "culprit"), "up", "--listen", f"127.0.0.1:{port}"]),
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=ROOT, start_new_session=True,
    )  # fmt: skip


def wait_ready(
    platform: subprocess.Popen[bytes], home: Path, wait_s: float = READY_S
) -> dict[str, Any] | None:
    """What `up` says about itself once it is ready; None where it ended or took too long."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline and platform.poll() is None:
        try:
            running = json.loads((home / "running.json").read_text("utf-8"))
        except (OSError, json.JSONDecodeError):
            running = {}
        if running.get("ready"):
            return dict(running)
        time.sleep(0.05)
    return None


def playwright(round_: Round, home: Path, running: dict[str, Any], chromium: str) -> Outcome:
    """The runner itself."""
    junit = round_.results / "e2e.xml"
    environment = node(round_) | {
        "CULPRIT_URL": running["url"],
        "CULPRIT_LOGIN_URL": running.get("login_url") or "",
        "CULPRIT_HOME": str(home),
        "CULPRIT_ROOT": str(ROOT),
        "CULPRIT_CHROMIUM": chromium,
        "CULPRIT_E2E_OUT": str(round_.results / "e2e"),
        "PLAYWRIGHT_JUNIT_OUTPUT_FILE": str(junit),
    }
    if round_.full:
        environment["CULPRIT_FULL"] = "1"
    command = [str(E2E / "node_modules/.bin/playwright"), "test", "--reporter=line,junit"]
    limit = 3600.0 if round_.full else 1200.0
    return round_.runner("e2e", junit, command, cwd=E2E, env=environment, timeout_s=limit)
