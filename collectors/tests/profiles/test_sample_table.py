"""The table's file, the trie, the limits of packing, folded stacks."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import folded, perf_script
from collectors.profiles import column_file
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.limits import (
    ImportRefusedError,
    LimitExceededError,
    ReaderLimits,
    WrongFormatError,
    open_bounded,
    to_printable,
)
from collectors.profiles.samples import KIND, VERSION, ControlGroups, SampleTable
from collectors.profiles.trie import FrameKind, Strings
from collectors.tests.recorded_profiles import HOSTILE, captured, source, stacks


def same(a: SampleTable, b: SampleTable) -> bool:
    return (
        stacks(a) == stacks(b)
        and all(
            (getattr(a, c) == getattr(b, c)).all()
            for c in ("t_ns", "cpu", "pid", "tid", "comm", "weight", "event")
        )
        and (a.events, a.unit, a.quality, a.has_time) == (b.events, b.unit, b.quality, b.has_time)
        and a.comms.all() == b.comms.all()
    )


@pytest.fixture(scope="module")
def table():
    return perf_script.parse_perf_script(source(captured("cpu.txt")))


def test_a_file_gives_back_the_table(tmp_path, table):
    size = table.save(tmp_path / "x")
    assert size == (tmp_path / "x").stat().st_size
    loaded = SampleTable.load(tmp_path / "x")
    assert same(loaded, table)
    assert not loaded.t_ns.flags.writeable and not loaded.t_ns.flags.owndata
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_file_has_the_control_groups(tmp_path, table):
    grouped = replace(table, cgroups=ControlGroups.of({7: "/web", 3: "/db", 9: "/web"}))
    grouped.save(tmp_path / "x")
    loaded = SampleTable.load(tmp_path / "x").cgroups
    assert (loaded.pid.tolist(), loaded.group.tolist()) == ([3, 7, 9], [0, 1, 1])
    assert loaded.names.all() == ["/db", "/web"]


def test_a_file_from_before_control_groups_has_none(tmp_path, table):
    arrays = {name: a for name, a in table._arrays().items() if not name.startswith("cgroups.")}
    meta = {"events": [""], "unit": "samples", "has_time": True, "has_cpu": True, "quality": {}}
    column_file.write_columns(tmp_path / "x", KIND, VERSION, meta, arrays)
    assert len(SampleTable.load(tmp_path / "x").cgroups.pid) == 0


@pytest.mark.parametrize(
    "pids, groups", [([3, 3], [0, 0]), ([9, 3], [0, 0]), ([3, 9], [0, 1]), ([3], [0, 0])]
)
def test_control_groups_that_are_inconsistent_are_damaged(tmp_path, table, pids, groups):
    packed = ControlGroups(np.array(pids, np.int32), np.array(groups, np.int32), Strings.of(["/a"]))
    replace(table, cgroups=packed).save(tmp_path / "x")
    with pytest.raises(DamagedFileError):
        SampleTable.load(tmp_path / "x")


def test_every_flipped_byte_is_detected(tmp_path, table):
    whole = tmp_path / "x"
    table.take(slice(0, 50)).save(whole)
    data = whole.read_bytes()
    rng = np.random.default_rng(7)
    padding = 0
    for at in [*range(24), *rng.integers(0, len(data), 300).tolist()]:
        broken = bytearray(data)
        broken[at] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "y").write_bytes(broken)
        try:
            loaded = SampleTable.load(tmp_path / "y")
        except DamagedFileError:
            continue
        padding += 1  # zeros between the arrays carry nothing
        assert same(loaded, table.take(slice(0, 50)))
    assert padding < 30


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_a_cut_file_is_damaged(tmp_path, table, share):
    table.save(tmp_path / "x")
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(DamagedFileError):
        SampleTable.load(tmp_path / "x")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: replace(t, stack=t.stack + 10**6),
        lambda t: replace(t, comm=t.comm - 1),
        lambda t: replace(t, cpu=t.cpu[:-1]),
        lambda t: replace(t, weight=-t.weight),
        lambda t: replace(t, trie=replace(t.trie, parent=t.trie.parent[::-1].copy())),
        lambda t: replace(t, trie=replace(t.trie, end=t.trie.end + 5)),
        lambda t: replace(t, trie=replace(t.trie, depth=t.trie.depth + 1)),
        lambda t: replace(t, t_ns=t.t_ns.astype(np.float64)),
    ],
)
def test_a_file_with_false_lengths_is_damaged(tmp_path, table, wrong):
    wrong(table).save(tmp_path / "x")
    with pytest.raises(DamagedFileError):
        SampleTable.load(tmp_path / "x")


STACK = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8)


def text_of(rows) -> bytes:
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in rows).encode()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(STACK, st.integers(0, 1000)), min_size=1, max_size=40))
def test_trie_matches_counted_stacks(rows):
    table = folded.parse_folded(source(text_of(rows)))
    expected: Counter[tuple[str, ...]] = Counter()
    inclusive: Counter[tuple[str, ...]] = Counter()
    for stack, count in rows:
        expected[tuple(stack)] += count
        for i in range(len(stack) + 1):
            inclusive[tuple(stack[:i])] += count
    assert stacks(table) == expected
    trie = table.trie
    own = np.zeros(len(trie), np.int64)
    np.add.at(own, table.stack, table.weight)
    total = trie.inclusive(own)
    words = table.frames.strings.all()
    seen = {tuple(words[table.frames.name[f]] for f in trie.path(n)): int(total[n]) for n in range(len(trie))}
    assert seen == dict(inclusive)
    nodes = np.arange(len(trie))
    assert (trie.parent[1:] < nodes[1:]).all() and (trie.end > nodes).all()
    for n in range(1, len(trie)):
        assert trie.parent[n] < n < trie.end[trie.parent[n]] and trie.end[n] <= trie.end[trie.parent[n]]


def test_folded_marks_and_unknowns():
    table = folded.parse_folded(
        source(b"app;main;do_syscall_64_[k];small_[i];hot_[j];[libc.so.6] 3\n# comment\n\n")
    )
    kinds = [FrameKind(k) for k in table.frames.kind.tolist()]
    assert (
        kinds[2:] == [FrameKind.USER, FrameKind.KERNEL, FrameKind.USER, FrameKind.JIT, FrameKind.UNKNOWN]
        and not table.has_time
    )
    assert table.samples == 3 and table.quality.unknown_share == 1.0


@pytest.mark.parametrize(
    "text",
    [b"a;b\n", b"a;b x\n", b"a;b -1\n", b"a;b 1.5\n", b"a;b nan\n", b"a;b 99999999999999999999\n", b" 7\n"],
)
def test_folded_refuses_by_line(text):
    with pytest.raises(WrongFormatError) as refused:
        folded.parse_folded(source(b"ok;fine 1\n" + text))
    assert refused.value.line == 2 and refused.value.sentence.key == "import.not_folded"


def test_folded_depth_and_line():
    assert int(folded.parse_folded(source(b";".join([b"f"] * 10_000) + b" 1\n")).trie.depth.max()) == 10_000
    with pytest.raises(LimitExceededError) as refused:
        folded.parse_folded(source(b";".join([b"f"] * 10_001) + b" 1\n"))
    assert refused.value.sentence.key == "import.limit_depth_at"
    with pytest.raises(LimitExceededError):
        folded.parse_folded(source(b"x" * (2 << 20)))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_folded_total_of_malformed_input(noise):
    with contextlib.suppress(ImportRefusedError):
        folded.parse_folded(source(noise))


def drain(stream) -> int:
    total = 0
    while piece := stream.read(1 << 20):
        total += len(piece)
    return total


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(level=3).compress])
def test_packed_text_reads_as_plain(pack):
    text = captured("cpu.txt")
    opened = open_bounded(io.BytesIO(pack(text)))
    assert perf_script.parse_perf_script(opened).samples == 1209 and opened.packed < opened.total == len(text)


def test_members_and_frames_follow_each_other():
    text = captured("flat.txt")
    assert drain(open_bounded(io.BytesIO(gzip.compress(text) + gzip.compress(text) + b"\0" * 64))) == 2 * len(
        text
    )
    packed = zstandard.compress(text)
    assert drain(open_bounded(io.BytesIO(packed + packed))) == 2 * len(text)


def test_bombs_are_refused():
    deflate = zlib.compressobj(9, wbits=31)
    bomb = b"".join(deflate.compress(bytes(1 << 20)) for _ in range(64)) + deflate.flush()
    for packed in (bomb, zstandard.compress(bytes(64 << 20))):
        with pytest.raises(LimitExceededError) as refused:
            drain(open_bounded(io.BytesIO(packed)))
        assert refused.value.sentence.key == "import.limit_ratio"
    with pytest.raises(LimitExceededError) as refused:
        drain(open_bounded(io.BytesIO(bytes(3 << 20)), limits=ReaderLimits(unpacked=2 << 20)))
    assert refused.value.sentence.key in ("import.limit_unpacked", "import.limit_packed")
    noise = np.random.default_rng(1).bytes(3 << 20)
    with pytest.raises(LimitExceededError) as refused:
        drain(open_bounded(io.BytesIO(gzip.compress(noise)), limits=ReaderLimits(packed=1 << 20)))
    assert refused.value.sentence.key == "import.limit_packed"


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress(b"x" * 5000, mtime=0)[:-9],
        zstandard.compress(b"x" * 5000)[:-3],
        b"\x1f\x8bnonsense",
        b"\x28\xb5\x2f\xfdnonsense",
    ],
)
def test_damaged_compression_is_reported(packed):
    with pytest.raises(WrongFormatError) as refused:
        drain(open_bounded(io.BytesIO(packed)))
    assert refused.value.sentence.key in ("import.not_gzip", "import.not_zstd")


@given(st.text())
def test_printable_is_printable(text):
    printable = to_printable(text)
    assert len(printable) == len(text) and to_printable(printable) == printable
    assert not any(ord(c) < 32 for c in printable)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_folded_names(name):
    table = folded.parse_folded(source(f"ok;{name};end 1\n".encode()))
    (path,) = stacks(table)
    assert all(c.isprintable() or c == "\ufffd" for word in path for c in word)
