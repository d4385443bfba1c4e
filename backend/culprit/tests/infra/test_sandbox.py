"""A compromised parser in the real sandbox, with real processes."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from culprit.infra.sandbox import confinement, landlock
from culprit.infra.sandbox import process as bounded
from culprit.infra.sandbox.confinement import Sandbox, get_sandbox
from culprit.infra.sandbox.process import (
    SandboxLimits,
    create_workspace,
    is_output,
    make_parser_server,
    open_output,
    run_in_sandbox,
)

pytestmark = pytest.mark.long(20)
MODULE = "culprit.tests.support.hostile_parser"
LIMITS = SandboxLimits(address_space=1 << 30, cpu_s=20, wall_s=60)
#: An account that does not own the files of this one.
PYTHON = "/usr/bin/python3"
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="changing the account takes root")


@pytest.fixture
def sibling():
    with subprocess.Popen(["sleep", "120"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture
def targets(tmp_path, sibling):
    """Create files of a server that a parser must not read, and listening sockets."""
    home = tmp_path / "home"
    for name in ("work", "artifacts", "ssh", "scratch"):
        (home / name).mkdir(parents=True, mode=0o700)
    (home / "secret.key").write_bytes(b"canary-secret-key")
    (home / "artifacts" / "mine").write_bytes(b"my bytes")
    (home / "artifacts" / "other").write_bytes(b"other bytes")
    home.chmod(0o700)
    name = f"culprit-test-{os.getpid()}"
    with (
        socket.socket() as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        tcp.bind(("127.0.0.1", 0))
        unix.bind(str(home / "socket"))
        abstract.bind("\0" + name)
        for item in (tcp, unix, abstract):
            item.listen()
        yield {
            "home": str(home),
            "path": str(home / "artifacts" / "mine"),
            "other": str(home / "artifacts" / "other"),
            "ssh": str(home / "ssh"),
            "scratch": str(home / "scratch"),
            "checkout": str(confinement.REPOSITORY),
            "parent": os.getpid(),
            "sibling": sibling,
            "port": tcp.getsockname()[1],
            "unix": str(home / "socket"),
            "abstract": name,
        }


def run_hostile(targets, **supplied):
    with create_workspace(Path(targets["home"]) / "work") as directory:
        ended = run_in_sandbox(MODULE, targets, directory, LIMITS, inputs=[targets["path"]], **supplied)
        assert ended.verdict == "ok", ended
        with open_output(directory / "result.json") as stream:
            return json.loads(stream.read())


@pytest.fixture
def server():
    """A server that imports parsers before it forks them."""
    started = make_parser_server([MODULE])
    yield started
    started.stop()


@pytest.fixture
def separate_uid(monkeypatch):
    """Use the sandbox of a kernel without Landlock, with an interpreter that other accounts can read."""
    monkeypatch.setattr(
        bounded, "get_sandbox", lambda: Sandbox("uid", 0, has_filter=get_sandbox().has_filter)
    )
    packages = [item for item in sys.path if item.endswith("site-packages")]
    environment = bounded._build_environment()
    environment["PYTHONPATH"] = os.pathsep.join((environment["PYTHONPATH"], *packages))
    monkeypatch.setattr(bounded, "_build_environment", lambda: environment)
    version = subprocess.run([PYTHON, "-V"], capture_output=True, text=True, check=False).stdout
    if not version.startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}."):
        pytest.skip("the system has no interpreter of this version for other accounts")
    for path in (confinement.BACKEND, *map(Path, packages)):
        if not all(path.stat().st_mode & 0o001 for path in (path, *path.parents)):
            pytest.skip(f"other accounts cannot read {path}")
    monkeypatch.setattr(sys, "executable", PYTHON)


@pytest.mark.skipif(landlock.get_abi() == 0, reason="this kernel has no Landlock")
@pytest.mark.parametrize("programs", [(), ("/usr/bin/true",)], ids=["parser", "parser with a program"])
def test_hostile_parser_is_refused_everything(targets, programs):
    check_refusals(targets, programs=programs)


@pytest.mark.skipif(landlock.get_abi() == 0, reason="this kernel has no Landlock")
def test_hostile_forked_parser_is_refused_everything(targets, server):
    check_refusals(targets, server=server)
    check_refusals(targets, server=server)


def check_refusals(targets, **supplied):
    assert get_sandbox().mode == "landlock"
    result = run_hostile(targets, **supplied)
    assert [name for name, outcome in result.items() if outcome == "done"] == []
    assert len(result) >= 30
    assert Path(targets["path"]).read_bytes() == b"my bytes"


@pytest.mark.skipif(landlock.get_abi() == 0, reason="this kernel has no Landlock")
def test_hostile_parser_without_the_filter_is_held_by_landlock(targets, monkeypatch):
    """Each layer works alone: without a filter, files and other processes remain unreachable."""
    chosen = get_sandbox()
    monkeypatch.setattr(bounded, "get_sandbox", lambda: Sandbox("landlock", chosen.abi, has_filter=False))
    result = run_hostile(targets)
    done = {name for name, outcome in result.items() if outcome == "done"}
    assert not {
        name for name in done if name.startswith(("read", "write", "list", "connect over", "execute"))
    }
    assert not done & {"trace a sibling", "make a link", "make a hard link", "make a pipe"}
    if chosen.abi >= 6:
        assert not done & {"signal a sibling", "signal the parent", "connect to an abstract socket"}


@pytest.mark.skipif(landlock.get_abi() == 0, reason="this kernel has no Landlock")
def test_hostile_parser_on_a_kernel_before_6_12_kills_no_process(targets, monkeypatch):
    """Landlock refuses signals from version 6 on; before, the filter alone does."""
    chosen = get_sandbox()
    old = Sandbox("landlock", min(5, chosen.abi), has_filter=chosen.has_filter)
    monkeypatch.setattr(bounded, "get_sandbox", lambda: old)
    result = run_hostile(targets)
    status = Path(f"/proc/{targets['sibling']}/stat").read_text().rpartition(")")[2].split()[0]
    assert status == "S"
    if chosen.has_filter:
        assert "done" not in (result["kill a sibling by a pipe"], result["signal a sibling"])


@root_only
@pytest.mark.parametrize("is_forked", [False, True], ids=["own interpreter", "forked"])
def test_hostile_parser_under_a_separate_uid_is_refused_everything(targets, separate_uid, request, is_forked):
    result = run_hostile(targets, server=request.getfixturevalue("server") if is_forked else None)
    # What every account may do with files that the distribution and the checkout let all read.
    public = {"read /etc/passwd", "list the checkout"}
    assert {name for name, outcome in result.items() if outcome == "done"} <= public


@root_only
def test_a_second_child_under_a_separate_uid_continues_in_the_same_directory(targets, separate_uid):
    with create_workspace(Path(targets["home"]) / "work") as directory:
        for _ in range(2):
            assert (
                run_in_sandbox(MODULE, targets, directory, LIMITS, inputs=[targets["path"]]).verdict == "ok"
            )
        assert (directory / "result.json").stat().st_uid == os.geteuid()


def test_modules_left_in_the_working_directory_are_not_imported(tmp_path):
    with create_workspace(tmp_path) as directory:
        trap = "from pathlib import Path\nPath('{}').write_text('x')\nraise SystemExit(0)\n".format(
            tmp_path / "trapped"
        )
        for name in ("json", "resource", "traceback", "sitecustomize", "usercustomize"):
            (directory / f"{name}.py").write_text(trap)
        run_in_sandbox(MODULE, {"wait_s": 0}, directory, LIMITS)
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "directory"])
def test_outputs_that_are_no_regular_files_are_not_read(tmp_path, kind):
    secret, output = tmp_path / "secret.key", tmp_path / "result.json"
    secret.write_bytes(b"canary")
    make = {
        "link": lambda: output.symlink_to(secret),
        "hard link": lambda: output.hardlink_to(secret),
        "pipe": lambda: os.mkfifo(output),
        "directory": output.mkdir,
    }
    make[kind]()
    assert not is_output(output)
    with pytest.raises(OSError, match=r"result\.json"):
        open_output(output)


@pytest.mark.skipif(not os.access(f"/proc/{os.getpid()}/mem", os.R_OK), reason="no memory to look at")
@pytest.mark.parametrize("is_forked", [False, True], ids=["own interpreter", "forked"])
def test_memory_and_environment_of_a_parser_hold_no_secrets(tmp_path, monkeypatch, request, is_forked):
    key, password = os.urandom(24).hex(), os.urandom(24).hex()
    monkeypatch.setenv("CULPRIT_SECRET_KEY", key)
    monkeypatch.setenv("DATABASE_URL", f"postgresql://culprit:{password}@127.0.0.1/culprit")
    stored = [bytes.fromhex(key), bytes.fromhex(password)]
    with create_workspace(tmp_path) as directory:
        thread = threading.Thread(
            target=run_in_sandbox,
            args=(MODULE, {"wait_s": 20}, directory, SandboxLimits(wall_s=15)),
            kwargs={"server": request.getfixturevalue("server") if is_forked else None},
            daemon=True,
        )
        thread.start()
        pid = wait_for_parser(directory)
        time.sleep(2)  # until the module is imported
        memory = read_memory(pid)
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        descriptors = [str(item.readlink()) for item in Path(f"/proc/{pid}/fd").iterdir()]
        os.kill(pid, 9)
        thread.join()
    assert b"hostile_parser" in memory, "this is the memory of the parser"
    for secret in (key.encode(), password.encode(), *stored):
        assert secret not in memory
    assert b"culprit:" not in environment
    assert not {"DATABASE_URL", "CULPRIT_SECRET_KEY", "REDIS_URL"} & {
        item.partition(b"=")[0].decode() for item in environment.split(b"\0")
    }
    assert len(descriptors) <= 4, descriptors


def test_a_forked_parser_that_takes_too_long_is_killed(tmp_path, server):
    with create_workspace(tmp_path) as directory:
        ended = run_in_sandbox(MODULE, {"wait_s": 60}, directory, SandboxLimits(wall_s=1), server=server)
        assert ended.verdict == "too_slow"
        assert not list_in_directory(directory)
        quick = run_in_sandbox(MODULE, {"wait_s": 0}, directory, SandboxLimits(wall_s=20), server=server)
        assert (quick.verdict, quick.code) == ("ok", 0)


def test_a_forked_parser_ends_with_its_server_and_the_next_has_a_new_server(tmp_path, server):
    with create_workspace(tmp_path) as directory:
        results = []
        thread = threading.Thread(
            target=lambda: results.append(
                run_in_sandbox(MODULE, {"wait_s": 60}, directory, SandboxLimits(wall_s=60), server=server)
            )
        )
        thread.start()
        wait_for_parser(directory)
        os.kill(server.pid, signal.SIGKILL)
        thread.join(20)
        assert results[0].verdict == "out_of_memory"
        end = time.monotonic() + 10
        while list_in_directory(directory) and time.monotonic() < end:
            time.sleep(0.05)
        assert not list_in_directory(directory)
        assert run_in_sandbox(MODULE, {"wait_s": 0}, directory, LIMITS, server=server).verdict == "ok"


def test_a_forked_parser_reports_its_defect(tmp_path, server):
    with create_workspace(tmp_path) as directory:
        ended = run_in_sandbox(MODULE, {}, directory, LIMITS, server=server)
        assert ended.verdict == "crashed"
        assert "KeyError: 'home'" in ended.stderr


def list_in_directory(directory):
    """Return the processes whose working directory this is."""
    processes = []
    for item in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (item / "cwd").readlink() == directory:
                processes.append(item.name)
    return processes


def wait_for_parser(directory):
    """Return the process that sleeps in `directory` after it gave up its rights."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for item in Path("/proc").glob("[0-9]*"):
            try:
                if (item / "cwd").readlink() == directory and b"Seccomp:\t2" in (
                    item / "status"
                ).read_bytes():
                    return int(item.name)
            except OSError:
                continue
        time.sleep(0.05)
    raise AssertionError("no parser was started")


