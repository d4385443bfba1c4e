"""Measure the judgment of fixes with and without an effect: all four outcomes, on real captures.

    ./culprit bench verify_captures [--sides 12] [--captures 3] [--seconds 15] [--pairs 30] [--less 0.2]

A service of our own answers a fixed number of requests a second and writes an access log. Each request is a fixed
amount of work; occasionally that amount changes by `--less`, and nothing else does. Sides of `--captures` captures each
are taken in turns, two with all of the work, two with less, and so on, by the runner that the server sends; they are
read and judged as a verification of a fix is, by the response time and by the CPU of the host.

A/A are pairs of sides with the same work: nothing was changed, so every reported change is wrong. A side is in
several pairs; those that are adjacent in time come first. Takes sides * captures * (seconds + 2) seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import HostView
from culprit.domain.verification import primary_number
from culprit.domain.verification.judge import (
    DEFAULT_MINIMUM_CHANGE,
    Judgment,
    judge_windows,
)
from culprit.domain.verification.windows import MeasurementWindow

from bench.accuracy.score_client import decompress_artifact
from bench.support.own_capture import (
    EXIT_OCCUPIED,
    HEARTBEAT_S,
    PR_SET_PDEATHSIG,
    OccupiedError,
    call_every,
    make_heartbeat,
    retry_occupied,
    set_process_option,
)
from collectors.clock.mapping import ClockMap
from collectors.contract import Context, Parsed
from collectors.registry import COLLECTORS
from collectors.runner import frames, program

OUTCOMES = ("verified", "worse", "no_effect", "no_conclusion")
READS = ("app.p50_ms", "cpu.total_busy_pct")
RATE = 40
UNITS = 100
BLOCK = bytes(256 << 10)
GAP_S = 1.0


class BytesPart:
    """A part that is held in memory."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.sha256 = hashlib.sha256(data).hexdigest()

    def open(self) -> io.BytesIO:
        """The bytes, from the beginning."""
        return io.BytesIO(self.data)

    def read(self, limit: int) -> bytes:
        """At most that many of them."""
        return self.data[:limit]


@contextmanager
def run_service(log: Path) -> Iterator[mmap.mmap]:
    """The service; what is yielded holds how many units of work a request takes."""
    units = mmap.mmap(-1, 8)
    struct.pack_into("Q", units, 0, UNITS)
    pid = os.fork()
    if pid == 0:
        try:
            set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
            _serve_requests(log, units)
        finally:
            os._exit(1)
    try:
        yield units
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _serve_requests(log: Path, units: mmap.mmap) -> None:
    """One request after the other, each at its time; one that comes late does not make up for it."""
    with log.open("a", buffering=1) as out:
        due = time.monotonic()
        while True:
            began = time.perf_counter()
            for _ in range(struct.unpack_from("Q", units, 0)[0]):
                hashlib.sha1(BLOCK, usedforsecurity=False).digest()
            took_ms = 1e3 * (time.perf_counter() - began)
            out.write(f"{time.time():.3f} GET /price 200 {took_ms:.3f}\n")
            due = max(due + 1 / RATE, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))


