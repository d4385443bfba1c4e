"""The reader is total: any bytes, cut anywhere, however split."""

from __future__ import annotations

import gzip
import hashlib
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract import Sentence
from collectors.runner import frames, records

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)


def frame(kind: str, payload: bytes = b"", name: str = "-", part: str = "-", **more: str) -> bytes:
    """A frame as the runner writes it."""
    fields = {"enc": "identity", "sha256": hashlib.sha256(payload).hexdigest()} | more
    rest = " ".join(f"{key}={value}" for key, value in fields.items())
    head = f"CULPRIT1 kind={kind} id={name} part={part} len={len(payload)} raw={len(payload)} {rest}\n"
    return head.encode() + payload + b"\n"


FRAME = st.one_of(
    st.builds(lambda data: frame("hello", data), st.binary(max_size=200)),
    st.builds(lambda data, name: frame("part", data, name, "stdout"), st.binary(max_size=400), NAMES),
    st.builds(
        lambda name, data: frame("outcome", data, name, state="done", exit="0"),
        NAMES,
        st.binary(max_size=100),
    ),
    st.just(
        frame("clock", seq="0", at="start", bt0="1", bt1="2", m0="-", m1="-", real="5", res="1", src="date")
    ),
)
END = frame("end", b"state done\n")


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """`data` split at `cuts`."""
    at = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(at)]


@settings(max_examples=60, deadline=None)
@given(st.lists(FRAME, max_size=6), st.lists(st.integers(0, 10_000), max_size=8), st.binary(max_size=60))
def test_any_split_yields_the_same(stream: list[bytes], cuts: list[int], noise: bytes) -> None:
    noise = noise.replace(b"CULPRIT1", b"") + b"\n" if noise else b""
    data = noise + b"".join(stream) + END
    whole, split = frames.FrameReader(), frames.FrameReader()
    expected = whole.feed(data)
    got = [result for piece in pieces(data, cuts) for result in split.feed(piece)]
    assert got == expected
    assert len(got) == len(stream) + 1
    assert all(result.intact for result in got)
    assert split.close() is None and whole.close() is None
    assert split.noise == noise


@settings(max_examples=60, deadline=None)
@given(st.lists(FRAME, min_size=1, max_size=5), st.integers(0, 5000))
def test_a_cut_keeps_what_is_complete(stream: list[bytes], at: int) -> None:
    data = b"".join(stream) + END
    at %= len(data)
    reader = frames.FrameReader()
    got = reader.feed(data[:at])
    ends = [sum(map(len, stream[: n + 1])) for n in range(len(stream))]
    assert len(got) == sum(1 for end in ends if end <= at)
    assert reader.close() == "cut"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(FRAME, st.binary(max_size=80), st.just(b"CULPRIT1 ")), max_size=8))
def test_malformed_stream_stays_within_limits(stream: list[bytes]) -> None:
    limits = frames.FrameLimits(text_bytes=500, part_bytes=500, total_bytes=2000, frames=5, noise_bytes=100)
    reader = frames.FrameReader(limits)
    got = reader.feed(b"".join(stream))
    assert len(got) <= 5
    assert sum(len(result.payload) for result in got) <= 2000
    assert len(reader.noise) <= 100
    for result in got:
        records.parse_outcome(result)
        records.parse_reading(result)
        records.parse_lines(result)
    reader.close()
    assert reader.feed(b"more") == [] or reader.trouble is None


