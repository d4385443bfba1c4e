"""Profiles of other tools: recorded files, and each part of the formats."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from collectors.parse.perf import folded, perf_script
from collectors.parse.profile_formats.registry import (
    READERS,
    detect_json_format,
    detect_profile_format,
)
from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import FrameKind
from collectors.tests.recorded_profiles import captured, source, stacks

RECORDED = {
    "go_cpu.pb": "pprof",
    "go_heap.pb": "pprof",
    "go_mutex.pb": "pprof",
    "go_goroutine.pb": "pprof",
    "node.cpuprofile": "cpuprofile",
    "pyspy.speedscope.json": "speedscope",
    "pyspy.trace.json": "chrome_trace",
    "chromium.trace.json": "chrome_trace",
    "gecko.json": "firefox",
    "firefox.json": "firefox",
}


def read(name: str) -> list[SampleTable]:
    return READERS[RECORDED[name]](source(captured(name)))


def under(table: SampleTable, function: str) -> int:
    """The weight of the stacks that hold a function."""
    return sum(weight for path, weight in stacks(table).items() if function in path)


def by_thread(table: SampleTable) -> Counter[str]:
    names = table.comms.all()
    weights: Counter[str] = Counter()
    for comm, weight in zip(table.comm.tolist(), table.weight.tolist(), strict=True):
        weights[names[comm]] += weight
    return weights


@pytest.mark.parametrize(("name", "kind"), RECORDED.items())
def test_a_recorded_file_is_detected(name, kind):
    assert detect_profile_format(captured(name)[: 64 << 10]) == kind


@pytest.mark.parametrize(
    "name", ["cpu.txt", "cpu_default.txt", "cpu_inferno.txt", "flat.txt", "pyspy.raw.txt", "cpu.data"]
)
def test_other_recordings_are_none_of_these(name):
    assert detect_profile_format(captured(name)[: 64 << 10]) is None


# Totals of `go tool pprof -raw` of the same files, added up.
GO_TOTALS = {
    "go_cpu.pb": [("cpu", "ns", 1_150_000_000), ("samples", "samples", 115)],
    "go_heap.pb": [
        ("alloc_objects", "count", 39_515),
        ("alloc_space", "bytes", 1_053_144_562),
        ("inuse_objects", "count", 115),
        ("inuse_space", "bytes", 4_096_663),
    ],
}


@pytest.mark.parametrize(("name", "totals"), GO_TOTALS.items())
def test_pprof_has_the_totals_of_go(name, totals):
    tables = read(name)
    assert sorted((t.events[0], t.unit, t.total) for t in tables) == totals
    assert not any(t.has_time for t in tables)


def test_pprof_has_the_functions_of_go():
    samples = next(t for t in read("go_cpu.pb") if t.unit == "samples")
    assert (
        under(samples, "main.hashBlocks"),
        under(samples, "main.buildText"),
        under(samples, "main.main"),
    ) == (64, 25, 89)
    in_use = next(t for t in read("go_heap.pb") if t.events == ("inuse_objects",))
    assert under(in_use, "main.keepBlocks") == 64
    names = in_use.frames.strings.all()
    inlined = {
        names[n]
        for n, flag in zip(in_use.frames.name.tolist(), in_use.frames.flags.tolist(), strict=True)
        if flag
    }
    assert "main.keepBlocks" in inlined, "pprof prints `main.keepBlocks (inline)`"


def test_counts_that_are_no_samples_are_counts():
    assert [(t.events[0], t.unit) for t in read("go_mutex.pb")] == [("contentions", "count"), ("delay", "ns")]
    assert [(t.events[0], t.unit, t.total) for t in read("go_goroutine.pb")] == [("goroutine", "count", 1)]


def test_a_cpu_profile_of_node():
    (table,) = read("node.cpuprofile")
    whole = json.loads(captured("node.cpuprofile"))
    assert table.samples == len(whole["samples"]) and table.unit == "samples" and table.has_time
    first_ns = round((whole["startTime"] + whole["timeDeltas"][0]) * 1000)
    assert int(table.t_ns[0]) == first_ns
    ids = {node["id"] for node in whole["nodes"] if node["callFrame"]["functionName"] == "sortAll"}
    assert under(table, "sortAll") >= sum(sample in ids for sample in whole["samples"]) > 0
    without = {**whole, "samples": [], "timeDeltas": []}
    (counted,) = READERS["cpuprofile"](source(json.dumps(without).encode()))
    assert counted.samples == sum(node["hitCount"] for node in whole["nodes"]) and not counted.has_time


def test_an_idle_cpu_of_v8_is_idle():
    call = {"functionName": "(idle)", "url": ""}
    whole = {"nodes": [{"id": 1, "callFrame": call, "hitCount": 3}], "startTime": 0, "endTime": 1}
    (table,) = READERS["cpuprofile"](source(json.dumps(whole).encode()))
    assert table.frames.kind[table.trie.frame[table.stack[0]]] == FrameKind.IDLE


def test_speedscope_of_py_spy():
    (table,) = read("pyspy.speedscope.json")
    whole = json.loads(captured("pyspy.speedscope.json"))
    expected = {p["name"]: round(sum(p["weights"]) * 1e9) for p in whole["profiles"]}
    assert by_thread(table) == expected and table.unit == "ns" and table.has_time
    assert under(table, "count_words") + under(table, "hash_blocks") > 0.8 * table.total


def test_begin_and_end_events_of_py_spy():
    (table,) = read("pyspy.trace.json")
    outermost: Counter[int] = Counter()
    open_calls: dict[int, list[int]] = {}
    for event in json.loads(captured("pyspy.trace.json")):
        calls = open_calls.setdefault(event["tid"], [])
        if event["ph"] == "B":
            calls.append(event["ts"])
        else:
            begin = calls.pop()
            outermost[event["tid"]] += 0 if calls else event["ts"] - begin
    assert table.total == 1000 * sum(outermost.values()) and table.unit == "ns"


def test_a_list_of_events_may_lack_its_end():
    text = captured("pyspy.trace.json").rstrip()
    assert text.endswith(b"]")
    for cut in (text[:-1], text[:-1] + b",\n"):
        (table,) = READERS["chrome_trace"](source(cut))
        assert stacks(table) == stacks(read("pyspy.trace.json")[0])


def test_a_trace_of_chromium_has_samples_and_slices():
    samples, slices = read("chromium.trace.json")
    events = json.loads(captured("chromium.trace.json"))["traceEvents"]
    chunks = [event["args"]["data"] for event in events if event["name"] == "ProfileChunk"]
    assert samples.samples == sum(len(chunk["cpuProfile"].get("samples", ())) for chunk in chunks)
    assert (samples.unit, slices.unit, slices.events) == ("samples", "ns", ("slices",))
    assert under(samples, "fillWords") > 0 and "CrRendererMain" in by_thread(samples)
    spans: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            begin = round(event["ts"] * 1000)
            spans.setdefault((event["pid"], event["tid"]), []).append(
                (begin, begin + round(event.get("dur", 0) * 1000))
            )
    covered = 0
    for calls in spans.values():
        last = 0
        for begin, end in sorted(calls):
            covered += max(0, end - max(begin, last))
            last = max(last, end)
    assert slices.total == covered


@pytest.mark.parametrize("name", ["gecko.json", "firefox.json"])
def test_both_formats_of_the_firefox_profiler(name):
    (table,) = read(name)
    direct = perf_script.parse_perf_script(source(captured("cpu.txt")))
    # The Firefox Profiler cannot read the one sample of a task with the id -1.
    assert table.samples == direct.samples - 1
    for function in ("gc_collect_main", "do_syscall_64", "read_zero", "msort_with_tmp.part.0"):
        assert abs(under(table, function) - under(direct, function)) <= 1
    assert by_thread(table)["io worker"] == by_thread(direct)["io worker"]


def test_firefox_formats_agree():
    assert stacks(read("gecko.json")[0]) == stacks(read("firefox.json")[0])


def test_raw_output_of_py_spy_is_folded():
    table = folded.parse_folded(source(captured("pyspy.raw.txt")))
    assert table.samples == sum(
        int(line.rpartition(b" ")[2]) for line in captured("pyspy.raw.txt").splitlines()
    )


def test_samples_with_stack_frames():
    whole = {
        "traceEvents": [{"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "io"}}],
        "stackFrames": {
            "1": {"name": "main", "category": "prog"},
            "2": {"name": "read", "category": "libc", "parent": "1"},
        },
        "samples": [
            {"cpu": 3, "tid": 8, "ts": 5.5, "name": "cycles", "sf": 2, "weight": 4},
            {"cpu": 1, "tid": 8, "ts": 2.0, "name": "cycles", "sf": "1", "weight": 1},
        ],
    }
    (table,) = READERS["chrome_trace"](source(json.dumps(whole).encode()))
    assert stacks(table) == {("io", "main", "read"): 4, ("io", "main"): 1}
    assert (table.cpu.tolist(), table.t_ns.tolist(), table.pid.tolist()) == ([1, 3], [2000, 5500], [7, 7])
    assert table.events == ("cycles",)


def test_a_call_that_outlasts_its_caller_is_cut():
    events = [
        {"ph": "X", "name": "outer", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
        {"ph": "X", "name": "inner", "pid": 1, "tid": 1, "ts": 6, "dur": 9},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 30},
        {"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 40},
        {"ph": "X", "name": "last", "pid": 1, "tid": 1, "ts": 45, "dur": 5},
    ]
    (table,) = READERS["chrome_trace"](source(json.dumps(events).encode()))
    assert stacks(table) == {
        ("outer",): 6000,
        ("outer", "inner"): 4000,
        ("open",): 5000,
        ("open", "last"): 5000,
    }


def test_evented_profiles_of_speedscope():
    events = [
        {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 2}, {"type": "C", "frame": 1, "at": 5},
        {"type": "C", "frame": 0, "at": 9},
    ]  # fmt: skip
    whole = {
        "shared": {"frames": [{"name": "a", "file": "f.py"}, {"name": "b"}]},
        "profiles": [
            {
                "type": "evented",
                "name": "x",
                "unit": "milliseconds",
                "startValue": 0,
                "endValue": 9,
                "events": events,
            }
        ],
    }
    (table,) = READERS["speedscope"](source(json.dumps(whole).encode()))
    assert stacks(table) == {("a",): 6_000_000, ("a", "b"): 3_000_000}
    assert detect_json_format(json.dumps(whole).encode()) == "speedscope", "`$schema` may be missing"


BPFTRACE = b"""Attaching 1 probe...

