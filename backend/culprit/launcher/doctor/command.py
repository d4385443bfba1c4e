"""Command `./culprit doctor [--json]`: check the installation, the running platform, and the parts that it uses."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from culprit.launcher import services, state
from culprit.launcher.doctor.check_result import CheckResult, parse_results, print_results
from culprit.launcher.doctor.installation_checks import UP, check_installation
from culprit.launcher.doctor.running_checks import check_running
from culprit.launcher.paths import DIST, PYTHON, Home

MODULE = "culprit.server.doctor"
SERVER_S = 120
PASSED_ON = ("database_url", "redis_url")


def run_doctor(arguments: list[str]) -> int:
    """Print the checks. Exit code 0 without a problem (warnings are allowed), 1 with a problem."""
    parser = argparse.ArgumentParser(
        prog="culprit doctor",
        description="Check this installation and print the command that repairs each problem. With DATABASE_URL, "
        "REDIS_URL and S3_* set, the parts that they name are checked. Nothing is changed.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args(arguments).json
    results = list_results(os.environ)
    healthy = all(result.state != "problem" for result in results)
    if as_json:
        document = {"healthy": healthy, "checks": [asdict(result) for result in results]}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        print_results(results)
    return 0 if healthy else 1


def list_results(environment: Mapping[str, str]) -> list[CheckResult]:
    """Run all checks. The names of checks of the server do not repeat those of the installation."""
    home = Home.from_environment(environment)
    try:
        home.path.exists()
    except OSError as error:  # a parent that is closed to this user
        message = f"User {os.geteuid()} cannot open {home.path}: {error.strerror}."
        return [CheckResult("data directory", "problem", message, f"ls -ld {home.path.parent}")]
    known = state.read_running(home)
    results = list(check_installation(home, environment))
    external = bool(environment.get("DATABASE_URL"))
    if known is not None or not external:
        results += check_running(home, known)
    own = {result.check for result in results}
    if home.path.exists() and PYTHON.exists():
        results += [result for result in check_server(home, known, environment) if result.check not in own]
    return results


def check_server(
    home: Home, known: dict[str, Any] | None, environment: Mapping[str, str]
) -> list[CheckResult]:
    """Run the checks of the server under its own Python; without a database only those that need none."""
    options = ["--json"]
    if known is not None:
        options.append("--launcher")
    elif not environment.get("DATABASE_URL"):
        options += ["--launcher", "--offline"]
    command = [str(PYTHON), "-P", "-m", MODULE, *options]
    try:
        done = subprocess.run(
            command, env=build_environment(home, known, environment), capture_output=True, text=True, check=False,
            timeout=SERVER_S,
        )  # fmt: skip
        return parse_results(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        message = f"The checks of the server did not end within {SERVER_S} s."
    except (json.JSONDecodeError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1][:200]
        message = f"The server does not start: {last}."
    return [CheckResult("server", "problem", message, UP)]


def build_environment(
    home: Home, known: dict[str, Any] | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings of the platform: those of the environment, and what the launcher sets."""
    own = {"CULPRIT_HOME": str(home.path)}
    if not environment.keys() & {"CULPRIT_SECRET_KEY", "CULPRIT_SECRET_KEY_FILE"}:
        own["CULPRIT_SECRET_KEY_FILE"] = str(home.secret_key)
    for name in PASSED_ON:
        if known and known.get(name) and not environment.get(name.upper()):
            own[name.upper()] = str(known[name])
    if known and not environment.get("CULPRIT_PUBLIC_URL"):
        own["CULPRIT_PUBLIC_URL"] = str(known["url"])
    if not environment.get("CULPRIT_UI_DIR"):
        own["CULPRIT_UI_DIR"] = str(DIST)
    return services.build_process_environment(environment, **own)
