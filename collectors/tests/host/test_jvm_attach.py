"""A JVM in a container is read over its socket. Nothing of the container is executed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract import Collector, Script
from collectors.registry import COLLECTORS
from collectors.runner.scripts import enter_target
from collectors.tests.host.container import Container
from collectors.tests.record_fixtures import run_script
from collectors.tests.recorder import Left
from collectors.tests.support import BytesPart, context

pytestmark = [
    pytest.mark.long(60),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="makes namespaces"),
]
NEEDS_JAVA = pytest.mark.skipif(not shutil.which("javac"), reason="needs a JDK")
FAKE_JVM = Path(__file__).with_name("fake_jvm.py").read_text()
SPIN = 'public class Spin { public static void main(String[] a) throws Exception { new java.io.File("/evidence/ready").createNewFile(); Thread.sleep(1000000); } }'
Start = Callable[..., Container]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A class that sleeps, as text that a shell in the container turns into the file."""
    folder = tmp_path_factory.mktemp("java")
    (folder / "Spin.java").write_text(SPIN)
    subprocess.run(["javac", "-d", str(folder), str(folder / "Spin.java")], check=True)
    text = "".join(f"\\{byte:03o}" for byte in (folder / "Spin.class").read_bytes())
    return f"printf '{text}' > /app/Spin.class"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts containers that end with the test."""
    started: list[Container] = []

    def start(*command: str, **more: object) -> Container:
        started.append(Container(tmp_path / f"c{len(started)}", *command, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for item in started:
        item.end()


def start_java(start: Start, program: str, *options: str, **more: object) -> Container:
    java = str(Path(shutil.which("java") or "").resolve())
    container = start(java, "-Xmx32m", "-Xint", *options, "-cp", "/app", "Spin", setup=program, **more)
    container.wait_for_file("ready")
    return container


def start_fake(start: Start, mode: str, *more: str, uid: int = 10001, setup: str = "") -> Container:
    container = start("/app/java", "-c", FAKE_JVM, mode, *more, uid=uid, setup=setup)
    container.wait_for_file("ready")
    return container


def collect(name: str, container: Container, seconds: int = 0) -> Left:
    collector = COLLECTORS[name]
    way = collector.methods[0]
    assert isinstance(way, Script)
    return run_script(collector, way, seconds, env=container.target)


def require_untouched(container: Container) -> None:
    """Nothing was executed in the container, and nothing of ours was left there."""
    executed = container.evidence / "executed"
    assert not executed.exists(), executed.read_text()
    assert ".attach_pid1" not in container.names_in_tmp()


def read(collector: Collector, left: Left) -> dict[str, list[tuple[object, ...]]]:
    parsed = collector.parse({name: BytesPart(data) for name, data in left.parts.items()}, context())
    return {table.kind: list(table.rows) for table in parsed.tables}


@NEEDS_JAVA
@pytest.mark.parametrize("uid", [10001, 0], ids=["user", "root"])
def test_a_jvm_in_a_container_is_read_and_nothing_is_executed(start: Start, program: str, uid: int) -> None:
    container = start_java(start, program, uid=uid)
    assert container.status()["Seccomp"] == "2" and container.status()["NSpid"].split()[-1] == "1"
    left = collect("jvm_flags", container)
    require_untouched(container)
    assert left.exit_code == 0, left.stderr
    tables = read(COLLECTORS["jvm_flags"], left)
    assert dict(row[:2] for row in tables["jvm_flags"])["MaxHeapSize"] == str(32 << 20)
    assert tables["jvm_heap"][0][:2] == (container.pid, 32 << 20)
    left = collect("jstack", container)
    require_untouched(container)
    assert left.exit_code == 0, left.stderr
    rows = read(COLLECTORS["jstack"], left)["java_threads"]
    assert [row[3] for row in rows if row[1] == "main"] == [5]
    assert container.read_output() == ""


@NEEDS_JAVA
@pytest.mark.parametrize("uid", [10001, 0], ids=["user", "root"])
@pytest.mark.parametrize("option", ["-Xrs", "-XX:+DisableAttachMechanism"])
def test_a_jvm_that_takes_no_signal_gets_none(start: Start, program: str, option: str, uid: int) -> None:
    """With -Xrs it would end; it opens its socket at its start instead. Without attach it would print its threads.

    A user without a name keeps no performance data, root does.
    """
    container = start_java(start, program, option, uid=uid)
    assert any(name.startswith("hsperfdata_") for name in container.names_in_tmp()) is (uid == 0)
    left = collect("jstack", container)
    time.sleep(0.3)
    assert left.exit_code == (0 if option == "-Xrs" else 69) and container.is_alive(), left.stderr
    assert container.read_output() == ""
    require_untouched(container)


@NEEDS_JAVA
def test_a_jvm_whose_tmp_is_a_link(start: Start, program: str) -> None:
    """It leads to another folder of the container's own root."""
    move = "mkdir -m 1777 /app/tmp && rmdir /tmp && ln -s /app/tmp /tmp"
    container = start_java(start, f"{program}; {move}")
    assert collect("jvm_flags", container).exit_code == 0
    names = [item.name for item in Path(f"/proc/{container.pid}/root/app/tmp").iterdir()]
    assert ".java_pid1" in names and ".attach_pid1" not in names
    assert not (container.evidence / "executed").exists()