@pytest.mark.parametrize(
    ("line", "trouble"),
    [
        (b"CULPRIT1 kind=part id=x part=y len=99999999999 raw=1 sha256=- enc=identity\n", "too_large"),
        (b"CULPRIT1 kind=part id=../x part=y len=1 raw=1 sha256=- enc=identity\n", "header"),
        (b"CULPRIT1 kind=part id=x part=../../etc/passwd len=1 raw=1\n", "header"),
        (b"CULPRIT1 kind=part id=x part=.hidden len=1 raw=1\n", "header"),
        (b"CULPRIT1 kind=part id=- part=y len=1 raw=1\n", "header"),
        (b"CULPRIT1 kind=other id=- part=- len=1 raw=1\n", "header"),
        (b"CULPRIT1 kind=part id=x part=y len=-1 raw=1\n", "header"),
        (b"CULPRIT1 kind=part id=x part=y len=1 len=2 raw=1\n", "header"),
        (b"CULPRIT1 kind=part id=x part=y len=1 sha256=zz raw=1\n", "header"),
        (b"CULPRIT1 " + b"a" * 5000, "header"),
        (b"CULPRIT1 kind=end id=- part=- len=2 raw=2\nabX", "separator"),
        (b"x" * 70_000, "noise"),
    ],
)
def test_what_is_refused(line: bytes, trouble: str) -> None:
    reader = frames.FrameReader()
    assert reader.feed(line) == []
    assert reader.close() == trouble
    assert reader.feed(END) == []


def test_altered_bytes_are_noticed() -> None:
    data = frame("part", b"evidence", "vmstat", "stdout").replace(b"evidence\n", b"evidencE\n")
    (result,) = frames.FrameReader().feed(data)
    assert not result.intact


def test_parts_go_to_the_sink() -> None:
    class Sink:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: bytes) -> None:
            self.data += data

    sinks = []

    def opened(header: frames.FrameHeader) -> Sink:
        sinks.append(Sink())
        return sinks[-1]

    reader = frames.FrameReader(sink=opened)
    packed = gzip.compress(b"x" * 100_000)
    data = frame("part", packed, "vmstat", "stdout", enc="gzip") + END
    got = [result for at in range(0, len(data), 7) for result in reader.feed(data[at : at + 7])]
    assert [result.header.kind for result in got] == ["part", "end"]
    assert got[0].payload == b"" and got[0].sink is sinks[0] and got[0].intact
    assert sinks[0].data == packed


def test_outcome_is_read() -> None:
    text = (
        b"argv vmstat -t 1 5\nversion procps 4\nreason reason.exit code=3 share=0.5 tool=x\n"
        b"tried first reason.needs_root\nstderr\nfirst line\nreason not.this\n"
    )
    data = frame(
        "outcome", text, "vmstat", state="failed", method="procps", exit="3", signal="-", start="10", end="20",
        cpu_ms="7", bytes="100", parts="1", limiter="nice",
    )  # fmt: skip
    (result,) = frames.FrameReader().feed(data)
    assert records.parse_outcome(result) == records.CollectorExit(
        collector="vmstat", state="failed", method="procps", exit_code=3, signal="", started_ns=10, ended_ns=20,
        cpu_ms=7, bytes=100, parts=1, limiter="nice", argv="vmstat -t 1 5", version="procps 4",
        reason=Sentence("reason.exit", {"code": 3, "share": 0.5, "tool": "x"}),
        tried=(("first", Sentence("reason.needs_root", {})),), stderr_tail="first line\nreason not.this\n",
    )  # fmt: skip


@given(st.text(max_size=300))
def test_progress_is_total(line: str) -> None:
    frames.parse_progress(line)


def test_progress() -> None:
    assert frames.parse_progress("progress vmstat running 120\n") == frames.ProgressLine(
        "vmstat", "running", 120
    )
    assert frames.parse_progress("alive 17") == frames.HeartbeatReply(17)
    assert frames.parse_progress("progress vmstat exploded 120") is None


def test_busy_frame_keeps_only_what_has_the_expected_form() -> None:
    """What holds a lease is named by a file on the host; it is shown to people and stored."""
    run = "0190d5b7-0000-7000-8000-00000000002a"
    reported = f"run {run}\npid 77\nsince 1790000000\nnote <script>\nmessage call 555-0100\nRUN x".encode()
    [result] = frames.FrameReader().feed(frame("busy", reported))
    assert records.parse_lines(result) == {"run": run, "pid": "77", "since": "1790000000"}
    hostile = b"run <img src=x>\npid 99999999999999999999\nsince yesterday"
    [result] = frames.FrameReader().feed(frame("busy", hostile))
    assert records.parse_lines(result) == {}
