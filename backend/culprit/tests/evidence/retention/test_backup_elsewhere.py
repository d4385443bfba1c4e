"""Backups of a platform whose artifacts are in a bucket, and the errors when the database or bucket is unusable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from culprit.infra.artifacts.store import make_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.settings import Settings
from culprit.server.backup import __main__ as command
from culprit.server.backup.make import create_backup
from culprit.server.backup.restore import restore_backup
from culprit.tests.evidence.retention.test_backup import contents, quiet
from culprit.tests.support.bucket import s3
from culprit.tests.support.retention import make_old_run
from culprit.tests.support.runs import make_host
from culprit.tests.support.web import free_port
from pydantic import SecretStr


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3("first", "second") as url:
        yield url


@pytest.fixture
def first(config: Settings, db: Database, endpoint: str) -> Settings:
    """A platform with a run whose artifacts are in the bucket `first`."""
    requested = config.model_copy(
        update={
            "s3_endpoint": endpoint,
            "s3_bucket": "first",
            "s3_access_key_id": "key",
            "s3_secret_access_key": SecretStr("secret"),
        }
    )
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        make_old_run(session, make_store(requested), host_id)
    return requested


@pytest.fixture
def second(
    first: Settings,
    make_database: Callable[[str | None], str],
    drop_database: Callable[[str], None],
    tmp_path: Path,
) -> Iterator[Settings]:
    """Another one, empty, with the bucket `second`."""
    url = make_database(None)
    yield first.model_copy(update={"database_url": url, "home": tmp_path / "other", "s3_bucket": "second"})
    drop_database(url)


@pytest.mark.parametrize("target", ["a.culprit-backup", "directory"])
def test_backup_can_be_restored_into_another_bucket(
    first: Settings, second: Settings, tmp_path: Path, target: str
) -> None:
    backup = create_backup(first, make_store(first), tmp_path / target, quiet)
    assert backup.objects > 0 and backup.missing == 0
    done = restore_backup(second, make_store(second), backup.path, quiet)
    assert done.objects == backup.objects
    assert contents(first.database_url) == contents(second.database_url)
    there = make_store(second)
    for item in make_store(first).walk():
        with make_store(first).open(item.sha256) as mine, there.open(item.sha256) as theirs:
            assert mine.read() == theirs.read()


@pytest.mark.parametrize(
    ("what", "change", "message"),
    [
        (
            "make",
            {"database_url": "postgresql://nobody:guess@127.0.0.1:{port}/x"},
            "database of DATABASE_URL",
        ),
        (
            "restore",
            {"database_url": "postgresql://nobody:guess@127.0.0.1:{port}/x"},
            "database of DATABASE_URL",
        ),
        ("make", {"s3_endpoint": "http://127.0.0.1:{port}"}, "store of S3_BUCKET"),
        ("make", {"s3_bucket": "second-to-none"}, "none of the"),
        ("restore", {"s3_bucket": "second-to-none"}, "bucket second-to-none not found"),
    ],
)
def test_backup_command_reports_unusable_target(
    first: Settings,
    second: Settings,
    tmp_path: Path,
    monkeypatch,
    capsys,
    what: str,
    change: dict,
    message: str,
) -> None:
    whole = create_backup(first, make_store(first), tmp_path / "whole.culprit-backup", quiet).path
    supplied = {name: value.format(port=free_port()) for name, value in change.items()}
    requested = (first if what == "make" else second).model_copy(
        update=supplied | {"home": tmp_path / "third"}
    )
    monkeypatch.setattr(command, "get_settings", lambda: requested)
    file = tmp_path / "b.culprit-backup" if what == "make" else whole
    assert command.main([what, str(file)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("culprit: ") and message in err and err.count("\n") == 1, err
    assert "guess" not in err and not (tmp_path / "b.culprit-backup").exists()
