"""Runs of libFuzzer on one target, each in a forked child: the parsers are instrumented once, in the parent.

Python that is fuzzed cannot be left by libFuzzer: it ends its process. A child therefore writes what it finds into a
directory, and the parent reads it when the child has ended.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import resource
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.fuzz.target import MAX_BYTES, DefectError, FuzzTarget, check_quickly

ADDRESS_SPACE = 4 << 30
INPUT_WALL_S = 120
"""A single input that takes so long ends the child; slower ones within it are judged by their CPU time."""

GRACE_S = 90.0

#: What breaks readers of numbers, times and texts; libFuzzer inserts them.
TOKENS = (
    b"-1", b"nan", b"1e999", b"-1e308", b"9" * 30, b"18446744073709551615", b"0x", b"\\u0000", b"\\ud800", b"\0",
    b"0001-01-01T00:00:00+23:00", b"9999-12-31T23:59:59-23:00", b"\n=== stdout\n", b"\n=== samples\n",
    b"\n@ 1 99999999999999999999 /proc/stat\n", b"[" * 40, b"\r\n", b"\t", b"CPU99999", b"\x1b[31m",
    "\u202e".encode(), b"\xff",
)  # fmt: skip
_EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_COVERED = re.compile(r"cov: (\d+)")


@dataclass(frozen=True, slots=True)
class FuzzSpec:
    """How long a target is fuzzed: at most `seconds` and, unless it is 0, `runs` new inputs."""

    seconds: float
    runs: int = 0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Defect:
    """An input that breaks a parser: a trace of the error, or how the process ended."""

    data: bytes
    trace: str

    @property
    def signature(self) -> str:
        """Return the same text for the same error at the same place."""
        return compute_signature(self.trace)


@dataclass(slots=True)
class FuzzResult:
    """What a run executed, how many edges it covered, which new inputs it kept, and the defects."""

    target: str
    executed: int = 0
    covered: int = 0
    inputs: list[bytes] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)


@dataclass(slots=True)
class FuzzChild:
    """A running child of one target with its directory."""

    target: FuzzTarget
    pid: int
    directory: Path
    deadline: float
    started: float

    def has_ended(self) -> bool:
        """Return whether the child has ended. A child past its deadline is killed."""
        if time.monotonic() > self.deadline:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            return True
        return os.waitpid(self.pid, os.WNOHANG)[0] != 0


def start_fuzzing(target: FuzzTarget, spec: FuzzSpec, inputs: Sequence[bytes], directory: Path) -> FuzzChild:
    """Start a child that fuzzes a target from `inputs`. `directory` must not exist."""
    for name in ("seeds", "corpus", "defects"):
        (directory / name).mkdir(parents=True)
    for number, data in enumerate(inputs):
        (directory / "seeds" / f"{number:05}").write_bytes(data)
    dictionary = directory / "dictionary"
    dictionary.write_text("".join(f'"{_escape_token(token)}"\n' for token in TOKENS))
    arguments = [
        f"-dict={dictionary}", f"-max_total_time={max(1, round(spec.seconds))}", f"-seed={spec.seed}",
        f"-max_len={MAX_BYTES}",
        *([f"-runs={len(inputs) + spec.runs}"] if spec.runs else []),
        "-print_final_stats=1", f"-timeout={INPUT_WALL_S}", "-rss_limit_mb=3072", "-report_slow_units=1000",
        f"-artifact_prefix={directory / 'defects'}/",
        str(directory / "corpus"), str(directory / "seeds"),
    ]  # fmt: skip
    pid = _fork(lambda: _fuzz(target, arguments, directory), directory / "log")
    now = time.monotonic()
    return FuzzChild(target, pid, directory, now + spec.seconds + INPUT_WALL_S + GRACE_S, now)


def read_result(child: FuzzChild) -> FuzzResult:
    """Return what an ended child has left in its directory."""
    log = (child.directory / "log").read_text("utf-8", "replace")
    result = FuzzResult(child.target.name)
    result.inputs = [path.read_bytes() for path in sorted((child.directory / "corpus").iterdir())]
    for path in sorted((child.directory / "defects").iterdir()):
        if path.suffix == ".trace":
            result.defects.append(Defect(path.with_suffix("").read_bytes(), path.read_text()))
        elif not path.with_suffix(".trace").exists():
            how = path.name.partition("-")[0]
            result.defects.append(Defect(path.read_bytes(), f"the process ended: {how}\n{log[-4000:]}"))
    if match := _EXECUTED.search(log):
        result.executed = int(match[1])
    elif not result.defects:
        result.defects.append(Defect(b"", f"the child did not end as expected\n{log[-4000:]}"))
    if covered := _COVERED.findall(log):
        result.covered = int(covered[-1])
    return result


def select_smallest(
    target: FuzzTarget, seeds: Sequence[bytes], inputs: Sequence[bytes], directory: Path
) -> list[bytes]:
    """Return the inputs that reach an edge which neither the seeds nor smaller inputs reach.

    libFuzzer lists the edges of each input, as the inner process of its merge does.
    """
    ordered = [*seeds, *sorted(inputs, key=lambda data: (len(data), data))]
    (directory / "defects").mkdir(parents=True)
    paths = [directory / f"{number:05}" for number in range(len(ordered))]
    for path, data in zip(paths, ordered, strict=True):
        path.write_bytes(data)
    control = directory / "control"
    control.write_text(f"{len(paths)}\n0\n" + "".join(f"{path}\n" for path in paths))
    arguments = [
        "-merge_inner=1", f"-merge_control_file={control}", f"-max_len={MAX_BYTES}", f"-timeout={INPUT_WALL_S}",
    ]  # fmt: skip
    os.waitpid(_fork(lambda: _fuzz(target, arguments, directory), directory / "log"), 0)
    edges: dict[int, set[str]] = {}
    for line in control.read_text().splitlines()[2 + len(paths) :]:
        kind, _, rest = line.partition(" ")
        if kind == "COV":
            number, *covered = rest.split()
            edges[int(number)] = set(covered)
    known: set[str] = set()
    selected = []
    for place, data in enumerate(ordered):
        new = edges.get(place, set()) - known
        known |= new
        if new and place >= len(seeds):
            selected.append(data)
    return selected


def compute_signature(trace: str) -> str:
    """Return the type of the error and the innermost line of a parser in a trace; of a DefectError, its kind."""
    lines = trace.strip().splitlines() or [""]
    error, _, message = lines[-1].partition(":")
    if error.endswith(DefectError.__name__):
        return f"{DefectError.__name__}: {message.partition(':')[0].strip()}"
    places = [
        line.strip() for line in lines if line.lstrip().startswith('File "') and "/bench/fuzz/" not in line
    ]
    return f"{error} at {places[-1] if places else '-'}"


def _escape_token(token: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in token)


def _fuzz(target: FuzzTarget, arguments: list[str], directory: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    smallest: dict[str, int] = {}

    def run_input(data: bytes) -> None:
        try:
            check_quickly(target, data)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - a panic of the native reader is no Exception
            trace = traceback.format_exc(limit=-12)
            signature = compute_signature(trace)
            if smallest.get(signature, MAX_BYTES + 1) > len(data):
                smallest[signature] = len(data)
                name = hashlib.sha256(signature.encode()).hexdigest()[:16]
                (directory / "defects" / name).write_bytes(data)
                (directory / "defects" / f"{name}.trace").write_text(trace)

    atheris = importlib.import_module("atheris")
    atheris.Setup([target.name, *arguments], run_input, enable_python_coverage=True)
    atheris.Fuzz()


def _fork(work: Callable[[], None], log: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for number in (1, 2):
            os.dup2(descriptor, number)
        os.chdir(log.parent)
        work()
        code = 0
    finally:
        os._exit(code)
