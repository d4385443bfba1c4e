"""Finding frames in a view: search with the share it covers, and the table of the heaviest functions."""

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
    """What a search found: `weight` counts each sample once, however many of its frames match; `share` of the
    view.

    `nodes` are the heaviest matching nodes (at most 20,000), `frames` the matching names (at most 1,000).
    """

    weight: int
    share: float
    nodes: list[int]
    frames: list[str]


def search_frames(view: ProfileView, query: str, *, regex: bool = False) -> SearchMatch:
    """Frames that match, and how much of the view runs through them."""
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
    """Of nodes in pre-order, those below none of the others."""
    reach = np.maximum.accumulate(np.r_[np.int64(-1), ends[:-1]]) if len(nodes) else nodes
    return np.asarray(nodes[reach <= nodes])


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """One function: `own` weight where it is innermost, `total` where it is anywhere on the stack, once per
    stack.
    """

    frame: str
    module: str
    kind: str
    own: int
    total: int


def list_top_functions(view: ProfileView, limit: int = 500) -> list[FunctionRow]:
    """The heaviest functions by own and by total weight (up to `limit` of each), by own weight. Task names
    are not functions.
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
