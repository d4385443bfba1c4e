"""Differences: zero against itself, the other sign the other way round, nothing lost, nothing overstated."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from culprit.domain.profiles.changes.drawing import ComparisonDrawing
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
from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.trie import Strings
from collectors.tests.recorded_profiles import captured, source


def by_path(comparison_trie: ComparisonTrie) -> dict[tuple[str, ...], int]:
    return {
        tuple(comparison_trie.names[f] for f in comparison_trie.trie.path(n)): n
        for n in range(len(comparison_trie.trie))
    }


WAYS = [("share", None), ("cpu", None), ("work", (3.0, 3.0))]


@settings(max_examples=80, deadline=None)
@given(ROWS, ROWS)
def test_both_sides_are_counted_and_the_sign_turns(left, right):
    a, b = profile_of(left).view(), profile_of(right).view()
    there, back = compare_views(a, b), compare_views(b, a)
    for rows, values in ((left, ComparisonDrawing(there).a), (right, ComparisonDrawing(there).b)):
        expected: Counter[tuple[str, ...]] = Counter()
        for stack, n in rows:
            for i in range(len(stack) + 1):
                expected[tuple(stack[:i])] += n
        assert {p: int(values[n]) for p, n in by_path(there).items() if values[n]} == dict(expected)
    places = by_path(back)
    for normalize, work in WAYS:
        d, e = there.judge(normalize, work), back.judge(normalize, work)
        for p, n in by_path(there).items():
            assert d.delta[n] == pytest.approx(-e.delta[places[p]], abs=1e-12)
            assert np.isnan(d.z[n]) == np.isnan(e.z[places[p]])
            # The root of a deviance that is 0 but for rounding: 1e-14 becomes 1e-7.
            assert np.isnan(d.z[n]) or d.z[n] == pytest.approx(-e.z[places[p]], abs=1e-5)
            assert d.p[n] == pytest.approx(e.p[places[p]], abs=1e-5)
    drawing, reverse = ComparisonDrawing(there), ComparisonDrawing(back)
    for width_of, total in (("a", int(drawing.a[0])), ("b", int(drawing.b[0]))):
        root = conserved(drawing.render_tree(300, width_of=width_of))
        assert root["value"] == total
        assert (root["a"], root["b"]) == (int(drawing.a[0]), int(drawing.b[0]))
    assert {tuple(c.path): c.weight for c in drawing.list_vanished_paths()} == {
        tuple(c.path): c.weight for c in reverse.list_new_paths()
    }
    swapped = ComparisonDrawing(there.swap())
    assert swapped.list_new_paths() == drawing.list_vanished_paths()
    for change in drawing.list_vanished_paths():
        n = by_path(there)[tuple(change.path)]
        assert change.node == n and drawing.a[n] == change.weight
        assert drawing.b[n] == 0 and drawing.b[there.trie.parent[n]] > 0
        assert drawing.render_tree(root=n, width_of="a").value[0] == change.weight


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_nothing_differs_from_itself(rows):
    view = profile_of(rows).view()
    same = compare_views(view, view)
    for normalize, work in WAYS:
        drawing = ComparisonDrawing(same, normalize, work)
        tree = drawing.render_tree(min_px=0)
        assert not any(tree.more["delta"]) and "changed" not in tree.more["verdict"]
        assert drawing.list_vanished_paths() == [] and drawing.list_new_paths() == []


def test_a_and_b_add_up_in_the_drawing():
    a = profile_of([(["m", "x"], 90), (["m", "y"], 10), (["m", "gone", "deep"], 7)]).view()
    b = profile_of([(["m", "x"], 50), (["m", "y"], 50), (["m", "fresh"], 1)]).view()
    result = ComparisonDrawing(compare_views(a, b))
    tree = result.render_tree(10)
    kids = {n: i for i, n in enumerate(tree.name)}
    assert tree.more["delta"][kids["x"]] < 0 < tree.more["delta"][kids["y"]]
    assert [c.path for c in result.list_vanished_paths()] == [["m", "gone"]]
    assert [c.path for c in result.list_new_paths()] == [["m", "fresh"]]
    pruned = kids["pruned"]
    assert tree.value[pruned] == 1 and tree.more["a"][pruned] == 7 and tree.more["b"][pruned] == 1
    assert tree.more["verdict"][pruned] is None


def test_several_of_a_side_are_added_up_and_builds_compared(tmp_path):
    before = [
        profile_of([(["m", "f.isra.0", "x"], 30), (["m", "g"], 10)]).view(),
        profile_of([(["m", "f"], 20), (["m", "f.constprop.1", "x"], 10)]).view(),
    ]
    after = [profile_of([(["m", "f.isra.1", "x"], 20), (["m", "h"], 5)]).view()]
    plain, result = compare_pooled_views(before, after), compare_pooled_views(before, after, by_base=True)
    assert ("m", "f.isra.0") in by_path(plain) and not plain.merged
    places = by_path(result)
    drawing = ComparisonDrawing(result)
    assert (drawing.a[places["m", "f"]], drawing.b[places["m", "f"]]) == (60, 20)
    assert (drawing.a[places["m", "f", "x"]], drawing.own_a[places["m", "f"]]) == (40, 20)
    assert (drawing.a[0], result.side_a.samples, drawing.b[0]) == (70, 70, 25)
    assert dict(result.merged) == {"f": ("f", "f.constprop.1", "f.isra.0", "f.isra.1")}
    result.save(tmp_path / "d")
    loaded = ComparisonTrie.load(tmp_path / "d")
    assert loaded.merged == result.merged
    assert ComparisonDrawing(loaded).render_tree().json() == drawing.render_tree().json()
    conserved(drawing.render_tree())


def test_a_file_keeps_no_more_names_than_its_header_has_room_for(tmp_path):
    long = "n" * 4000
    rows = [([f"{long}{at}.isra.0"], 1) for at in range(200)]
    result = compare_pooled_views([profile_of(rows).view()], [profile_of(rows).view()], by_base=True)
    result.save(tmp_path / "d")
    merged = ComparisonTrie.load(tmp_path / "d").merged
    assert len(result.merged) == 200 and 0 < len(merged) < 200
    assert sum(len(base) + sum(map(len, names)) for base, names in merged.items()) <= MAX_MERGED_CHARS


def test_modules_and_addresses_do_not_count():
    def make_view(module):
        text = f"a 1/1 [000] 1.000000001: c: \n\t 7f f ({module})\n\t 80 main ({module})\n\n".encode()
        return StackProfile(perf_script.parse_perf_script(source(text))).view()

    result = compare_views(make_view("/old/bin"), make_view("/new/bin"))
    assert len(result.trie) == 4 and not result.judge().delta.any()


def test_two_ranges_of_a_capture_and_the_file(tmp_path):
    profile = StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt"))))
    middle = int(profile.table.t_ns[600])
    result = compare_views(
        profile.view(SampleFilter(to_ns=middle)), profile.view(SampleFilter(from_ns=middle))
    )
    drawing = ComparisonDrawing(result)
    assert drawing.a[0] + drawing.b[0] == 1209
    conserved(drawing.render_tree())
    result.save(tmp_path / "d")
    loaded = ComparisonTrie.load(tmp_path / "d")
    assert (
        loaded.side_a.seconds == pytest.approx(result.side_a.seconds) and loaded.side_a.variance is not None
    )
    for normalize in loaded.normalizations[:-1]:
        again, first = (ComparisonDrawing(item, normalize) for item in (loaded, result))
        assert again.list_new_paths() == first.list_new_paths()
        assert np.allclose(again.judgement.p, first.judgement.p, atol=1e-4)
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
    drawing = ComparisonDrawing(result)
    assert len(result.trie) == 10_001 and [len(c.path) for c in drawing.list_new_paths()] == [10_000]
    drawing.render_tree()


def test_a_file_of_before_slices_is_read(tmp_path):
    """Comparisons that were stored without times, samples or variances keep their weights and their test."""
    view = profile_of([(["m", "x"], 300), (["m", "y"], 700)]).view()
    other = profile_of([(["m", "x"], 500), (["m", "y"], 500)]).view()
    result = compare_views(view, other)
    words = Strings.of(result.names)
    arrays = {name: getattr(result.trie, name) for name in ("parent", "frame", "end", "depth")}
    arrays |= {
        "own_a": result.side_a.own,
        "own_b": result.side_b.own,
        "blob": words.blob,
        "offsets": words.offsets,
    }
    meta = {"kinds": result.kinds, "samples_a": 1000, "samples_b": 1000, "merged": {}}
    column_file.write_columns(tmp_path / "d", "diff", 1, meta, arrays)
    loaded = ComparisonTrie.load(tmp_path / "d")
    assert loaded.normalizations == ("share", "cpu", "work")
    assert loaded.judge().verdicts == result.judge().verdicts
    assert loaded.judge().changed[by_path(loaded)["m", "x"]]


def test_addresses_of_two_builds_are_compared_by_module(tmp_path):
    before = profile_of(
        [(["m", "libz.so.1+0x1a40"], 30), (["m", "libz.so.1+0x2b0"], 10), (["m", "price.cold"], 5)]
    )
    after = profile_of(
        [(["m", "libz.so.1+0x1a90"], 25), (["m", "app+0x10"], 5), (["m", "std::pair<int, 0x10>"], 5)]
    )
    whole = compare_pooled_views([before.view()], [after.view()])
    assert ("m", "libz.so.1+0x1a40") in by_path(whole) and not whole.modules
    result = compare_pooled_views([before.view()], [after.view()], by_base=True)
    drawing, places = ComparisonDrawing(result), by_path(result)
    assert (drawing.a[places["m", "libz.so.1+0x…"]], drawing.b[places["m", "libz.so.1+0x…"]]) == (40, 25)
    assert ("m", "std::pair<int, 0x10>") in places and ("m", "price") in places
    assert result.modules == {"libz.so.1+0x…": 3, "app+0x…": 1} and dict(result.merged) == {
        "price": ("price.cold",)
    }
    result.save(tmp_path / "d")
    assert ComparisonTrie.load(tmp_path / "d").modules == result.modules
