"""Runs one scenario of the lab by hand.

python -m lab list
python -m lab run ID [--seed N] [--seconds S] [--show COMMAND]
python -m lab serve ID [ID ...] [--seed N] [--max-s S]      # see serve_faults.py

`run` starts a healthy host, injects the fault, prints how to log in, and removes everything at its end, on Ctrl-C
and on SIGTERM. `--show` runs a command on the host over ssh shortly before the end.
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

from lab import serve_faults
from lab.environment import LabEnvironment
from lab.faults import list_missing_programs, load_scenarios


def main() -> int:
    parser = argparse.ArgumentParser(prog="lab", description="Hosts with a fault, for real.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    run = commands.add_parser("run")
    run.add_argument("id", choices=sorted(load_scenarios()), metavar="ID")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument(
        "--seconds", type=float, default=0.0, help="how long the fault lasts; else as it declares"
    )
    run.add_argument("--show", default="", help="a command to run on the host")
    serve = commands.add_parser("serve")
    serve.add_argument("ids", nargs="+", choices=sorted(load_scenarios()), metavar="ID")
    serve.add_argument("--seed", type=int, default=1)
    serve.add_argument("--max-s", type=float, default=serve_faults.MAX_S)
    options = parser.parse_args()
    if options.command == "list":
        for scenario in load_scenarios().values():
            lacking = (
                f"  (skipped: no {', '.join(list_missing_programs(scenario))})"
                if list_missing_programs(scenario)
                else ""
            )
            print(
                f"{scenario.id:28} {scenario.kind:10} {' '.join(scenario.causes) or '-':28} {scenario.summary}{lacking}"
            )
        return 0
    signal.signal(signal.SIGTERM, _leave)
    return _serve(options) if options.command == "serve" else _run(options)


def _serve(options: argparse.Namespace) -> int:
    chosen = [load_scenarios()[item] for item in options.ids]
    lacking = sorted({program for item in chosen for program in list_missing_programs(item)})
    if lacking:
        print(json.dumps({"skipped": lacking}), flush=True)
        return 69
    return serve_faults.main(chosen, options.seed, options.max_s)


def _run(options: argparse.Namespace) -> int:
    scenario = load_scenarios()[options.id]
    if list_missing_programs(scenario):
        print(f"{scenario.id} is skipped: no {', '.join(list_missing_programs(scenario))}")
        return 69
    seconds = options.seconds or scenario.seconds
    began = time.monotonic()
    with LabEnvironment(max_s=seconds + 120) as environment:
        print(f"{environment.ssh_command()}   # up in {time.monotonic() - began:.2f} s", flush=True)
        began = time.monotonic()
        with scenario.run(environment, random.Random(options.seed)) as live:
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
            print(f"faulty  {_text(live.stats())}", flush=True)
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
