"""A log in a container is read with the rights of the container's user, inside its root."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract import Script
from collectors.registry import COLLECTORS
from collectors.shell.log_files import READ_END
from collectors.tests.host.container import Container
from collectors.tests.record_fixtures import run_script
from collectors.tests.recorder import Left

pytestmark = [
    pytest.mark.long(30),
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="makes namespaces"),
]
LINES = r"printf '%s\n' '12:00:00 panic: one' '12:00:01 panic: two' '12:00:02 ok'"
Start = Callable[..., Container]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts containers with a shell script as their set-up; they end with the test."""
    started: list[Container] = []

    def start(setup: str, uid: int = 10001) -> Container:
        command = ("/app/java", "-c", "import time; open('/evidence/ready', 'w'); time.sleep(1000)")
        started.append(Container(tmp_path / f"c{len(started)}", *command, uid=uid, setup=setup))
        started[-1].wait_for_file("ready")
        return started[-1]

    yield start
    for item in started:
        item.end()


def read_log(container: Container, path: str, **more: str) -> Left:
    method = COLLECTORS["app_log"].methods[0]
    assert isinstance(method, Script)
    began = time.monotonic()
    left = run_script(COLLECTORS["app_log"], method, 0, env={**container.target, "OPT_PATH": path, **more})
    assert (
        time.monotonic() - began < 60
    )  # a script that reads a whole terabyte, or waits for a FIFO, takes longer
    return left


def panics(left: Left) -> str:
    results = [line for line in left.parts.get("stdout", b"").decode().split("\n") if "pattern=fatal" in line]
    return results[0] if results else ""


@pytest.mark.parametrize("uid", [10001, 0])
def test_a_log_in_a_container_is_read(start: Start, uid: int) -> None:
    """Links are followed, and lead where they lead in the container."""
    container = start(
        f"mkdir -p /var/log/real /app/logs; {LINES} > /var/log/real/app.log; chmod 640 /var/log/real/app.log;"
        f"chown {uid} /var/log/real/app.log; ln -s ../../var/log/real/app.log /app/logs/relative.log;"
        "ln -s /var/log/real /app/logs/folder; ln -s ../../../../../../var/log/real/app.log /app/logs/far.log",
        uid=uid,
    )
    for path in (
        "/var/log/real/app.log",
        "/app/logs/relative.log",
        "/app/logs/folder/app.log",
        "/app/logs/far.log",
    ):
        left = read_log(container, path)
        assert left.exit_code == 0 and "count=2" in panics(left), (path, left.stderr)
    assert not (container.evidence / "executed").exists()


def test_a_link_of_a_container_does_not_lead_to_the_host(start: Start, tmp_path: Path) -> None:
    """An absolute link is followed from the container's root, where there is nothing of that name."""
    host = tmp_path / "host"
    host.mkdir()
    (host / "secret.log").write_text("12:00:00 panic: of the host\n12:00:01 panic: of the host\n")
    container = start(
        f"mkdir /app/logs; ln -s {host} /app/logs/folder; ln -s {host}/secret.log /app/logs/app.log"
    )
    for path in ("/app/logs/folder/secret.log", "/app/logs/app.log"):
        left = read_log(container, path)
        assert (left.exit_code, left.parts) == (69, {}), path


def test_a_file_that_the_target_may_not_read_is_not_read_for_it(start: Start) -> None:
    container = start(f"mkdir /app/logs; {LINES} > /app/logs/root.log; chmod 600 /app/logs/root.log")
    left = read_log(container, "/app/logs/root.log")
    assert (left.exit_code, left.parts) == (69, {}) and "Permission" in left.stderr
    # A process of the target that may read it, as the master of a web server may, is enough.
    reader = start("true", uid=0)
    both = {"TARGET_PIDS": f"{container.pid} {reader.pid}"}
    assert read_log(container, "/app/logs/root.log", **both).exit_code == 69  # it has another root
    container = start(f"mkdir /app/logs; {LINES} > /app/logs/root.log; chmod 600 /app/logs/root.log", uid=0)
    assert "count=2" in panics(read_log(container, "/app/logs/root.log"))


