"""Runs methods of collectors on this machine, or on another, and records what they leave as fixtures.

    python -m collectors.tests.record_fixtures [--at "ssh ..."] CASE SECONDS COLLECTOR[:WAY]...

writes `fixtures/<collector>/<distribution>-<version>-<case>/`: one file for each part, and `how.json` with
the method, the readings of the clocks, and the versions. `expected.json` is written by the golden test where it
is missing; look at it before it is committed. A script runs as the runner would run it, with the TARGET_* and OPT_*
that are set here; what is sampled is read by `recorder`, in the format that `collectors.contract.Sampled` describes.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from collectors.contract import Collector, Script
from collectors.registry import COLLECTORS
from collectors.runner.program import compact_script
from collectors.tests import recorder
from collectors.tests.fixture_files import fixture_folder
from collectors.tests.recorder import Left


def run_script(
    collector: Collector,
    method: Script,
    seconds: int,
    shell: str = "/bin/sh",
    env: dict[str, str] | None = None,
) -> Left:
    """Run the script of a method here."""
    env = {f"OUT_{collector.id}": ".", **(env or {})}
    return recorder.run_text(compact_script(method.sh), seconds, collector.max_bytes, shell, env)


def record(case: str, seconds: int, name: str, at: str = "") -> None:
    """Record one collector, by its first method or the one that is named."""
    collector_id, _, requested = name.partition(":")
    collector = COLLECTORS[collector_id]
    method = next(method for method in collector.methods if not requested or method.name == requested)
    job: dict[str, Any] = {"seconds": seconds, "max_bytes": collector.max_bytes}
    if isinstance(method, Script):
        env = {key: value for key, value in os.environ.items() if key.startswith(("TARGET_", "OPT_"))}
        env[f"OUT_{collector_id}"] = "."
        job |= {"sh": compact_script(method.sh), "env": env, "version": method.version}
    else:
        job |= {"files": method.files, "once": method.once, "interval_s": method.interval_s}
    left = _done(job, at)
    parts = {part: base64.b64decode(data) for part, data in left["parts"].items()}
    print(name, left["exit_code"], {part: len(data) for part, data in parts.items()}, left["stderr"])
    if left["exit_code"]:
        return
    folder = fixture_folder(collector_id) / f"{left['distribution']}-{case}"
    folder.mkdir(parents=True, exist_ok=True)
    for part, data in parts.items():
        (folder / part).write_bytes(data)
    how = {"method": method.name, "seconds": seconds, **left["how"]}
    (folder / "how.json").write_text(json.dumps(how, indent=1) + "\n")


def _done(job: dict[str, Any], at: str) -> Any:
    """The recorder's result, from this machine's Python or from the one that `at` leads to."""
    program = Path(recorder.__file__).read_text()
    command = (
        [*shlex.split(at), f"python3 -c {shlex.quote(program)}"] if at else [sys.executable, "-c", program]
    )
    done = subprocess.run(
        command, input=json.dumps(job), capture_output=True, text=True, timeout=180, check=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--at", default="", help="command that leads to another host, which has Python")
    parser.add_argument("case")
    parser.add_argument("seconds", type=int)
    parser.add_argument("collector", nargs="+", metavar="COLLECTOR[:WAY]")
    options = parser.parse_args()
    for each in options.collector:
        record(options.case, options.seconds, each, options.at)
