"""Profiles of other tools that are damaged or hostile: each is refused with its place, or read."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.parse.profile_formats.protobuf_fields import read_fields
from collectors.parse.profile_formats.registry import READERS, detect_profile_format
from collectors.parse.profile_formats.speedscope import parse_speedscope
from collectors.profiles.limits import ImportRefusedError, LimitExceededError, ReaderLimits
from collectors.tests.recorded_profiles import captured, source

V8 = {
    "nodes": [{"id": 1, "callFrame": {"functionName": "f"}, "parent": 1}],
    "startTime": 0,
    "samples": [1],
    "timeDeltas": [1],
}
FRAMES = {"frames": [{"name": "a"}]}


def speedscope(**changes: object) -> dict[str, object]:
    profile = {
        "type": "sampled",
        "name": "",
        "unit": "none",
        "startValue": 0,
        "samples": [[0]],
        "weights": [1],
    }
    return {"shared": FRAMES, "profiles": [profile | changes]}


@pytest.mark.parametrize(
    ("kind", "whole", "key", "place"),
    [
        ("cpuprofile", V8, "import.limit_depth", None),
        ("cpuprofile", {"nodes": [{"id": 1}]}, "import.not_format", "nodes"),
        ("cpuprofile", V8 | {"samples": [7]}, "import.not_format", "samples"),
        ("cpuprofile", {"nodes": [], "startTime": 0, "samples": []}, "import.no_samples", None),
        ("speedscope", speedscope(weights=[-1]), "import.negative_weight", None),
        ("speedscope", speedscope(weights=[1e300]), "import.number_too_large", None),
        ("speedscope", speedscope(weights=[1, 2]), "import.not_format", "profiles[0]"),
        ("speedscope", speedscope(samples=[[-1]]), "import.not_format", "profiles[0]"),
        ("speedscope", speedscope(samples=[[True]]), "import.not_format", "profiles[0]"),
        ("speedscope", speedscope(unit="parsecs"), "import.not_format", "profiles[0]"),
        ("speedscope", {"shared": {}, "profiles": []}, "import.not_format", "shared.frames"),
        ("speedscope", speedscope(samples=[[0] * 10_001]), "import.limit_depth", None),
        ("chrome_trace", {"traceEvents": [{"ph": "B", "ts": "x"}]}, "import.not_format", "traceEvents[0]"),
        ("chrome_trace", {"traceEvents": 5}, "import.not_format", "traceEvents"),
        ("chrome_trace", {"samples": [{"sf": 1, "ts": 0}]}, "import.not_format", "samples"),
        ("chrome_trace", {"traceEvents": [None]}, "import.not_format", "traceEvents[0]"),
        ("firefox", {"meta": {}, "threads": [{}]}, "import.not_format", "threads[0]"),
        ("firefox", {"meta": {}, "threads": []}, "import.no_samples", None),
        ("firefox", [], "import.not_format", "JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(kind, whole, key, place):
    with pytest.raises(ImportRefusedError) as refused:
        READERS[kind](source(json.dumps(whole).encode()))
    assert refused.value.sentence.key == key
    if place is not None:
        assert refused.value.sentence.params["place"] == place


@pytest.mark.parametrize("kind", ["speedscope", "chrome_trace", "cpuprofile", "firefox"])
@pytest.mark.parametrize(
    "text", [b"", b"{", b"[" * 100_000, b'{"a": \xff}', b"null", b'{"traceEvents": [{"ph": "X", "ts": NaN}]}']
)
def test_text_that_is_no_json_of_a_profile(kind, text):
    with pytest.raises(ImportRefusedError):
        READERS[kind](source(text))


def test_a_chain_of_callers_without_end_is_refused_quickly():
    stack_table = {"frame": [0, 0], "prefix": [1, 0], "length": 2}
    thread = {
        "name": "t", "pid": "1", "tid": 1, "stringArray": ["f"], "stackTable": stack_table,
        "frameTable": {"func": [0]}, "funcTable": {"name": [0], "resource": [-1]},
        "samples": {"stack": [0], "time": [0], "weight": None, "weightType": "samples"},
    }  # fmt: skip
    with pytest.raises(LimitExceededError):
        READERS["firefox"](source(json.dumps({"meta": {}, "threads": [thread]}).encode()))


def test_a_large_file_is_refused_before_it_is_parsed():
    class Endless:
        def read(self, size: int, /) -> bytes:
            return b" " * size

    for reader in READERS.values():
        with pytest.raises(LimitExceededError) as refused:
            reader(Endless())
        assert refused.value.sentence.key in {"import.limit_whole", "import.limit_line_at"}


def test_a_bpftrace_map_is_limited():
    with pytest.raises(LimitExceededError):
        READERS["bpftrace"](source(b"@[\n" + b"    f+1\n" * 10_001 + b"]: 1\n"))
    with pytest.raises(ImportRefusedError) as refused:
        READERS["bpftrace"](source(b"@[\n    f+1\n]: 1\nError: no\n"))
    assert refused.value.sentence.params["line"] == 4


def test_every_field_of_protobuf_is_in_bounds():
    for damaged in (b"\x0a\x05ab", b"\x09\x00", b"\x0f", b"\xff" * 11, b"\x80"):
        with pytest.raises((ValueError, IndexError)):
            list(read_fields(damaged))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_damaged_file_is_read_or_refused(data):
    name = data.draw(
        st.sampled_from(
            ["go_heap.pb", "go_goroutine.pb", "node.cpuprofile", "pyspy.trace.json", "pyspy.speedscope.json"]
        )
    )
    text = bytearray(captured(name))
    kind = detect_profile_format(bytes(text[: 64 << 10]))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    try:
        tables = READERS[kind](source(bytes(text)))
    except ImportRefusedError:
        return
    assert all(table.total > 0 and len(table.trie) >= int(table.stack.max()) for table in tables)


def test_limits_count_distinct_frames():
    with pytest.raises(LimitExceededError):
        parse_speedscope(source(captured("pyspy.speedscope.json")), ReaderLimits(frames=5))
