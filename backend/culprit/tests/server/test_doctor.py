"""Each part of an installation is really broken, and the check of it names the fault and the command."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from culprit.accounts.sealed_columns import seal_secret
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.settings import Settings
from culprit.infra.vault import Vault
from culprit.launcher.engines import Postgres, Valkey
from culprit.launcher.paths import build_python_path
from culprit.server.doctor import __main__ as doctor
from culprit.tests.support.bucket import s3
from culprit.tests.support.product_process import ProductProcess
from culprit.tests.support.service_checks import require_check
from culprit.tests.support.web import free_port
from redis import Redis

pytestmark = pytest.mark.long(30)
FAKETIME = shutil.which("faketime")
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs another user or a mount")


# -- settings, keys and files ---------------------------------------------------------------------------


def test_without_a_fault_nothing_is_a_problem(check, db: Database, config: Settings) -> None:
    processes = [
        ProductProcess("worker", "ssh"),
        ProductProcess("worker", "parse"),
        ProductProcess("scheduler"),
    ]
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            checks = check()
            if all(checks[name].state == "ok" for name in ("worker-ssh", "worker-parse", "scheduler")):
                break
            time.sleep(0.5)
        assert [item for item in checks.values() if item.state == "problem"] == []
        assert "PostgreSQL 1" in checks["database"].message
        assert "answers" in checks["queue"].message
        assert "1 process runs." in checks["worker-ssh"].message
        assert doctor.main(["--json"]) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"CULPRIT_SECRET_KEY": None}, ("Neither", "openssl rand")),
        ({"CULPRIT_SECRET_KEY": "c2hvcnQ="}, ("5 bytes instead of 32", "openssl rand")),
        ({"CULPRIT_SECRET_KEY": None, "CULPRIT_SECRET_KEY_FILE": "/nowhere/key"}, ("No such file", "ls -l")),
    ],
)
def test_secret_key_that_is_missing_or_wrong(
    check, changes: dict[str, str | None], parts: tuple[str, ...]
) -> None:
    require_check(check(**changes)["secret key"], "problem", *parts)


def test_secret_key_that_others_can_read(check, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(os.environ["CULPRIT_SECRET_KEY"])
    key.chmod(0o640)
    checks = check(CULPRIT_SECRET_KEY=None, CULPRIT_SECRET_KEY_FILE=str(key))
    require_check(checks["secret key"], "problem", "mode 640", f"chmod 600 {key}")
    key.chmod(0o600)
    assert check()["secret key"].state == "ok"


def test_key_of_another_platform_does_not_open_secrets(check, db: Database, config: Settings) -> None:
    with unit_of_work(db.sessions) as session:
        row = Credential(id=new_uuid7(), name="ops", kind="password", username="ops")
        seal_secret(row, "secret of a host", Vault(config.key_ring(), 1))
        session.add(row)
    assert check()["stored secrets"].state == "ok"
    other = base64.b64encode(bytes(range(32))).decode()
    require_check(
        check(CULPRIT_SECRET_KEY=other)["stored secrets"], "problem", "table credential", "used before"
    )


def test_refused_setting_is_named_without_its_value(check) -> None:
    only = check(CULPRIT_TRUSTED_PROXIES="not-a-network", CULPRIT_LEASE_SECONDS="2")
    assert list(only) == ["settings"]
    require_check(only["settings"], "problem", "is refused", "unset CULPRIT_")


def test_data_directory_that_is_missing_or_open(check, config: Settings, tmp_path: Path) -> None:
    config.home.chmod(0o755)
    require_check(check()["data directory"], "warning", "mode 755", f"chmod 700 {config.home}")
    missing = tmp_path / "missing"
    checks = check(CULPRIT_HOME=str(missing))
    require_check(checks["data directory"], "problem", str(missing), "install -d -m 700")


@ROOT_ONLY
def test_data_directory_of_another_user(check, config: Settings) -> None:
    closed = [path for path in config.home.parents if path != Path("/") and not path.stat().st_mode & 0o001]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in closed}
    config.home.chmod(0o755)
    for path in closed:
        path.chmod(modes[path] | 0o011)
    os.seteuid(65534)
    try:
        checks = check()
    finally:
        os.seteuid(0)
        for path, mode in modes.items():
            path.chmod(mode)
    require_check(checks["data directory"], "problem", "65534 cannot write", "chown -R 65534")
    require_check(checks["artifact store"], "problem", "Permission denied", "ls -ld")


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """Mount a disk of 2 MiB at `path`, three quarters full."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", path], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("this container may not mount")
    try:
        (path / "filling").write_bytes(bytes((2 << 20) * 4 // 5))
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@ROOT_ONLY
def test_disk_that_is_nearly_full(check, config: Settings) -> None:
    with small_disk(config.home):
        require_check(
            check()["disk"], "problem", "New captures are refused", "./culprit storage set-retention"
        )


@pytest.mark.parametrize(
    ("url", "state", "part"),
    [
        ("https://culprit.example.org", "ok", "https://culprit"),
        ("http://127.0.0.1:8040", "ok", "127.0.0.1"),
        ("http://10.0.0.5:8040", "warning", "no TLS"),
        ("culprit.example.org", "problem", "not an address"),
    ],
)
def test_public_address(check, url: str, state: str, part: str) -> None:
    require_check(check(CULPRIT_PUBLIC_URL=url)["public address"], state, part)


def test_interface_that_is_not_built(check, config: Settings) -> None:
    require_check(check()["interface"], "warning", str(config.ui_dir), "vite build")
    config.ui_dir.mkdir()
    (config.ui_dir / "index.html").write_text("<!doctype html>")
    assert check()["interface"].state == "ok"


def test_perf_that_is_missing(check, tmp_path: Path) -> None:
    require_check(check(PATH=str(tmp_path))["perf"], "warning", "apt-get install linux-perf")


# -- database -------------------------------------------------------------------------------------------


def test_database_that_does_not_answer(check) -> None:
    port = free_port()
    checks = check(DATABASE_URL=f"postgresql://ops:canary-of-a-password@127.0.0.1:{port}/culprit")
    require_check(checks["database"], "problem", "Connection refused", 'psql "$DATABASE_URL"')
    assert "migrations" not in checks and "worker-ssh" not in checks
    require_check(
        check(DATABASE_URL="mysql://ops:canary-of-a-password@db/x")["database"], "problem", "not an address"
    )


def test_database_that_does_not_exist(check) -> None:
    url = os.environ["DATABASE_URL"].partition("?")
    missing = url[0].rpartition("/")[0] + "/nowhere" + url[1] + url[2]
    require_check(check(DATABASE_URL=missing)["database"], "problem", "does not exist")


@pytest.mark.parametrize(
    ("revision", "part", "command"),
    [
        ("0001", "older than the program", "alembic -c migrations/alembic.ini upgrade head"),
        ("9999", "newer than the program", "install the version"),
        (None, "no tables", "alembic"),
    ],
)
def test_tables_of_another_version(
    check, config: Settings, revision: str | None, part: str, command: str
) -> None:
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        if revision is None:
            connection.execute("DROP TABLE alembic_version")
        else:
            connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))
    checks = check()
    require_check(checks["migrations"], "problem", part, command)
    assert "scheduler" not in checks  # the tables may not be there


