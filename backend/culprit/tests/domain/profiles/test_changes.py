"""What is marked as changed: next to nothing when nothing changed, and the function that did, with its sign."""

from __future__ import annotations

import numpy as np
import pytest
from culprit.domain.profiles.changes.drawing import ComparisonDrawing
from culprit.domain.profiles.changes.functions import FunctionDifference, list_function_changes
from culprit.domain.profiles.changes.judgement import MIN_EXPECTED_SAMPLES
from culprit.domain.profiles.comparison import compare_pooled_views, compare_views
from culprit.domain.profiles.stacks import ProfileView, SampleFilter, StackProfile
from culprit.tests.support.generated_profiles import Load, build_profile, record

from collectors.parse.perf import perf_script
from collectors.tests.recorded_profiles import captured, source

WAYS = ("share", "cpu", "wall", "work")
REQUESTS = 84_000.0
LOADS = [
    Load(),
    Load(burst_s=0.5, strength=1.0),
    Load(burst_s=2.0, strength=1.2),
    Load(burst_s=5.0, strength=0.7),
    Load(stacks=400, burst_s=2.0, strength=0.7),
    Load(seconds=20.0, burst_s=1.0, strength=1.0),
]

pytestmark = pytest.mark.long(60)


def draw(
    a: ProfileView, b: ProfileView, way: str = "share", work: tuple[float, float] | None = None
) -> ComparisonDrawing:
    if way == "work" and work is None:
        work = (REQUESTS, REQUESTS)
    return ComparisonDrawing(compare_views(a, b), way, work)


def marked_width(drawing: ComparisonDrawing) -> float:
    """The share of the drawing that is colored: of the widths of all frames but the root."""
    nodes = len(drawing.comparison.trie)
    return float((drawing.b * drawing.judgement.changed[:nodes])[1:].sum() / drawing.b[1:].sum())


def find_function(drawing: ComparisonDrawing, name: str) -> FunctionDifference:
    return next(row for row in list_function_changes(drawing, 10_000) if row.frame == name)


def halves(profile: StackProfile) -> tuple[ProfileView, ProfileView]:
    t_ns = profile.table.t_ns
    middle = (int(t_ns[0]) + int(t_ns[-1])) // 2
    return profile.view(SampleFilter(to_ns=middle)), profile.view(SampleFilter(from_ns=middle))


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_two_recordings_of_the_same_load_are_gray(load: Load) -> None:
    seeds = 40
    widths = {way: [] for way in WAYS}
    for seed in range(seeds):
        a, b = (record(load, 1000 + 2 * seed + side).view() for side in (0, 1))
        for way in WAYS:
            widths[way].append(marked_width(draw(a, b, way)))
    for way, of_seeds in widths.items():
        assert np.mean(of_seeds) <= 0.05, way
        assert sum(width > 0.05 for width in of_seeds) <= seeds // 20, way


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_two_halves_of_a_recording_are_gray(load: Load) -> None:
    longer = Load(
        **{**{name: getattr(load, name) for name in Load.__dataclass_fields__}, "seconds": load.seconds * 2}
    )
    widths = [marked_width(draw(*halves(record(longer, seed)))) for seed in range(30)]
    assert np.mean(widths) <= 0.05 and sum(width > 0.05 for width in widths) <= 3


def test_independent_samples_without_bursts_are_rarely_marked_at_all() -> None:
    """Without bursts the promise is exact: anything is marked in at most 5 % of comparisons."""
    load = Load(seconds=30.0)
    marked = 0
    for seed in range(100):
        a, b = (record(load, 5000 + 2 * seed + side).view() for side in (0, 1))
        marked += bool(draw(a, b).judgement.changed.any())
    assert marked <= 10  # 5 expected at most; 11 or more of 100 have a probability below 1.2 %


def test_many_unchanged_functions_are_judged_together() -> None:
    """Of hundreds of tests, many pass at 5 % each by chance. Corrected for all, at most 5 % of comparisons have one."""
    load = Load(stacks=400)
    by_chance, marked, seeds = [], 0, 30
    for seed in range(seeds):
        a, b = (record(load, 3000 + 2 * seed + side).view() for side in (0, 1))
        judgement = draw(a, b).judgement
        assert judgement.tests > 50
        by_chance.append(int((np.abs(judgement.z[~np.isnan(judgement.z)]) > 1.96).sum()))
        marked += bool(judgement.changed.any())
    assert np.mean(by_chance) >= 2 and sum(count > 0 for count in by_chance) > 0.6 * seeds
    assert marked <= 4  # 1.5 expected at most; 5 or more of 30 have a probability below 1.6 %


