"""Differences: zero against itself, the other sign the other way round, nothing lost, nothing overstated."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from culprit.core.diff import MERGED_CHARS, Diff, diff, pooled
from culprit.core.stacks import Filter, Profile
from culprit.tests.core.test_stacks import ROWS, conserved, profile_of
from hypothesis import given, settings

from collectors.columns import DamagedFile
from collectors.parse import folded, perf_script
from collectors.tests.profiles import captured, source


def by_path(found: Diff) -> dict[tuple[str, ...], int]:
    return {tuple(found.names[f] for f in found.trie.path(n)): n for n in range(len(found.trie))}


@settings(max_examples=80, deadline=None)
@given(ROWS, ROWS)
def test_both_sides_are_counted_and_the_sign_turns(left, right):
    a, b = profile_of(left).view(), profile_of(right).view()
    there, back = diff(a, b), diff(b, a)
    for rows, values in ((left, there.a), (right, there.b)):
        expected: Counter[tuple[str, ...]] = Counter()
        for stack, n in rows:
            for i in range(len(stack) + 1):
                expected[tuple(stack[:i])] += n
        assert {p: int(values[n]) for p, n in by_path(there).items() if values[n]} == dict(expected)
    places = by_path(back)
    for normalise in ("share", "absolute"):
        d, e = there.delta(normalise), back.delta(normalise)
        assert all(d[n] == pytest.approx(-e[places[p]], abs=1e-12) for p, n in by_path(there).items())
    z, y = there.z(), back.z()
    for p, n in by_path(there).items():
        assert np.isnan(z[n]) == np.isnan(y[places[p]])
        assert np.isnan(z[n]) or z[n] == pytest.approx(-y[places[p]], abs=1e-9)
    root = conserved(there.tree(300))
    assert root["value"] == root["b"] == there.total_b and root["a"] == there.total_a
    assert {tuple(c.path): c.weight for c in there.vanished()} == {
        tuple(c.path): c.weight for c in back.new()
    }
    for change in there.vanished():
        n = by_path(there)[tuple(change.path)]
        assert there.b[n] == 0 and there.a[n] == change.weight and there.b[there.trie.parent[n]] > 0


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_nothing_differs_from_itself(rows):
    view = profile_of(rows).view()
    same = diff(view, view)
    for normalise in ("share", "absolute"):
        assert not same.delta(normalise).any()
        drawn = same.tree(normalise=normalise, min_px=0)
        assert not any(drawn.more["delta"]) and not any(s for s in drawn.more["significant"])
    assert same.vanished() == [] and same.new() == []


def test_a_and_b_add_up_in_the_drawing():
    a = profile_of([(["m", "x"], 90), (["m", "y"], 10), (["m", "gone", "deep"], 7)]).view()
    b = profile_of([(["m", "x"], 50), (["m", "y"], 50), (["m", "fresh"], 1)]).view()
    found = diff(a, b)
    drawn = found.tree(10)
    kids = {n: i for i, n in enumerate(drawn.name)}
    assert drawn.more["delta"][kids["x"]] < 0 < drawn.more["delta"][kids["y"]]
    assert [c.path for c in found.vanished()] == [["m", "gone"]]
    assert [c.path for c in found.new()] == [["m", "fresh"]]
    pruned = kids["pruned"]
    assert drawn.value[pruned] == 1 and drawn.more["a"][pruned] == 7 and drawn.more["b"][pruned] == 1


def test_several_of_a_side_are_added_up_and_builds_compared(tmp_path):
    before = [
        profile_of([(["m", "f.isra.0", "x"], 30), (["m", "g"], 10)]).view(),
        profile_of([(["m", "f"], 20), (["m", "f.constprop.1", "x"], 10)]).view(),
    ]
    after = [profile_of([(["m", "f.isra.1", "x"], 20), (["m", "h"], 5)]).view()]
    plain, found = pooled(before, after), pooled(before, after, by_base=True)
    assert ("m", "f.isra.0") in by_path(plain) and not plain.merged
    places = by_path(found)
    assert (found.a[places["m", "f"]], found.b[places["m", "f"]]) == (60, 20)
    assert (found.a[places["m", "f", "x"]], found.own_a[places["m", "f"]]) == (40, 20)
    assert (found.total_a, found.samples_a, found.total_b) == (70, 70, 25)
    assert dict(found.merged) == {"f": ("f", "f.constprop.1", "f.isra.0", "f.isra.1")}
    found.save(tmp_path / "d")
    loaded = Diff.load(tmp_path / "d")
    assert loaded.merged == found.merged and loaded.tree().json() == found.tree().json()
    conserved(found.tree())


def test_a_file_keeps_no_more_names_than_its_header_has_room_for(tmp_path):
    long = "n" * 4000
    rows = [([f"{long}{at}.isra.0"], 1) for at in range(200)]
    found = pooled([profile_of(rows).view()], [profile_of(rows).view()], by_base=True)
    found.save(tmp_path / "d")
    kept = Diff.load(tmp_path / "d").merged
    assert len(found.merged) == 200 and 0 < len(kept) < 200
    assert sum(len(base) + sum(map(len, names)) for base, names in kept.items()) <= MERGED_CHARS


def test_significance_needs_samples():
    few = diff(
        profile_of([(["m", "x"], 3), (["m"], 3)]).view(), profile_of([(["m", "x"], 5), (["m"], 1)]).view()
    )
    node = by_path(few)["m", "x"]
    assert np.isnan(few.z()[node])
    many = diff(
        profile_of([(["m", "x"], 300), (["m"], 700)]).view(),
        profile_of([(["m", "x"], 500), (["m"], 500)]).view(),
    )
    z = many.z()[by_path(many)["m", "x"]]
    assert z == pytest.approx(9.129, abs=0.001)  # 0.2 / sqrt(0.4 * 0.6 * (1/1000 + 1/1000))


def test_modules_and_addresses_do_not_count():
    def one(module):
        text = f"a 1/1 [000] 1.000000001: c: \n\t 7f f ({module})\n\t 80 main ({module})\n\n".encode()
        return Profile(perf_script.read(source(text))).view()

    found = diff(one("/old/bin"), one("/new/bin"))
    assert len(found.trie) == 4 and not found.delta().any()


def test_two_ranges_of_a_capture_and_the_file(tmp_path):
    profile = Profile(perf_script.read(source(captured("cpu.txt"))))
    middle = int(profile.table.t_ns[600])
    found = diff(profile.view(Filter(to_ns=middle)), profile.view(Filter(from_ns=middle)))
    assert found.total_a + found.total_b == 1209
    conserved(found.tree())
    found.save(tmp_path / "d")
    loaded = Diff.load(tmp_path / "d")
    assert loaded.tree().json() == found.tree().json() and loaded.new() == found.new()
    data = bytearray((tmp_path / "d").read_bytes())
    data[-3] ^= 1
    (tmp_path / "d").write_bytes(data)
    with pytest.raises(DamagedFile):
        Diff.load(tmp_path / "d")


def test_deep_stacks_do_not_recurse():
    deep = ";".join(f"f{i}" for i in range(9_999))
    a = Profile(folded.read(source(f"{deep} 5\n".encode()))).view()
    b = Profile(folded.read(source(f"{deep};x 7\n".encode()))).view()
    found = diff(a, b)
    assert len(found.trie) == 10_001 and [len(c.path) for c in found.new()] == [10_000]
    found.tree()
