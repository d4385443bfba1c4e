"""Only requested frames are accepted, within limits; others are counted by reason."""

from culprit.jobs.capture.frame_filter import (
    MAX_CLOCKS,
    MAX_PARTS_PER_COLLECTOR,
    MAX_STATES_PER_COLLECTOR,
    WATCHER_LINES,
    DroppedPart,
    FrameFilter,
)
from culprit.tests.support.hostile_peer import HELLO, frame, outcome

from collectors.runner.frames import FrameReader, ProgressLine


class Kept:
    def write(self, data, /):
        return len(data)


def accepted(stream: bytes, collectors=("vmstat",)) -> tuple[list[str], dict]:
    """Return the accepted frames of a stream as "kind id part"."""
    checked = FrameFilter(dict.fromkeys(collectors, 1000))
    reader = FrameReader(sink=lambda head: Kept() if checked.accept_part(head) else DroppedPart())
    heads = [item.header for item in reader.iterate(stream) if checked.accept(item)]
    return [" ".join(filter(None, (head.kind, head.id, head.part))) for head in heads], dict(checked.dropped)


def part(name="vmstat", part="stdout", payload=b"x"):
    return frame("part", payload, name=name, part=part)


HI = frame("hello", HELLO)


def test_an_honest_stream_is_accepted_whole():
    stream = frame("snapshot", b"s", part="samples") + HI + frame("clock") + part() + part(part="stderr")
    stream += outcome("vmstat") + frame("clock") + frame("end", b"state done")
    kinds = [
        "snapshot samples",
        "hello",
        "clock",
        "part vmstat stdout",
        "part vmstat stderr",
        "outcome vmstat",
    ]
    assert accepted(stream) == ([*kinds, "clock", "end"], {})


def test_what_was_not_ordered_is_counted_and_dropped():
    assert accepted(HI + part("other") + outcome("other") + part()) == (
        ["hello", "part vmstat stdout"],
        {"not_ordered": 2},
    )


def test_nothing_is_accepted_twice():
    stream = HI + HI + part() + part() + outcome("vmstat") + outcome("vmstat") + frame("end") + frame("end")
    kinds = ["hello", "part vmstat stdout", "outcome vmstat", "end"]
    assert accepted(stream) == (kinds, {"repeated": 3, "out_of_order": 1})


def test_the_order_of_the_protocol_is_kept():
    assert accepted(part() + outcome("vmstat") + HI)[0] == ["hello"]
    assert accepted(HI + outcome("vmstat") + part())[0] == ["hello", "outcome vmstat"]
    assert accepted(HI + frame("snapshot", b"s", part="samples"))[0] == ["hello"]
    assert accepted(frame("busy", b"run x") + HI + part())[0] == ["busy"]


def test_parts_and_clocks_are_bounded_in_count_and_size():
    many = b"".join(part(part=f"p{n}") for n in range(MAX_PARTS_PER_COLLECTOR + 5))
    kinds, dropped = accepted(HI + many)
    assert (len(kinds), dropped) == (1 + MAX_PARTS_PER_COLLECTOR, {"too_many": 5})
    assert accepted(HI + part(payload=b"x" * 100_000)) == (["hello"], {"too_large": 1})
    kinds, dropped = accepted(frame("clock") * (MAX_CLOCKS + 3))
    assert (len(kinds), dropped) == (MAX_CLOCKS, {"too_many": 3})


def test_progress_and_lines_of_a_watcher_are_bounded():
    checked = FrameFilter({"vmstat": 1000})
    assert checked.accept_progress(ProgressLine("vmstat", "running", 1))
    assert not checked.accept_progress(ProgressLine("vmstat", "running", 2))
    assert not checked.accept_progress(ProgressLine("other", "running", 2))
    states = ("done", "running")
    reported = [checked.accept_progress(ProgressLine("vmstat", states[n % 2], n)) for n in range(100)]
    assert sum(reported) == MAX_STATES_PER_COLLECTOR - 1
    begun = checked._line_at
    assert sum(checked.accept_line(begun) for _ in range(1000)) == WATCHER_LINES
    assert checked.accept_line(begun + 1)
