"""List the changes of a comparison by function, over all of its paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from culprit.domain.profiles.changes.drawing import ComparisonDrawing, round_numbers
from culprit.domain.profiles.changes.judgement import Verdict

NOT_FUNCTIONS = ("root", "comm")


@dataclass(frozen=True, slots=True)
class WeightChange:
    """The weights of a function on both sides, delta = B - A per exposure, and the verdict.

    `p` is corrected for all tests; `noise` is the smallest significant difference. Both are None if not tested.
    """

    a: int
    b: int
    delta: float
    p: float | None
    noise: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class FunctionDifference:
    """The changes of a function: `own` over stacks that end in it, `total` over stacks that contain it."""

    frame: str
    kind: str
    own: WeightChange
    total: WeightChange


def list_function_changes(drawing: ComparisonDrawing, limit: int = 200) -> list[FunctionDifference]:
    """List functions: those with a significant change first, then the others, each by size of the difference."""
    comparison, judgement = drawing.comparison, drawing.judgement
    nodes, frames = len(comparison.trie), len(comparison.names)
    own_a, own_b, total_a, total_b = drawing.weigh_functions()
    own, total = np.arange(nodes, nodes + frames), np.arange(nodes + frames, nodes + 2 * frames)
    delta, changed = judgement.delta, judgement.changed
    largest = np.maximum(np.abs(delta[own]) * changed[own], np.abs(delta[total]) * changed[total])
    other = np.maximum(np.abs(delta[own]), np.abs(delta[total]))
    is_function = np.array([kind not in NOT_FUNCTIONS for kind in comparison.kinds], bool)
    order = np.lexsort((-other, -largest))
    order = order[is_function[order] & (total_a[order] + total_b[order] > 0)][:limit]
    p = round_numbers(np.where(np.isnan(judgement.z), np.nan, judgement.p), 6)
    noise = round_numbers(judgement.noise, 9)
    verdicts = judgement.verdicts

    def build(item: int, a: int, b: int) -> WeightChange:
        return WeightChange(a, b, round(float(delta[item]), 9), p[item], noise[item], verdicts[item])

    return [
        FunctionDifference(
            comparison.names[f],
            comparison.kinds[f],
            build(nodes + f, int(own_a[f]), int(own_b[f])),
            build(nodes + frames + f, int(total_a[f]), int(total_b[f])),
        )
        for f in order.tolist()
    ]