BAD = {
    "symlink": ("not a socket of the Java process alone", 0),
    "fifo": ("not a socket of the Java process alone", 0),
    "open_to_all": ("not a socket of the Java process alone", 0),
    "foreign": ("belongs to process", 0),
    "never_accepts": ("in time", 0),
    "silent": ("time", 0),
    "drip": ("time", 0),
    "attach_link": ("is not a file of the Java process", 0),
    "dies_by_quit": ("does not catch SIGQUIT", 0),
    "opens_nothing": ("does not open its attach socket", 1),
}


@pytest.mark.parametrize("mode", BAD)
def test_a_hostile_jvm(start: Start, mode: str) -> None:
    reason, signals = BAD[mode]
    container = start_fake(start, mode)
    before = container.names_in_tmp()
    began = time.monotonic()
    left = collect("jvm_flags", container)
    assert time.monotonic() - began < 14
    assert left.exit_code == 69 and reason in left.stderr
    assert container.is_alive()
    quits = container.evidence / "quit"
    assert (quits.read_text().splitlines() if quits.exists() else []) == ["quit 0o100600"] * signals
    assert container.names_in_tmp() == before
    assert not (container.evidence / "executed").exists()
    assert not (container.evidence / "victim").exists()


@pytest.mark.parametrize("setup", ["rmdir /tmp; mkfifo /tmp", "rmdir /tmp; ln -s /tmp /tmp", "rmdir /tmp"])
def test_a_hostile_tmp(start: Start, setup: str) -> None:
    container = start_fake(start, "opens_nothing", setup=setup)
    began = time.monotonic()
    assert collect("jvm_flags", container).exit_code == 69
    assert time.monotonic() - began < 5 and container.is_alive()
    assert not (container.evidence / "quit").exists()


def test_an_endless_answer_is_cut(start: Start) -> None:
    container = start_fake(start, "endless")
    left = collect("jstack", container)
    assert left.exit_code == 0 and len(left.parts["stdout"]) < 3 * 5_100_000
    assert not (container.evidence / "executed").exists()


def test_the_file_of_an_attach_that_is_ended_is_removed(start: Start) -> None:
    container = start_fake(start, "opens_nothing")
    helper = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            enter_target.__file__,
            "attach",
            str(container.pid),
            "1000",
            "8",
            "VM.flags",
        ],
        stderr=subprocess.PIPE,
    )
    container.wait_for_file("quit")
    assert ".attach_pid1" in container.names_in_tmp()
    helper.terminate()
    assert b"it was stopped" in helper.communicate(timeout=5)[1]
    assert ".attach_pid1" not in container.names_in_tmp()


