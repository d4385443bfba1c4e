"""Runs scenarios of real software by hand.

python -m lab.real list
python -m lab.real run NAME [--seed N] [--seconds S] [--show COMMAND]    # --show runs on the host over ssh
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time

from lab.environment import LabEnvironment
from lab.faults import list_missing_programs
from lab.real import load_real_scenarios


def main() -> int:
    scenarios = load_real_scenarios()
    parser = argparse.ArgumentParser(prog="lab.real", description="Hosts with a fault of real software.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    run = commands.add_parser("run")
    run.add_argument("name", choices=sorted(scenarios), metavar="NAME")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--seconds", type=float, default=10.0, help="how long the fault lasts")
    run.add_argument("--show", default="", help="a command to run on the host")
    options = parser.parse_args()
    if options.command == "list":
        for item in scenarios.values():
            print(f"{item.id:32} {item.kind:12} {' '.join(item.software):28} {' '.join(item.causes)}")
        return 0
    scenario = scenarios[options.name]
    if missing := list_missing_programs(scenario):
        print(f"{scenario.id} is skipped: no {', '.join(missing)}")
        return 69
    with LabEnvironment(max_s=options.seconds + 180) as environment:
        began = time.monotonic()
        with scenario.run(environment, random.Random(options.seed)) as live:
            print(f"in place after {time.monotonic() - began:.1f} s, scope {live.scope}, {live.parameters}")
            print(f"ssh: {environment.ssh_command()}", flush=True)
            time.sleep(options.seconds)
            print(f"faulty {live.stats()}", flush=True)
            if options.show:
                subprocess.run([*live.host.ssh(), options.show], timeout=60, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
