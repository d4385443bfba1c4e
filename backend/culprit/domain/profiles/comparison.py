"""The difference of two views, trie to trie: A is the baseline (before, good), B is compared (after, bad).

Two nodes are the same where the names on the way from the root are the same; modules, addresses and kinds do
not count. delta = B - A; what is drawn is as wide as B. The two sides may be two runs, two ranges of one, or several
runs each, which are added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.trie import I64, StackTrie, Strings
from culprit.domain.profiles.stacks import KINDS, ProfileView, compute_min_weight, list_callers
from culprit.domain.profiles.symbol_names import group_by_base_name, strip_build_marks
from culprit.domain.profiles.tree import MAX_DEPTH, MAX_NODES, RenderedTree, TreePathStep
from culprit.domain.profiles.trie_merge import TrieSide, merge_tries

Normalization = Literal["share", "absolute"]
F64 = npt.NDArray[np.float64]

VERSION = 1
MAX_LISTED_PATHS = 200
MAX_MERGED_CHARS = 100_000
"""Characters of names taken together that are kept with a comparison: a header has no room for more."""

MIN_EXPECTED_SAMPLES = 5.0
"""Fewest samples that either side must be expected to have in a node for the normal approximation to hold."""

SIGNIFICANT_Z = 3.2905
"""|z| from which a node counts as changed: two-sided p < 0.001, as a drawing asks hundreds of questions at
once.
"""


@dataclass(frozen=True, slots=True)
class PathDifference:
    """A path that only one side has: names from the outside in, and the inclusive weight on that side."""

    path: list[str]
    weight: int


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonTrie:
    """Both sides on one trie. `a`, `b` inclusive weights [nodes], `own_a`, `own_b` own ones; `names` frame id
    → name.

    `samples_a`, `samples_b` are counts of samples, for the test of significance. `merged`: base name → the names that
    became it, where names were drawn without the marks of a build.
    """

    trie: StackTrie
    names: list[str]
    kinds: list[str]
    a: I64
    b: I64
    own_a: I64
    own_b: I64
    samples_a: int
    samples_b: int
    merged: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def save(self, path: Path) -> int:
        """Write it to a file that `load` maps. Returns the size in bytes."""
        trie, words = self.trie, Strings.of(self.names)
        arrays: dict[str, column_file.Array] = {
            "parent": trie.parent,
            "frame": trie.frame,
            "end": trie.end,
            "depth": trie.depth,
        }
        arrays |= {"own_a": self.own_a, "own_b": self.own_b, "blob": words.blob, "offsets": words.offsets}
        meta: dict[str, Any] = {"kinds": self.kinds, "samples_a": self.samples_a, "samples_b": self.samples_b}
        meta["merged"] = _limit_merged_names(self.merged)
        return column_file.write_columns(path, "diff", VERSION, meta, arrays)

    @classmethod
    def load(cls, path: Path) -> ComparisonTrie:
        """Read a file that `save` wrote. Raises DamagedFile."""
        file = column_file.read_columns(path, "diff", VERSION)
        try:
            a, meta = file.arrays, file.meta
            trie = StackTrie(a["parent"], a["frame"], a["end"], a["depth"])
            names = Strings(a["blob"], a["offsets"]).all()
            own_a, own_b = a["own_a"], a["own_b"]
            samples = int(meta["samples_a"]), int(meta["samples_b"])
            totals = trie.inclusive(own_a), trie.inclusive(own_b)
            together = {str(base): tuple(map(str, of)) for base, of in meta.get("merged", {}).items()}
            return cls(trie, names, list(meta["kinds"]), *totals, own_a, own_b, *samples, together)
        except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
            raise DamagedFileError(f"missing or misshapen: {error}") from error

    @property
    def total_a(self) -> int:
        """The weight of the baseline."""
        return int(self.a[0])

    @property
    def total_b(self) -> int:
        """The weight of what is compared."""
        return int(self.b[0])

    def delta(self, normalize: Normalization = "share") -> F64:
        """[nodes]: B - A. `share`: difference of the shares of each side's own total, in -1 … 1.

        `absolute`: difference of weights, as a share of the larger total.
        """
        if normalize == "share":
            return self.b / max(self.total_b, 1) - self.a / max(self.total_a, 1)
        return (self.b - self.a) / max(self.total_a, self.total_b, 1)

    def z(self) -> F64:
        """[nodes]: two-proportion z of the node's share on both sides, pooled; NaN if there are too
        few samples.

        z = (pB - pA) / sqrt(p (1 - p) (1/nA + 1/nB)), p = (xA + xB) / (nA + nB), with x in samples: weights
        are scaled by samples per weight. Samples next to each other in time are not independent, so z is
        optimistic.
        """
        n_a, n_b = self.samples_a, self.samples_b
        if not n_a or not n_b:
            return np.full(len(self.trie), np.nan)
        x_a, x_b = self.a * (n_a / max(self.total_a, 1)), self.b * (n_b / max(self.total_b, 1))
        pooled = (x_a + x_b) / (n_a + n_b)
        spread = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
        z = np.divide(x_b / n_b - x_a / n_a, spread, out=np.zeros(len(self.trie)), where=spread > 0)
        z[pooled * min(n_a, n_b) < MIN_EXPECTED_SAMPLES] = np.nan
        return z

    def render_tree(
        self, width: int = 1200, root: int = 0, normalize: Normalization = "share", min_px: float = 0.5
    ) -> RenderedTree:
        """The subtree of `root` as wide as B, each node with `a`, `b`, `delta`, `z` and `significant` (null:
        too few).

        Nodes too narrow are pruned as in `View.tree`; a pruned child carries what A and B have in it.
        """
        trie = self.trie
        if not 0 <= root < len(trie):
            raise IndexError(root)
        part = slice(root, int(trie.end[root]))
        least = compute_min_weight(int(self.b[root]), width, min_px)
        seen = (self.b[part] >= least) & (trie.depth[part] <= trie.depth[root] + MAX_DEPTH)
        seen[0] = True
        if np.count_nonzero(seen) > MAX_NODES:
            seen &= self.b[part] > np.partition(self.b[part][seen], -MAX_NODES)[-MAX_NODES]
            seen[0] = True
        ids = np.flatnonzero(seen) + root
        parent = np.searchsorted(ids, trie.parent[ids[1:]])
        rest_a, rest_b = self.a[ids] - self.own_a[ids], self.b[ids] - self.own_b[ids]
        np.subtract.at(rest_a, parent, self.a[ids[1:]])
        np.subtract.at(rest_b, parent, self.b[ids[1:]])
        frame = trie.frame[ids].tolist()
        rendered_tree = RenderedTree(
            ids.tolist(),
            (trie.depth[ids] - trie.depth[root]).tolist(),
            [self.names[f] for f in frame],
            [""] * len(ids),
            [self.kinds[f] for f in frame],
            self.b[ids].tolist(),
            self.own_b[ids].tolist(),
            self._node_numbers(ids, normalize),
        )
        return rendered_tree.add_pruned(rest_b.tolist(), self._pruned_numbers(rest_a, rest_b, normalize))

    def list_path(self, node: int) -> list[TreePathStep]:
        """From the root down to the caller of `node`."""
        return list_callers(self.trie, self.names, node)

    def _node_numbers(self, ids: I64, normalize: Normalization) -> dict[str, list[int | float | bool | None]]:
        z = self.z()[ids].tolist()
        return {
            "a": self.a[ids].tolist(),
            "b": self.b[ids].tolist(),
            "delta": [round(d, 9) for d in self.delta(normalize)[ids].tolist()],
            "z": [None if isnan(v) else round(v, 3) for v in z],
            "significant": [None if isnan(v) else abs(v) >= SIGNIFICANT_Z for v in z],
        }

    def _pruned_numbers(
        self, a: I64, b: I64, normalize: Normalization
    ) -> dict[str, list[int | float | bool | None]]:
        if normalize == "share":
            delta = b / max(self.total_b, 1) - a / max(self.total_a, 1)
        else:
            delta = (b - a) / max(self.total_a, self.total_b, 1)
        nothing: list[int | float | bool | None] = [None] * len(a)
        return {
            "a": a.tolist(),
            "b": b.tolist(),
            "delta": [round(d, 9) for d in delta.tolist()],
            "z": nothing,
            "significant": nothing,
        }

    def list_vanished_paths(self, limit: int = MAX_LISTED_PATHS) -> list[PathDifference]:
        """Paths that A has and B has not, at the frame where they part, heaviest first."""
        return self._list_unshared_paths(self.a, self.b, limit)

    def new(self, limit: int = MAX_LISTED_PATHS) -> list[PathDifference]:
        """Paths that B has and A has not, at the frame where they part, heaviest first."""
        return self._list_unshared_paths(self.b, self.a, limit)

    def _list_unshared_paths(self, here: I64, there: I64, limit: int) -> list[PathDifference]:
        alone = (here > 0) & (there == 0)
        alone[1:] &= there[self.trie.parent[1:]] > 0
        nodes = np.flatnonzero(alone)
        nodes = nodes[np.argsort(-here[nodes], kind="stable")[:limit]]
        return [
            PathDifference([self.names[f] for f in self.trie.path(n)], int(here[n])) for n in nodes.tolist()
        ]


def _limit_merged_names(merged: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    stored: dict[str, list[str]] = {}
    left = MAX_MERGED_CHARS
    for base, names in merged.items():
        left -= len(base) + sum(map(len, names))
        if left < 0:
            break
        stored[base] = list(names)
    return stored


def compare_views(a: ProfileView, b: ProfileView) -> ComparisonTrie:
    """Lay two views over each other."""
    return compare_pooled_views([a], [b])


def compare_pooled_views(
    before: Sequence[ProfileView], after: Sequence[ProfileView], *, by_base: bool = False
) -> ComparisonTrie:
    """Lay several views of each side over each other, each side added up; there must be one of either at least.

    `by_base`: functions are the same where their names are without the marks of a build. Work is one pass over each
    level of all tries.
    """
    shared = _NameIndex(by_base=by_base)
    sides = [TrieSide(view.profile.table.trie, shared.intern_frames(view)) for view in (*before, *after)]
    trie, into = merge_tries(sides)
    own_a, own_b = np.zeros(len(trie), np.int64), np.zeros(len(trie), np.int64)
    for n, view in enumerate((*before, *after)):
        np.add.at(own_a if n < len(before) else own_b, into[n], view.own)
    return ComparisonTrie(
        trie,
        list(shared.words),
        shared.kinds,
        trie.inclusive(own_a),
        trie.inclusive(own_b),
        own_a,
        own_b,
        sum(view.samples for view in before),
        sum(view.samples for view in after),
        shared.merged_names(),
    )


class _NameIndex:
    """The names of all sides, each once: `words` name → id, `kinds` of each id what it is."""

    def __init__(self, *, by_base: bool) -> None:
        self.words: dict[str, int] = {}
        self.kinds: list[str] = []
        self._by_base = by_base
        self._known: dict[str, int] = {}

    def intern_frames(self, view: ProfileView) -> I64:
        """[frames of the view]: id of the frame's name."""
        table = view.profile.table
        out = np.zeros(len(table.frames), np.int64)
        for frame, (name, kind) in enumerate(
            zip(view.profile.names, table.frames.kind.tolist(), strict=True)
        ):
            if name not in self._known:
                displayed_name = strip_build_marks(name) if self._by_base else name
                if displayed_name not in self.words:
                    self.words[displayed_name] = len(self.words)
                    self.kinds.append(KINDS[kind])
                self._known[name] = self.words[displayed_name]
            out[frame] = self._known[name]
        return out

    def merged_names(self) -> Mapping[str, Sequence[str]]:
        """Base name → the names that became it."""
        return group_by_base_name(self._known) if self._by_base else {}
