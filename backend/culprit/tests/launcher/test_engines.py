"""PostgreSQL and Valkey of their wheels: as root, as another user, restarted, crashed, orphaned."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

import psycopg
import pytest
import redis
from culprit.launcher.engines import EngineError, Postgres, Valkey, engine_paths
from culprit.launcher.paths import build_python_path
from culprit.launcher.supervision import child_processes

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="drops from root to another user")
SCRIPT = """
import sys, time
from pathlib import Path
from culprit.launcher.engines import Postgres, Valkey
home = Path(sys.argv[1])
with Postgres(home / "postgres", durable=False) as pg, Valkey(home / "valkey") as kv:
    print(pg.url, kv.url, pg.pid, kv.pid, flush=True)
    time.sleep(60)
"""


def spawn(home: Path, python: str = sys.executable, **options: object) -> subprocess.Popen[str]:
    """Start a process that runs both engines and prints their addresses."""
    site = sysconfig.get_paths()["purelib"]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{build_python_path()}:{site}", "TMPDIR": str(home)}
    return subprocess.Popen(
        [python, "-c", SCRIPT, str(home)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        **options,
    )  # type: ignore[call-overload]  # fmt: skip


def test_answers_and_keeps_data_over_a_restart(tmp_path: Path) -> None:
    postgres, valkey = Postgres(tmp_path / "pg"), Valkey(tmp_path / "kv")
    try:
        with postgres, valkey:
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                connection.execute("CREATE TABLE kept (n int)")
                connection.execute("INSERT INTO kept VALUES (7)")
                row = connection.execute("SHOW listen_addresses").fetchone()
                assert row == ("",)
                row = connection.execute("SHOW fsync").fetchone()
                assert row == ("on",)
            with redis.Redis.from_url(valkey.url) as client:
                client.set("kept", "7")
                assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        assert postgres.pid is None
        assert valkey.pid is None
        with postgres, valkey, psycopg.connect(postgres.url) as connection:
            assert connection.execute("SELECT n FROM kept").fetchone() == (7,)
            with redis.Redis.from_url(valkey.url) as client:
                assert client.get("kept") == b"7"
    finally:
        postgres.remove()
    assert postgres.outside is None or not postgres.outside.exists()


def test_comes_back_after_it_was_killed(tmp_path: Path) -> None:
    postgres = Postgres(tmp_path / "pg", durable=False)
    postgres.start()
    sockets, pid = postgres.sockets, postgres.pid
    assert sockets and pid
    os.kill(pid, signal.SIGKILL)
    assert postgres.child
    postgres.child.wait()
    lock = postgres.data / "postmaster.pid"
    assert lock.exists()
    lock.write_text(
        lock.read_text().replace(str(pid), str(os.getpid()), 1)
    )  # the ID of a running process: this one
    postgres.child = None
    with postgres, psycopg.connect(postgres.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    shutil.rmtree(sockets, ignore_errors=True)


@ROOT_ONLY
def test_below_a_closed_directory_nothing_is_opened(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with Postgres(closed / "pg", durable=False) as postgres:
        assert postgres.outside is not None
        assert closed.stat().st_mode & 0o777 == 0o700
        status = Path(f"/proc/{postgres.pid}/status").read_text()
        uid = int(next(line for line in status.splitlines() if line.startswith("Uid")).split()[1])
        assert uid == engine_paths.find_server_user().pw_uid != 0  # type: ignore[union-attr]
        outside = postgres.outside
    assert not outside.exists()


@ROOT_ONLY
def test_an_unreachable_engine_is_copied_once(tmp_path: Path) -> None:
    source = tmp_path / "tree"
    (source / "bin").mkdir(parents=True, mode=0o700)
    (source / "bin" / "postgres").write_bytes(b"x")
    (source / "bin" / "postgres").chmod(0o700)
    source.chmod(0o700)
    target = tmp_path / "copy"
    engine_paths.copy_tree(source, target)
    assert (target / "bin" / "postgres").stat().st_mode & 0o777 == 0o755
    (target / "bin" / "postgres").write_bytes(b"kept")
    engine_paths.copy_tree(source, target)
    assert (target / "bin" / "postgres").read_bytes() == b"kept"
    assert not list(tmp_path.glob("*.partial"))


@ROOT_ONLY
def test_only_we_are_let_in(tmp_path: Path) -> None:
    with Postgres(tmp_path / "pg", durable=False) as postgres:
        psql = shutil.which("psql") or str(postgres.tree / "bin/psql")
        user = pwd.getpwnam("nobody")
        command = [psql, postgres.url, "-c", "SELECT 1"]
        done = subprocess.run(
            child_processes.guard_command(command, user=(user.pw_uid, user.pw_gid)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0


@ROOT_ONLY
def test_runs_as_another_user_in_place() -> None:
    python = "/usr/bin/python3"
    ask = "import sys; raise SystemExit(sys.version_info[:2] != tuple(map(int, sys.argv[1:])))"
    version = [str(part) for part in sys.version_info[:2]]
    if not Path(python).exists() or subprocess.run([python, "-c", ask, *version], check=False).returncode:
        pytest.skip("no system Python of the same version that another user may execute")
    user = pwd.getpwnam("nobody")
    home = Path("/tmp") / f"culprit-test-{os.getpid()}"
    home.mkdir(mode=0o700)
    os.chown(home, user.pw_uid, user.pw_gid)
    child = spawn(home, python, user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    try:
        assert child.stdout
        line = child.stdout.readline()
        assert line.startswith("postgresql://"), child.stderr and child.stderr.read()
        assert (home / "postgres" / "data" / "PG_VERSION").exists()
        pid = int(line.split()[2])
        child.send_signal(signal.SIGKILL)
        assert child_processes.wait_gone(pid, 10.0)
    finally:
        child.kill()
        child.communicate()
        shutil.rmtree(home)


def test_engines_die_with_who_started_them() -> None:
    """Their files are below a directory that the server's user may enter: a kill deletes nothing."""
    home = Path(tempfile.mkdtemp(prefix="culprit-test-"))
    home.chmod(0o755)
    child = spawn(home)
    try:
        assert child.stdout
        line = child.stdout.readline()
        assert line.startswith("postgresql://"), child.stderr and child.stderr.read()
        postgres, valkey = (int(part) for part in line.split()[2:4])
        os.kill(child.pid, signal.SIGKILL)
        assert child_processes.wait_gone(postgres, 15.0)
        assert child_processes.wait_gone(valkey, 15.0)
    finally:
        child.kill()
        child.communicate()
        shutil.rmtree(home)


