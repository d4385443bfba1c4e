"""Render a comparison as a tree with the widths of one side, and list the paths that only one side has."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np

from collectors.contract import Values
from collectors.profiles.trie import I64
from culprit.domain.profiles.changes.judgement import Judgement, Normalization
from culprit.domain.profiles.comparison import ComparisonTrie, build_projection
from culprit.domain.profiles.stacks import compute_min_weight, list_callers
from culprit.domain.profiles.tree import MAX_DEPTH, MAX_NODES, NodeNumbers, RenderedTree, TreePathStep

SideName = Literal["a", "b"]
MAX_LISTED_PATHS = 200


@dataclass(frozen=True, slots=True)
class PathDifference:
    """A path that only one side has: names from the root, the node, and the inclusive weight on that side.

    `is_changed`: the change is significant.
    """

    path: list[str]
    node: int
    weight: int
    is_changed: bool


class ComparisonDrawing:
    """A comparison with one normalization. `a` and `b` are the inclusive weights, int64 [nodes]."""

    def __init__(
        self,
        comparison: ComparisonTrie,
        normalization: Normalization = "share",
        work: tuple[float, float] | None = None,
    ) -> None:
        self.comparison = comparison
        self.own_a, self.own_b = comparison.weigh(normalization)
        self.a, self.b = comparison.trie.inclusive(self.own_a), comparison.trie.inclusive(self.own_b)
        self.judgement: Judgement = comparison.judge(normalization, work)
        self.exposures = find_exposures(comparison, normalization, work)

    def render_tree(
        self, width: int = 1200, root: int = 0, width_of: SideName = "b", min_px: float = 0.5
    ) -> RenderedTree:
        """Return the subtree of `root`; each node has `a`, `b`, `delta`, `z`, `p`, `noise` and `verdict`.

        Widths are the weights of side `width_of`. Narrow nodes are pruned as in `ProfileView.render_tree`; a pruned
        child has the sums of A and B. Raises IndexError if there is no such node.
        """
        trie, names, kinds = self.comparison.trie, self.comparison.names, self.comparison.kinds
        if not 0 <= root < len(trie):
            raise IndexError(root)
        wide, own = (self.a, self.own_a) if width_of == "a" else (self.b, self.own_b)
        part = slice(root, int(trie.end[root]))
        least = compute_min_weight(int(wide[root]), width, min_px)
        visible = (wide[part] >= least) & (trie.depth[part] <= trie.depth[root] + MAX_DEPTH)
        visible[0] = True
        if np.count_nonzero(visible) > MAX_NODES:
            visible &= wide[part] > np.partition(wide[part][visible], -MAX_NODES)[-MAX_NODES]
            visible[0] = True
        ids = np.flatnonzero(visible) + root
        parent = np.searchsorted(ids, trie.parent[ids[1:]])
        rest_a, rest_b = self.a[ids] - self.own_a[ids], self.b[ids] - self.own_b[ids]
        np.subtract.at(rest_a, parent, self.a[ids[1:]])
        np.subtract.at(rest_b, parent, self.b[ids[1:]])
        frame = trie.frame[ids].tolist()
        rendered_tree = RenderedTree(
            ids.tolist(),
            (trie.depth[ids] - trie.depth[root]).tolist(),
            [names[f] for f in frame],
            [""] * len(ids),
            [kinds[f] for f in frame],
            wide[ids].tolist(),
            own[ids].tolist(),
            self._node_numbers(ids),
        )
        rest = rest_a if width_of == "a" else rest_b
        return rendered_tree.add_pruned(rest.tolist(), self._pruned_numbers(rest_a, rest_b))

    def weigh_functions(self) -> tuple[Values, Values, Values, Values]:
        """Return the weights of functions, each [frames]: own of A and of B, anywhere on a stack of A and of B."""
        trie, frames = self.comparison.trie, len(self.comparison.names)
        project = build_projection(trie, frames)
        a, b = project(self.own_a)[len(trie) :], project(self.own_b)[len(trie) :]
        return a[:frames], b[:frames], a[frames:], b[frames:]

    def list_path(self, node: int) -> list[TreePathStep]:
        """Return the path from the root to the caller of `node`."""
        return list_callers(self.comparison.trie, self.comparison.names, node)

    def list_vanished_paths(self, limit: int = MAX_LISTED_PATHS) -> list[PathDifference]:
        """List the paths that only A has, up to the first frame that B lacks, the heaviest first."""
        return self._list_unshared_paths(self.a, self.b, limit)

    def list_new_paths(self, limit: int = MAX_LISTED_PATHS) -> list[PathDifference]:
        """List the paths that only B has, up to the first frame that A lacks, the heaviest first."""
        return self._list_unshared_paths(self.b, self.a, limit)

    def _node_numbers(self, ids: I64) -> dict[str, NodeNumbers]:
        judgement = self.judgement
        verdicts = judgement.verdicts
        return {
            "a": self.a[ids].tolist(),
            "b": self.b[ids].tolist(),
            "delta": [round(d, 9) for d in judgement.delta[ids].tolist()],
            "z": round_numbers(judgement.z[ids], 3),
            "p": round_numbers(np.where(np.isnan(judgement.z[ids]), np.nan, judgement.p[ids]), 6),
            "noise": round_numbers(judgement.noise[ids], 9),
            "verdict": [verdicts[node] for node in ids.tolist()],
        }

    def _pruned_numbers(self, a: I64, b: I64) -> dict[str, NodeNumbers]:
        of_a, of_b = self.exposures
        delta = b / max(of_b, 1e-9) - a / max(of_a, 1e-9)
        nothing: list[int | float | bool | str | None] = [None] * len(a)
        return {
            "a": a.tolist(),
            "b": b.tolist(),
            "delta": [round(d, 9) for d in delta.tolist()],
            "z": nothing,
            "p": nothing,
            "noise": nothing,
            "verdict": nothing,
        }

    def _list_unshared_paths(self, here: I64, there: I64, limit: int) -> list[PathDifference]:
        trie, names = self.comparison.trie, self.comparison.names
        alone = (here > 0) & (there == 0)
        alone[1:] &= there[trie.parent[1:]] > 0
        nodes = np.flatnonzero(alone)
        nodes = nodes[np.argsort(-here[nodes], kind="stable")[:limit]]
        changed = self.judgement.changed
        return [
            PathDifference([names[f] for f in trie.path(n)], n, int(here[n]), bool(changed[n]))
            for n in nodes.tolist()
        ]


def find_exposures(
    comparison: ComparisonTrie, normalization: Normalization, work: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the divisors of the weights of A and B: total weight, weight without idle CPUs, seconds, or work."""
    if normalization == "work" and work is not None:
        return work
    if normalization == "wall":
        return comparison.side_a.seconds, comparison.side_b.seconds
    own_a, own_b = comparison.weigh(normalization)
    return float(own_a.sum()), float(own_b.sum())


def round_numbers(values: Values, digits: int) -> list[float | None]:
    """Return rounded numbers, None for NaN."""
    return [None if isnan(value) else round(value, digits) for value in values.tolist()]
