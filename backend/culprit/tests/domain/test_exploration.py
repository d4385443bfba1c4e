"""Changed stacks, sandwiches and paths: every figure equals counting stack by stack."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.profiles.exploration.node_paths import find_inverted_node, find_node
from culprit.domain.profiles.exploration.sandwich import build_sandwich
from culprit.domain.profiles.exploration.transforms import UNNAMED, FrameTransform, transform_profile
from culprit.domain.profiles.exploration.unnamed import REASONS, classify_unnamed, list_unnamed_modules
from culprit.domain.profiles.facets import compute_facets, compute_sample_tracks
from culprit.domain.profiles.inverted import render_inverted_tree
from culprit.domain.profiles.patterns import SearchPatternError
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import perf_script
from collectors.profiles.trie import FrameKind
from collectors.tests.recorded_profiles import captured, source

from .test_stacks import ROWS, conserved, profile_of

NAMES = st.sampled_from("abcde")
ALL = SampleFilter()


@pytest.fixture(scope="module")
def profile():
    return StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt"))))


def stacks_of(profile: StackProfile, chosen: SampleFilter = ALL) -> Counter:
    """Stack of names, outermost first → weight, without stacks of nothing."""
    view, trie = profile.view(chosen), profile.table.trie
    return Counter(
        {
            tuple(profile.names[f] for f in trie.path(int(node))): int(view.own[node])
            for node in np.flatnonzero(view.own)
        }
    )


def changed(rows, change) -> Counter:
    """The stacks of rows after `change`, which returns a stack or None where it is dropped."""
    out: Counter = Counter()
    for stack, weight in rows:
        after = change(tuple(stack))
        if after is not None:
            out[after] += weight
    return out


def folded(stack):
    """Each function once: a repeated one continues at its outermost call, by the original stack."""
    kept: dict[str, tuple] = {}
    path: tuple = ()
    for name in stack:
        path = kept.setdefault(name, (*path, name)) if name not in kept else kept[name]
    return path


@settings(max_examples=100, deadline=None)
@given(ROWS, st.sets(NAMES, max_size=3))
def test_hidden_functions_leave_their_weight_to_their_callers(rows, hidden):
    result = transform_profile(profile_of(rows), FrameTransform(hide=tuple(hidden)))
    assert stacks_of(result) == changed(rows, lambda stack: tuple(n for n in stack if n not in hidden))
    conserved(result.view().render_tree(min_px=0))


@settings(max_examples=100, deadline=None)
@given(ROWS, NAMES)
def test_a_focused_function_is_the_outermost_frame_of_what_runs_through_it(rows, name):
    result = transform_profile(profile_of(rows), FrameTransform(focus=name))
    expected = changed(rows, lambda stack: stack[stack.index(name) :] if name in stack else None)
    assert stacks_of(result) == expected
    assert result.view().weight == sum(expected.values())


@settings(max_examples=150, deadline=None)
@given(ROWS)
def test_folded_recursion_has_each_function_once(rows):
    result = transform_profile(profile_of(rows), FrameTransform(fold=True))
    assert stacks_of(result) == changed(rows, folded)
    assert bool(result.outermost.all())
    again = transform_profile(result, FrameTransform(fold=True))
    assert again is result


@settings(max_examples=100, deadline=None)
@given(ROWS, NAMES)
def test_a_sandwich_weighs_what_runs_through_the_function(rows, name):
    profile = profile_of(rows)
    present = [(stack, weight) for stack, weight in rows if name in stack]
    if not present:
        with pytest.raises(LookupError):
            build_sandwich(profile.view(), SampleFilter(), name)
        return
    sandwich = build_sandwich(profile.view(), SampleFilter(), name, 16_384)
    callers = json.loads(sandwich.callers.json())
    callees = json.loads(sandwich.callees.json())
    total = sum(weight for _, weight in present)
    assert sandwich.total == callers["value"] == callees["value"] == total
    assert sandwich.own == sum(weight for stack, weight in present if stack[-1] == name)
    assert callers["name"] == callees["name"] == name
    above: Counter = Counter()
    for stack, weight in present:
        at = list(stack).index(name)
        if at:
            above[stack[at - 1]] += weight
    direct = {child["name"]: child["value"] for child in callers["children"] if child["kind"] != "pruned"}
    assert all(above[caller] == weight for caller, weight in direct.items())


@settings(max_examples=80, deadline=None)
@given(ROWS)
def test_a_node_is_reached_by_the_names_on_its_path(rows):
    view = profile_of(rows).view()
    trie, names = view.profile.table.trie, view.profile.names
    for node in range(len(trie)):
        path = [names[f] for f in trie.path(node)]
        assert find_node(view, path) == node
        assert find_node(view, [*path, "not there"]) == node
    inverted = render_inverted_tree(view, min_px=0)
    path: list[str] = []
    for id_, level, name, value in zip(
        inverted.id, inverted.level, inverted.name, inverted.value, strict=True
    ):
        path = [*path[: level - 1], name] if level else []
        again = render_inverted_tree(view, min_px=0, root=find_inverted_node(view, path))
        assert (again.name[0], again.value[0]) == (name, value), id_


@settings(max_examples=80, deadline=None)
@given(ROWS, st.text("abcde", min_size=1, max_size=2))
def test_a_stack_filter_keeps_samples_with_a_matching_frame(rows, letters):
    profile = profile_of(rows)
    chosen = SampleFilter(stack=f"^[{letters}]$")
    expected = changed(rows, lambda stack: stack if set(stack) & set(letters) else None)
    assert stacks_of(profile, chosen) == expected
    # A filter looks at the stacks as they were recorded, not as they are displayed.
    hidden = transform_profile(profile, FrameTransform(hide=tuple(letters)))
    assert hidden.view(chosen).weight == sum(expected.values())


def test_an_expression_that_is_none_is_refused(profile):
    with pytest.raises(SearchPatternError):
        profile.view(SampleFilter(stack="("))


def test_modules_count_each_stack_once(profile):
    facets = compute_facets(profile.view())
    assert facets.modules and facets.modules == sorted(facets.modules, key=lambda item: -item[1])
    for module, weight in facets.modules[:5]:
        assert profile.view(SampleFilter(module=(module,))).weight == weight


@pytest.mark.parametrize("by", ["thread", "process", "cpu"])
def test_tracks_add_up_to_the_view(profile, by):
    view = profile.view()
    result = compute_sample_tracks(view, by, bins=37, limit=1000)
    assert result.total == len(result.tracks) > 0
    assert sum(track.weight for track in result.tracks) == view.weight
    assert all(sum(track.counts) == track.weight for track in result.tracks)
    first = result.tracks[0]
    chosen = {
        "thread": SampleFilter(tid=(first.tid,)),
        "process": SampleFilter(pid=(first.pid,)),
        "cpu": SampleFilter(cpu=(first.cpu,)),
    }[by]
    stop = result.t0_ns + 10 * result.bin_ns
    part = profile.view(SampleFilter(to_ns=stop, tid=chosen.tid, pid=chosen.pid, cpu=chosen.cpu))
    assert part.weight == sum(first.counts[:10])
    first = compute_sample_tracks(view, by, limit=1)
    assert len(first.tracks) == 1 and first.weight == result.weight == view.weight
    with pytest.raises(ValueError, match="bins"):
        compute_sample_tracks(view, by, bins=0)


def test_of_tracks_with_the_same_weight_the_busier_is_first(profile):
    table = profile.table
    rows = [int(row) for row in np.flatnonzero(table.tid == table.tid[0])[:5]]
    tid, weight = table.tid.copy(), np.zeros_like(table.weight)
    tid[rows] = [3, 1, 2, 2, 3]
    weight[rows] = [4, 8, 2, 6, 4]
    tied = StackProfile(replace(table, tid=tid, weight=weight))
    tracks = compute_sample_tracks(tied.view(SampleFilter(tid=(1, 2, 3))), "thread").tracks
    assert [(track.tid, track.weight) for track in tracks] == [(2, 8), (3, 8), (1, 8)]


def test_unnamed_frames_of_a_module_are_merged(profile):
    grouped = transform_profile(profile, FrameTransform(group_unnamed=True))
    before, after = list_unnamed_modules(profile.view()), list_unnamed_modules(grouped.view())
    assert [(row.module, row.weight) for row in before] == [(row.module, row.weight) for row in after]
    kinds = grouped.table.frames.kind[grouped.table.trie.frame]
    used = {grouped.names[f] for f in grouped.table.trie.frame[kinds == FrameKind.UNKNOWN].tolist()}
    assert used and all(name.endswith(UNNAMED) for name in used)
    assert grouped.view().weight == profile.view().weight
    conserved(grouped.view().render_tree(min_px=0))


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("", "no_mapping"),
        ("[unknown]", "no_mapping"),
        ("[kernel.kallsyms]", "kernel"),
        ("/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz", "kernel"),
        ("[nf_tables]", "kernel"),
        ("//anon", "jit"),
        ("[heap]", "jit"),
        ("/memfd:doublemapper", "jit"),
        ("/tmp/perf-812.map", "jit"),
        ("/usr/bin/feed (deleted)", "deleted"),
        ("[vdso]", "vdso"),
        ("[guest.kernel.kallsyms]", "guest"),
        ("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "stripped"),
    ],
)
def test_the_module_shows_why_a_name_is_missing(module, reason):
    assert classify_unnamed(module) == reason
    assert reason in REASONS


@settings(max_examples=20, deadline=None)
@given(st.integers(200, 3000))
def test_stacks_of_any_depth_are_changed_without_recursion(depth):
    names = [f"f{i}" for i in range(depth)] + ["f0"] * 3
    profile = profile_of([(names, 7)])
    changed_profile = transform_profile(
        profile, FrameTransform(hide=("f1",), focus="f0", fold=True, group_unnamed=True)
    )
    assert changed_profile.view().weight == 7
    assert stacks_of(changed_profile) == {("f0",): 7}
