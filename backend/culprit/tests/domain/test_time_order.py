"""The order of time: boxes equal a count sample by sample, and stay few and disjoint when they are narrow."""

from __future__ import annotations

import json
from itertools import groupby

import pytest
from culprit.domain.profiles.exploration.time_order import order_by_time
from culprit.domain.profiles.exploration.transforms import FrameTransform, transform_profile
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import perf_script
from collectors.tests.recorded_profiles import captured, source

from .test_stacks import profile_of

THREADS = (11, 12)
SAMPLES = st.lists(
    st.tuples(st.sampled_from(THREADS), st.lists(st.sampled_from("abc"), min_size=1, max_size=4)),
    min_size=1,
    max_size=60,
)


def recorded(samples) -> StackProfile:
    """A recording with one sample each millisecond: (tid, stack of names, outermost first)."""
    text = "".join(
        f"web 10/{tid} [00{tid % 2}] 100.{number:03d}000000: 1 cpu-clock:\n"
        + "".join(f"\t    1{ord(name):x} {name}+0x1 (/usr/bin/web)\n" for name in reversed(stack))
        + "\n"
        for number, (tid, stack) in enumerate(samples)
    )
    return StackProfile(perf_script.parse_perf_script(source(text.encode())))


def boxes_of(order):
    """(level, name, start, value, first ns, last ns) of each box below the task name, by level and start."""
    out, todo = [], [(json.loads(order.tree.json()), 0)]
    while todo:
        node, level = todo.pop()
        out.append((level, node["name"], node["start"], node["value"], node["first_ns"], node["last_ns"]))
        todo += [(child, level + 1) for child in node["children"]]
    return sorted(box for box in out if box[0] >= 2)


def count_boxes(samples, tid):
    """The same boxes, counted from the samples of a thread."""
    own = [(number, stack) for number, (thread, stack) in enumerate(samples) if thread == tid]
    out = []
    for depth in range(4):
        cells = [(tuple(stack[: depth + 1]) if len(stack) > depth else None, n) for n, stack in own]
        start = 0
        for prefix, group in groupby(cells, key=lambda cell: cell[0]):
            numbers = [number for _, number in group]
            if prefix is not None:
                times = [int(100e9) + number * 1_000_000 for number in (numbers[0], numbers[-1])]
                out.append((depth + 2, prefix[-1], start, len(numbers), *times))
            start += len(numbers)
    return sorted(out)


@settings(max_examples=150, deadline=None)
@given(SAMPLES)
def test_boxes_are_the_frames_of_consecutive_samples(samples):
    profile = recorded(samples)
    for tid in {tid for tid, _ in samples}:
        order = order_by_time(profile.view(SampleFilter(tid=(tid,))), "thread")
        assert (order.tid, order.pid, order.comm, order.tracks_total) == (tid, 10, "web", 1)
        assert order.samples == order.tree.value[0] == sum(thread == tid for thread, _ in samples)
        assert boxes_of(order) == count_boxes(samples, tid)


@settings(max_examples=60, deadline=None)
@given(SAMPLES, st.integers(1, 30))
def test_narrow_neighbors_share_a_box_and_boxes_never_overlap(samples, width):
    profile = recorded(samples)
    order = order_by_time(profile.view(), "thread", width)
    least = order.tree.value[0] / width / 2
    ends: dict[int, int] = {}
    open_boxes: list[tuple[int, int]] = []
    for level, start, value in zip(order.tree.level, order.tree.more["start"], order.tree.value, strict=True):
        del open_boxes[level:]
        assert value >= least and start >= ends.get(level, 0)
        if open_boxes:
            begin, end = open_boxes[-1]
            assert begin <= start and start + value <= end
        ends[level] = start + value
        open_boxes.append((start, start + value))
    by_level = [order.tree.level.count(level) for level in set(order.tree.level)]
    assert max(by_level) <= 2 * width + 1


def test_the_heaviest_thread_or_cpu_is_ordered():
    samples = [(11, "a"), (12, "b"), (12, "c"), (12, "c"), (11, "a")]
    profile = recorded(samples)
    thread = order_by_time(profile.view(), "thread")
    assert (thread.tid, thread.cpu, thread.tracks_total, thread.samples) == (12, -1, 2, 3)
    assert [box[1:4] for box in boxes_of(thread)] == [("b", 0, 1), ("c", 1, 2)]
    cpu = order_by_time(profile.view(SampleFilter(cpu=(1,))), "cpu")
    assert (cpu.cpu, cpu.tid, cpu.comm, cpu.tracks_total) == (1, -1, "", 1)
    hidden = transform_profile(profile, FrameTransform(hide=("b",)))
    assert [box[1:4] for box in boxes_of(order_by_time(hidden.view(), "thread"))] == [("c", 1, 2)]


def test_no_order_without_samples_or_times():
    assert order_by_time(profile_of([(("a",), 3)]).view(), "thread") is None
    assert order_by_time(recorded([(11, "a")]).view(SampleFilter(tid=(99,))), "thread") is None


@pytest.mark.parametrize("width", [100, 1200])
def test_a_recording_keeps_its_weight(width):
    profile = StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt"))))
    order = order_by_time(profile.view(), "cpu", width)
    assert order.tree.value[0] == profile.view(SampleFilter(cpu=(order.cpu,))).weight
    assert order.tree.pruned < order.tree.value[0] * max(order.tree.level)