def test_database_with_few_connections_left(check, tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Postgres(tmp_path / "pg", durable=False, max_connections=12))
        for _ in range(9):
            stack.enter_context(psycopg.connect(server.url))
        checks = check(DATABASE_URL=server.url)
        require_check(checks["connections"], "warning", "of 12 connections", "max_connections = 24")
        require_check(checks["migrations"], "problem", "no tables")


@pytest.mark.skipif(FAKETIME is None, reason="no faketime")
@pytest.mark.parametrize(
    ("shift", "state", "part"), [("+90s", "problem", "s ahead of"), ("-4s", "warning", "s behind")]
)
def test_clock_that_differs_from_the_database(config: Settings, shift: str, state: str, part: str) -> None:
    command = [str(FAKETIME), "-f", shift, sys.executable, "-m", "culprit.server.doctor", "--json"]
    environment = dict(os.environ) | {"PYTHONPATH": build_python_path()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    checks = {item["check"]: item for item in json.loads(done.stdout)["checks"]}
    assert checks["clock"]["state"] == state
    assert part in checks["clock"]["message"] and "timedatectl" in checks["clock"]["command"]
    assert done.returncode == 1  # no worker runs


# -- queue ----------------------------------------------------------------------------------------------


def test_queue_that_does_not_answer(check) -> None:
    url = f"redis://:canary-of-a-password@127.0.0.1:{free_port()}/0"
    checks = check(REDIS_URL=url)
    require_check(checks["queue"], "problem", "does not answer", 'redis-cli -u "$REDIS_URL" ping')
    assert checks["database"].state == "ok"
    require_check(check(REDIS_URL="http://x")["queue"], "problem", "not an address")


def test_queue_that_is_silent(check) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        began = time.monotonic()
        checks = check(REDIS_URL=f"redis://127.0.0.1:{listener.getsockname()[1]}/0")
    require_check(checks["queue"], "problem", "does not answer")
    assert time.monotonic() - began < 20


def test_queue_with_another_password_or_eviction(check, tmp_path: Path) -> None:
    with Valkey(tmp_path / "valkey") as server, Redis.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        require_check(check(REDIS_URL=server.url)["queue"], "warning", "allkeys-lru", "noeviction")
        client.config_set("requirepass", "canary-of-a-password")
        require_check(check()["queue"], "problem", "refuses the password", "REDIS_URL=redis://:PASSWORD")
        path = server.url.removeprefix("unix://")
        assert check(REDIS_URL=f"unix://:canary-of-a-password@{path}")["queue"].state == "warning"


# -- store ----------------------------------------------------------------------------------------------


def test_directory_that_cannot_be_written(check, config: Settings) -> None:
    (config.home / "artifacts").write_text("a file where a directory belongs")
    require_check(check()["artifact store"], "problem", "cannot be written", "ls -ld")


def test_store_leaves_no_object(check, config: Settings) -> None:
    assert check()["artifact store"].state == "ok"
    assert [path for path in (config.home / "artifacts").rglob("*") if path.is_file()] == []


def test_bucket_that_is_missing_or_away(check) -> None:
    keys = {"S3_ACCESS_KEY_ID": "ops", "S3_SECRET_ACCESS_KEY": "canary-of-a-password"}
    with s3("evidence") as url:
        assert check(S3_ENDPOINT=url, S3_BUCKET="evidence", **keys)["artifact store"].state == "ok"
        require_check(
            check(S3_BUCKET="nowhere")["artifact store"], "problem", "nowhere does not exist", "s3 mb"
        )
        require_check(
            check(S3_BUCKET=None)["artifact store"], "problem", "without S3_BUCKET", "export S3_BUCKET"
        )
    began = time.monotonic()
    checks = check(S3_ENDPOINT=f"http://127.0.0.1:{free_port()}", S3_BUCKET="evidence")
    require_check(checks["artifact store"], "problem", "does not answer", "refused", "curl")
    assert time.monotonic() - began < 20


def test_no_secret_is_printed(
    check, config: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    canaries = {f"canary-{number}-of-a-secret" for number in range(5)}
    first, second, third, fourth, fifth = sorted(canaries)
    key = tmp_path / "key"
    key.write_text(fifth)
    check(
        DATABASE_URL=f"postgresql://ops:{first}@127.0.0.1:{free_port()}/culprit?sslpassword={fourth}",
        REDIS_URL=f"redis://ops:{second}@127.0.0.1:{free_port()}/0",
        S3_ENDPOINT=f"http://ops:{third}@127.0.0.1:{free_port()}",
        S3_BUCKET="evidence",
        S3_SECRET_ACCESS_KEY=third,
        CULPRIT_SECRET_KEY=None,
        CULPRIT_SECRET_KEY_FILE=str(key),
        CULPRIT_SECRET_KEYS_OLD=f"1:{fourth}",
        CULPRIT_PUBLIC_URL=f"http://ops:{fourth}@10.0.0.5",
    )
    assert doctor.main([]) == 1 and doctor.main(["--json"]) == 1
    printed = capsys.readouterr()
    assert "PROBLEM" in printed.out
    for canary in canaries:
        assert canary not in printed.out + printed.err
