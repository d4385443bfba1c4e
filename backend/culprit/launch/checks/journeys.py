"""The e2e phase: a platform of its own, then Playwright with what it needs to know in the environment.

Playwright is run once for each stage: as dependencies of one another, one journey that fails would keep all tests of
the next stage from running. Only without the first visit there is nothing to run, as nobody can sign in.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from culprit.launch import children, install, machine
from culprit.launch.checks import needs
from culprit.launch.checks.outcome import Log, Outcome
from culprit.launch.checks.round import Round
from culprit.launch.paths import ROOT, Home

E2E = ROOT / "e2e"
#: Projects of e2e/playwright.config.ts, in the order in which they may touch this machine.
FIRST = "first visit"
STAGES = {"journeys": ("journeys",), "beside": ("everywhere", "incidents", "alerts")}
FIRST_SPEC = "first-visit.spec.ts"
READY_S = 300.0
STOP = ((int(signal.SIGTERM), 40.0),)


def run(round_: Round, specs: Sequence[str] = ()) -> Outcome:
    """All journeys, or the first visit and those of `specs`; each stage with a table of its own, `e2e-STAGE.xml`."""
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
                total.add(Outcome(failed=1, refused="the platform did not start", logs=[Log(log)]))
            else:
                total.add(visits(round_, specs, playwright_environment(round_, home, running, chromium)))
        finally:
            children.stop(platform, STOP)
        if total.failed and Home(home).logs.is_dir():  # what its processes said, before its home is removed
            shutil.copytree(Home(home).logs, round_.results / "e2e" / "platform", dirs_exist_ok=True)
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
    platform = subprocess.Popen(
        children.guarded([str(ROOT / "culprit"), "up", "--listen", f"127.0.0.1:{port}"]),
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=ROOT, start_new_session=True,
    )  # fmt: skip
    round_.started.add(platform.pid)
    return platform


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


def playwright_environment(
    round_: Round, home: Path, running: dict[str, Any], chromium: str
) -> dict[str, str]:
    """What the journeys know about the platform."""
    environment = {
        **node(round_),
        "CULPRIT_URL": running["url"],
        "CULPRIT_LOGIN_URL": running.get("login_url") or "",
        "CULPRIT_HOME": str(home),
        "CULPRIT_ROOT": str(ROOT),
        "CULPRIT_CHROMIUM": chromium,
        "CULPRIT_E2E_OUT": str(round_.results / "e2e"),
    }
    return environment | {"CULPRIT_FULL": "1"} if round_.full else environment


def visits(round_: Round, specs: Sequence[str], environment: Mapping[str, str]) -> Outcome:
    """The first visit, and all other stages whatever became of those before them."""
    shutil.rmtree(round_.results / "e2e", ignore_errors=True)
    total = playwright(round_, "first-visit", (FIRST,), [], environment)
    if total.failed:
        total.add(Outcome(failed=1, refused="nobody can sign in: no other journey was run"))
        return total
    others = [Path(one).name for one in specs if Path(one).name != FIRST_SPEC]
    if specs and not others:
        return total
    for stage, projects in STAGES.items():
        total.add(playwright(round_, stage, projects, others, environment))
    return total


def playwright(
    round_: Round, stage: str, projects: Sequence[str], specs: Sequence[str], environment: Mapping[str, str]
) -> Outcome:
    """The runner itself, over some projects: over all of their tests, or over those of `specs` that they have."""
    step = f"e2e-{stage}"
    junit = round_.results / f"{step}.xml"
    command = [str(E2E / "node_modules/.bin/playwright"), "test", "--no-deps", "--reporter=line,junit"]
    command += [f"--output={round_.results / 'e2e' / stage}"]
    command += [f"--project={project}" for project in projects]
    if specs:
        command += ["--pass-with-no-tests", *(rf"/{re.escape(spec)}$" for spec in specs)]
    return round_.runner(
        step,
        junit,
        command,
        cwd=E2E,
        env=dict(environment) | {"PLAYWRIGHT_JUNIT_OUTPUT_FILE": str(junit)},
        timeout_s=3600.0 if round_.full else 1200.0,
        may_be_empty=bool(specs),
    )
