"""Runs one scenario of the lab by hand.

python -m e2e.lab list
python -m e2e.lab run ID [--seed N] [--seconds S] [--show COMMAND]
python -m e2e.lab stand ID [ID ...] [--seed N] [--max-s S]      # see stand.py

`run` starts healthy, makes the host sick, says how to log in, and removes everything at its end, on Ctrl-C and on
SIGTERM. `--show` runs a command on the host over ssh shortly before the end.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import signal
import subprocess
import sys
import time
from types import FrameType

from e2e.lab import stand
from e2e.lab.faults import missing, scenarios
from e2e.lab.site import Site


def main() -> int:
    parser = argparse.ArgumentParser(prog="e2e.lab", description="Hosts with a fault, for real.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    run = commands.add_parser("run")
    run.add_argument("id", choices=sorted(scenarios()), metavar="ID")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument(
        "--seconds", type=float, default=0.0, help="how long the fault lasts; else as it declares"
    )
    run.add_argument("--show", default="", help="a command to run on the host")
    standing = commands.add_parser("stand")
    standing.add_argument("ids", nargs="+", choices=sorted(scenarios()), metavar="ID")
    standing.add_argument("--seed", type=int, default=1)
    standing.add_argument("--max-s", type=float, default=stand.MAX_S)
    options = parser.parse_args()
    if options.command == "list":
        for scenario in scenarios().values():
            lacking = f"  (skipped: no {', '.join(missing(scenario))})" if missing(scenario) else ""
            print(
                f"{scenario.id:28} {scenario.kind:10} {' '.join(scenario.causes) or '-':28} {scenario.summary}{lacking}"
            )
        return 0
    signal.signal(signal.SIGTERM, _leave)
    return _stand(options) if options.command == "stand" else _run(options)


def _stand(options: argparse.Namespace) -> int:
    chosen = [scenarios()[one] for one in options.ids]
    lacking = sorted({program for one in chosen for program in missing(one)})
    if lacking:
        print(json.dumps({"skipped": lacking}), flush=True)
        return 69
    return stand.main(chosen, options.seed, options.max_s)


def _run(options: argparse.Namespace) -> int:
    scenario = scenarios()[options.id]
    if missing(scenario):
        print(f"{scenario.id} is skipped: no {', '.join(missing(scenario))}")
        return 69
    seconds = options.seconds or scenario.seconds
    began = time.monotonic()
    with Site(max_s=seconds + 120) as site:
        print(f"{site.ssh_command()}   # up in {time.monotonic() - began:.2f} s", flush=True)
        began = time.monotonic()
        with scenario.run(site, random.Random(options.seed)) as live:
            healthy = live.parameters.pop("healthy", {})
            if scenario.own_host:
                print(f"{shlex.join(live.host.ssh())}   # its own host", flush=True)
            print(
                f"in place after {time.monotonic() - began:.1f} s: {json.dumps(live.parameters, default=str)}"
            )
            print(
                f"scope {json.dumps(live.scope)}  access log {live.access_log or '-'}\nhealthy {_text(healthy)}",
                flush=True,
            )
            time.sleep(seconds)
            print(f"sick    {_text(live.stats())}", flush=True)
            if options.show:
                subprocess.run([*live.host.ssh(), options.show], timeout=60, check=False)
    return 0


def _text(stats: object) -> str:
    if not isinstance(stats, dict):
        return str(stats)
    return "  ".join(f"{name} {value:.6g}" for name, value in stats.items())


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
