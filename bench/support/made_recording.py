"""Generate a synthetic perf recording of a given size. The bytes are the same every time."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

SPREAD = (8, 10, 10, 10, 25)
"""Number of callees of the functions of each level: 200,000 stacks of five frames."""

STACKS = int(np.prod(SPREAD))
PROCESSES = 20
SECONDS = 600
CPUS = 64
CODE, CODE_BYTES = 0x7F00_0000_0000, 1 << 30
PIECE = 500_000
_CONTEXT_USER = 2**64 - 512
_FIRST_PID = 1000
_SAMPLE_FIELDS = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7  # IP, TID, TIME, CALLCHAIN, CPU
_SAMPLE = np.dtype(
    [
        ("kind", "<u4"), ("misc", "<u2"), ("size", "<u2"), ("ip", "<u8"), ("pid", "<u4"), ("tid", "<u4"),
        ("time", "<u8"), ("cpu", "<u4"), ("reserved", "<u4"), ("length", "<u8"), ("chain", "<u8", len(SPREAD) + 1),
    ]
)  # fmt: skip
SAMPLE_BYTES = _SAMPLE.itemsize


def write_recording(path: Path, samples: int, threads: int = 1000, seed: int = 1) -> None:
    """Write `samples` samples of 200,000 stacks, some much heavier than others, in `threads` threads."""
    draw = np.random.Generator(np.random.PCG64(seed))
    entry = _pack_attribute() + struct.pack("<QQ", 0, 0)
    described = b"".join(_pack_processes(threads))
    start = 104 + len(entry)
    size = len(described) + samples * SAMPLE_BYTES
    with path.open("wb") as out:
        out.write(b"PERFILE2" + struct.pack("<12Q", 104, len(entry), 104, len(entry), start, size, *[0] * 6))
        out.write(entry)
        out.write(described)
        for first in range(0, samples, PIECE):
            out.write(_make_samples(draw, first, min(PIECE, samples - first), samples, threads).tobytes())


def _pack_attribute() -> bytes:
    """`struct perf_event_attr`, version 3, of cpu-clock with the monotonic clock and trailing fields."""
    flags = 1 << 18 | 1 << 25
    clock_monotonic = 1
    head = struct.pack("<II7Q", 1, 96, 0, 0, _SAMPLE_FIELDS, 0, flags, 0, 0)
    return head + struct.pack("<QQQIi", 0, 0, 0, 0, clock_monotonic)


def _pack_processes(threads: int) -> list[bytes]:
    """Records of the program of each process and of the name of each thread."""
    records = []
    for at in range(threads):
        pid, tid = _FIRST_PID + at % PROCESSES, _FIRST_PID + at
        trailing = struct.pack("<IIQII", pid, tid, 0, 0, 0)
        records.append(
            _pack_record(3, struct.pack("<II", pid, tid) + _pad_name(f"worker-{at % SPREAD[0]}") + trailing)
        )
        if at < PROCESSES:
            place = struct.pack("<IIQQQIIQQII", pid, tid, CODE, CODE_BYTES, 0, 8, 1, 4711, 0, 5, 2)
            records.append(_pack_record(10, place + _pad_name("/usr/lib/libmade.so") + trailing))
    return records


def _pack_record(kind: int, payload: bytes) -> bytes:
    return struct.pack("<IHH", kind, 2, 8 + len(payload)) + payload


def _pad_name(name: str) -> bytes:
    text = name.encode() + b"\0"
    return text + b"\0" * (-len(text) % 8)


def _make_samples(draw: np.random.Generator, first: int, size: int, samples: int, threads: int) -> np.ndarray:
    """Return records [size] of samples in order of time."""
    rows = np.zeros(size, _SAMPLE)
    rows["kind"], rows["misc"], rows["size"], rows["length"] = 9, 2, SAMPLE_BYTES, len(SPREAD) + 1
    stack = (STACKS * draw.random(size) ** 3).astype(np.int64)
    # Threads of one name run stacks of one kind, so that names do not make more stacks.
    kind = stack * SPREAD[0] // STACKS
    thread = (threads // SPREAD[0] * draw.random(size) ** 2).astype(np.int64) * SPREAD[0] + kind
    rows["pid"], rows["tid"] = _FIRST_PID + thread % PROCESSES, _FIRST_PID + thread
    rows["cpu"] = draw.integers(0, CPUS, size)
    rows["time"] = (first + np.arange(size, dtype=np.uint64)) * np.uint64(SECONDS * 10**9 // samples)
    rows["chain"][:, 0] = _CONTEXT_USER
    left, above = STACKS, np.zeros(size, np.int64)
    for level, spread in enumerate(SPREAD):
        left //= spread
        here = stack // left % spread
        # A function is called by those of the level above whose number has the same remainder.
        function = level * 1000 + (above % 40) * 25 + here
        rows["chain"][:, len(SPREAD) - level] = CODE + function * 4096 + 16
        above = function
    rows["ip"] = rows["chain"][:, 1]
    return rows
