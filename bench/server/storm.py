"""Kill processes of a platform at random while captures run, and count what is lost, doubled, overlapping or stuck.

    ./culprit bench storm [--seeds 1] [--first-seed N] [--short] [--json FILE]

Each seed is a storm of its own: 150 kills of workers, 25 of Valkey, 15 of PostgreSQL, 10 of the API and 10 of the
scheduler over at least 500 captures of 12 hosts, each a real sshd on this machine. `--short` makes it 10 kills.
The same seed repeats the order and the pauses of the kills, not the moments of the platform.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

from culprit.tests.support.storm import LONG, SHORT, StormResult, run_storm

from bench.support.platforms import stop_on_term

COUNTED = ("lost", "doubled", "overlapping", "stuck", "left_on_hosts")


def count_failures(result: StormResult) -> int:
    """Return how many violations a storm revealed."""
    return sum(int(result.as_json()[name]) for name in COUNTED)


def main() -> None:
    """Run the storms. Exit with 1 if anything was lost, doubled, overlapping or stuck."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    stop_on_term()
    results = []
    for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
        print(f"seed {seed} begins", flush=True)
        with tempfile.TemporaryDirectory(prefix="culprit-storm-") as directory:
            results.append(run_storm(Path(directory), SHORT if chosen.short else LONG, seed))
        print(results[-1].summary, flush=True)
        for problem in results[-1].problems:
            print(f"  {problem}", flush=True)
    totals = {name: sum(int(item.as_json()[name]) for item in results) for name in ("captures", *COUNTED)}
    print(f"{len(results)} storms: {json.dumps(totals)}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps([item.as_json() for item in results], indent=1))
    raise SystemExit(any(count_failures(item) for item in results))


if __name__ == "__main__":
    main()
