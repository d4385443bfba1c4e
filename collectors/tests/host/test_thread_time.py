"""The real program that reads threads, against real programs that wait, under every awk."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bench.support import waiting_programs
from bench.support.waiting_programs import WaitingProgram
from collectors.catalog.cpu.proc_threads import COLLECTOR
from collectors.contract import Parsed, Script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import run_script
from collectors.tests.support import BytesPart, context, read_rows

pytestmark = [
    pytest.mark.long(170),
    pytest.mark.skipif(os.geteuid() != 0, reason="system calls of other processes need root"),
]
AWKS = [item for item in ("mawk", "gawk", "busybox") if shutil.which(item)]
SECONDS = 4
#: Part of the time in which a program waits that is divided among its known waits, at least.
EXPLAINED = 0.8
#: Below this part of the time of a program, its waits are not looked at.
SHORT = 0.3
#: Part of all CPU time that is idle on a quiet machine, at least. The program keeps to a budget of CPU time, which lasts
#: for fewer walks where other programs use the CPUs.
QUIET = 0.2


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[WaitingProgram]]:
    """The directory of the programs, and those that were built."""
    directory = tmp_path_factory.mktemp("waits")
    return directory, waiting_programs.build_programs(directory)


@pytest.fixture(scope="module")
def programs(
    built: tuple[Path, list[WaitingProgram]],
) -> Iterator[tuple[Path, dict[int, WaitingProgram]]]:
    """All programs at once, by process ID."""
    directory, all_programs = built
    running: dict[int, WaitingProgram] = {}
    with contextlib.ExitStack() as stack:
        for program in all_programs:
            # Those that keep a CPU busy would only make the others slow.
            if program.name not in {"spin", "serve", "silent"} and not program.partner:
                running[stack.enter_context(waiting_programs.run_program(program, directory)).pid] = program
        for name in ("ask", "dns"):
            program = waiting_programs.BY_NAME[name]
            running[stack.enter_context(waiting_programs.run_program(program, directory)).pid] = program
        yield directory, running


def sample(seconds: int, awk: str = "", directory: Path | None = None, target: str = "") -> Parsed:
    """Run the script, with this awk as `awk`."""
    env = {"TARGET_PIDS": target} if target else {}
    if awk and directory:
        place = directory / f"bin-{awk}"
        place.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (place / "awk").symlink_to(shutil.which(awk) or awk)
        env["PATH"] = f"{place}:{os.environ['PATH']}"
    method = COLLECTOR.methods[0]
    assert isinstance(method, Script)
    left = run_script(COLLECTOR, method, seconds, "dash", env)
    assert left.exit_code == 0 and not left.stderr, left.stderr
    parsed = COLLECTOR.parse({"stdout": BytesPart(left.parts["stdout"])}, context())
    assert parsed.readable and not parsed.warnings
    return parsed


@pytest.mark.parametrize("awk", AWKS)
def test_waits_are_named(programs: tuple[Path, dict[int, WaitingProgram]], awk: str) -> None:
    directory, running = programs
    before = read_cpu_times()
    parsed = sample(SECONDS, awk, directory)
    spent_s, idle_s = (after - at for after, at in zip(read_cpu_times(), before, strict=True))
    assert float(str(parsed.facts["ticks"])) >= (SECONDS if idle_s >= QUIET * spent_s else 2)
    wall_ms = {row["pid"]: row["wall_ms"] for row in read_rows(parsed, "process_time")}
    spent: dict[int, dict[str, float]] = defaultdict(dict)
    errors: dict[int, list[float]] = defaultdict(list)
    for row in read_rows(parsed, "thread_time"):
        spent[row["pid"]][f"{row['activity']} {row['target'] or ''}"] = row["time_ms"]
        errors[row["pid"]].append(row["error_ms"])
    for pid, program in running.items():
        assert sum(spent[pid].values()) == pytest.approx(wall_ms[pid], abs=1)
        waits = {key: value for key, value in spent[pid].items() if not key.startswith(("run", "unknown"))}
        if sum(waits.values()) < SHORT * wall_ms[pid]:
            continue  # on a busy host a program may get to its wait too rarely to be seen there
        seen = [
            wait for wait in program.waits if any(key.startswith(wait[0]) and wait[1] in key for key in waits)
        ]
        assert seen, (program.name, spent[pid])
        kinds = {kind for kind, _ in program.waits}
        explained = sum(value for key, value in waits.items() if key.split(" ")[0] in kinds)
        # The collector states its sampling error, which is larger where other programs use the CPUs.
        error = max(errors[pid])
        assert explained + error >= EXPLAINED * sum(waits.values()), (program.name, spent[pid], error)


def read_cpu_times() -> tuple[float, float]:
    """CPU time of all CPUs since the start of the machine, in seconds: all of it, and the idle part."""
    words = [int(word) / 100 for word in Path("/proc/stat").read_text("ascii").split("\n")[0].split()[1:9]]
    return sum(words), words[3] + words[4]


def test_run_time_is_exact(programs: tuple[Path, dict[int, WaitingProgram]]) -> None:
    """CPU time of each program as its own counters have it."""
    _, running = programs
    before = {pid: read_run_ms(pid) for pid in running}
    parsed = sample(3)
    after = {pid: read_run_ms(pid) for pid in running}
    for row in read_rows(parsed, "process_time"):
        if row["pid"] in running:
            # The script starts after the first reading and ends before the second, later on a busy host.
            most = after[row["pid"]] - before[row["pid"]]
            assert 0.3 * most - 20 <= row["run_ms"] <= most + 5, running[row["pid"]].name


def read_run_ms(pid: int) -> float:
    """CPU time of all threads of a process."""
    files = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e6


def test_a_target_is_read_more_often(programs: tuple[Path, dict[int, WaitingProgram]]) -> None:
    """Threads are listed of the target only, and time is divided of every process of the host."""
    _, running = programs
    pid = next(pid for pid, program in running.items() if program.name == "mutex")
    parsed = sample(3, target=str(pid))
    assert {row["pid"] for row in read_rows(parsed, "threads")} == {pid}
    assert [row["pid"] for row in read_rows(parsed, "thread_groups")] == [pid]
    times = {row["pid"]: row for row in read_rows(parsed, "process_time")}
    assert len(times) > 5
    others = [
        row["samples"] / row["threads"] for other, row in times.items() if other in running and other != pid
    ]
    assert times[pid]["samples"] / times[pid]["threads"] > max(others) / 2


#: Every 0.9 s an event loop computes for 0.2 s, and wakes up a hundred times a second in between.
_BLOCKING_LOOP = """
import asyncio, time
async def compute():
    while True:
        await asyncio.sleep(0.7)
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            pass
async def serve():
    while True:
        await asyncio.sleep(0.01)
