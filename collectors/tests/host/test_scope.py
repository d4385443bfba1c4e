"""The target of a capture is found on the host: real processes, control groups, ports and networks."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.contract import Needs
from collectors.runner.scope import Scope
from collectors.tests.host.harness import SHELLS, Live, Room, sampled, script, wait_for

pytestmark = pytest.mark.long(20)

CGROUPS = Path("/sys/fs/cgroup")
PRINT_TARGET = script("print_target", 'echo "$TARGET_KIND|$TARGET_PID|$TARGET_PIDS|$TARGET_CGROUP"')
ONLY = script("only", "true", needs=Needs(target=True))
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
BUSY = [sys.executable, "-c", "while True: pass"]
IDLE = ["sleep", "60"]


@contextlib.contextmanager
def started(*command: str) -> Iterator[int]:
    """A process for the length of the block."""
    with subprocess.Popen(command) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@contextlib.contextmanager
def group(hierarchy: str, path: str) -> Iterator[Path]:
    """A control group, and those above it that this test made, removed again when their processes are gone."""
    top = CGROUPS / hierarchy
    directory = top / path
    if not (top / "cgroup.procs").exists():
        pytest.skip(f"no {hierarchy} hierarchy here")
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        while directory != top:
            assert wait_for(lambda: not (directory / "cgroup.procs").read_text(), 5)  # noqa: B023
            directory.rmdir()
            directory = directory.parent
            if any(item.is_dir() for item in directory.iterdir()):
                break


def ticks(pid: int) -> int:
    """Processor time that a process has used, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def look(
    room: Room, scope: Scope, *, shell: str = "/bin/sh", path: str = ""
) -> tuple[dict[str, str], list[str], str]:
    """Fields of hello, the target that a script sees (kind, pid, pids, group), and the state of a script that needs one."""
    live = Live([PRINT_TARGET, ONLY], room.limits(path=path), shell=shell, scope=scope)
    assert live.end() == 0, live.lines
    seen = live.parts()["print_target", "stdout"].decode().strip().split("|")
    only = live.outcomes()["only"]
    if only.state == "skipped":
        assert only.reason.key == "reason.needs_target"
    return live.lines_of("hello"), seen, only.state


@pytest.mark.parametrize("shell", SHELLS)
def test_process(room: Room, shell: str) -> None:
    with started(*IDLE) as pid:
        hello, seen, state = look(room, Scope("process", str(pid)), shell=SHELLS[shell])
    assert seen[:3] == ["process", str(pid), str(pid)]
    assert hello["target_pid"] == str(pid) and hello["target_pids_count"] == "1"
    assert hello["target_network"] == "target"
    assert "target_lost" not in hello and state == "done"


def test_whole_host(room: Room) -> None:
    hello, seen, state = look(room, Scope())
    assert seen == ["host", "", "", ""] and state == "skipped"
    assert hello["target_kind"] == "host" and "target_lost" not in hello
    assert hello["target_network"] == ""


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("process", "4194303", "no_process"),
        ("cgroup", "/no/such/group", "no_cgroup"),
        ("unit", "no-such-unit", "no_unit"),
        ("container", "no-such-container", "no_container"),
        ("port", "1", "no_listener"),
    ],
)
def test_lost(room: Room, kind: str, value: str, why: str) -> None:
    """The others run; those that need a target are skipped, and hello has the reason."""
    hello, seen, state = look(room, Scope(kind, value))  # type: ignore[arg-type]
    assert hello["target_lost"] == why and hello["target_pids_count"] == "0"
    assert seen[1:3] == ["", ""] and state == "skipped"


@ROOT
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("hierarchy", ["cpu", "unified", "memory"])
def test_cgroup(room: Room, hierarchy: str, shell: str) -> None:
    """Processes of the group and of groups below it; the one that has used most CPU is looked at."""
    name = f"culprit-scope-{uuid.uuid4().hex[:8]}"
    with group(hierarchy, f"{name}/inner") as inner, started(*IDLE) as idle, started(*BUSY) as busy:
        (inner.parent / "cgroup.procs").write_text(str(idle))
        (inner / "cgroup.procs").write_text(str(busy))
        assert wait_for(lambda: ticks(busy) > ticks(idle) + 5, 20)
        hello, seen, state = look(room, Scope("cgroup", f"/{name}/"), shell=SHELLS[shell])
    assert seen[0] == "cgroup" and seen[1] == str(busy) and seen[3] == f"/{name}"
    assert set(seen[2].split()) == {str(idle), str(busy)}
    assert hello["target_pids_count"] == "2" and hello["target_cgroup"] == f"/{name}" and state == "done"


