"""Compare two profile views on a common trie: A is the baseline (before, good), B is compared (after, bad).

Two nodes are equal if the names on their paths from the root are equal; modules, addresses and kinds do not count.
delta = B - A. The sides may be two runs, two time ranges of one run, or several runs each, which are summed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from collectors.contract import Values
from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.trie import I64, StackTrie, Strings
from culprit.domain.profiles.changes import slices
from culprit.domain.profiles.changes.judgement import (
    NORMALIZATIONS,
    Judgement,
    Normalization,
    SideWeights,
    judge_changes,
)
from culprit.domain.profiles.stacks import KINDS, Mask, ProfileView, find_outermost
from culprit.domain.profiles.symbol_names import find_module, group_by_base_name, strip_build_marks
from culprit.domain.profiles.trie_merge import TrieSide, merge_tries

Unit = Literal["samples", "ns"]

VERSION = 1
MAX_MERGED_CHARS = 100_000
"""Maximum total characters of the merged names in the header of a stored comparison."""

MIN_MEASURED_SAMPLES = 8
"""Items with fewer samples in total have no variance of their own: they are never tested."""


@dataclass(frozen=True, slots=True, eq=False)
class TrieWeights:
    """The weights of one side of a comparison.

    Attributes:
        own: int64 [nodes], weight of the stacks that end in a node.
        samples: number of samples.
        seconds: length of the recordings; 0 without times.
        own_samples, own_squares: [nodes], number of samples and sum of squared weights of the stacks that end in a
            node; None if every sample weighs 1.
        variance: float64 [3, items], from `changes.slices`; None without times.
        freedom: degrees of freedom of `variance`.
    """

    own: I64
    samples: int
    seconds: float = 0.0
    own_samples: I64 | None = None
    own_squares: Values | None = None
    variance: Values | None = None
    freedom: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonTrie:
    """Both sides of a comparison on a common trie.

    The statistical tests are on items: all nodes, then the own weight of each function, then the weight of each
    function anywhere on a stack, by frame ID.

    Attributes:
        names, kinds: name and kind by frame ID.
        merged: {base name: original names} of functions that are compared without build marks.
        modules: {`MODULE+0x…`: number of merged addresses}.
    """

    trie: StackTrie
    names: list[str]
    kinds: list[str]
    side_a: TrieWeights
    side_b: TrieWeights
    merged: Mapping[str, Sequence[str]] = field(default_factory=dict)
    modules: Mapping[str, int] = field(default_factory=dict)

    def save(self, path: Path) -> int:
        """Write the comparison to a file for `load`. Return its size in bytes."""
        trie, words = self.trie, Strings.of(self.names)
        arrays: dict[str, column_file.Array] = {
            "parent": trie.parent,
            "frame": trie.frame,
            "end": trie.end,
            "depth": trie.depth,
            "blob": words.blob,
            "offsets": words.offsets,
        }
        meta: dict[str, Any] = {"kinds": self.kinds, "merged": _limit_merged_names(self.merged)}
        meta["modules"] = dict(Counter(dict(self.modules)).most_common(MAX_LISTED_MODULES))
        for name, side in (("a", self.side_a), ("b", self.side_b)):
            meta |= {f"samples_{name}": side.samples, f"seconds_{name}": side.seconds}
            meta[f"freedom_{name}"] = side.freedom
            arrays[f"own_{name}"] = side.own
            if side.own_samples is not None and side.own_squares is not None:
                arrays[f"own_samples_{name}"] = side.own_samples
                arrays[f"own_squares_{name}"] = side.own_squares
            if side.variance is not None:
                arrays[f"variance_{name}"] = side.variance.astype(np.float32).ravel()
        return column_file.write_columns(path, "diff", VERSION, meta, arrays)

    @classmethod
    def load(cls, path: Path) -> ComparisonTrie:
        """Map a file that `save` wrote. Raises DamagedFileError."""
        file = column_file.read_columns(path, "diff", VERSION)
        try:
            a, meta = file.arrays, file.meta
            trie = StackTrie(a["parent"], a["frame"], a["end"], a["depth"])
            names = Strings(a["blob"], a["offsets"]).all()
            merged = {str(base): tuple(map(str, of)) for base, of in meta.get("merged", {}).items()}
            modules = {str(name): int(count) for name, count in meta.get("modules", {}).items()}
            sides = [_load_side(a, meta, name, len(trie) + 2 * len(names)) for name in ("a", "b")]
            if any(len(side.own) != len(trie) for side in sides):
                raise DamagedFileError("sides and stacks differ in length")
            return cls(trie, names, list(meta["kinds"]), sides[0], sides[1], merged, modules)
        except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
            raise DamagedFileError(f"missing or misshapen: {error}") from error

    def swap(self) -> ComparisonTrie:
        """Return the comparison with A and B exchanged."""
        return replace(self, side_a=self.side_b, side_b=self.side_a)

    def weigh(self, normalization: Normalization = "share") -> tuple[I64, I64]:
        """Return the own weights of both sides, int64 [nodes]; for `cpu` without idle CPUs."""
        idle = self.idle if normalization == "cpu" else np.zeros(len(self.trie), bool)
        return np.where(idle, 0, self.side_a.own), np.where(idle, 0, self.side_b.own)

    @property
    def idle(self) -> Mask:
        """Whether a stack that ends in the node is an idle CPU, bool [nodes]."""
        return mark_idle(self.trie, self.kinds)

    @property
    def unit(self) -> Unit:
        """The unit of the weights."""
        return "samples" if self.side_a.own_samples is None else "ns"

    @property
    def normalizations(self) -> tuple[Normalization, ...]:
        """The possible normalizations: `cpu` needs samples of CPUs, `wall` needs times on both sides."""
        is_timed = self.side_a.seconds > 0 and self.side_b.seconds > 0
        is_possible = {"share": True, "cpu": self.unit == "samples", "wall": is_timed, "work": True}
        return tuple(name for name in NORMALIZATIONS if is_possible[name])

    def judge(
        self, normalization: Normalization = "share", work: tuple[float, float] | None = None
    ) -> Judgement:
        """Return the significant changes, [items]. `work`: the units of work of A and B, for `normalization` work.

        Raises ValueError without positive units of work.
        """
        a, b = (self._build_weights(side, normalization) for side in (self.side_a, self.side_b))
        if normalization == "work":
            if work is None or min(work) <= 0:
                raise ValueError("units of work must be positive")
            a, b = replace(a, exposure=work[0]), replace(b, exposure=work[1])
        return judge_changes(a, b, self._mark_distinct(a, b), shares=normalization in ("share", "cpu"))

    def _build_weights(self, side: TrieWeights, normalization: Normalization) -> SideWeights:
        idle = self.idle if normalization == "cpu" else np.zeros(len(self.trie), bool)
        project = build_projection(self.trie, len(self.names))
        weight = project(np.where(idle, 0, side.own)).astype(float)
        total = float(weight[0])
        if side.own_samples is None or side.own_squares is None:
            samples, squares = weight, weight
        else:
            samples = project(np.where(idle, 0, side.own_samples)).astype(float)
            squares = project(np.where(idle, 0, side.own_squares)).astype(float)
        of = "wall" if normalization == "work" else normalization
        return SideWeights(
            weight,
            samples,
            squares,
            total if normalization in ("share", "cpu") else side.seconds,
            float(samples[0]),
            float(squares[0]),
            None if side.variance is None else side.variance[slices.EXPOSURES.index(of)],
            side.freedom,
        )

    def _mark_distinct(self, a: SideWeights, b: SideWeights) -> Mask:
        """Return whether an item is a hypothesis of its own, bool [items].

        A node with the same weights as its caller is not: a chain of calls is a single hypothesis.
        """
        nodes, distinct = len(self.trie), np.ones(len(a.weight), bool)
        parent = self.trie.parent[1:]
        distinct[1:nodes] = (a.weight[1:nodes] != a.weight[parent]) | (b.weight[1:nodes] != b.weight[parent])
        return distinct


MAX_LISTED_MODULES = 200


def _load_side(
    arrays: Mapping[str, column_file.Array], meta: Mapping[str, Any], name: str, items: int
) -> TrieWeights:
    variance = arrays.get(f"variance_{name}")
    return TrieWeights(
        arrays[f"own_{name}"],
        int(meta[f"samples_{name}"]),
        float(meta.get(f"seconds_{name}", 0)),
        arrays.get(f"own_samples_{name}"),
        arrays.get(f"own_squares_{name}"),
        None if variance is None else variance.reshape(len(slices.EXPOSURES), items).astype(float),
        float(meta.get(f"freedom_{name}", 0)),
    )


def _limit_merged_names(merged: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    stored: dict[str, list[str]] = {}
    left = MAX_MERGED_CHARS
    for base, names in merged.items():
        left -= len(base) + sum(map(len, names))
        if left < 0:
            break
        stored[base] = list(names)
    return stored


def mark_idle(trie: StackTrie, kinds: Sequence[str]) -> Mask:
    """Return whether a stack that ends in the node is an idle CPU, bool [nodes]."""
    return np.asarray(np.array([kind == "idle" for kind in kinds], bool)[trie.frame])


def build_projection(trie: StackTrie, frames: int) -> slices.Project:
    """Return a function that converts own weights [nodes] to the weights of the items of a comparison, [items]."""
    outer = np.flatnonzero(find_outermost(trie.frame.astype(np.int64), trie.end))

    def project(own: I64 | Values) -> Values:
        prefix_sum = np.zeros(len(trie) + 1, own.dtype)
        np.cumsum(own, out=prefix_sum[1:])
        inclusive = prefix_sum[trie.end] - prefix_sum[:-1]
        function_own = np.bincount(trie.frame, weights=own, minlength=frames)
        function_total = np.bincount(trie.frame[outer], weights=inclusive[outer], minlength=frames)
        return np.concatenate([inclusive, function_own, function_total])

    return project


def compare_views(a: ProfileView, b: ProfileView) -> ComparisonTrie:
    """Compare two views."""
    return compare_pooled_views([a], [b])


def compare_pooled_views(
    before: Sequence[ProfileView], after: Sequence[ProfileView], *, by_base: bool = False
) -> ComparisonTrie:
    """Compare the sums of the views of each side, at least one view per side.

    `by_base`: the sides are different builds. Functions are equal if their names without build marks are equal, and
    frames without a symbol if their modules are equal. The cost is one pass over each level of all tries, and one pass
    over the nodes for each time slice.
    """
    shared = _NameIndex(by_base=by_base)
    views = (*before, *after)
    tries = [TrieSide(view.profile.table.trie, shared.intern_frames(view)) for view in views]
    trie, into = merge_tries(tries)
    names = list(shared.words)
    counted = (
        _add_up(before, into[: len(before)], len(trie)),
        _add_up(after, into[len(before) :], len(trie)),
    )
    project = build_projection(trie, len(names))
    samples = np.sum(
        [project(side.own if side.own_samples is None else side.own_samples) for side in counted], 0
    )
    measured = np.flatnonzero(samples >= MIN_MEASURED_SAMPLES)
    idle = mark_idle(trie, shared.kinds)
    halves = ((before, into[: len(before)]), (after, into[len(before) :]))
    sides = [
        _add_variance(
            side,
            slices.measure_variance(of, nodes, idle, lambda own: project(own)[measured]),
            measured,
            len(samples),
        )
        for side, (of, nodes) in zip(counted, halves, strict=True)
    ]
    return ComparisonTrie(
        trie, names, shared.kinds, sides[0], sides[1], shared.merged_names(), dict(shared.modules)
    )


def _add_up(views: Sequence[ProfileView], into: Sequence[I64], nodes: int) -> TrieWeights:
    own, samples, squares = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes)
    for view, to in zip(views, into, strict=True):
        np.add.at(own, to, view.own)
        table = view.profile.table
        if table.unit == "ns":
            stack = to[table.stack[view.rows]]
            samples += np.bincount(stack, minlength=nodes)
            squares += np.bincount(stack, weights=table.weight[view.rows].astype(float) ** 2, minlength=nodes)
    timed = [slices.measure_seconds(view) for view in views]
    weighted = any(view.profile.table.unit == "ns" for view in views)
    return TrieWeights(
        own,
        sum(view.samples for view in views),
        sum(timed) if all(timed) else 0.0,
        samples if weighted else None,
        squares if weighted else None,
    )


def _add_variance(
    side: TrieWeights, spread: slices.SliceVariance | None, measured: I64, items: int
) -> TrieWeights:
    if spread is None:
        return side
    variance = np.zeros((len(slices.EXPOSURES), items))
    variance[:, measured] = spread.values
    return replace(side, variance=variance, freedom=spread.freedom)


class _NameIndex:
    """The distinct names of all sides: `words` maps names to IDs, `kinds` has the frame kind of each ID."""

    def __init__(self, *, by_base: bool) -> None:
        self.words: dict[str, int] = {}
        self.kinds: list[str] = []
        self.modules: Counter[str] = Counter()
        self._by_base = by_base
        self._known: dict[str, int] = {}

    def intern_frames(self, view: ProfileView) -> I64:
        """Return the name ID of each frame of the view, int64 [frames]. Add new names."""
        table = view.profile.table
        out = np.zeros(len(table.frames), np.int64)
        for frame, (name, kind) in enumerate(
            zip(view.profile.names, table.frames.kind.tolist(), strict=True)
        ):
            if name not in self._known:
                common_name = self._choose_name(name) if self._by_base else name
                if common_name not in self.words:
                    self.words[common_name] = len(self.words)
                    self.kinds.append(KINDS[kind])
                self._known[name] = self.words[common_name]
            out[frame] = self._known[name]
        return out

    def _choose_name(self, name: str) -> str:
        module = find_module(name)
        if module is None:
            return strip_build_marks(name)
        self.modules[module] += 1
        return module

    def merged_names(self) -> Mapping[str, Sequence[str]]:
        """Return {base name: original names} of the merged functions."""
        if not self._by_base:
            return {}
        return group_by_base_name(name for name in self._known if find_module(name) is None)
