"""The platform of the end-to-end tests, and the stages in which Playwright runs over it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from culprit.launcher.install import requirements
from culprit.launcher.paths import ROOT, Home
from culprit.launcher.supervision import child_processes

E2E = ROOT / "e2e"
FIRST_STAGE, FIRST_SPEC = "first-visit", "first-visit.spec.ts"
#: The headless browser, which needs two thirds of the CPU time of the full browser.
BROWSER = "chromium-headless-shell"
LAB_STAGE = "faulty-hosts"
#: Projects of e2e/playwright.config.ts by stage, in execution order. The stage with hosts of the lab runs alone, one
#: journey at a time: the hosts share the CPUs of this machine with all other processes, so that a correct diagnosis
#: would name a second journey as noisy neighbor.
STAGES = {
    FIRST_STAGE: ("first visit",),
    LAB_STAGE: ("incidents", "alerts"),
    "journeys": ("journeys", "no capture"),
    "everywhere": ("everywhere",),
    "alone": ("alone",),
    "hostile": ("hostile",),
}
READY_TIMEOUT_S = 300.0
STOP_SIGNALS = ((int(signal.SIGTERM), 40.0),)


def list_stages(specs: Sequence[str]) -> list[str]:
    """Return the stages to run for spec files by name; all for none, and the first always, because it signs in."""
    return [FIRST_STAGE] if list(specs) == [FIRST_SPEC] else list(STAGES)


def stage_arguments(stage: str, results: Path, specs: Sequence[str]) -> list[str]:
    """Return the arguments of Playwright for one stage.

    Stages replace the dependencies of the config: with those, one failed journey keeps the next stage from running.
    """
    arguments = ["test", "--no-deps", "--reporter=dot,junit", f"--output={results / 'e2e' / stage}"]
    arguments += [f"--project={project}" for project in STAGES[stage]]
    if stage == LAB_STAGE:
        arguments.append("--workers=1")
    if specs and stage != FIRST_STAGE:
        arguments += ["--pass-with-no-tests", *(rf"/{re.escape(spec)}$" for spec in specs)]
    return arguments


def run_stages(
    results: Path, specs: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]
) -> list[str]:
    """Run the stages for spec files by name and return those that failed, also after a failed one.

    Without the first visit no other journey can sign in, so nothing follows where that fails.
    """
    failed: list[str] = []
    for stage in list_stages(specs):
        command = ["node_modules/.bin/playwright", *stage_arguments(stage, results, specs), *arguments]
        report = {"PLAYWRIGHT_JUNIT_OUTPUT_FILE": str(results / f"e2e-{stage}.xml")}
        run = subprocess.run(
            child_processes.guard_command(command),
            stdin=subprocess.DEVNULL,
            env={**environment, **report},
            cwd=E2E,
            check=False,
        )
        if run.returncode != 0:
            failed.append(stage)
            if stage == FIRST_STAGE:
                return failed
    return failed


@contextmanager
def run_platform(results: Path, *, full: bool) -> Iterator[dict[str, str]]:
    """Run `./culprit up` with a home of its own; yields the environment of the journeys. Raises RuntimeError.

    The logs of the platform are copied to `results/e2e/platform`, the home is removed.
    """
    home = Path(tempfile.mkdtemp(prefix="culprit-e2e-"))
    culprit = str(ROOT / "culprit")
    environment = os.environ | {"CULPRIT_HOME": str(home)}
    port = requirements.find_free_port("127.0.0.1", 0)
    log = results / "e2e-platform.log"
    try:
        with log.open("wb") as output:
            platform = subprocess.Popen(
                child_processes.guard_command([culprit, "up", "--listen", f"127.0.0.1:{port}"]),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                cwd=ROOT,
                start_new_session=True,
            )
        try:
            running = wait_ready(platform, home)
            if running is None:
                raise RuntimeError(
                    f"the platform did not start:\n{log.read_text('utf-8', 'replace')[-4000:]}"
                )
            yield {
                "CI": "1",
                "CULPRIT_URL": running["url"],
                "CULPRIT_LOGIN_URL": running.get("login_url") or "",
                "CULPRIT_HOME": str(home),
                "CULPRIT_ROOT": str(ROOT),
                "CULPRIT_CHROMIUM": shutil.which(BROWSER) or BROWSER,
                "CULPRIT_E2E_OUT": str(results / "e2e"),
                **({"CULPRIT_FULL": "1"} if full else {}),
            }
        finally:
            child_processes.stop_child(platform, STOP_SIGNALS)
            if Home(home).logs.is_dir():
                shutil.copytree(Home(home).logs, results / "e2e" / "platform", dirs_exist_ok=True)
    finally:
        subprocess.run([culprit, "down", "--purge"], env=environment, cwd=ROOT, check=False)
        shutil.rmtree(home, ignore_errors=True)


def wait_ready(
    platform: subprocess.Popen[bytes], home: Path, timeout_s: float = READY_TIMEOUT_S
) -> dict[str, Any] | None:
    """Return what `up` writes once the platform is ready, or None where it ended or took too long."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and platform.poll() is None:
        try:
            running = json.loads((home / "running.json").read_text("utf-8"))
        except (OSError, json.JSONDecodeError):
            running = {}
        if running.get("ready"):
            return dict(running)
        time.sleep(0.05)
    return None