@ROOT
def test_empty_cgroup(room: Room) -> None:
    """It is there, and its files can be read; there is no process to look at."""
    name = f"culprit-scope-{uuid.uuid4().hex[:8]}"
    with group("cpu", name):
        hello, seen, state = look(room, Scope("cgroup", f"/{name}"))
    assert hello["target_lost"] == "empty_cgroup" and seen == ["cgroup", "", "", f"/{name}"]
    assert state == "skipped"


@ROOT
def test_process_scope_includes_its_cgroup(room: Room) -> None:
    name = f"culprit-scope-{uuid.uuid4().hex[:8]}"
    with group("memory", name) as directory, started(*IDLE) as pid:
        (directory / "cgroup.procs").write_text(str(pid))
        _, seen, _ = look(room, Scope("process", str(pid)))
    assert seen[3] == f"/{name}"


@ROOT
def test_unit_without_systemd(room: Room) -> None:
    """Without systemd, the slice of the system has units by name."""
    name = f"culprit-{uuid.uuid4().hex[:8]}.service"
    with group("cpu", f"system.slice/{name}") as directory, started(*IDLE) as pid:
        (directory / "cgroup.procs").write_text(str(pid))
        _, seen, state = look(room, Scope("unit", name.removesuffix(".service")))
    assert seen == ["cgroup", str(pid), str(pid), f"/system.slice/{name}"] and state == "done"


@ROOT
def test_container_without_an_engine(room: Room) -> None:
    """The beginning of an id is enough; groups that the container made below its own belong to it."""
    name = uuid.uuid4().hex * 2
    with group("cpu", f"kube/{name}/init") as directory, started(*IDLE) as pid:
        (directory / "cgroup.procs").write_text(str(pid))
        _, seen, state = look(room, Scope("container", name[:12]))
    assert seen == ["cgroup", str(pid), str(pid), f"/kube/{name}"] and state == "done"


@pytest.mark.parametrize("engine", ["docker", "crictl"])
def test_container_of_an_engine(room: Room, engine: str) -> None:
    """A stand-in for the engine, which answers as its inspect does (synthetic)."""
    path = room.tools("busybox")
    with started(*IDLE) as pid:
        stand_in = Path(path) / engine
        stand_in.write_text(f'#!/bin/sh\n[ "$2" = -q ] && echo cafe01 || echo "{pid} cafe01"\n')
        stand_in.chmod(0o755)
        hello, seen, state = look(room, Scope("container", "web"), path=path)
    assert seen[1] == str(pid) and state == "done", (hello, seen)


@pytest.mark.parametrize("tool", ["ss", "proc"])
def test_port(room: Room, tool: str) -> None:
    """By ss where it is there, else by the socket's inode."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        path = room.tools()
        if tool == "ss":
            (Path(path) / "ss").symlink_to(shutil.which("ss") or pytest.skip("no ss here"))
        _, seen, state = look(room, Scope("port", port), path=path)
    assert seen[0] == "process" and str(os.getpid()) in seen[2].split() and state == "done"


@ROOT
def test_network_of_the_target(room: Room) -> None:
    """Files of the network are those that the target sees, under the names that parsers know."""
    namespace = f"culprit-{uuid.uuid4().hex[:8]}"
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    try:
        subprocess.run(["ip", "-n", namespace, "link", "add", "inside0", "type", "dummy"], check=False)
        with started("ip", "netns", "exec", namespace, *IDLE) as pid:
            assert wait_for(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n", 20)
            jobs = [sampled("net", "/proc/net/dev", "/proc/net/snmp", "/proc/stat", seconds=2)]
            live = Live(jobs, room.limits(), scope=Scope("process", str(pid)))
            assert live.end() == 0, live.lines
            other = Path(f"/proc/{pid}/net/snmp").read_text()
        text = live.parts()["net", "samples"].decode()
    finally:
        subprocess.run(["ip", "netns", "del", namespace], check=True)
    assert f"/proc/{pid}/" not in text and text.count(" /proc/net/snmp\n") >= 3
    assert " /proc/stat\n" in text and "eth0:" not in text
    snmp = text.split(" /proc/net/snmp\n")[1].split("@ ")[0]
    assert snmp.splitlines() == other.splitlines()
    assert snmp != Path("/proc/net/snmp").read_text()


def test_exit_of_the_target_is_reported(room: Room) -> None:
    """Nothing is read in its place; what was read before is kept."""
    with started(*IDLE) as pid:
        live = Live(
            [sampled("net", "/proc/net/dev", seconds=4)], room.limits(), scope=Scope("process", str(pid))
        )
        live.until("progress net running")
        assert wait_for(lambda: any(file.stat().st_size for file in room.work.glob("culprit-*/s/*")), 20)
    assert live.end() == 0, live.lines
    net = live.outcomes()["net"]
    assert net.state == "done" and net.reason is not None and net.reason.key == "reason.target_gone"
    assert net.reason.params == {"pid": pid}
    assert 1 <= live.parts()["net", "samples"].count(b" /proc/net/dev\n") < 8
