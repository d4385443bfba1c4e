"""Capture this machine from a benchmark: with the runner that the server sends, started by /bin/sh as by sshd."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from collectors.runner import frames, program, records

Result = TypeVar("Result")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
HEARTBEAT_S = 3.0  # interval of heartbeats, as of the server
EXIT_OCCUPIED = 75  # exit status of a runner if another runner is active on the host
TIMEOUT_S = 120.0


def set_process_option(option: int, value: int) -> None:
    """Call prctl(2). Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def read_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class OwnCaptureResult:
    """The result of one run. `own_cpu_s` is the CPU time that the runner reports, `cpu_s` that of the kernel."""

    seconds: float
    cpu_s: float
    own_cpu_s: float
    collectors_cpu_s: float
    collectors_s: dict[str, float]
    sent: int
    failed: tuple[str, ...]
    limiter: str


class OccupiedError(Exception):
    """Another capture of this machine holds the lease."""


class DiscardSink:
    """Discard the bytes of a part."""

    def write(self, data: bytes, /) -> object:
        return len(data)


@contextlib.contextmanager
def call_every(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Call `act` periodically in a thread until the block ends."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(seconds):
            act()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def make_heartbeat(child: subprocess.Popen[bytes]) -> Callable[[], None]:
    """Return a function that sends one heartbeat of the server."""
    numbers = itertools.count(1)

    def beat() -> None:
        assert child.stdin
        with contextlib.suppress(OSError):
            child.stdin.write(b"hb %d\n" % next(numbers))
            child.stdin.flush()

    return beat


def run_capture(jobs: list[program.CollectorJob], run: str) -> OwnCaptureResult:
    """Run the jobs until the last process exits. Raises OccupiedError, and SystemExit if the runner fails."""
    limits = program.RunnerLimits(run=run, deadline_s=program.compute_deadline_s(jobs))
    line = program.build_command(program.build_program(jobs, limits))
    reader = frames.FrameReader(sink=lambda _: DiscardSink())
    got: list[frames.Frame] = []
    sent = 0
    before = read_children_cpu_s()
    began = time.monotonic()
    with subprocess.Popen(
        ["/bin/sh", "-c", line],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,  # an unread heartbeat must not be written again when the file is closed
        start_new_session=True,
    ) as child:
        assert child.stdout
        with call_every(HEARTBEAT_S, make_heartbeat(child)):
            while data := child.stdout.read(1 << 16):
                sent += len(data)
                got += reader.feed(data)
            status = child.wait()
    seconds = time.monotonic() - began
    cpu = read_children_cpu_s() - before
    ends = [records.parse_lines(frame) for frame in got if frame.header.kind == "end"]
    hello = [records.parse_lines(frame) for frame in got if frame.header.kind == "hello"]
    outcomes = [records.parse_outcome(frame) for frame in got if frame.header.kind == "outcome"]
    if status == EXIT_OCCUPIED:
        raise OccupiedError
    if status or reader.close() or not ends or not hello:
        texts = [frame.text for frame in got if frame.header.kind == "refused"]
        raise SystemExit(f"the runner ended with {status}: {texts}")
    return OwnCaptureResult(
        seconds=seconds,
        cpu_s=cpu,
        own_cpu_s=int(ends[0].get("cpu_ms", "0")) / 1000,
        collectors_cpu_s=sum(outcome.cpu_ms for outcome in outcomes) / 1000,
        collectors_s={outcome.collector: outcome.cpu_ms / 1000 for outcome in outcomes},
        sent=sent,
        failed=tuple(
            sorted(
                f"{outcome.collector} ({outcome.state})" for outcome in outcomes if outcome.state != "done"
            )
        ),
        limiter=hello[0].get("limiter", "-"),
    )


def read_children_cpu_s() -> float:
    """Return the CPU seconds of all ended children. Orphans of a run are reparented to this process and reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def sample_disk_peak(run: str, into: list[int]) -> Iterator[None]:
    """Sample the size of the run's directory during the block. Append the peak in bytes to `into`."""
    directories = [Path(top) / f"culprit-{run}" for top in program.RunnerLimits(run=run).directories]
    peak = 0

    def watch() -> None:
        nonlocal peak
        peak = max(peak, sum(measure_disk_bytes(directory) for directory in directories))

    try:
        with call_every(0.1, watch):
            yield
    finally:
        into.append(peak)


def measure_disk_bytes(place: Path) -> int:
    """Return the disk usage of all files below a directory, in bytes. Files may disappear in the meantime."""
    total = 0
    for directory, _, names in os.walk(place):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{directory}/{name}").st_blocks * 512
    return total


def retry_occupied(what: Callable[[], Result]) -> Result:
    """Retry while another capture of this machine runs. Raises SystemExit after two minutes."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        try:
            return what()
        except OccupiedError:
            time.sleep(2)
    raise SystemExit("another capture of this machine does not end")
