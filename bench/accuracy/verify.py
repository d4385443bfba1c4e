"""What is said of a fix that did nothing, and of one that did something: all four outcomes, on real captures.

    python -m bench.verify [--sides 12] [--captures 3] [--seconds 15] [--pairs 30] [--less 0.2]

A service of our own answers a fixed number of requests a second and writes an access log. Each request is a fixed
amount of work; now and then that amount changes by `--less`, and nothing else does. Sides of `--captures` captures each
are taken in turns, two with all of the work, two with less, and so on, by the runner that the server sends; they are
read and judged as a verification of a fix is, by the response time and by the CPU of the host.

A/A are pairs of sides with the same work: nothing was changed, whatever is said of a change is wrong. A side stands in
several pairs, those that lie next to each other in time come first. Takes sides * captures * (seconds + 2) seconds.
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
from culprit.core import primary
from culprit.core.rules.parsed_view import view_of
from culprit.core.rules.view import View
from culprit.core.verify import DEFAULT_BAR, Judged, Window, judge

from bench.own_capture import BEAT_S, BUSY, PR_SET_PDEATHSIG, Occupied, every, heartbeat, prctl, unhindered
from bench.score_client import unpacked
from collectors import bundle, frames
from collectors.clock import ClockMap
from collectors.contract import Context, Parsed
from collectors.registry import COLLECTORS

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
def service(log: Path) -> Iterator[mmap.mmap]:
    """The service; what is yielded holds how many units of work a request takes."""
    units = mmap.mmap(-1, 8)
    struct.pack_into("Q", units, 0, UNITS)
    pid = os.fork()
    if pid == 0:
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            _serve(log, units)
        finally:
            os._exit(1)
    try:
        yield units
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _serve(log: Path, units: mmap.mmap) -> None:
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


def capture(jobs: Sequence[bundle.Job]) -> View:
    """One capture of this machine, read. Raises Occupied, and SystemExit where the runner did not finish."""
    limits = bundle.Limits(run=str(uuid.uuid4()), deadline_s=bundle.deadline_for(jobs))
    reader = frames.FrameReader()
    got: list[frames.Frame] = []
    with subprocess.Popen(
        ["/bin/sh", "-c", bundle.command(bundle.build(jobs, limits))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as child:  # fmt: skip
        assert child.stdout
        with every(BEAT_S, heartbeat(child)):
            while data := child.stdout.read1(1 << 16):  # type: ignore[attr-defined]
                got += reader.feed(data)
            status = child.wait()
    if status == BUSY:
        raise Occupied
    if status or reader.close():
        raise SystemExit(f"the runner ended with {status}")
    clock = ClockMap.from_records(dict(one.header.fields) for one in got if one.header.kind == "clock")
    boots = [int(one.header.fields["bt0"]) for one in got if one.header.kind == "clock"]
    t0, t1 = clock.to_utc("boottime", np.array([min(boots), max(boots)], np.int64)).tolist()
    parsed = {job.id: _parsed(job, got, clock) for job in jobs}
    return replace(view_of(parsed, seconds=(t1 - t0) / 1e9), span_ns=(t0, t1))


def _parsed(job: bundle.Job, got: Sequence[frames.Frame], clock: ClockMap) -> Parsed:
    parts = {}
    for one in got:
        if one.header.kind == "part" and one.header.id == job.id:
            parts[one.header.part] = BytesPart(unpacked(one.payload, one.header.encoding))
    return COLLECTORS[job.id].parse(parts, Context(clock, job.ways[0].name, job.seconds))


@dataclass(frozen=True, slots=True)
class Side:
    """The captures of one side, and whether the requests took less work."""

    less: bool
    views: Sequence[View]


def sides(wanted: argparse.Namespace) -> list[Side]:
    """All of them, in the order in which they were taken."""
    found: list[Side] = []
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as folder:
        log = Path(folder) / "access.log"
        options = {"path": str(log), "format": "lab"}
        jobs = [
            bundle.Job.of(COLLECTORS["cpu_stat"], wanted.seconds),
            bundle.Job.of(COLLECTORS["app_metrics"], wanted.seconds, options),
        ]
        with service(log) as units:
            time.sleep(3)
            for at in range(wanted.sides):
                less = at % 4 in (2, 3)
                share = 1 - wanted.less if less else 1
                struct.pack_into("Q", units, 0, round(UNITS * share))
                views = []
                for _ in range(wanted.captures):
                    time.sleep(GAP_S)
                    views.append(unhindered(lambda: capture(jobs)))
                found.append(Side(less, views))
                print(
                    f"side {at + 1} of {wanted.sides} ({'less' if less else 'all'})",
                    file=sys.stderr,
                    flush=True,
                )
    return found


def pairs(found: Sequence[Side], kind: str, most: int) -> list[tuple[Side, Side]]:
    """The pairs of one kind, those that were taken next to each other first."""
    order = sorted(itertools.combinations(range(len(found)), 2), key=lambda one: (one[1] - one[0], one))
    both = [(found[one], found[other]) for one, other in order]
    if kind == "A/A":
        return [one for one in both if one[0].less == one[1].less][:most]
    turned = [one if not one[0].less else one[::-1] for one in both if one[0].less != one[1].less]
    return turned[:most]


def told(pair: tuple[Side, Side], read: str, bar: float) -> Judged:
    """What a verification says of the second side after the first."""
    subject = primary.subject_of(pair[0].views, read, "lower")
    before, after = ([_window(view, read, subject) for view in side.views] for side in pair)
    return judge(before, after, "lower", bar=bar, divisible=primary.divisible(read))


def _window(view: View, read: str, subject: tuple[tuple[str, str], ...]) -> Window:
    return primary.seen(view, read, subject).window


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
    parser.add_argument("--bar", type=float, default=DEFAULT_BAR)
    wanted = parser.parse_args()
    loads = [os.getloadavg()[0]]
    found = sides(wanted)
    loads.append(os.getloadavg()[0])
    print(f"\nload average {loads[0]:.1f} before, {loads[1]:.1f} after\n")
    print(
        "| number | pairs | verified | worse | no effect | no conclusion | why | change, median [min, max] |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for read in READS:
        for kind in ("A/A", f"{100 * wanted.less:.0f} % less work"):
            judged = [told(one, read, wanted.bar) for one in pairs(found, kind, wanted.pairs)]
            print(_row(read, kind, judged))


def _row(read: str, kind: str, judged: Sequence[Judged]) -> str:
    count = Counter(str(one.outcome) for one in judged)
    why = Counter(one.reason.key for one in judged if one.reason)
    changes = sorted(one.change for one in judged if one.change == one.change)
    middle = f"{changes[len(changes) // 2]:+.1%} [{changes[0]:+.1%}, {changes[-1]:+.1%}]" if changes else "-"
    cells = " | ".join(str(count[one]) for one in OUTCOMES)
    reasons = ", ".join(f"{key.removeprefix('verify.')} {n}" for key, n in why.items()) or "-"
    return f"| `{read}` | {len(judged)} {kind} | {cells} | {reasons} | {middle} |"


if __name__ == "__main__":
    main()
