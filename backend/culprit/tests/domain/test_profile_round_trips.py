"""A profile that is exported and imported again has everything that both formats can hold."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.profile_exports.chrome_trace import write_chrome_trace
from culprit.domain.profile_exports.firefox import write_firefox
from culprit.domain.profile_exports.folded import write_folded
from culprit.domain.profile_exports.perf_script import write_perf_script
from culprit.domain.profile_exports.pprof import write_pprof
from culprit.domain.profile_exports.rows import ExportError
from culprit.domain.profile_exports.speedscope import write_speedscope
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import folded, perf_script
from collectors.parse.profile_formats.registry import READERS, detect_profile_format
from collectors.parse.profile_formats.table_builder import NO_TIME, TableBuilder
from collectors.profiles.limits import to_printable
from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import INLINED, FrameKind
from collectors.tests.recorded_profiles import HOSTILE, captured, source

NAMES = st.sampled_from([*HOSTILE, "main", "read", "_start", "do_syscall_64", "a;b", " padded "])
COMMS = st.sampled_from(["web", "io worker", "[odd] :1", "a b 12/13", "swapper/0", "x"])
# Modules from which the kind of a frame follows, as in formats without kinds.
MODULES = st.sampled_from(
    ["", "/usr/lib/libc.so.6", "[kernel.kallsyms]", "/tmp/perf-12.map", "[vdso]", "app (deleted)"]
)
IDS = st.integers(0, (1 << 31) - 1)


@st.composite
def tables(
    draw: st.DrawFn,
    unit: str = "samples",
    *,
    timed: bool = True,
    named: bool = True,
    names: st.SearchStrategy = NAMES,
) -> SampleTable:
    """Samples of a few threads: any names, modules, ids, CPUs and inlined calls."""
    builder = TableBuilder()
    event = builder.event_id("", unit)
    threads = [
        builder.task(draw(COMMS) if named else "", *(draw(st.tuples(IDS, IDS)) if named else ()))
        for _ in range(draw(st.integers(1, 3)))
    ]
    frames = [
        builder.frame(draw(names), draw(MODULES), flags=draw(st.sampled_from([0, 0, INLINED])))
        for _ in range(draw(st.integers(1, 6)))
    ]
    t_ns = draw(st.integers(0, 1_800_000_000_000_000_000))
    for _ in range(draw(st.integers(1, 20))):
        weight = draw(st.integers(1, 3 if unit == "samples" else 1 << 40))
        task = draw(st.sampled_from(threads))
        node = builder.extend(task.root, draw(st.lists(st.sampled_from(frames), max_size=5)))
        cpu = draw(st.integers(-1, 300)) if named else -1
        builder.add_sample(event, t_ns if timed else NO_TIME, weight, task, node, cpu)
        t_ns += draw(st.integers(0, 1 << 34)) + (weight if unit == "ns" else 0)
    (table,) = builder.finish()
    return table


def describe(
    table: SampleTable, *columns: str, modules: bool = True, kinds: bool = True, us: bool = False
) -> Counter:
    """Weight by stack and the named columns, one sample at a time."""
    words, comms = table.frames.strings.all(), table.comms.all()
    frames = [
        (
            words[name],
            words[module] if modules and not flag & INLINED else "",
            (kind, flag) if kinds else (),
        )
        for name, module, kind, flag in zip(
            table.frames.name.tolist(), table.frames.module.tolist(), table.frames.kind.tolist(),
            table.frames.flags.tolist(), strict=True,
        )
    ]  # fmt: skip
    weights: Counter = Counter()
    first = int(table.t_ns.min())
    for row in range(len(table)):
        values = {name: int(getattr(table, name)[row]) for name in ("pid", "tid", "cpu", "t_ns")}
        if us:
            values["t_ns"] = first + (values["t_ns"] - first) // 1000 * 1000
        key = tuple(comms[table.comm[row]] if name == "comm" else values[name] for name in columns)
        path = tuple(frames[frame] for frame in table.trie.path(int(table.stack[row])))
        weights[key, path] += int(table.weight[row])
    return weights


def read_back(pieces: Iterator[str] | Iterator[bytes], kind: str) -> SampleTable:
    data = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    assert detect_profile_format(data[: 64 << 10]) == kind
    (table,) = READERS[kind](source(data))
    return table


def view_of(table: SampleTable):
    return StackProfile(table).view()


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(["samples", "ns", "bytes", "count"]).flatmap(tables))
def test_pprof_holds_stacks_threads_and_cpus(table):
    again = read_back(write_pprof(view_of(table)), "pprof")
    columns = ("comm", "pid", "tid", "cpu")
    # A location has one module, so that inlined calls have that of their caller; kinds follow from modules.
    assert describe(again, *columns, kinds=False) == describe(
        table, *columns, kinds=False
    ) or has_leading_inline(table)
    assert again.unit == table.unit and again.total == table.total
    assert describe(again, *columns, modules=False, kinds=False) == describe(
        table, *columns, modules=False, kinds=False
    )


def has_leading_inline(table: SampleTable) -> bool:
    """Whether an inlined call has no caller: it is then an ordinary call, with its own module."""
    flags = table.frames.flags[table.trie.frame]
    return bool(((table.trie.depth <= 2) & (flags == INLINED)).any())


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(["samples", "ns", "bytes"]).flatmap(tables))
def test_firefox_holds_stacks_threads_kinds_and_times(table):
    again = read_back(write_firefox(view_of(table), "host"), "firefox")
    columns = ("comm", "pid", "tid", "t_ns")
    assert describe(again, *columns) == describe(table, *columns)
    assert again.unit == table.unit


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(["samples", "ns", "bytes"]).flatmap(tables))
def test_speedscope_holds_stacks_and_threads(table):
    again = read_back(write_speedscope(view_of(table), "host"), "speedscope")
    columns = ("comm", "pid", "tid")
    assert without_flags(describe(again, *columns)) == without_flags(describe(table, *columns))
    assert again.unit == table.unit


def without_flags(weights: Counter) -> Counter:
    """The same without modules and inlined calls, which have none in `describe`."""
    plain: Counter = Counter()
    for (key, path), weight in weights.items():
        plain[key, tuple(name for name, *_ in path)] += weight
    return plain


@settings(max_examples=120, deadline=None)
@given(tables())
def test_a_trace_holds_samples_to_the_microsecond(table):
    again = read_back(write_chrome_trace(view_of(table)), "chrome_trace")
    columns = ("comm", "pid", "tid", "t_ns")
    assert without_flags(describe(again, *columns)) == without_flags(describe(table, *columns, us=True))


@settings(max_examples=120, deadline=None)
@given(tables("ns"))
def test_a_trace_holds_durations(table):
    empty = table.trie.depth[table.stack] <= 1
    if empty.all():
        return
    again = read_back(write_chrome_trace(view_of(table.take(~empty))), "chrome_trace")
    columns = ("comm", "pid", "tid")
    assert without_flags(describe(again, *columns)) == without_flags(describe(table.take(~empty), *columns))
    assert int(again.t_ns.min()) == int(table.t_ns[~empty].min())


@settings(max_examples=120, deadline=None)
@given(tables(timed=False, named=False, names=NAMES.filter(lambda name: name != "-")))
def test_folded_holds_stacks_and_marks(table):
    text = "".join(write_folded(view_of(table)))
    filled = table.take(table.trie.depth[table.stack] > 0)
    if not len(filled):
        assert not text
        return
    again = folded.parse_folded(source(text.encode()))

    def to_plain(weights: Counter) -> Counter:
        plain: Counter = Counter()
        for (_, path), weight in weights.items():
            # Names of modules in brackets are unknown frames in this format.
            names = tuple((name.replace(";", ":").strip(), flags) for name, _, (_, flags) in path)
            plain[names] += weight
        return plain

    assert to_plain(describe(again)) == to_plain(describe(filled))
    marked = {FrameKind.KERNEL, FrameKind.JIT}
    for kind in marked:
        assert weight_in(again, kind) == weight_in(filled, kind)


def weight_in(table: SampleTable, kind: FrameKind) -> int:
    """The weight of stacks that end in a frame of a kind, without inlined calls and names in brackets."""
    words = table.frames.strings.all()
    plain = np.array([not words[name].strip().startswith("[") for name in table.frames.name.tolist()])
    right = (table.frames.kind == kind) & (table.frames.flags == 0) & plain
    return int(table.weight[right[table.trie.frame[table.stack]]].sum())


RECORDED = {
    "pprof": (write_pprof, ("comm", "pid", "tid", "cpu")),
    "firefox": (lambda view: write_firefox(view, "host"), ("comm", "pid", "tid", "t_ns")),
    "speedscope": (lambda view: write_speedscope(view, "host"), ("comm", "pid", "tid")),
    "chrome_trace": (write_chrome_trace, ("comm",)),
}


@pytest.mark.parametrize("kind", RECORDED)
@pytest.mark.parametrize("cpus", [(), (1,)])
def test_a_recorded_profile_goes_round(kind, cpus):
    profile = StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt"))))
    view = profile.view(SampleFilter(cpu=cpus))
    write, columns = RECORDED[kind]
    again = read_back(write(view), kind)
    assert describe(again, *columns) == describe(profile.table.take(view.rows), *columns)
    assert again.has_time == (kind in {"firefox", "chrome_trace"})


def test_a_trace_needs_times():
    with pytest.raises(ExportError):
        write_chrome_trace(view_of(folded.parse_folded(source(b"a;b 1\n"))))
    timed = perf_script.parse_perf_script(source(captured("flat.txt")))
    with pytest.raises(ExportError):
        write_chrome_trace(view_of(replace(timed, unit="bytes")))


def test_names_are_printable_before_they_are_written():
    view = view_of(folded.parse_folded(source(b"\x1b[31mred;x 5\n")))
    printable = to_printable("\x1b[31mred")
    assert printable in json.loads("".join(write_firefox(view, "h")))["shared"]["stringArray"]
    assert printable.encode() in gzip.decompress(b"".join(write_pprof(view)))


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
@pytest.mark.parametrize("unit", ["samples", "ns", "bytes", "count"])
def test_go_reads_an_exported_pprof(tmp_path, unit):
    """The totals by stack that `go tool pprof` prints are those of the profile."""
    table = replace(perf_script.parse_perf_script(source(captured("cpu.txt"))), unit=unit)
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(b"".join(write_pprof(view_of(table))))
    command = ["go", "tool", "pprof", "-symbolize=none", "-raw", str(path)]
    environment = {**os.environ, "PPROF_TMPDIR": str(tmp_path), "GOFLAGS": ""}
    text = subprocess.run(
        command, capture_output=True, check=True, text=True, env=environment, cwd=tmp_path
    ).stdout
    samples = text.partition("Samples:\n")[2].partition("\nLocations")[0]
    weights = re.findall(r"^ +(\d+):", samples, re.MULTILINE)
    assert sum(map(int, weights)) == table.total == 1209
    assert len(weights) == len(describe(table, "comm", "pid", "tid", "cpu"))
    assert len(re.findall(r"cpu:\[0\]", samples)) + len(re.findall(r"cpu:\[1\]", samples)) == len(weights)


@pytest.mark.parametrize("name", ["cpu.txt", "two.txt", "lost.txt"])
def test_text_of_perf_script_is_the_same_profile(name: str) -> None:
    table = perf_script.parse_perf_script(source(captured(name)))
    text = "".join(write_perf_script(StackProfile(table).view()))
    again = perf_script.parse_perf_script(source(text.encode()))
    columns = ("t_ns", "cpu", "pid", "tid")
    assert describe(again, *columns) == describe(table, *columns)
    assert again.has_time and list(again.events) == [event.replace(" ", "_") for event in table.events]


@given(tables())
def test_text_of_perf_script_keeps_every_sample(table: SampleTable) -> None:
    table = replace(table, weight=np.ones_like(table.weight))
    text = "".join(write_perf_script(StackProfile(table).view()))
    again = perf_script.parse_perf_script(source(text.encode()))
    assert (again.total, again.t_ns.tolist(), again.cpu.tolist()) == (
        table.total, table.t_ns.tolist(), table.cpu.tolist()
    )  # fmt: skip


def test_text_of_perf_script_is_refused_for_other_weights() -> None:
    table = perf_script.parse_perf_script(source(captured("cpu.txt")))
    for other in (replace(table, unit="ns"), replace(table, weight=table.weight * 2)):
        with pytest.raises(ExportError):
            write_perf_script(StackProfile(other).view())
