"""Differences: zero against itself, the other sign the other way round, nothing lost, nothing overstated."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from culprit.domain.profiles.comparison import (
    MAX_MERGED_CHARS,
    ComparisonTrie,
    compare_pooled_views,
    compare_views,
)
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from culprit.tests.domain.test_stacks import ROWS, conserved, profile_of
from hypothesis import given, settings

from collectors.parse.perf import folded, perf_script
from collectors.profiles.column_file import DamagedFileError
from collectors.tests.recorded_profiles import captured, source


def by_path(comparison_trie: ComparisonTrie) -> dict[tuple[str, ...], int]:
    return {
        tuple(comparison_trie.names[f] for f in comparison_trie.trie.path(n)): n
        for n in range(len(comparison_trie.trie))
    }


@settings(max_examples=80, deadline=None)
@given(ROWS, ROWS)
def test_both_sides_are_counted_and_the_sign_turns(left, right):
    a, b = profile_of(left).view(), profile_of(right).view()
    there, back = compare_views(a, b), compare_views(b, a)
    for rows, values in ((left, there.a), (right, there.b)):
        expected: Counter[tuple[str, ...]] = Counter()
        for stack, n in rows:
            for i in range(len(stack) + 1):
                expected[tuple(stack[:i])] += n
        assert {p: int(values[n]) for p, n in by_path(there).items() if values[n]} == dict(expected)
    places = by_path(back)
    for normalize in ("share", "absolute"):
        d, e = there.delta(normalize), back.delta(normalize)
        assert all(d[n] == pytest.approx(-e[places[p]], abs=1e-12) for p, n in by_path(there).items())
    z, y = there.z(), back.z()
    for p, n in by_path(there).items():
        assert np.isnan(z[n]) == np.isnan(y[places[p]])
        assert np.isnan(z[n]) or z[n] == pytest.approx(-y[places[p]], abs=1e-9)
    root = conserved(there.render_tree(300))
    assert root["value"] == root["b"] == there.total_b and root["a"] == there.total_a
    assert {tuple(c.path): c.weight for c in there.list_vanished_paths()} == {
        tuple(c.path): c.weight for c in back.new()
    }
    for change in there.list_vanished_paths():
        n = by_path(there)[tuple(change.path)]
        assert there.b[n] == 0 and there.a[n] == change.weight and there.b[there.trie.parent[n]] > 0


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_nothing_differs_from_itself(rows):
    view = profile_of(rows).view()
    same = compare_views(view, view)
    for normalize in ("share", "absolute"):
        assert not same.delta(normalize).any()
        tree = same.render_tree(normalize=normalize, min_px=0)
        assert not any(tree.more["delta"]) and not any(s for s in tree.more["significant"])
    assert same.list_vanished_paths() == [] and same.new() == []


def test_a_and_b_add_up_in_the_drawing():
    a = profile_of([(["m", "x"], 90), (["m", "y"], 10), (["m", "gone", "deep"], 7)]).view()
    b = profile_of([(["m", "x"], 50), (["m", "y"], 50), (["m", "fresh"], 1)]).view()
    result = compare_views(a, b)
    tree = result.render_tree(10)
    kids = {n: i for i, n in enumerate(tree.name)}
    assert tree.more["delta"][kids["x"]] < 0 < tree.more["delta"][kids["y"]]
    assert [c.path for c in result.list_vanished_paths()] == [["m", "gone"]]
    assert [c.path for c in result.new()] == [["m", "fresh"]]
    pruned = kids["pruned"]
    assert tree.value[pruned] == 1 and tree.more["a"][pruned] == 7 and tree.more["b"][pruned] == 1


def test_several_of_a_side_are_added_up_and_builds_compared(tmp_path):
    before = [
        profile_of([(["m", "f.isra.0", "x"], 30), (["m", "g"], 10)]).view(),
        profile_of([(["m", "f"], 20), (["m", "f.constprop.1", "x"], 10)]).view(),
    ]
    after = [profile_of([(["m", "f.isra.1", "x"], 20), (["m", "h"], 5)]).view()]
    plain, result = compare_pooled_views(before, after), compare_pooled_views(before, after, by_base=True)
    assert ("m", "f.isra.0") in by_path(plain) and not plain.merged
    places = by_path(result)
    assert (result.a[places["m", "f"]], result.b[places["m", "f"]]) == (60, 20)
    assert (result.a[places["m", "f", "x"]], result.own_a[places["m", "f"]]) == (40, 20)
    assert (result.total_a, result.samples_a, result.total_b) == (70, 70, 25)
    assert dict(result.merged) == {"f": ("f", "f.constprop.1", "f.isra.0", "f.isra.1")}
    result.save(tmp_path / "d")
    loaded = ComparisonTrie.load(tmp_path / "d")
    assert loaded.merged == result.merged and loaded.render_tree().json() == result.render_tree().json()
    conserved(result.render_tree())


def test_a_file_keeps_no_more_names_than_its_header_has_room_for(tmp_path):
    long = "n" * 4000
    rows = [([f"{long}{at}.isra.0"], 1) for at in range(200)]
    result = compare_pooled_views([profile_of(rows).view()], [profile_of(rows).view()], by_base=True)
    result.save(tmp_path / "d")
    merged = ComparisonTrie.load(tmp_path / "d").merged
    assert len(result.merged) == 200 and 0 < len(merged) < 200
    assert sum(len(base) + sum(map(len, names)) for base, names in merged.items()) <= MAX_MERGED_CHARS


def test_significance_needs_samples():
    few = compare_views(
        profile_of([(["m", "x"], 3), (["m"], 3)]).view(), profile_of([(["m", "x"], 5), (["m"], 1)]).view()
    )
    node = by_path(few)["m", "x"]
    assert np.isnan(few.z()[node])
    many = compare_views(
        profile_of([(["m", "x"], 300), (["m"], 700)]).view(),
        profile_of([(["m", "x"], 500), (["m"], 500)]).view(),
    )
    z = many.z()[by_path(many)["m", "x"]]
    assert z == pytest.approx(9.129, abs=0.001)  # 0.2 / sqrt(0.4 * 0.6 * (1/1000 + 1/1000))


def test_modules_and_addresses_do_not_count():
    def make_view(module):
        text = f"a 1/1 [000] 1.000000001: c: \n\t 7f f ({module})\n\t 80 main ({module})\n\n".encode()
        return StackProfile(perf_script.parse_perf_script(source(text))).view()

    result = compare_views(make_view("/old/bin"), make_view("/new/bin"))
    assert len(result.trie) == 4 and not result.delta().any()


def test_two_ranges_of_a_capture_and_the_file(tmp_path):
    profile = StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt"))))
    middle = int(profile.table.t_ns[600])
    result = compare_views(
        profile.view(SampleFilter(to_ns=middle)), profile.view(SampleFilter(from_ns=middle))
    )
    assert result.total_a + result.total_b == 1209
    conserved(result.render_tree())
    result.save(tmp_path / "d")
    loaded = ComparisonTrie.load(tmp_path / "d")
    assert loaded.render_tree().json() == result.render_tree().json() and loaded.new() == result.new()
    data = bytearray((tmp_path / "d").read_bytes())
    data[-3] ^= 1
    (tmp_path / "d").write_bytes(data)
    with pytest.raises(DamagedFileError):
        ComparisonTrie.load(tmp_path / "d")


def test_deep_stacks_do_not_recurse():
    deep = ";".join(f"f{i}" for i in range(9_999))
    a = StackProfile(folded.parse_folded(source(f"{deep} 5\n".encode()))).view()
    b = StackProfile(folded.parse_folded(source(f"{deep};x 7\n".encode()))).view()
    result = compare_views(a, b)
    assert len(result.trie) == 10_001 and [len(c.path) for c in result.new()] == [10_000]
    result.render_tree()
