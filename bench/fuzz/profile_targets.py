"""Targets for profiles and programs: text of perf, profiles of other tools, ELF files, streams of frames."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from culprit.captures.imports.bundle_parts import BundleReader
from culprit.domain.imports.file_kinds import detect_file_kind
from culprit.evidence.parsing.elf_file import ElfFileError, list_symbol_blocks, read_blocks, read_elf_file

from bench.fuzz.target import MAX_BYTES, SEED_BYTES, DefectError, FuzzTarget, check_texts
from collectors.parse.perf.folded import parse_folded
from collectors.parse.perf.perf_sched import parse_perf_sched
from collectors.parse.perf.perf_script import parse_perf_script
from collectors.parse.perf.perf_script_sparse import parse_sparse_script
from collectors.parse.profile_formats.registry import READERS, detect_json_format
from collectors.profiles.limits import ImportRefusedError, Readable
from collectors.profiles.samples import SampleTable
from collectors.runner import frames, records, watcher
from collectors.tests.fixture_files import FIXTURES

_PROFILES = FIXTURES / "profiles"
_FORMATS = {
    "pprof": ("go_cpu.pb", "go_heap.pb", "go_mutex.pb", "go_goroutine.pb"),
    "speedscope": ("pyspy.speedscope.json",),
    "chrome_trace": ("pyspy.trace.json", "chromium.trace.json"),
    "cpuprofile": ("node.cpuprofile",),
}
_MAP = b"Attaching 1 probe...\n\n@[\n    __schedule+1\n    main+42\n, worker]: 17\n@[main]: 3\n"
_PERF_TEXT = ("cpu.txt", "two.txt", "lost.txt", "flat.txt", "cpu_default.txt")
_SPARSE_TEXT = ("sparse_all.txt", "sparse_comm.txt", "sparse_ip.txt", "sparse_time.txt")
_FRAMES = (
    b"CULPRIT1 kind=hello len=19\nrun 1\nkernel 6.1.0\n\n"
    b"CULPRIT1 kind=clock len=0 seq=1 at=start bt0=1 bt1=2 m0=1 m1=2 real=1767225600000000000 res=1 src=date\n\n"
    b"CULPRIT1 kind=part id=meminfo part=samples len=5 enc=identity raw=5\nhello\n"
    b"CULPRIT1 kind=outcome id=meminfo len=46 state=done exit=0 start=1 end=2 method=proc cpu_ms=1\n"
    b"argv cat /proc/meminfo\nstderr\nno such file: x\n\n"
    b"CULPRIT1 kind=end len=7\nstate 1\n"
)


def list_profile_targets() -> list[FuzzTarget]:
    """Return a target for each reader of stacks, and for streams of frames and ELF files."""
    refusals = (ImportRefusedError,)
    readers = [
        FuzzTarget(
            f"profile.{name}", build_table_reader(reader), build_profile_seeds(_FORMATS[name]), refusals
        )
        for name, reader in READERS.items()
        if name in _FORMATS
    ]
    return [
        *readers,
        FuzzTarget("profile.bpftrace", build_table_reader(READERS["bpftrace"]), lambda: [_MAP], refusals),
        FuzzTarget("profile.firefox", build_table_reader(READERS["firefox"]), _load_firefox, refusals),
        FuzzTarget(
            "perf.script", build_table_reader(parse_perf_script), build_profile_seeds(_PERF_TEXT), refusals
        ),
        FuzzTarget(
            "perf.sparse_script",
            build_table_reader(parse_sparse_script),
            build_profile_seeds(_SPARSE_TEXT),
            refusals,
        ),
        FuzzTarget(
            "perf.folded",
            build_table_reader(parse_folded),
            build_profile_seeds(("pyspy.raw.txt", "cpu_inferno.txt")),
            refusals,
        ),
        FuzzTarget("perf.sched", _read_schedule, build_profile_seeds(("sched.txt",)), refusals),
        FuzzTarget("file.kind", _detect_kinds, build_profile_seeds(sum(_FORMATS.values(), ()))),
        FuzzTarget("file.elf", _read_elf, _load_programs, (ElfFileError,)),
        FuzzTarget("file.capture_bundle", _read_bundle, lambda: [_FRAMES], refusals),
        FuzzTarget("host.frames", _read_frames, lambda: [_FRAMES]),
        FuzzTarget(
            "host.lines", _read_lines, lambda: [b"progress meminfo done 12\nalive 3\nwatch 1 2 3 4 5.5\n"]
        ),
    ]


def build_table_reader(
    read: Callable[[Readable], SampleTable | list[SampleTable]],
) -> Callable[[bytes], object]:
    """Return a function that reads stacks and checks that indexes and weights of the tables are valid."""

    def parse(data: bytes) -> object:
        result = read(io.BytesIO(data))
        for table in result if isinstance(result, list) else [result]:
            check_table(table)
        return result

    return parse


def check_table(table: SampleTable) -> None:
    """Check columns of equal length, indexes that exist, and a total that does not wrap. Raises DefectError."""
    rows = len(table.t_ns)
    columns = (table.cpu, table.pid, table.tid, table.comm, table.weight, table.stack, table.event)
    if any(len(column) != rows for column in columns):
        raise DefectError("columns differ in length")
    if rows == 0:
        return
    if int(table.stack.min()) < 0 or int(table.stack.max()) > len(table.trie):
        raise DefectError("a stack does not exist")
    if int(table.comm.min()) < 0 or int(table.comm.max()) >= len(table.comms.all()):
        raise DefectError("a name of a thread does not exist")
    if int(table.event.max()) >= len(table.events):
        raise DefectError("an event does not exist")
    if int(table.weight.min()) < 0 or table.total != sum(table.weight.tolist()):
        raise DefectError("weights are negative or wrap")
    if np.any(np.diff(table.t_ns) < 0):
        raise DefectError("times are not sorted")


def build_profile_seeds(names: Sequence[str]) -> Callable[[], list[bytes]]:
    """Return a function that loads recordings of at most the largest input: text is cut, of JSON lists are cut."""

    def load_seeds() -> list[bytes]:
        texts = {name: gzip.decompress((_PROFILES / f"{name}.gz").read_bytes()) for name in names}
        return [
            shorten_json(text) if name.endswith(("json", "cpuprofile")) else text[:SEED_BYTES]
            for name, text in texts.items()
        ]

    return load_seeds


def shorten_json(text: bytes, limit: int = SEED_BYTES) -> bytes:
    """Return the document with fewer items in its long lists, so that it has at most `limit` bytes if possible."""
    whole = json.loads(text)
    items = 1 << 16
    while len(text) > limit and items > 1:
        items //= 2
        text = json.dumps(_cut_lists(whole, items)).encode()
    return text[:MAX_BYTES]


def _cut_lists(value: Any, items: int) -> Any:
    if isinstance(value, list):
        return [_cut_lists(item, items) for item in value[:items]]
    return (
        {name: _cut_lists(item, items) for name, item in value.items()} if isinstance(value, dict) else value
    )


def _load_firefox() -> list[bytes]:
    thread = {
        "name": "t", "pid": "1", "tid": 1, "stringArray": ["f", "g", "lib"],
        "stackTable": {"frame": [0, 1], "prefix": [None, 0], "length": 2},
        "frameTable": {"func": [0, 1]}, "funcTable": {"name": [0, 1], "resource": [-1, 0]},
        "resourceTable": {"name": [2], "lib": [0]},
        "samples": {"stack": [0, 1], "time": [0, 1.5], "weight": None, "weightType": "samples"},
    }  # fmt: skip
    meta = {
        "interval": 1,
        "preprocessedProfileVersion": 48,
        "categories": [{"name": "Other"}],
        "startTime": 5.5,
    }
    small = json.dumps({"meta": meta, "libs": [{"name": "lib"}], "threads": [thread]}).encode()
    return [small, *build_profile_seeds(("firefox.json", "gecko.json"))()]


def _read_schedule(data: bytes) -> object:
    return parse_perf_sched(io.BytesIO(data))


def _detect_kinds(data: bytes) -> object:
    return detect_file_kind(data), detect_json_format(data)


def _read_elf(data: bytes) -> object:
    file = io.BytesIO(data)
    elf = read_elf_file(file)
    blocks = list_symbol_blocks(elf, len(data))
    return sum(len(block) for block in read_blocks(file, blocks))


def _load_programs() -> list[bytes]:
    header = bytearray(4096)
    header[:6] = b"\x7fELF\x02\x01"
    header[40:48] = (64).to_bytes(8, "little")  # where the section headers are
    header[54:56], header[58:60], header[60:62] = b"\x38\x00", b"\x40\x00", b"\x04\x00"
    return [bytes(header), *(path.read_bytes()[:SEED_BYTES] for path in sorted(_PROFILES.glob("*.so*")))]


def _read_bundle(data: bytes) -> object:
    with tempfile.TemporaryDirectory(prefix="culprit-fuzz-") as directory:
        return check_texts(BundleReader(Path(directory)).read(io.BytesIO(data)))


def _read_frames(data: bytes) -> object:
    """Read a stream in one piece and in pieces: the frames and the trouble are the same."""
    whole = _collect_frames([data])
    check_texts(whole)
    step = 1 + len(data) // 7
    pieces = _collect_frames([data[at : at + step] for at in range(0, len(data), step)])
    if whole != pieces:
        raise DefectError("the pieces of a stream change its frames")
    return whole


def _collect_frames(pieces: Sequence[bytes]) -> tuple[list[object], str | None]:
    reader = frames.FrameReader()
    results: list[object] = []
    for piece in pieces:
        for frame in reader.feed(piece):
            kind = frame.header.kind
            results.append((kind, frame.header.id, frame.header.part, frame.digest, frame.intact))
            if kind == "outcome":
                results.append(records.parse_outcome(frame))
            elif kind == "clock":
                results.append(records.parse_reading(frame))
            else:
                results.append(records.read_facts(frame))
    return results, reader.close()


def _read_lines(data: bytes) -> object:
    lines = data.decode("utf-8", "replace").split("\n")
    return [(frames.parse_progress(line), watcher.parse_line(line)) for line in lines]
