"""Collectors on states of this machine that the test makes: what they read is what is there."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collectors.contract import Script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import run_script
from collectors.tests.support import BytesPart, context

Row = Mapping[str, object]
UNPRIVILEGED = 65534
POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), None)


def run(collector_id: str, seconds: int, **environment: str) -> dict[str, list[Row]]:
    """Run the first method of a collector here; returns the rows of its tables by kind."""
    collector = COLLECTORS[collector_id]
    method = collector.methods[0]
    assert isinstance(method, Script)
    left = run_script(collector, method, seconds, env=environment)
    assert left.exit_code == 0, left
    parsed = collector.parse({name: BytesPart(data) for name, data in left.parts.items()}, context())
    return {
        table.kind: [
            {column.id: cell for column, cell in zip(table.columns, row, strict=True)} for row in table.rows
        ]
        for table in parsed.tables
    }


def test_only_a_thread_that_never_sleeps_is_awake() -> None:
    busy = "import time\nend = time.time() + 20\nwhile time.time() < end: pass"
    napping = "import time\nfor _ in range(20000):\n sum(range(200))\n time.sleep(0.001)"
    programs = [subprocess.Popen([sys.executable, "-c", text]) for text in (busy, napping)]
    try:
        awake = {row["pid"]: row["awake_ms"] for row in run("proc_threads", 3)["threads"]}
    finally:
        for program in programs:
            program.kill()
            program.wait()
    # A lower bound, which is the shorter the more programs use the CPUs.
    assert float(str(awake.get(programs[1].pid, 0.0))) <= 300.0 < float(str(awake[programs[0].pid]))


@pytest.fixture
def limited_group() -> Iterator[Path]:
    """A control group in which three processes and threads are allowed."""
    parents = [Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")]
    parent = next((item for item in parents if (item / "cgroup.procs").exists()), None)
    folder = (parent or parents[0]) / f"culprit-test-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "pids.max").write_text("3")
    except OSError as error:
        pytest.skip(f"no control group with a limit of processes: {error}")
    yield folder
    for _ in range(50):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def test_forks_that_a_limit_refuses_are_counted(limited_group: Path) -> None:
    forks = (
        "import os, time\nchildren = []\n"
        f"open('{limited_group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
        "for _ in range(200):\n"
        " try:\n"
        "  if os.fork() == 0: time.sleep(60)\n"
        " except OSError: pass\n"
        " time.sleep(0.1)\n"
    )
    member = subprocess.Popen([sys.executable, "-c", forks], start_new_session=True)
    try:
        rows = run("limits", 3)["limits"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(member.pid, 9)
        member.wait()
    here = {str(row["name"]): row for row in rows if row["where"] == f"/{limited_group.name}"}
    assert here["tasks_of_group"]["max"] == 3
    assert float(str(here["refused_tasks_of_group"]["used"])) >= 1


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    """A PostgreSQL whose administrator is `shop`, and in which `postgres` is no role; its socket is in the folder."""
    if os.geteuid() != 0 or POSTGRES is None or not all(map(shutil.which, ("psql", "setpriv", "ss"))):
        pytest.skip("needs root, PostgreSQL, psql, setpriv and ss")
    folder = tmp_path / "db"
    folder.mkdir()
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == 0 and parent != Path("/tmp") and str(parent).startswith("/tmp"):
            parent.chmod(0o755)
    os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
    drop = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]
    data = str(folder / "data")
    subprocess.run(
        [*drop, str(POSTGRES / "initdb"), "-D", data, "-U", "shop", "-A", "trust", "--no-sync"],
        check=True, capture_output=True, cwd="/",
    )  # fmt: skip
    server = subprocess.Popen(
        [*drop, str(POSTGRES / "postgres"), "-D", data, "-k", str(folder), "-c", "listen_addresses="],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
    )  # fmt: skip
    try:
        for _ in range(100):
            if (folder / ".s.PGSQL.5432").exists():
                break
            time.sleep(0.1)
        yield folder
    finally:
        server.terminate()
        server.wait(30)


def test_database_without_a_role_of_its_system_user_is_queried_as_another_role(
    database: Path,
) -> None:
    psql = ["psql", "-X", "-h", str(database), "-U", "shop", "postgres"]
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(
            subprocess.run, [*psql, "-c", "select pg_sleep(5)"], capture_output=True, check=False
        )
        time.sleep(0.5)
        rows = run("db_sessions", 1, OPT_SOCKET=str(database), OPT_PORT="5432")["db_sessions"]
        session.result()
    assert any("pg_sleep" in str(row["query"]) for row in rows)


def test_a_log_that_repeats_another_log_is_reported(tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "a, b = (open(name, 'w', buffering=1) for name in sys.argv[1:])\n"
        "for n in range(600):\n"
        " a.write(f'request {n} took {7 * n} ms\\n' + f'only here {n}\\n')\n"
        " b.write(f'request {n} took {7 * n} ms\\n')\n"
        " time.sleep(0.02)\n"
    )
    files = [str(tmp_path / name) for name in ("all.log", "some = of it.log")]
    with subprocess.Popen([sys.executable, "-c", code, *files]) as writer:
        while not Path(files[1]).exists():
            time.sleep(0.02)
        rows = run("log_repeats", 3, TARGET_PIDS=str(writer.pid))["log_repeats"]
        writer.kill()
    assert len(rows) == 1
    assert (rows[0]["file"], rows[0]["other_file"]) == (files[0], files[1].replace("=", ""))
    # The second file is read a moment after the first.
    assert 90 <= float(str(rows[0]["share"])) <= 100
    assert 20 < float(str(rows[0]["other_lines"])) < float(str(rows[0]["lines"]))