@[bash,\x20
    _raw_spin_unlock_irqrestore+17
    try_to_wake_up+380
,\x20
    __read+14
    main+8 (/usr/bin/bash)
    0x7f0011223344
]: 3
@[
    do_idle+20
, swapper/0]: 12
@hits[dd]: 4
"""


def test_maps_of_bpftrace():
    counts, hits = READERS["bpftrace"](source(BPFTRACE))
    assert detect_profile_format(BPFTRACE) == "bpftrace"
    kernel = ("try_to_wake_up", "_raw_spin_unlock_irqrestore")
    assert stacks(counts) == {
        ("bash", "0x7f0011223344", "main", "__read", *kernel): 3,
        ("swapper/0", "do_idle"): 12,
    }
    assert (hits.events, stacks(hits)) == (("hits",), {("dd",): 4})
    names, kinds = counts.frames.strings.all(), counts.frames.kind.tolist()
    of = {names[name]: kinds[frame] for frame, name in enumerate(counts.frames.name.tolist())}
    assert {of[name] for name in kernel} == {FrameKind.KERNEL} and of["__read"] == FrameKind.USER


def test_folded_stacks_of_bcc_have_a_delimiter_before_the_kernel():
    table = folded.parse_folded(source(b"dd;main;read;-;vfs_read;copy_[k] 7\ndd;main 1\n-;odd 1\n"))
    assert stacks(table) == {
        ("dd", "main", "read", "vfs_read", "copy"): 7,
        ("dd", "main"): 1,
        ("-", "odd"): 1,
    }
    names, kinds = table.frames.strings.all(), table.frames.kind.tolist()
    of = {names[name]: kinds[frame] for frame, name in enumerate(table.frames.name.tolist())}
    assert of["vfs_read"] == of["copy"] == FrameKind.KERNEL and of["read"] == FrameKind.USER
