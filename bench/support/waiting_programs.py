"""Real programs whose threads each wait for a known target. Their sources are in `waits/`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from culprit.launcher.supervision.child_processes import guard_command

from collectors.tests.support import find_node

SOURCES = Path(__file__).parent / "waits"
PORT = 27711
LOOP = str(SOURCES / "loop.js")
NAME_SERVER = "127.0.0.77"
DATA_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class WaitingProgram:
    """A program, and the waits of its threads: activity, and a text that is part of the target.

    `partner` runs at the same time: a server, a name server. `needs` is the compiler or runtime.
    """

    name: str
    arguments: tuple[str, ...]
    waits: tuple[tuple[str, str], ...]
    partner: str = ""
    needs: str = "gcc"


#: `{data}` is a file of DATA_BYTES, `{dir}` the directory of the programs.
PROGRAMS = (
    WaitingProgram("mutex", ("mutex",), (("lock", "0x"),)),
    WaitingProgram("pool", ("pool",), (("condition", "0x"), ("sleep", ""))),
    WaitingProgram("semaphore", ("semaphore",), (("semaphore", "0x"),)),
    WaitingProgram("compute-sleep", ("compute-sleep",), (("sleep", ""),)),
    WaitingProgram("spin", ("spin",), ()),
    WaitingProgram("serve", ("serve", str(PORT)), (("accept", str(PORT)),)),
    WaitingProgram("ask", ("ask", str(PORT)), (("peer", f"127.0.0.1:{PORT}"),), "serve"),
    WaitingProgram("ask-poll", ("ask", str(PORT), "poll"), (("peer", f"127.0.0.1:{PORT}"),), "serve"),
    WaitingProgram("silent", ("silent", NAME_SERVER), (("accept", "53"),)),
    WaitingProgram("dns", ("dns", NAME_SERVER), (("dns", f"{NAME_SERVER}:53"),), "silent"),
    WaitingProgram("pipe", ("pipe",), (("pipe", ""), ("sleep", ""))),
    WaitingProgram("child", ("child",), (("child", ""),)),
    WaitingProgram("flock", ("flock", "{dir}/lock"), (("lock", "/lock"), ("sleep", ""))),
    WaitingProgram("direct", ("direct", "{data}"), (("disk", "/data"),)),
    WaitingProgram("fsync", ("fsync", "{data}"), (("disk", "/data.log"),)),
    WaitingProgram("faults", ("faults", "{data}"), (("fault", ""),)),
    WaitingProgram("musl-mutex", ("mutex",), (("lock", "0x"),), needs="musl-gcc"),
    WaitingProgram("musl-pool", ("pool",), (("condition", "stack"), ("sleep", "")), needs="musl-gcc"),
    WaitingProgram("go-pool", (), (("park", ""), ("events", ""), ("sleep", "")), needs="go"),
    WaitingProgram("java", ("java", "-Xmx64m", "-cp", "{dir}", "Pool"), (("park", ""),), needs="javac"),
    WaitingProgram(
        "node", ("node", LOOP, str(PORT + 1)), (("events", ""), ("condition", "0x")), needs="node"
    ),
    WaitingProgram("python", (sys.executable, str(SOURCES / "locks.py")), (("condition", "0x"),), needs=""),
)
BY_NAME = {program.name: program for program in PROGRAMS}


def build_programs(directory: Path) -> list[WaitingProgram]:
    """Build all programs whose compiler or runtime is there, and return them."""
    environment = os.environ | {"GOCACHE": str(directory / "go-cache"), "GO111MODULE": "off"}
    source = str(SOURCES / "thread_waits.c")
    options = ["-O1", "-w", "-pthread", source, "-o"]
    built = {
        "gcc": ["gcc", *options, "gcc.out", "-lresolv"],
        "musl-gcc": ["musl-gcc", "-static", *options, "musl-gcc.out"],
        "go": ["go", "build", "-o", "go.out", str(SOURCES / "pool.go")],
        "javac": ["javac", "-d", ".", str(SOURCES / "Pool.java")],
    }
    present = {need for need in (*built, "node") if shutil.which(need)} | {""}
    for need, command in built.items():
        if need in present:
            subprocess.run(command, cwd=directory, env=environment, check=True)
    programs = [program for program in PROGRAMS if program.needs in present]
    for program in programs:
        if (directory / f"{program.needs}.out").exists():
            os.link(directory / f"{program.needs}.out", directory / program.name)
    with (directory / "data").open("wb") as file:
        for _ in range(DATA_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    return programs


def guard_program(command: list[str]) -> list[str]:
    """Return the command as one that is killed when this process ends."""
    return guard_command(command, death_signal=signal.SIGKILL)


@contextlib.contextmanager
def run_program(program: WaitingProgram, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, and its partner; kill both at the end, or when this process is killed."""
    own = directory / program.name
    arguments = [text.format(data=directory / "data", dir=directory) for text in program.arguments]
    partner = (
        run_program(BY_NAME[program.partner], directory) if program.partner else contextlib.nullcontext()
    )
    with partner:
        command = [str(own), *arguments] if own.exists() else arguments
        if program.needs == "node":
            command[0] = find_node()
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(
            guard_program(command), cwd=directory, stdout=quiet, stderr=quiet, start_new_session=True
        )
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.3)
                raise RuntimeError(f"{program.name} ended with {child.returncode}")
            yield child
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
