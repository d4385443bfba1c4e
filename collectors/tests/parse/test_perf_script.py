"""perf script text becomes a table: real captures, hostile text, limits."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.parse.perf import perf_data, perf_lines, perf_script
from collectors.profiles.limits import ImportRefusedError, LimitExceededError, ReaderLimits, WrongFormatError
from collectors.profiles.trie import INLINED, FrameKind
from collectors.tests.recorded_profiles import HOSTILE, captured, source, stacks

READERS = {"python": perf_script.parse_perf_script}
if perf_data.is_available():
    READERS["native"] = perf_data.read_text
_chosen = [perf_script.parse_perf_script]


@pytest.fixture(params=list(READERS), autouse=True)
def _reader(request):
    """Every test is of both readers."""
    _chosen[0] = READERS[request.param]


def read(text: bytes, limits: ReaderLimits | None = None):
    return _chosen[0](source(text), limits or ReaderLimits())


def frames_of(table):
    words = table.frames.strings.all()
    return {
        words[n]: (words[m], FrameKind(k), f)
        for n, m, k, f in zip(
            table.frames.name.tolist(),
            table.frames.module.tolist(),
            table.frames.kind.tolist(),
            table.frames.flags.tolist(),
            strict=True,
        )
    }


def test_totals_are_those_of_perf_report():
    table = read(captured("cpu.txt"))
    assert table.samples == 1209  # perf report --stats of the same perf.data
    messages = {}
    for line in captured("cpu_report_comm.txt").decode().splitlines():
        match = re.match(r"\s+[\d.]+%(?:\s+[\d.]+%)?\s+(\d+)\s+(.*?)\s*$", line)
        if match:
            messages[match[2]] = int(match[1])
    comms = table.comms.all()
    counted = Counter(comms[c] for c in table.comm.tolist())
    assert sum(messages.values()) == 1209
    assert dict(counted) == messages


def test_stacks_are_those_of_inferno():
    """inferno names unknown frames by their module and tidies symbols; so counts are compared, by shape."""
    table = read(captured("cpu.txt"))
    theirs: Counter[tuple[int, int]] = Counter()
    total = 0
    for line in captured("cpu_inferno.txt").decode().splitlines():
        stack, _, count = line.rpartition(" ")
        total += int(count)
        theirs[stack.count(";") + 1, int(count)] += 1
    assert total == table.samples - 1  # inferno drops the sample of a task with pid -1 ("Weird event line")
    by_name: Counter[tuple[str, ...]] = Counter()
    words = table.frames.strings.all()
    frames = table.frames
    for node in table.stack.tolist():
        path = []
        for f in table.trie.path(node):
            name, module = words[frames.name[f]], words[frames.module[f]]
            path.append("[" + module.strip("[]").rsplit("/", 1)[-1] + "]" if name == "[unknown]" else name)
        if path[0] != ":-1":
            by_name[tuple(path)] += 1
    ours = Counter((len(path), count) for path, count in by_name.items())
    assert ours == theirs


def test_default_layout_reads_the_same():
    ours, default = read(captured("cpu.txt")), read(captured("cpu_default.txt"))
    assert stacks(ours) == stacks(default)
    assert (ours.cpu == default.cpu).all() and (ours.tid == default.tid).all()
    assert (ours.t_ns // 1000 == default.t_ns // 1000).all()
    assert (default.pid == default.tid).all()  # the default layout names no process


def test_odd_names_and_kinds_of_frames():
    table = read(captured("cpu.txt"))
    comms = table.comms.all()
    assert {"io worker", "[odd] :1", "a b 12 [001]", "jit <b>&\"'"} <= set(comms)
    result = frames_of(table)
    assert result['LInterpreter;::<hot>("a&b")'][1] is FrameKind.JIT
    assert result["do_syscall_64"][1] is FrameKind.KERNEL
    assert result["leaf_math"] == ("/opt/shop/server", FrameKind.USER, 0)
    assert result["[unknown]"][1] is FrameKind.UNKNOWN
    assert table.has_time and table.has_cpu and table.events == ("cpu-clock:ppp",)
    assert 0 < table.quality.unknown_share < 1 and 0 < table.quality.truncated_share < 1


def test_lost_samples_are_counted_and_break_nothing():
    text = captured("lost.txt")
    table = read(text)
    assert table.samples == 5549
    assert table.quality.lost == sum(map(int, re.findall(rb"PERF_RECORD_LOST lost (\d+)", text))) > 0
    assert table.quality.skipped_lines == 0


def test_flat_layout_has_a_single_frame_per_sample():
    table = read(captured("flat.txt"))
    assert table.samples == 122 == captured("flat.txt").count(b"\n")
    assert set(table.trie.depth[table.stack].tolist()) <= {1, 2}


def test_two_events_stay_apart():
    table = read(captured("two.txt"))
    assert table.samples == 387 and len(table.events) == 3
    parts = [table.of_event(name) for name in table.events]
    assert sum(part.samples for part in parts) == 387
    switches = table.of_event("sched:sched_switch")
    assert switches.samples == len(re.findall(rb"sched:sched_switch:", captured("two.txt")))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"app 12/13 [002] 5.000001: cycles: ", (b"app", 12, 13, 2, 5_000_001_000, "cycles")),
        (
            b"app    13 [002]     5.000001:     1001 cycles:ppp: ",
            (b"app", 13, 13, 2, 5_000_001_000, "cycles:ppp"),
        ),
        (b"app 13 5.000000001: cpu/event=0x3c/u: ", (b"app", 13, 13, -1, 5_000_000_001, "cpu/event=0x3c/u")),
        (b"app 13 cycles: ", (b"app", 13, 13, -1, -1, "cycles")),
        (b"app 13 [001] 250 cycles: ", (b"app", 13, 13, 1, -1, "cycles")),
        (b"a b [x] 13 [001] 7.000001: c: ", (b"a b [x]", 13, 13, 1, 7_000_001_000, "c")),
        (
            b"p 1 5.000001: e 7/8 [000] 9.500000000: cpu-clock: ",
            (b"p 1 5.000001: e", 7, 8, 0, 9_500_000_000, "cpu-clock"),
        ),
        (
            b":-1    -1/-1    [001]  3.000000001: cpu-clock:ppp: ",
            (b":-1", -1, -1, 1, 3_000_000_001, "cpu-clock:ppp"),
        ),
        (b"swapper     0 [000]  1.000000: 1 cycles:  ", (b"swapper", 0, 0, 0, 1_000_000_000, "cycles")),
    ],
)
def test_headers_of_all_layouts(head, expected):
    header = perf_lines.read_header(head)
    assert header is not None
    assert (header.comm, header.pid, header.tid, header.cpu, header.t_ns, header.event) == expected


@pytest.mark.parametrize(
    ("line", "name", "module", "kind"),
    [
        (b"\t 7f main+0x1f (/tmp/my app)", "main", "/tmp/my app", FrameKind.USER),
        (
            b"\t 7f ns::(anonymous namespace)::f(int)+0x1 (/x (deleted))",
            "ns::(anonymous namespace)::f(int)",
            "/x (deleted)",
            FrameKind.USER,
        ),
        (b"\tffffffff81000000 do_idle ([kernel.kallsyms])", "do_idle", "[kernel.kallsyms]", FrameKind.IDLE),
        (b"\tffffffffc0000000 ct_in ([nf_conntrack])", "ct_in", "[nf_conntrack]", FrameKind.KERNEL),
        (
            b"\tffffffffc0000000 f (/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz)",
            "f",
            "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz",
            FrameKind.KERNEL,
        ),
        (b"\t 7f __vdso_time ([vdso])", "__vdso_time", "[vdso]", FrameKind.USER),
        (b"\t 7f hot (memfd:jit (deleted))", "hot", "memfd:jit (deleted)", FrameKind.JIT),
        (b"\t 7f hot (/tmp/perf-12.map)", "hot", "/tmp/perf-12.map", FrameKind.JIT),
        (b"\t 7f [unknown] (/tmp/perf-12.map)", "[unknown]", "/tmp/perf-12.map", FrameKind.UNKNOWN),
        (b"\t 7f small (inlined)", "small", "", FrameKind.USER),
        (b"\t 7f only_symbol", "only_symbol", "", FrameKind.USER),
        (b"\t 7f", "[unknown]", "", FrameKind.UNKNOWN),
    ],
)
def test_frames_of_all_layouts(line, name, module, kind):
    frame = perf_lines.read_frame(line, 4096)
    assert frame is not None
    assert (frame.name, frame.module, frame.kind) == (name, module, kind)
    assert frame.flags == (INLINED if b"(inlined)" in line else 0)


def block(comm: str, tid: int, t: str, frames: list[str]) -> bytes:
    lines = [f"{comm} {tid}/{tid} [000] {t}: cycles: "] + [f"\t    7f12 {name} (/bin/x)" for name in frames]
    return "\n".join(lines).encode() + b"\n\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_kept_printable(name):
    table = read(block("ok", 1, "1.000000001", [name, "main"]))
    (path,) = stacks(table)
    assert len(path) == 3 and path[:2] == ("ok", "main")
    assert all(c.isprintable() or c in "\ufffd " for c in path[2])
    if name.isprintable() and "  " not in name:
        assert path[2] == name


def test_missing_fields_and_windows_line_ends():
    table = read(b"app 12 cycles:\r\n\t 7f main (/x)\r\n\r\napp 12 cycles:\r\n\t 7f main (/x)\r\n\r\n")
    assert table.samples == 2 and not table.has_time and not table.has_cpu


def test_a_sample_without_a_stack_is_a_sample():
    table = read(b"app 12/12 [000] 1.000000001: cycles: \n\n" * 3)
    assert table.samples == 3 and table.quality.empty == 3


def test_unreadable_lines_are_counted_with_their_number():
    table = read(
        block("a", 1, "1.000000001", ["f"]) + b"what is this\n\n" + block("a", 1, "1.000000002", ["f"])
    )
    assert table.samples == 2
    assert (table.quality.skipped_lines, table.quality.first_skipped) == (1, 4)


def test_a_bad_time_in_a_known_task_is_no_sample():
    good = block("a", 1, "1.000000001", ["f"])
    table = read(good + good.replace(b"1.000000001", b"1.00000x001") + good)
    assert table.samples == 2 and table.quality.skipped_lines >= 1


@pytest.mark.parametrize(
    "text", [b"hello\nworld\n", b"main;foo 12\nmain;bar 3\n" * 500, b"\x7fELF\x00\x01" * 1000]
)
def test_other_files_are_refused_by_line(text):
    with pytest.raises(WrongFormatError) as refused:
        read(text)
    assert refused.value.line == 1 and refused.value.sentence.key == "import.not_perf_script"


def test_nothing_is_refused():
    with pytest.raises(ImportRefusedError) as refused:
        read(b"")
    assert refused.value.sentence.key == "import.no_samples"


@pytest.mark.parametrize(
    "t", ["9999999999.000000001", "99999999999.000000001", "8999999999.999999999", "0.000000000"]
)
def test_absurd_times_do_not_overflow(t):
    table = read(block("a", 1, "1.000000001", ["f"]) * 2 + block("a", 1, t, ["f"]) * 2)
    assert table.has_time and (table.t_ns >= 0).all() and table.samples in (2, 4)
    assert table.samples == 4 or table.quality.skipped_lines


def test_limits_name_the_line():
    deep = block("a", 1, "1.000000001", [f"f{i}" for i in range(10_000)])
    table = read(deep)
    assert int(table.trie.depth.max()) == 10_001
    with pytest.raises(LimitExceededError) as refused:
        read(block("b", 1, "1.000000000", ["x"]) + block("a", 1, "1.000000001", ["f"] * 10_001))
    assert refused.value.sentence.key == "import.limit_depth_at" and refused.value.line == 3 + 10_002
    with pytest.raises(LimitExceededError) as refused:
        read(block("a", 1, "1.000000001", ["f"]) + b"\t 7f " + b"x" * (1 << 20) + b" (/x)\n")
    assert refused.value.sentence.key == "import.limit_line_at" and refused.value.line == 4
    with pytest.raises(LimitExceededError):
        read(b"x" * (3 << 20))
    with pytest.raises(LimitExceededError) as refused:
        read(b"".join(block("a", 1, "1.000000001", [f"f{i}"]) for i in range(200)), ReaderLimits(frames=100))
    assert refused.value.sentence.key == "import.limit_frames"
    with pytest.raises(LimitExceededError) as refused:
        read(b"".join(block("a", 1, "1.000000001", [f"f{i}"]) for i in range(200)), ReaderLimits(nodes=100))
    assert refused.value.sentence.key == "import.limit_nodes"


def test_long_symbols_are_cut_and_stay_apart():
    long = "s" * 9000
    table = read(block("a", 1, "1.000000001", [long + "1", long + "2"]))
    assert table.quality.cut_names == 2
    (path,) = stacks(table)
    assert path[1] != path[2] and all(len(name) <= 4096 for name in path)


def test_pieces_of_any_size_give_the_same():
    text = captured("cpu.txt")[:60_000]

    class Drip:
        def __init__(self, step):
            self.at, self.step = 0, step

        def read(self, size):
            piece = text[self.at : self.at + self.step]
            self.at += len(piece)
            return piece

    whole = stacks(read(text))
    for step in (7, 64, 4096):
        assert stacks(_chosen[0](Drip(step))) == whole


def test_forgetting_the_caches_changes_nothing(monkeypatch):
    whole = stacks(read(captured("cpu.txt")))
    monkeypatch.setattr(perf_script, "CACHE_BYTES", 4096)
    monkeypatch.setattr(perf_script, "TASKS_MAX", 2)
    assert stacks(read(captured("cpu.txt"))) == whole


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1, max_size=12).map(
    lambda s: "f" + s.strip().replace("+0x", "")
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b c", "[x] 1"]), st.integers(1, 9), st.lists(NAMES, max_size=6)),
        min_size=1,
        max_size=30,
    )
)
def test_samples_are_conserved(samples):
    text = b"".join(block(comm, tid, f"{i}.000000001", names) for i, (comm, tid, names) in enumerate(samples))
    table = read(text)
    assert table.samples == len(samples)
    assert table.t_ns.tolist() == [i * 10**9 + 1 for i in range(len(samples))]
    depth = (table.trie.depth[table.stack] - 1).tolist()
    assert depth == [len(names) for _, _, names in samples]
    assert int(table.trie.inclusive(np.bincount(table.stack, minlength=len(table.trie)))[0]) == len(samples)


@settings(max_examples=150, deadline=2000)
@given(st.binary(max_size=400), st.integers(0, 3000), st.integers(0, 60))
def test_damage_never_raises_anything_else(noise, at, cut):
    text = captured("cpu.txt")[:3000]
    broken = text[:at] + noise + text[at + cut :]
    try:
        table = read(broken)
    except ImportRefusedError:
        return
    assert table.samples >= 1


@pytest.mark.parametrize(
    "line",
    [
        b" " * 200_000,
        b"a " * 100_000,
        b"1.000: " * 30_000,
        b"\t7f " + b")" * 200_000,
        b"\t7f " + b"(" * 200_000,
        b"a" * 200_000 + b":",
    ],
)
def test_long_odd_lines_cost_little(line):
    text = block("a", 1, "1.000000001", ["f"])
    assert read(text + line + b"\n\n" + text).samples >= 2


@pytest.mark.skipif(not shutil.which("perf"), reason="perf is not installed")
def test_a_fresh_capture_counts_as_perf_report_does(tmp_path: Path):
    data = tmp_path / "perf.data"
    result = subprocess.run(
        [
            "perf",
            "record",
            "-F",
            "299",
            "-g",
            "--sample-cpu",
            "-o",
            data,
            "--",
            "sh",
            "-c",
            "seq 150000 | gzip | md5sum",
        ],
        capture_output=True,
        check=False,
    )
    if result.returncode:
        pytest.skip(f"perf may not record here: {result.stderr[-200:]!r}")
    fields = "comm,pid,tid,cpu,time,event,ip,sym,dso"
    text = subprocess.run(
        ["perf", "script", "--no-inline", "-i", data, "-F", fields, "--ns", "--show-lost-events"],
        capture_output=True,
        check=True,
    ).stdout
    report = subprocess.run(
        ["perf", "report", "--stdio", "-n", "-g", "none", "-s", "sym", "-i", data],
        capture_output=True,
        check=True,
    ).stdout.decode()
    message = sum(int(n) for n in re.findall(r"^\s+[\d.]+%(?:\s+[\d.]+%)?\s+(\d+)\s", report, re.MULTILINE))
    assert read(text).samples == message > 0
