"""Kill processes of a platform at random while captures run, and count what is lost, doubled, overlapping or stuck.

    ./culprit bench storm [--seeds 1] [--first-seed N] [--plan long] [--json FILE]

Each seed is a storm of its own on a new platform, whose hosts are real sshds on this machine. Plans:

    long    150 kills of workers, 25 of Valkey, 15 of PostgreSQL, 10 of the API and 10 of the scheduler over at least
            500 captures of 12 hosts, in 12 minutes or more
    medium  11 kills of all kinds over at least 26 captures of 6 hosts, so that 20 seeds are 220 kills and 520 captures
    short   10 kills of all kinds over at least 14 captures of 4 hosts, as the tests do

A table of all seeds and their sum is printed after each seed, so that an interrupted series has its figures.
The same seed repeats the order and the pauses of the kills, not the moments of the platform.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from culprit.tests.support.storm import LONG, MEDIUM, SHORT, StormPlan, StormResult, run_storm

from bench.support.platforms import stop_on_term

PLANS = {"long": LONG, "medium": MEDIUM, "short": SHORT}
COUNTED = ("lost", "doubled", "overlapping", "stuck", "left_on_hosts")
COLUMNS = ("captures", *COUNTED, "worker_lost", "late", "losses", "seconds")


def count_failures(result: StormResult) -> int:
    """Return how many violations a storm revealed. One that could not be ended is a violation."""
    return max(sum(int(result.as_json()[name]) for name in COUNTED), bool(result.problems))


def format_table(results: Sequence[StormResult]) -> str:
    """Return the rows of all seeds and their sum, as the figures of the documentation have them."""
    header = ("seed", "kills", *(name.replace("_", " ") for name in COLUMNS))
    lines = ["| " + " | ".join(header) + " |", "|---" + "|--:" * (len(header) - 1) + "|"]
    rows = [
        (sum(item.kills.values()), *(round(item.as_json()[name]) for name in COLUMNS)) for item in results
    ]
    names = [str(item.seed) for item in results]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    for name, row in [*zip(names, rows, strict=True), (f"sum of {len(results)}", sums)]:
        lines.append("| " + " | ".join([name, *map(str, row)]) + " |")
    return "\n".join(lines)


def run_seed(plan: StormPlan, seed: int) -> StormResult:
    """Run the storm of a seed. If it ends by an error, return a result with the error as its problem."""
    with tempfile.TemporaryDirectory(prefix="culprit-storm-") as directory:
        try:
            return run_storm(Path(directory), plan, seed)
        except (AssertionError, OSError, RuntimeError) as error:
            traceback.print_exc()
            return StormResult(seed, {}, problems=[f"the storm did not end: {error}"])


def main() -> None:
    """Run the storms. Exit with 1 if anything was lost, doubled, overlapping or stuck."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--plan", choices=PLANS, default="long")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    stop_on_term()
    results: list[StormResult] = []
    for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
        print(f"seed {seed} begins", flush=True)
        results.append(run_seed(PLANS[chosen.plan], seed))
        print(results[-1].summary, flush=True)
        for problem in results[-1].problems:
            print(f"  {problem}", flush=True)
        print(format_table(results), flush=True)
        if chosen.json:
            chosen.json.write_text(json.dumps([item.as_json() for item in results], indent=1))
    raise SystemExit(any(count_failures(item) for item in results))


if __name__ == "__main__":
    main()
