"""Build the sandwich view of a function: its callers and its callees as trees over all of its calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from culprit.domain.profiles.exploration.transforms import FrameTransform, find_calls, transform_profile
from culprit.domain.profiles.inverted import render_inverted_tree
from culprit.domain.profiles.stacks import KINDS, ProfileView, SampleFilter
from culprit.domain.profiles.tree import RenderedTree


@dataclass(frozen=True, slots=True)
class Sandwich:
    """A function with the trees of its callers and callees.

    `total` is the weight of stacks that contain the function, `own` of stacks that end in it. Both trees have the
    function as root and the weight `total`.
    """

    function: str
    module: str
    kind: str
    own: int
    total: int
    callers: RenderedTree
    callees: RenderedTree


def build_sandwich(view: ProfileView, chosen: SampleFilter, name: str, width: int = 1200) -> Sandwich:
    """Return the callers and callees of a function; `chosen` is the filter of `view`.

    Raises LookupError if the profile has no such function.
    """
    profile, trie = view.profile, view.profile.table.trie
    calls = find_calls(profile, name)
    if not len(calls):
        raise LookupError(name)
    ends = np.zeros(len(trie), np.int64)
    ends[calls] = view.total[calls]
    caller_view = replace(view, own=ends, total=trie.inclusive(ends))
    heaviest = int(calls[np.argmax(view.total[calls])])
    callers = render_inverted_tree(caller_view, width, root=1 << 32 | heaviest)
    focused = transform_profile(profile, FrameTransform(focus=name)).view(chosen)
    # Functions with the same name in several files are several children of the root; then the root is kept.
    is_single = int(focused.profile.table.trie.end[1]) == len(focused.profile.table.trie)
    callees = focused.render_tree(width, root=1 if is_single else 0)
    frame = int(trie.frame[heaviest])
    own = view.own[np.isin(trie.frame, np.unique(trie.frame[calls]))].sum()
    return Sandwich(
        name,
        profile.modules[frame],
        KINDS[int(profile.table.frames.kind[frame])],
        int(own),
        focused.weight,
        callers,
        callees,
    )