BAD = {
    "fifo": "mkfifo -m 666 /app/logs/bad.log",
    "device": "mknod -m 666 /app/logs/bad.log c 1 5",
    "link to a device": "ln -s /dev/zero /app/logs/bad.log",
    "folder": "mkdir /app/logs/bad.log",
    "itself": "ln -s bad.log /app/logs/bad.log",
    "socket": "/app/java -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/app/logs/bad.log\")'",
    "environment": "ln -s /proc/1/environ /app/logs/bad.log",
    "memory": "ln -s /proc/1/mem /app/logs/bad.log",
    "passwords": "ln -s /etc/passwd /app/logs/bad.log",
    "key": "mkdir /app/.ssh; echo panic > /app/.ssh/key; chown -R 10001 /app/.ssh; ln -s /app/.ssh/key /app/logs/bad.log",
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_log_is_refused_at_once(start: Start, what: str) -> None:
    container = start(f"mkdir /app/logs; {BAD[what]}")
    left = read_log(container, "/app/logs/bad.log")
    assert (left.exit_code, left.parts) == (69, {})


def test_an_enormous_file_is_read_from_its_end(start: Start) -> None:
    container = start(
        f"truncate -s 1T /app/big.log || truncate -s 8G /app/big.log; echo >> /app/big.log; {LINES} >> /app/big.log"
    )
    left = read_log(container, "/app/big.log")
    assert left.exit_code == 0 and "count=2" in panics(left), left.stderr


def test_a_host_log_that_is_swapped_for_a_fifo_or_a_link_is_refused(tmp_path: Path) -> None:
    """What was checked by its name is checked again once it is open; a script that swaps them in between is played
    by names that were never regular files."""
    method = COLLECTORS["app_log"].methods[0]
    assert isinstance(method, Script)
    os.mkfifo(tmp_path / "fifo.log")
    (tmp_path / "link.log").symlink_to("/etc/passwd")
    unchecked = Script(
        method.name,
        method.needs,
        method.sh.replace('[ -f "$f" ] && [ -r "$f" ] ||', "true ||").replace("timeout 30", "timeout 2"),
        "",
    )
    for name in ("fifo.log", "link.log"):
        left = run_script(COLLECTORS["app_log"], unchecked, 0, env={"OPT_PATH": str(tmp_path / name)})
        assert (left.exit_code, left.parts) == (69, {}), name


def test_a_descriptor_that_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    """What a process replaces under the number of a log, after that was looked at."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "log").write_text("a line\n" * 100)
    began = time.monotonic()
    for path, size in ((tmp_path / "fifo", 0), ("/dev/zero", 0), (tmp_path / "log", 70)):
        for check in ('[ -f "$1" ] && ', ""):
            text = (
                READ_END.replace('[ -f "$1" ] && ', check).replace("timeout 5", "timeout 2")
                + 'read_end "$1" 70'
            )
            result = subprocess.run(["sh", "-c", text, "sh", str(path)], capture_output=True)
            assert len(result.stdout) == size
    assert time.monotonic() - began < 5


HANGS = """
import ctypes, mmap, os
os.mkfifo("/tmp/perf-1.map")
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(b"\\xeb\\xfe")
open("/evidence/ready", "w")
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
"""


@pytest.mark.skipif(
    not shutil.which("perf") or os.uname().machine != "x86_64", reason="needs perf and its code"
)
def test_a_map_that_is_a_fifo_does_not_keep_perf(tmp_path: Path) -> None:
    """perf opens /tmp/perf-PID.map of each process as root; samples of before are kept."""
    container = Container(tmp_path / "c", "/app/java", "-c", HANGS, uid=0)
    try:
        container.wait_for_file("ready")
        method = COLLECTORS["perf_record"].methods[0]
        assert isinstance(method, Script)
        began = time.monotonic()
        left = run_script(COLLECTORS["perf_record"], method, 2)
        assert time.monotonic() - began < 60  # without a bound it never ends
        assert left.exit_code == 0, left.stderr
        assert b"script_exit 137" in left.parts["status.txt"], left.parts["status.txt"]
        assert not (container.evidence / "executed").exists()
    finally:
        container.end()


@pytest.mark.parametrize(
    ("name", "method", "tool", "options"),
    [
        ("http_probe", "curl", "curl", {"OPT_COUNT": "1"}),
        ("tcp_probe", "curl", "curl", {"OPT_COUNT": "1"}),
        ("redis_info", "redis-cli", "redis-cli", {"OPT_PORT": "1"}),
    ],
)
def test_parsers_of_target_output_run_without_privileges(
    tmp_path: Path, name: str, method: str, tool: str, options: dict[str, str]
) -> None:
    above = itertools.takewhile(lambda folder: folder != Path(tempfile.gettempdir()), tmp_path.parents)
    for folder in (tmp_path, *above):  # the unprivileged user must be able to enter them
        folder.chmod(0o711)
    tools, evidence = tmp_path / "bin", tmp_path / "evidence"
    for folder, mode in ((tools, 0o755), (evidence, 0o1777)):
        folder.mkdir()
        folder.chmod(mode)
    fake = tools / tool
    fake.write_text(f"#!/bin/sh\ngrep -E '^(Uid|Cap|NoNew)' /proc/self/status > {evidence}/rights\n")
    fake.chmod(0o755)
    script = next(item for item in COLLECTORS[name].methods if item.name == method)
    assert isinstance(script, Script)
    run_script(COLLECTORS[name], script, 1, env={"PATH": f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin", **options})
    lines = [line.split() for line in (evidence / "rights").read_text().splitlines()]
    rights = {words[0]: words[1:] for words in lines}
    assert rights["Uid:"] == ["65534"] * 4 and rights["NoNewPrivs:"] == ["1"]
    assert not any(int(rights[f"Cap{which}:"][0], 16) for which in ("Inh", "Prm", "Eff", "Bnd", "Amb"))


def test_free_space_is_that_of_the_file_system_of_the_open_log(tmp_path: Path) -> None:
    """The path of a container's log names another file system, or none, in the mounts of the collector."""
    size_mb = 48
    shell = (
        f"mount -t tmpfs -o size={size_mb}m t {tmp_path}; exec >{tmp_path}/access.log;"
        "while :; do seq 1000 9000; sleep 0.2; done"
    )
    writer = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", shell])
    try:
        time.sleep(0.5)
        collector = COLLECTORS["server_logs"]
        method = collector.methods[0]
        assert isinstance(method, Script)
        left = run_script(collector, method, 2)
    finally:
        writer.kill()
        writer.wait()
    lines = [line for line in left.parts["stdout"].decode().splitlines() if f"\tpid={writer.pid}\t" in line]
    free = [int(word.removeprefix("free=")) for word in lines[0].split("\t") if word.startswith("free=")]
    assert 0 < free[0] < size_mb << 20


#: Holds open a file whose name has a line end and, after it, a line as `ls -l` prints it for a descriptor with the
#: name argv[1], and names the file argv[2] in it; the file grows. Reports whether something opened the FIFO /tmp/fifo.
FORGED_LINE = """
import os, pathlib, sys, time
os.umask(0)
os.mkfifo("/tmp/fifo")
path = pathlib.Path("/tmp/x\\n" + sys.argv[1] + " -> " + sys.argv[2])
path.parent.mkdir(parents=True)
with path.open("w") as file:
    print("not a field", file=file, flush=True)
    open("/evidence/ready", "w")
    while True:
        print("one more line of a log", file=file, flush=True)
        try:
            fifo = os.open("/tmp/fifo", os.O_WRONLY | os.O_NONBLOCK)
            os.write(fifo, b"pos: 77\\nflags: 077\\n")
            open("/evidence/opened", "w")
            os.close(fifo)
        except OSError:
            pass
        time.sleep(0.01)
"""


def test_a_line_end_in_a_name_leads_to_no_other_file(tmp_path: Path) -> None:
    """The collector of open files reads `fdinfo/N` as root; a FIFO would hold it, and a device fill the memory."""
    line = "l-wx------ 1 0 0 64 Jan 1 00:00 ../root/tmp/fifo"
    container = Container(tmp_path / "c", "/app/java", "-c", FORGED_LINE, line, "/a")
    try:
        container.wait_for_file("ready")
        method = COLLECTORS["fd_table"].methods[0]
        assert isinstance(method, Script)
        left = run_script(COLLECTORS["fd_table"], method, 1, env=container.target)
        assert left.exit_code == 0 and f" {container.pid} ".encode() in left.parts["stdout"]
        assert not (container.evidence / "opened").exists()
    finally:
        container.end()


def test_a_line_end_in_a_name_shows_no_file_of_the_host_as_a_log(tmp_path: Path) -> None:
    """A link of the container is followed from the root of who opens it."""
    hidden = tmp_path / "hidden"
    writer = subprocess.Popen(
        ["sh", "-c", f"while :; do echo 'No space left on device'; sleep 0.05; done > {hidden}"]
    )
    line = "l-wx------ 1 0 0 64 Jan 1 00:00 ../root/tmp/link"
    command = ("/app/java", "-c", FORGED_LINE, line, "/var/log/own.log")
    container = Container(tmp_path / "c", *command, setup=f"ln -s {hidden} /tmp/link")
    try:
        container.wait_for_file("ready")
        method = COLLECTORS["server_logs"].methods[0]
        assert isinstance(method, Script)
        left = run_script(COLLECTORS["server_logs"], method, 2)
    finally:
        container.end()
        writer.kill()
        writer.wait()
    lines = left.parts.get("stdout", b"").decode().splitlines()
    assert not [line for line in lines if f"\tpid={container.pid}\t" in line]