def test_bursts_among_steady_functions_are_no_change() -> None:
    """Others are steady, so that they must not lend their small variance to the one that is not."""
    marked = 0
    for seed in range(40):
        sides = []
        for side in (0, 1):
            rng = np.random.default_rng(9000 + 2 * seed + side)
            steady = np.sort(rng.random(8000) * 60e9).astype(np.int64)
            bursts = np.concatenate([rng.random(rng.poisson(150)) * 2e9 + at for at in rng.random(6) * 58e9])
            times = np.concatenate([steady, bursts.astype(np.int64)])
            stack = np.concatenate([rng.integers(0, 40, len(steady)), np.full(len(bursts), 40)])
            sides.append(
                build_profile([["serve", f"f{i}"] for i in range(40)] + [["collect"]], times, stack).view()
            )
        drawing = draw(*sides, "wall")
        marked += find_function(drawing, "collect").own.verdict == "changed"
    assert marked <= 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("burst_s", [0.0, 0.5])
def test_ten_percent_more_of_a_function_is_marked_with_its_sign(way: str, burst_s: float) -> None:
    load = Load(seconds=600.0, burst_s=burst_s, strength=0.2 if burst_s else 0.0)
    stack = int(np.argsort(-load.shares())[1])
    name, hits, wrong = f"leaf{stack}", 0, 0
    for seed in range(10):
        a, b = record(load, 7000 + 2 * seed).view(), record(load, 7001 + 2 * seed, {stack: 1.1}).view()
        for left, right, sign in ((a, b, 1), (b, a, -1)):
            row = find_function(draw(left, right, way), name)
            hits += row.own.verdict == "changed" and row.own.delta * sign > 0
            wrong += row.own.verdict == "changed" and row.own.delta * sign < 0
    assert hits >= 16 and wrong == 0


@pytest.mark.parametrize("way", ["share", "wall"])
def test_marks_of_a_real_change_are_of_that_function_and_its_callers(way: str) -> None:
    """Of shares, others shrink too; of rates, only what grew is marked."""
    load = Load(seconds=600.0)
    stack = int(np.argsort(-load.shares())[0])
    for seed in range(5):
        a, b = record(load, 100 + 2 * seed).view(), record(load, 101 + 2 * seed, {stack: 1.2}).view()
        rows = [
            row for row in list_function_changes(draw(a, b, way), 10_000) if row.total.verdict == "changed"
        ]
        grew = {row.frame for row in rows if row.total.delta > 0}
        assert f"leaf{stack}" in grew and grew <= {*load.paths()[stack], "serve"}
        if way == "wall":
            assert len(rows) == len(grew)


def test_few_samples_are_not_tested_and_the_verdict_states_it() -> None:
    paths = [["m", "x"], ["m"], ["m", "rare"]]
    rng = np.random.default_rng(1)

    def side(counts: tuple[int, int, int]) -> ProfileView:
        stack = np.repeat([0, 1, 2], counts)
        return build_profile(paths, (rng.random(len(stack)) * 1e10).astype(np.int64), stack).view()

    drawing = draw(side((300, 700, 3)), side((520, 480, int(MIN_EXPECTED_SAMPLES))))
    tree = drawing.render_tree(min_px=0)
    at = {name: i for i, name in enumerate(tree.name)}
    assert tree.more["verdict"][at["x"]] == "changed" and tree.more["p"][at["x"]] < 0.05
    assert abs(tree.more["delta"][at["x"]]) > tree.more["noise"][at["x"]] > 0
    assert tree.more["verdict"][at["rare"]] == "few" and tree.more["noise"][at["rare"]] is None


def test_without_times_a_larger_variance_is_assumed() -> None:
    """A change that times prove to be steady is no proof where samples might have come in bursts."""
    load = Load(seconds=240.0)
    stack = int(np.argsort(-load.shares())[1])
    timed, plain = 0, 0
    for seed in range(10):
        for has_time in (True, False):
            a = record(load, 300 + 2 * seed, has_time=has_time).view()
            b = record(load, 301 + 2 * seed, {stack: 1.15}, has_time=has_time).view()
            comparison = compare_views(a, b)
            row = find_function(ComparisonDrawing(comparison), f"leaf{stack}")
            timed += has_time and row.own.verdict == "changed"
            plain += not has_time and row.own.verdict == "changed"
            assert ("wall" in comparison.normalizations) == has_time
    assert timed >= 7 and plain < timed


def test_units_of_work_turn_a_longer_recording_into_the_same_cost() -> None:
    load, longer = Load(seconds=120.0), Load(seconds=240.0)
    a, b = record(load, 11).view(), record(longer, 12).view()
    same = draw(a, b, "work", (1000.0, 2000.0))
    assert marked_width(same) == 0 and abs(same.judgement.delta[0]) < same.judgement.noise[0]
    twice = draw(a, b, "work", (1000.0, 1000.0))
    assert twice.judgement.delta[0] == pytest.approx(
        23.7, rel=0.05
    )  # 198 samples/s over 120 s more, per request
    assert marked_width(twice) > 0.9
    with pytest.raises(ValueError, match="positive"):
        draw(a, b, "work", (0.0, 1.0))


