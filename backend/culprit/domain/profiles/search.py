"""Search frames in a profile view, and list its heaviest functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.profiles.trie import I32, I64, FrameKind
from culprit.domain.profiles import patterns
from culprit.domain.profiles.stacks import KINDS, ProfileView

match_names = patterns.match_names

MAX_MATCHED_NODES = 20_000
MAX_MATCHED_NAMES = 1000


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """The result of a search.

    Attributes:
        weight: weight of the matching samples; a sample with several matching frames counts once.
        share: `weight` as a share of the view, 0 to 1.
        nodes: the heaviest matching nodes, at most 20,000.
        frames: the matching names, at most 1,000.
    """

    weight: int
    share: float
    nodes: list[int]
    frames: list[str]


def search_frames(view: ProfileView, query: str, *, regex: bool = False) -> SearchMatch:
    """Return the matching frames and the weight of the stacks through them. Raises SearchPatternError."""
    trie = view.profile.table.trie
    hit = match_names(view.profile.names, query, regex=regex)
    hit[0] = False
    nodes = np.flatnonzero(hit[trie.frame] & (view.total > 0))
    weight = int(view.total[_select_outermost(nodes, trie.end[nodes])].sum())
    heaviest = nodes[np.argsort(-view.total[nodes], kind="stable")[:MAX_MATCHED_NODES]]
    words = sorted({view.profile.names[f] for f in np.unique(trie.frame[nodes]).tolist()})
    return SearchMatch(
        weight, weight / view.weight if view.weight else 0.0, heaviest.tolist(), words[:MAX_MATCHED_NAMES]
    )


def _select_outermost(nodes: I64, ends: I32) -> I64:
    """Return the nodes without an ancestor in `nodes`, which are in pre-order."""
    reach = np.maximum.accumulate(np.r_[np.int64(-1), ends[:-1]]) if len(nodes) else nodes
    return np.asarray(nodes[reach <= nodes])


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One function: `own` is the weight of stacks that end in it, `total` that of stacks that contain it."""

    frame: str
    module: str
    kind: str
    own: int
    total: int


def list_top_functions(view: ProfileView, limit: int = 500) -> list[FunctionRow]:
    """List the heaviest functions by own and by total weight, up to `limit` of each, sorted by own weight.

    Frames that are names of tasks are left out.
    """
    profile = view.profile
    trie, frames = profile.table.trie, profile.table.frames
    own = np.zeros(len(frames), np.int64)
    np.add.at(own, trie.frame, view.own)
    total = np.zeros(len(frames), np.int64)
    np.add.at(total, trie.frame[profile.outermost], view.total[profile.outermost])
    task = (frames.kind == FrameKind.COMM) | (frames.kind == FrameKind.ROOT)
    own[task] = total[task] = 0
    chosen = np.union1d(np.argsort(-own, kind="stable")[:limit], np.argsort(-total, kind="stable")[:limit])
    chosen = chosen[total[chosen] > 0]
    chosen = chosen[np.lexsort((-total[chosen], -own[chosen]))]
    return [
        FunctionRow(profile.names[f], profile.modules[f], KINDS[frames.kind[f]], int(own[f]), int(total[f]))
        for f in chosen.tolist()
    ]
