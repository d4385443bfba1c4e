"""Views of a profile: every figure equals counting sample by sample, and nothing is lost by drawing."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from culprit.domain.profiles.facets import compute_facets, compute_heat_matrix
from culprit.domain.profiles.inverted import render_inverted_tree
from culprit.domain.profiles.patterns import SearchPatternError, match_names
from culprit.domain.profiles.search import list_top_functions, search_frames
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import folded, perf_script
from collectors.tests.recorded_profiles import captured, source

STACK = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)
ROWS = st.lists(st.tuples(STACK, st.integers(1, 500)), min_size=1, max_size=40)


def profile_of(rows) -> StackProfile:
    return StackProfile(
        folded.parse_folded(source("".join(f"{';'.join(s)} {n}\n" for s, n in rows).encode()))
    )


@pytest.fixture(scope="module")
def profile():
    return StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt"))))


def conserved(rendered) -> dict:
    """The parsed tree, after checking that every node is the sum of itself and its children."""
    root = json.loads(rendered.json())
    todo, ids = [root], []
    while todo:
        node = todo.pop()
        ids.append(node["id"])
        if node["kind"] == "pruned":
            assert node["children"] == [] and node["value"] == node["self"] > 0 and node["id"] < 0
        else:
            assert node["value"] == node["self"] + sum(c["value"] for c in node["children"])
        todo += node["children"]
    assert len(ids) == len(set(ids)) == len(rendered.id)
    return root


@settings(max_examples=80, deadline=None)
@given(ROWS, st.integers(1, 400), st.sampled_from([0.0, 0.5, 1.0, 20.0]))
def test_pruning_conserves_weight(rows, width, min_px):
    view = profile_of(rows).view()
    total = sum(n for _, n in rows)
    tree = view.render_tree(width, min_px=min_px)
    root = conserved(tree)
    assert root["value"] == total == view.weight == view.samples
    for value, kind, level in zip(tree.value, tree.kind, tree.level, strict=True):
        assert value * width >= min_px * total or kind == "pruned" or level == 0
    back = render_inverted_tree(view, width, min_px=min_px)
    assert conserved(back)["value"] == total
    if min_px == 0:
        assert tree.pruned == back.pruned == 0


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_subtrees_are_parts_of_the_whole(rows):
    view = profile_of(rows).view()
    for tree in (
        lambda r: view.render_tree(root=r, min_px=0),
        lambda r: render_inverted_tree(view, root=r, min_px=0),
    ):
        whole = conserved(tree(0))
        todo = [whole]
        while todo:
            node = todo.pop()
            again = conserved(tree(node["id"]))
            assert (again["name"], again["value"], again["self"]) == (
                node["name"],
                node["value"],
                node["self"],
            )
            shape = Counter((c["name"], c["value"]) for c in again["children"])
            assert shape == Counter((c["name"], c["value"]) for c in node["children"])
            todo += node["children"]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_the_inverted_tree_is_the_tree_of_inverted_stacks(rows):
    def flat(node, path=()):
        path = (*path, node["name"])
        result = Counter({path: node["self"]} if node["self"] else {})
        for child in node["children"]:
            result += flat(child, path)
        return result

    back = flat(conserved(render_inverted_tree(profile_of(rows).view(), min_px=0)))
    expected = Counter()
    for stack, n in rows:
        expected[("all", *reversed(stack))] += n
    assert back == expected


@settings(max_examples=80, deadline=None)
@given(ROWS, st.sampled_from(["a", "b", "A", "z", "d"]))
def test_search_and_table_count_each_stack_once(rows, query):
    view = profile_of(rows).view()
    frames = search_frames(view, query)
    assert frames.weight == sum(n for s, n in rows if query.lower() in s)
    assert frames.share == frames.weight / view.weight
    for row in list_top_functions(view):
        assert row.total == sum(n for s, n in rows if row.frame in s)
        assert row.own == sum(n for s, n in rows if s[-1] == row.frame)
    assert sum(row.own for row in list_top_functions(view)) == view.weight


def test_filters_agree_with_masks(profile):
    t = profile.table
    comms = np.array(t.comms.all())[t.comm]
    start, stop = int(t.t_ns[100]), int(t.t_ns[900])
    inside = (t.t_ns >= start) & (t.t_ns < stop)
    cases = [
        (SampleFilter(from_ns=start, to_ns=stop), inside),
        (SampleFilter(cpu=(1,)), t.cpu == 1),
        (SampleFilter(cpu=(0, 1), from_ns=start), (t.t_ns >= start)),
        (SampleFilter(thread=("io worker",)), comms == "io worker"),
        (SampleFilter(tid=(int(t.tid[5]),), to_ns=stop), (t.tid == t.tid[5]) & (t.t_ns < stop)),
        (SampleFilter(pid=(int(t.pid[5]),)), t.pid == t.pid[5]),
        (SampleFilter(comm=("no such",)), np.zeros(len(t), bool)),
        (SampleFilter(from_ns=stop, to_ns=start), np.zeros(len(t), bool)),
    ]
    for chosen, mask in cases:
        view = profile.view(chosen)
        assert view.weight == int(mask.sum()), chosen
        expected = np.bincount(t.stack[mask], minlength=len(t.trie))
        assert (view.own == expected).all()
        assert conserved(view.render_tree())["value"] == view.weight
        conserved(render_inverted_tree(view))


def test_processes_are_named_by_their_main_thread(profile):
    facets = compute_facets(profile.view())
    assert sum(w for _, w in facets.cpus) == 1209 == sum(w for *_, w in facets.processes)
    assert sum(w for *_, w in facets.threads) == 1209
    weights = [w for *_, w in facets.threads]
    assert weights == sorted(weights, reverse=True)
    server = {p for _, p, name, _ in facets.threads if name in ("io worker", "[odd] :1", "a b 12 [001]")}
    assert len(server) == 1
    named = {pid: name for pid, name, _ in facets.processes}
    assert profile.view(SampleFilter(comm=(named[server.pop()],))).weight == 64 + 74 + 88


def test_heat_holds_every_sample(profile):
    view = profile.view()
    for bins, rows in ((0, 50), (10, 5), (1, 1), (300, 2)):
        heat_matrix = compute_heat_matrix(view, bins, rows)
        assert len(heat_matrix.rows) == rows and sum(map(sum, heat_matrix.rows)) == 1209
        assert heat_matrix.bin_ns % rows == 0 and (not bins or len(heat_matrix.rows[0]) <= bins)
    with pytest.raises(ValueError, match="bins"):
        compute_heat_matrix(view, 10**6, 50)


def test_render_tree_renders_deep_stacks_in_steps():
    profile = profile_of([([f"f{i}" for i in range(10_000)], 10), (["f0", "other"], 3)])
    view, root, seen = profile.view(), 0, 0
    while True:
        tree = view.render_tree(root=root)
        conserved_flat(tree)
        seen = max(seen, root)
        deepest = max(i for i, k in zip(tree.id, tree.kind, strict=True) if k != "pruned")
        if deepest == root or not any(k == "pruned" for k in tree.kind):
            break
        root = deepest
    assert seen > 9000
    assert len(render_inverted_tree(view).id) > 100
    assert search_frames(view, "f9999").weight == 10


def conserved_flat(rendered):
    assert max(rendered.level) <= 402
    json.loads(rendered.json())


def test_idle_can_be_left_out():
    text = b"".join(
        b"swapper 0/0 [000] %d.000000001: c: \n\tffffffff81000000 %s ([kernel.kallsyms])\n"
        b"\tffffffff81000001 do_idle ([kernel.kallsyms])\n\n" % (i, name)
        for i, name in enumerate([b"pv_native_safe_halt", b"__do_softirq", b"default_idle"])
    )
    profile = StackProfile(perf_script.parse_perf_script(source(text)))
    assert profile.view().weight == 3 and profile.view(SampleFilter(hide_idle=True)).weight == 1


def test_match_names_rejects_unsafe_patterns():
    names = ["a" * 4000 + "!", "vfs_read", "ksys_write"]
    assert match_names(names, "^(vfs|ksys)_", regex=True).tolist() == [False, True, True]
    assert not match_names(names, "(a+)+$", regex=True).any()
    for bad in ("(", "a(?=b)", r"(a)\1", "x" * 201, ""):
        with pytest.raises(SearchPatternError):
            match_names(names, bad, regex=True)
    assert match_names(names, "VFS").tolist() == [False, True, False]


def test_wrong_nodes_are_refused(profile):
    view = profile.view()
    for node in (-1, len(profile.table.trie)):
        with pytest.raises(IndexError):
            view.render_tree(root=node)
    for node in (5, 1 << 32 | 10**8, 10**6 << 32 | 3):
        with pytest.raises(IndexError):
            render_inverted_tree(view, root=node)


def test_weights_in_nanoseconds_stay_whole():
    table = folded.parse_folded(source(b"a;b 9007199254740991\na;c 9007199254740990\na;b 3\n"), unit="ns")
    view = StackProfile(table).view()
    assert view.weight == 9007199254740991 + 9007199254740990 + 3
    assert view.samples == 3
