"""Transform the stacks of a profile: focus on or hide functions, merge recursion and frames without symbols.

A transform maps each node of a trie to a representative, a kept node on its own path. The kept nodes form the new
trie, and samples move to the representative of their stack. Trees, tables and searches are computed from the new
profile as from any other, so that all numbers of a page agree. Each step needs a few vector operations per level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from collectors.profiles.trie import I32, I64, FrameKind, Frames, StackTrie, Strings, build_trie
from culprit.domain.profiles.stacks import Mask, StackProfile, cover_subtrees

UNNAMED = "[no symbols]"
"""Suffix of the name of merged frames without a symbol, after the file name of their module."""


@dataclass(frozen=True, slots=True)
class FrameTransform:
    """A transform of stacks; names match exactly. The steps run in the order of the fields.

    `group_unnamed` merges all frames of a module that have no symbol. `hide` removes functions: their callees become
    callees of their callers. `focus` keeps the stacks through a function, with that function as the outermost frame.
    `fold` merges recursion: a repeated function is merged with its outermost call.
    """

    group_unnamed: bool = False
    hide: tuple[str, ...] = ()
    focus: str = ""
    fold: bool = False


def transform_profile(profile: StackProfile, transform: FrameTransform) -> StackProfile:
    """Return the transformed profile, or `profile` if nothing changes. Samples outside of `focus` are dropped."""
    if transform.group_unnamed:
        profile = _group_unnamed(profile)
    if transform.hide:
        profile = _hide_functions(profile, transform.hide)
    if transform.focus:
        profile = _focus_function(profile, transform.focus)
    if transform.fold:
        profile = _fold_recursion(profile)
    return profile


def _group_unnamed(profile: StackProfile) -> StackProfile:
    """Merge all frames of kind UNKNOWN of a module, and nodes of such frames that call each other."""
    frames = profile.table.frames
    unnamed = np.flatnonzero(frames.kind == FrameKind.UNKNOWN)
    if not len(unnamed):
        return profile
    modules, group = np.unique(frames.module[unnamed], return_inverse=True)
    words = frames.strings.all()
    known = len(words)
    words += [f"{words[m].rsplit('/', 1)[-1]} {UNNAMED}".strip() for m in modules.tolist()]
    first = np.zeros(len(modules), np.int64)
    first[group[::-1]] = unnamed[::-1]
    same = np.arange(len(frames))
    same[unnamed] = first[group]
    name = frames.name.copy()
    name[unnamed] = known + group
    new_frames = Frames(name.astype(np.int32), frames.module, frames.kind, frames.flags, Strings.of(words))
    trie = profile.table.trie
    frame = same[trie.frame].astype(np.int32)
    inner = np.zeros(len(trie), bool)
    inner[1:] = (frame[1:] == frame[trie.parent[1:]]) & (new_frames.kind[frame[1:]] == FrameKind.UNKNOWN)
    representative = _find_kept_ancestor(trie, ~inner)
    return _rebuild_profile(profile, replace(trie, frame=frame), new_frames, representative)


def _hide_functions(profile: StackProfile, names: Sequence[str]) -> StackProfile:
    """Remove the functions with these names."""
    trie = profile.table.trie
    hidden = _are_frames_called(profile, names)[trie.frame]
    if not hidden.any():
        return profile
    return _rebuild_profile(profile, trie, profile.table.frames, _find_kept_ancestor(trie, ~hidden))


def _focus_function(profile: StackProfile, name: str) -> StackProfile:
    """Keep the stacks through a function, from its outermost call."""
    trie = profile.table.trie
    inside = cover_subtrees(trie, find_calls(profile, name))
    representative = np.where(inside, np.arange(len(trie)), 0)
    return _rebuild_profile(
        profile, trie, profile.table.frames, representative, dropped=~inside[profile.table.stack]
    )


def _fold_recursion(profile: StackProfile) -> StackProfile:
    """Merge repeated calls of a function in a stack with its outermost call."""
    trie = profile.table.trie
    outermost = profile.outermost
    if bool(outermost.all()):
        return profile
    order = np.argsort(trie.frame, kind="stable")
    latest = np.maximum.accumulate(np.where(outermost[order], np.arange(len(trie)), 0))
    representative = np.empty(len(trie), np.int64)
    representative[order] = order[latest]
    return _rebuild_profile(profile, trie, profile.table.frames, representative)


def find_calls(profile: StackProfile, name: str) -> I64:
    """Return the outermost nodes of a function: those without an ancestor of the same function."""
    trie = profile.table.trie
    nodes = np.flatnonzero(_are_frames_called(profile, [name])[trie.frame])
    reach = np.maximum.accumulate(np.r_[np.int64(-1), trie.end[nodes[:-1]]]) if len(nodes) else nodes
    return np.asarray(nodes[reach <= nodes])


def _are_frames_called(profile: StackProfile, names: Sequence[str]) -> Mask:
    """Return whether each frame has one of these names, bool [frames]; false for the root."""
    chosen = frozenset(names)
    mask = np.fromiter((name in chosen for name in profile.names), bool, len(profile.names))
    mask[0] = False
    return mask


def _list_levels(trie: StackTrie) -> list[I64]:
    """Return the nodes of each level, the outermost first."""
    order = np.argsort(trie.depth, kind="stable")
    starts = np.searchsorted(trie.depth[order], np.arange(int(trie.depth.max()) + 2))
    return [order[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]


def _find_kept_ancestor(trie: StackTrie, kept: Mask) -> I64:
    """Return each node if it is kept, else its nearest kept ancestor, int64 [nodes]. The root is always kept."""
    nearest = np.zeros(len(trie), np.int64)
    for nodes in _list_levels(trie)[1:]:
        nearest[nodes] = np.where(kept[nodes], nodes, nearest[trie.parent[nodes]])
    return nearest


def _rebuild_profile(
    profile: StackProfile,
    trie: StackTrie,
    frames: Frames,
    representative: I64,
    dropped: Mask | None = None,
) -> StackProfile:
    """Return the profile with only the representative nodes. Kept siblings with the same frame are merged.

    The representative of a node is on its path, and is its own representative.
    """
    n = len(trie)
    above = np.full(n, -1, np.int64)
    above[1:] = representative[trie.parent[1:]]
    kept = representative == np.arange(n)
    depth = np.zeros(n, np.int32)
    for nodes in _list_levels(trie)[1:]:
        kept_nodes = nodes[kept[nodes]]
        depth[kept_nodes] = depth[above[kept_nodes]] + 1
    into = np.zeros(n, np.int64)
    parents, names, depths = [np.full(1, -1, np.int64)], [trie.frame[:1].astype(np.int64)], [depth[:1]]
    count = 1
    candidates = np.flatnonzero(kept)
    candidates = candidates[np.argsort(depth[candidates], kind="stable")]
    starts = np.searchsorted(depth[candidates], np.arange(1, int(depth.max()) + 2))
    for level, (start, stop) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True), 1):
        nodes = candidates[start:stop]
        keys, group = np.unique(into[above[nodes]] << 32 | trie.frame[nodes], return_inverse=True)
        into[nodes] = count + group
        parents.append(keys >> 32)
        names.append(keys & 0xFFFFFFFF)
        depths.append(np.full(len(keys), level, np.int32))
        count += len(keys)
    into = into[representative]
    new_trie, position = build_trie(_concatenate(parents), _concatenate(names), _concatenate(depths))
    stack = position[into][profile.table.stack].astype(np.int32)
    table = replace(profile.table, trie=new_trie, frames=frames, stack=stack)
    return StackProfile(table, source=profile, dropped=dropped)


def _concatenate(parts: Sequence[npt.NDArray[np.int64] | I32]) -> I32:
    return np.concatenate(parts).astype(np.int32)
