"""Measure the error rates of verifications: simulated pairs of sides with noise that is correlated over minutes.

    ./culprit bench verify [--pairs 1000] [--effects 300] [--seed 1]

Per kind of noise: `--pairs` times nothing is changed, so every `verified` and `worse` is wrong; `--effects` times the
number becomes 20 % and 50 % smaller, so everything but `verified` is a missed improvement. The sides are measured as
the product measures them: before and after the fix with 75 s between, or in turns, or with a control host that
has half of the noise in common. A second table lowers the load by 1 to 17 % with nothing else changed; a queue with
one server (M/M/1) then answers faster without a fix.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from culprit.domain.verification.judge import Judgment, judge_windows
from culprit.domain.verification.windows import MeasurementWindow

from bench.verification.noise import KINDS, make_noise
from collectors.contract import Values

CAPTURE_S = 15
LEVEL_MS = 50.0
LOAD = 100.0
EFFECTS = (0.0, -0.2, -0.5)
DROPS = (0.01, 0.03, 0.05, 0.1, 0.17, 0.3)
UTILIZATIONS = (0.5, 0.7, 0.9)


@dataclass(frozen=True, slots=True)
class Design:
    """When the captures of the two sides are taken: `phases` states for each phase whether the fix is applied."""

    phases: tuple[bool, ...]
    captures: int
    pause_s: int
    gap_s: int
    has_control: bool = False

    def list_captures(self) -> list[tuple[int, bool]]:
        """Return the start of each capture in seconds, and its side."""
        starts, at = [], 0
        for is_after in self.phases:
            for _ in range(self.captures):
                starts.append((at, is_after))
                at += CAPTURE_S + self.pause_s
            at += self.gap_s - self.pause_s
        return starts


DESIGNS = {
    "before and after": Design((False, True), 7, 50, 75),
    "in turns": Design((False, True, False, True), 2, 10, 50),
    "control host": Design((False, True), 14, 50, 75, has_control=True),
}


def simulate_pair(design: Design, kind: str, effect: float, rng: np.random.Generator) -> Judgment:
    """Return the judgment of one pair of sides."""
    captures = design.list_captures()
    seconds = captures[-1][0] + CAPTURE_S
    noise = make_noise(kind, seconds, rng)
    control = None
    if design.has_control:
        common = noise
        noise = (common + make_noise(kind, seconds, rng)) / np.sqrt(2)
        other = (common + make_noise(kind, seconds, rng)) / np.sqrt(2)
        control = _simulate_sides(other, captures, 0.0, rng)
    before, after = _simulate_sides(noise, captures, effect, rng)
    return judge_windows(before, after, "lower", control=control)


def _simulate_sides(
    noise: Values, captures: Sequence[tuple[int, bool]], effect: float, rng: np.random.Generator
) -> tuple[list[MeasurementWindow], list[MeasurementWindow]]:
    """Cut the captures out of a number over time. Requests arrive at random, so the load differs a little."""
    sides: tuple[list[MeasurementWindow], list[MeasurementWindow]] = ([], [])
    for start, is_after in captures:
        values = LEVEL_MS * (1 + effect * is_after) * np.exp(noise[start : start + CAPTURE_S])
        answered = rng.poisson(LOAD * CAPTURE_S)
        times = np.linspace(start + 0.5, start + CAPTURE_S - 0.5, CAPTURE_S)
        sides[is_after].append(
            MeasurementWindow(values, times, answered / CAPTURE_S, failed=0.0, responses=float(answered))
        )
    return sides


def simulate_lower_load(drop: float, utilization: float, rng: np.random.Generator) -> Judgment:
    """Return the judgment of a queue of one server that has less to do after the fix, and nothing else changed."""
    design = DESIGNS["before and after"]
    captures = design.list_captures()
    noise = make_noise("AR(1), 30 s", captures[-1][0] + CAPTURE_S, rng)
    before, after = _simulate_sides(noise, captures, 0.0, rng)
    loads = [np.mean([window.load for window in side]) for side in (before, after)]
    # The queue answers the requests that really arrived.
    busy = utilization * (1 - drop) * float(loads[1] / loads[0])
    ratio = (1 - utilization) / max(1 - busy, 1e-3)
    after = [replace(window, load=window.load * (1 - drop), values=window.values * ratio) for window in after]
    return judge_windows(before, after, "lower")


def count_outcomes(pairs: int, simulate: Callable[[], Judgment]) -> Counter[str]:
    """Return how often each outcome was judged."""
    return Counter(simulate().outcome for _ in range(pairs))


def main() -> None:
    """Simulate and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--effects", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("| design | noise | false verified | false worse | missed, 20 % less | missed, 50 % less |")
    print("|---|---|--:|--:|--:|--:|")
    for name, design in DESIGNS.items():
        for kind in KINDS:
            rng = np.random.default_rng(args.seed)
            cells = []
            for effect in EFFECTS:
                pairs = args.effects if effect else args.pairs
                counts = count_outcomes(pairs, lambda: simulate_pair(design, kind, effect, rng))  # noqa: B023
                shares = {outcome: 100 * number / pairs for outcome, number in counts.items()}
                if effect:
                    cells.append(f"{100 - shares.get('verified', 0.0):.0f} %")
                else:
                    cells += [f"{shares.get(outcome, 0.0):.1f} %" for outcome in ("verified", "worse")]
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)
    print("\n| load | utilization before | latency by the load alone | false verified |")
    print("|--:|--:|--:|--:|")
    for drop in DROPS:
        for utilization in UTILIZATIONS:
            rng = np.random.default_rng(args.seed)
            counts = count_outcomes(args.effects, lambda: simulate_lower_load(drop, utilization, rng))  # noqa: B023
            ratio = (1 - utilization) / (1 - utilization * (1 - drop))
            share = 100 * counts["verified"] / args.effects
            print(
                f"| {-100 * drop:.0f} % | {100 * utilization:.0f} % | {100 * (ratio - 1):.0f} % | {share:.1f} % |"
            )


if __name__ == "__main__":
    main()