def test_idle_cpus_have_no_cpu_seconds() -> None:
    def side(idle: int, seed: int) -> ProfileView:
        rng = np.random.default_rng(seed)
        text = b"".join(
            b"%s 1/1 [000] %.6f: c: \n\t 1f %s ([kernel.kallsyms])\n\n" % (comm, at, name)
            for at, comm, name in zip(
                np.sort(rng.random(4000 + idle)) * 20,
                *zip(
                    *([(b"a", b"f"), (b"a", b"g")] * 2000 + [(b"swapper", b"pv_native_safe_halt")] * idle),
                    strict=True,
                ),
                strict=True,
            )
        )
        return StackProfile(perf_script.parse_perf_script(source(text))).view()

    a, b = side(2000, 1), side(8000, 2)
    by_name = {way: find_function(draw(a, b, way), "f").own for way in ("share", "cpu")}
    assert by_name["share"].delta == pytest.approx(2000 / 12_000 - 2000 / 6000, abs=0.01)
    assert by_name["cpu"].delta == pytest.approx(0, abs=0.01)
    assert draw(a, b, "cpu").a[0] == 4000


def test_weights_in_nanoseconds_vary_by_their_size() -> None:
    """One long wait weighs much and is one sample: a hundred times its weight are not a hundred proofs."""
    marked = 0
    for seed in range(40):
        sides = []
        for side in (0, 1):
            rng = np.random.default_rng(40_000 + 2 * seed + side)
            stack = rng.integers(0, 20, 3000)
            weight = (rng.pareto(1.6, 3000) * 1e6 + 1e4).astype(np.int64)
            t_ns = (rng.random(3000) * 3e10).astype(np.int64)
            sides.append(
                build_profile([["wait", f"f{i}"] for i in range(20)], t_ns, stack, weight=weight).view()
            )
        drawing = draw(*sides)
        assert drawing.comparison.unit == "ns" and "cpu" not in drawing.comparison.normalizations
        marked += marked_width(drawing) > 0.05
    assert marked <= 2


def test_recordings_of_a_side_are_added_up() -> None:
    load = Load(burst_s=0.5, strength=0.5)
    stack = int(np.argsort(-load.shares())[0])
    before = [record(load, seed).view() for seed in range(6)]
    after = [record(load, seed, {stack: 1.3}).view() for seed in range(10, 16)]
    same = [record(load, seed).view() for seed in range(20, 26)]
    changed = ComparisonDrawing(compare_pooled_views(before, after), "wall")
    row = find_function(changed, f"leaf{stack}")
    assert row.own.verdict == "changed" and row.own.delta > 0
    assert changed.comparison.side_a.seconds == pytest.approx(360, abs=2)
    assert marked_width(ComparisonDrawing(compare_pooled_views(before, same), "wall")) == 0


@pytest.fixture(scope="module")
def mill() -> dict[str, StackProfile]:
    names = ("first", "again", "slower")
    return {
        name: StackProfile(perf_script.parse_perf_script(source(captured(f"mill_{name}.txt"))))
        for name in names
    }


@pytest.mark.parametrize("way", ["share", "cpu", "wall"])
@pytest.mark.parametrize("name", ["first", "again", "slower"])
def test_halves_of_a_real_recording_are_gray(mill, name: str, way: str) -> None:
    assert marked_width(draw(*halves(mill[name]), way)) <= 0.05


@pytest.mark.parametrize("way", WAYS)
def test_two_real_recordings_of_the_same_load_are_gray(mill, way: str) -> None:
    first, again = mill["first"].view(), mill["again"].view()
    assert marked_width(draw(first, again, way)) <= 0.05
    assert marked_width(draw(again, first, way)) <= 0.05


@pytest.mark.parametrize("name", ["first", "again"])
def test_a_function_that_takes_ten_percent_more_is_marked_in_real_recordings(mill, name: str) -> None:
    """Its share grows by 2 of 65 points, with what other programs took from the CPUs in that time."""
    before, after = mill[name].view(), mill["slower"].view()
    for left, right, sign in ((before, after, 1), (after, before, -1)):
        drawing = draw(left, right)
        row = find_function(drawing, "checksum")
        assert row.own.verdict == row.total.verdict == "changed"
        assert 0.015 < row.own.delta * sign < 0.03
        others = [
            r for r in list_function_changes(drawing) if r.own.verdict == "changed" and r.own.delta * sign > 0
        ]
        assert [r.frame for r in others] == ["checksum"]
    row = find_function(draw(before, after, "work"), "checksum")
    assert 0 < row.own.delta / (row.own.a / REQUESTS) < 0.13, "per request it takes about 10 % more"