def test_the_helper_has_no_rights_while_it_talks(start: Start) -> None:
    """Also for root in the container: the uid stays 0, every capability is gone, the root is the target's."""
    for uid in (10001, 0):
        container = start_fake(start, "silent", uid=uid)
        helper = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                enter_target.__file__,
                "attach",
                str(container.pid),
                "1000",
                "4",
                "VM.flags",
            ],
            stderr=subprocess.PIPE,
        )
        time.sleep(1.5)
        lines = Path(f"/proc/{helper.pid}/status").read_text().splitlines()
        status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        root = [Path(f"/proc/{pid}/root").stat() for pid in (helper.pid, container.pid)]
        helper.communicate(timeout=10)
        assert status["Uid"] == status["Gid"] == [str(uid)] * 4 and status["Groups"] == []
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[name][0], 16) == 0, name
        assert status["NoNewPrivs"] == ["1"]
        assert (root[0].st_dev, root[0].st_ino) == (root[1].st_dev, root[1].st_ino)


@pytest.mark.parametrize("uid", [10001, 0], ids=["user", "root"])
def test_a_container_takes_no_descriptor_of_the_helper(start: Start, tmp_path: Path, uid: int) -> None:
    """The helper has the target's uid and no capability, so only the kernel's `dumpable` keeps the target from it.

    From a descriptor of a folder of the host, `..` leads to the host's root.
    """
    victim = tmp_path / "victim"
    victim.write_text("of the host")
    victim.chmod(0o666)
    container = start_fake(start, "takes_descriptors", str(victim), uid=uid)
    left = collect("jvm_flags", container)
    assert left.exit_code == 69 and "time" in left.stderr
    if not (container.evidence / "tried").exists():
        pytest.skip("the kernel hands out no pidfd of a peer (before Linux 6.5)")
    assert victim.read_text() == "of the host"
    assert (container.evidence / "taken").read_text() == ""


def test_a_process_that_is_no_jvm_gets_no_signal(start: Start) -> None:
    """It is named java and would die by SIGQUIT."""
    container = start("/app/java", "-c", "import time; open('/evidence/ready', 'w'); time.sleep(1000)")
    container.wait_for_file("ready")
    left = collect("jstack", container)
    assert left.exit_code == 69 and "maps no libjvm.so" in left.stderr
    assert container.is_alive()


def test_a_pid_that_was_reused_is_not_taken_for_the_target() -> None:
    sleeper = subprocess.Popen(["sleep", "100"])
    for without_pidfd in (False, True):
        if without_pidfd:
            sleeper = subprocess.Popen(["sleep", "100"])
        target = enter_target.Target(sleeper.pid)
        if without_pidfd:
            os.close(target.pidfd)
            target.pidfd = -1
        target.require_alive()
        sleeper.send_signal(signal.SIGKILL)
        sleeper.wait()
        with pytest.raises(enter_target.RefusedError, match="ended"):
            target.require_alive()


def test_without_a_python_of_root_the_reason_names_what_to_install(tmp_path: Path) -> None:
    way = COLLECTORS["jvm_flags"].methods[0]
    assert isinstance(way, Script) and "python3" in way.needs.remedy
    text = way.sh.replace("/usr/bin/python3 /usr/libexec/platform-python", str(tmp_path / "python3"))
    (tmp_path / "python3").symlink_to("/bin/false")
    changed = Script(
        way.name, way.needs, text.replace("*/java |", "*/sleep | */coreutils | */java |"), way.command_line
    )
    sleeper = subprocess.Popen(["sleep", "100"])
    for planted in (False, True):
        if planted:  # a file of another user at that path is not executed either
            (tmp_path / "python3").unlink()
            (tmp_path / "python3").write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
            (tmp_path / "python3").chmod(0o777)
        else:
            (tmp_path / "python3").unlink()
            (tmp_path / "python3").symlink_to(tmp_path / "nothing")
        left = run_script(
            COLLECTORS["jvm_flags"],
            changed,
            1,
            env={"TARGET_PID": str(sleeper.pid), "TARGET_KIND": "process"},
        )
        assert left.exit_code == 69 and "install python3" in left.stderr
    sleeper.kill()
    sleeper.wait()
    assert not (tmp_path / "executed").exists()