def read_memory(pid):
    regions = []
    with Path(f"/proc/{pid}/maps").open() as maps, Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in maps:
            bounds, rights = line.split()[:2]
            if not rights.startswith("r") or "[v" in line:
                continue
            first, last = (int(item, 16) for item in bounds.split("-"))
            try:
                memory.seek(first)
                regions.append(memory.read(last - first))
            except OSError:
                continue
    return b"".join(regions)


def test_a_fork_bomb_starts_nothing(tmp_path):
    """Even a parser that may start a program cannot start another process."""
    perf = shutil.which("perf") or "/usr/bin/true"
    before = time.monotonic()
    with create_workspace(tmp_path) as directory:
        module = "culprit.tests.support.fork_bomb"
        ended = run_in_sandbox(module, {}, directory, LIMITS, programs=[str(Path(perf).resolve())])
        assert ended.verdict == "ok", ended
        assert json.loads((directory / "result.json").read_text()) == {
            "forks": 0,
            "threads": 0,
            "programs": 8,
        }
    assert time.monotonic() - before < 50


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        (Sandbox("landlock", 7, True), "landlock ABI 7, system call filter"),
        (Sandbox("uid", 0, True), "separate uid, system call filter"),
        (Sandbox("none", 0, True, "the kernel has none."), "none: the kernel has none."),
    ],
)
def test_the_sandbox_names_itself(chosen, line):
    assert chosen.describe() == line


def test_sandbox_choice_reports_missing_landlock(monkeypatch):
    monkeypatch.setattr(landlock, "get_abi", lambda: 0)
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    chosen = get_sandbox.__wrapped__()
    assert chosen.mode == "none"
    assert "lsm=" in chosen.describe()
    assert "is not root" in chosen.describe()