def test_broken_cluster_is_reported_with_its_message(tmp_path: Path) -> None:
    postgres = Postgres(tmp_path / "pg", durable=False)
    with postgres:
        data = postgres.data
        stored = tmp_path / "kept"
        postgres.outside, outside = None, postgres.outside  # keep the files past the end
    shutil.copytree(data, stored)
    (data / "global" / "pg_control").unlink()
    broken = Postgres(tmp_path / "pg", durable=False)
    with pytest.raises(EngineError, match="pg_control"):
        broken.start()
    if outside:
        shutil.rmtree(outside, ignore_errors=True)


def test_children_are_started_from_the_main_thread_alone() -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            child_processes.start_child(["true"])
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(errors) == 1


def test_missing_guarded_program_is_reported() -> None:
    done = subprocess.run(
        child_processes.guard_command(["/nonexistent/program"]), capture_output=True, text=True, check=False
    )
    assert done.returncode == 127
    assert "/nonexistent/program: No such file" in done.stderr


def test_sockets_have_short_private_directories() -> None:
    socket_directory = engine_paths.create_socket_directory()
    try:
        assert socket_directory.stat().st_mode & 0o777 == 0o700
        assert len(os.fsencode(socket_directory / "valkey.sock")) <= engine_paths.SOCKET_PATH_MAX
        assert len(os.fsencode(socket_directory / ".s.PGSQL.5432")) <= engine_paths.SOCKET_PATH_MAX
    finally:
        socket_directory.rmdir()