async def both():
    await asyncio.gather(compute(), serve())
asyncio.run(both())
"""


@pytest.mark.parametrize("awk", AWKS)
def test_a_short_pause_of_an_event_loop_is_seen(awk: str, tmp_path: Path) -> None:
    """A loop that works often is read in every walk. Most of its walks are shorter than what it computes."""
    loop = subprocess.Popen([sys.executable, "-c", _BLOCKING_LOOP])
    before = read_cpu_times()
    try:
        parsed = sample(8, awk, tmp_path)
    finally:
        loop.kill()
        loop.wait()
    spent_s, idle_s = (after - at for after, at in zip(read_cpu_times(), before, strict=True))
    if idle_s < QUIET * spent_s:
        pytest.skip("the CPUs are busy, so threads are read too seldom")
    (row,) = [row for row in read_rows(parsed, "threads") if row["pid"] == loop.pid]
    assert row["awake_ms"] >= 80
    assert row["running_pct"] is None or row["running_pct"] < 90


def test_short_lived_processes_do_not_end_the_program(tmp_path: Path) -> None:
    """mawk exits where a task ends between open and read: the program starts again and goes on."""
    churn = "import os\nwhile True:\n    p = os.fork()\n    if not p: os._exit(0)\n    os.waitpid(p, 0)"
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            child = stack.enter_context(
                subprocess.Popen(waiting_programs.guard_program([sys.executable, "-c", churn]))
            )
            stack.callback(child.kill)
        parsed = sample(4, "mawk", tmp_path)
    assert float(str(parsed.facts["seconds"])) == pytest.approx(4, abs=1)


def test_a_silent_file_system_is_named(built: tuple[Path, list[WaitingProgram]], tmp_path: Path) -> None:
    """A FUSE file system that does not answer: its callers wait for a file system."""
    if not Path("/dev/fuse").exists():
        pytest.skip("needs FUSE")
    directory, _ = built
    point = tmp_path / "mount"
    point.mkdir()
    server = [sys.executable, str(waiting_programs.SOURCES / "silent_fuse.py"), str(point)]
    with subprocess.Popen(waiting_programs.guard_program(server), stdout=subprocess.PIPE) as fuse:
        assert fuse.stdout is not None
        if not fuse.stdout.readline():
            pytest.skip("may not mount")
        caller = subprocess.Popen(
            waiting_programs.guard_program([str(directory / "mutex"), "stat", str(point / "a")])
        )
        try:
            parsed = sample(2)
        finally:
            fuse.kill()
            caller.kill()
            caller.wait()
            subprocess.run(["umount", "-l", str(point)], check=False)
    rows = [row for row in read_rows(parsed, "thread_time") if row["pid"] == caller.pid]
    assert {row["activity"] for row in rows if row["time_ms"] > 100} == {"filesystem"}
    served = [row for row in read_rows(parsed, "thread_time") if row["pid"] == fuse.pid]
    assert [row["target"] for row in served if row["time_ms"] > 100] == ["/dev/fuse"]


def test_the_connection_of_every_polling_worker_is_read(tmp_path: Path) -> None:
    """Descriptors of thirty processes are listed at a time; a pool of workers may have more."""
    workers = 40
    prefork = (
        "import ctypes, os, select, signal, socket, time\n"
        "server = socket.create_server(('127.0.0.1', 0), backlog=200)\n"
        f"clients = [socket.create_connection(server.getsockname()) for _ in range({workers})]\n"
        f"for _ in range({workers}):\n"
        "    taken = server.accept()[0]\n"
        "    if not os.fork():\n"
        "        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG\n"
        "        for client in clients: client.close()\n"
        "        watched = select.poll(); watched.register(taken, select.POLLIN)\n"
        "        while True: watched.poll(100000)\n"
        "    taken.close()\n"
        "print('ready', flush=True); time.sleep(1000)"
    )
    command = waiting_programs.guard_program([sys.executable, "-c", prefork])
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"ready\n"
            rows = read_rows(sample(SECONDS, "", tmp_path), "thread_time")
        finally:
            parent.kill()
    mine = [row for row in rows if row["comm"].startswith("python") and row["detail"] == "poll"]
    assert sum(row["activity"] == "client" for row in mine) >= workers


#: An event loop asks a slow partner with a synchronous client, once for each request.
_WAITING_LOOP = """
import asyncio, socket, sys
partner = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
async def answer(reader, writer):
    while await reader.readexactly(1):
        partner.sendall(b"?")
        partner.recv(1)
        writer.write(b"!")