def capture_view(jobs: Sequence[program.CollectorJob]) -> HostView:
    """One capture of this machine, read. Raises OccupiedError, and SystemExit where the runner did not finish."""
    limits = program.RunnerLimits(run=str(uuid.uuid4()), deadline_s=program.compute_deadline_s(jobs))
    reader = frames.FrameReader()
    got: list[frames.Frame] = []
    with subprocess.Popen(
        ["/bin/sh", "-c", program.build_command(program.build_program(jobs, limits))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as child:  # fmt: skip
        assert child.stdout
        with call_every(HEARTBEAT_S, make_heartbeat(child)):
            while data := child.stdout.read1(1 << 16):  # type: ignore[attr-defined]
                got += reader.feed(data)
            status = child.wait()
    if status == EXIT_OCCUPIED:
        raise OccupiedError
    if status or reader.close():
        raise SystemExit(f"the runner ended with {status}")
    clock = ClockMap.from_records(dict(item.header.fields) for item in got if item.header.kind == "clock")
    boots = [int(item.header.fields["bt0"]) for item in got if item.header.kind == "clock"]
    t0, t1 = clock.to_utc("boottime", np.array([min(boots), max(boots)], np.int64)).tolist()
    parsed = {job.id: _parse_part(job, got, clock) for job in jobs}
    return replace(build_view(parsed, seconds=(t1 - t0) / 1e9), span_ns=(t0, t1))


def _parse_part(job: program.CollectorJob, got: Sequence[frames.Frame], clock: ClockMap) -> Parsed:
    parts = {}
    for item in got:
        if item.header.kind == "part" and item.header.id == job.id:
            parts[item.header.part] = BytesPart(decompress_artifact(item.payload, item.header.encoding))
    return COLLECTORS[job.id].parse(parts, Context(clock, job.methods[0].name, job.seconds))


@dataclass(frozen=True, slots=True)
class Side:
    """The captures of one side, and whether the requests took less work."""

    less: bool
    views: Sequence[HostView]


def capture_sides(namespace: argparse.Namespace) -> list[Side]:
    """All of them, in the order in which they were taken."""
    sides: list[Side] = []
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        log = Path(folder) / "access.log"
        options = {"path": str(log), "format": "lab"}
        jobs = [
            program.CollectorJob.of(COLLECTORS["cpu_stat"], namespace.seconds),
            program.CollectorJob.of(COLLECTORS["app_metrics"], namespace.seconds, options),
        ]
        with run_service(log) as units:
            time.sleep(3)
            for at in range(namespace.sides):
                less = at % 4 in (2, 3)
                share = 1 - namespace.less if less else 1
                struct.pack_into("Q", units, 0, round(UNITS * share))
                views = []
                for _ in range(namespace.captures):
                    time.sleep(GAP_S)
                    views.append(retry_occupied(lambda: capture_view(jobs)))
                sides.append(Side(less, views))
                print(
                    f"side {at + 1} of {namespace.sides} ({'less' if less else 'all'})",
                    file=sys.stderr,
                    flush=True,
                )
    return sides


def select_pairs(sides: Sequence[Side], kind: str, most: int) -> list[tuple[Side, Side]]:
    """The pairs of one kind, those that were taken next to each other first."""
    order = sorted(itertools.combinations(range(len(sides)), 2), key=lambda item: (item[1] - item[0], item))
    both = [(sides[item], sides[other]) for item, other in order]
    if kind == "A/A":
        return [item for item in both if item[0].less == item[1].less][:most]
    turned = [item if not item[0].less else item[::-1] for item in both if item[0].less != item[1].less]
    return turned[:most]


def judge_pair(pair: tuple[Side, Side], read: str, minimum_change: float) -> Judgment:
    """Return the result of a verification of the second side against the first."""
    subject = primary_number.select_subject(pair[0].views, read, "lower")
    before, after = ([_measure_window(view, read, subject) for view in side.views] for side in pair)
    divisible = primary_number.is_divisible(read)
    return judge_windows(before, after, "lower", minimum_change=minimum_change, divisible=divisible)


def _measure_window(view: HostView, read: str, subject: tuple[tuple[str, str], ...]) -> MeasurementWindow:
    return primary_number.measure_primary(view, read, subject).window


def main() -> None:
    """Measures and prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sides", type=int, default=12)
    parser.add_argument("--captures", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--less", type=float, default=0.2)
    parser.add_argument("--minimum-change", type=float, default=DEFAULT_MINIMUM_CHANGE)
    args = parser.parse_args()
    loads = [os.getloadavg()[0]]
    result = capture_sides(args)
    loads.append(os.getloadavg()[0])
    print(f"\nload average {loads[0]:.1f} before, {loads[1]:.1f} after\n")
    print(
        "| number | pairs | verified | worse | no effect | no conclusion | why | change, median [min, max] |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for read in READS:
        for kind in ("A/A", f"{100 * args.less:.0f} % less work"):
            judged = [
                judge_pair(item, read, args.minimum_change) for item in select_pairs(result, kind, args.pairs)
            ]
            print(_render_row(read, kind, judged))


def _render_row(read: str, kind: str, judged: Sequence[Judgment]) -> str:
    count = Counter(str(item.outcome) for item in judged)
    why = Counter(item.reason.key for item in judged if item.reason)
    changes = sorted(item.change for item in judged if item.change == item.change)
    middle = f"{changes[len(changes) // 2]:+.1%} [{changes[0]:+.1%}, {changes[-1]:+.1%}]" if changes else "-"
    cells = " | ".join(str(count[outcome]) for outcome in OUTCOMES)
    reasons = ", ".join(f"{key.removeprefix('verify.')} {n}" for key, n in why.items()) or "-"
    return f"| `{read}` | {len(judged)} {kind} | {cells} | {reasons} | {middle} |"


if __name__ == "__main__":
    main()