async def serve():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(serve())
"""
#: Answers each request after 200 ms.
_SLOW_PARTNER = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
taken = server.accept()[0]
while taken.recv(1):
    time.sleep(0.2)
    taken.sendall(b"!")
"""
#: Six clients that each send the next request when the last one is answered, and pause in between.
#: Prints a line when the server has answered each of them once.
_CLIENTS = """
import socket, sys, threading, time
served = threading.Barrier(7)
def run(number):
    server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    server.sendall(b"?")
    server.recv(1)
    served.wait()
    while True:
        server.sendall(b"?")
        server.recv(1)
        time.sleep(0.01 * number)
for number in range(6):
    threading.Thread(target=run, args=(number,)).start()
served.wait()
print("served", flush=True)
"""


def test_a_synchronous_call_of_an_event_loop_is_seen_with_the_clients_that_it_does_not_read() -> None:
    """The wait has its peer as target, and the requests of the other clients are unread."""
    with contextlib.ExitStack() as stack:

        def start(program: str, *words: str) -> subprocess.Popen[bytes]:
            command = waiting_programs.guard_program([sys.executable, "-c", program, *words])
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(process.kill)
            return process

        def read_port(process: subprocess.Popen[bytes]) -> str:
            assert process.stdout is not None
            return process.stdout.readline().decode().strip()

        port = read_port(start(_SLOW_PARTNER))
        loop = start(_WAITING_LOOP, port)
        clients = start(_CLIENTS, read_port(loop))
        # The server has accepted all connections before the samples begin.
        assert clients.stdout is not None
        assert clients.stdout.readline() == b"served\n"
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(sample_connections, 6)
            threads = sample(6)
            connections = waits.result()
        pid = loop.pid
    mine = {row["activity"]: row for row in read_rows(threads, "thread_time") if row["pid"] == pid}
    assert mine["peer"]["target"] == f"127.0.0.1:{port}"
    # What is neither on a CPU nor in the queue for one is the call: there is always a next request.
    waiting = sum(row["time_ms"] for name, row in mine.items() if name not in {"running", "runnable"})
    assert mine["peer"]["time_ms"] >= EXPLAINED * waiting
    (inbound,) = [row for row in connections if row["pid"] == pid and row["direction"] == "in"]
    assert inbound["connections"] >= 2
    assert inbound["unread"] >= 1


def sample_connections(seconds: int) -> list[dict[str, Any]]:
    """Return the rows of `tcp_waits`."""
    collector = COLLECTORS["tcp_waits"]
    method = collector.methods[0]
    assert isinstance(method, Script)
    left = run_script(collector, method, seconds, "dash")
    parsed = collector.parse({part: BytesPart(data) for part, data in left.parts.items()}, context())
    return read_rows(parsed, "tcp_waits")
