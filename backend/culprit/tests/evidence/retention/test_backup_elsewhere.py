"""Backups of a platform whose artifacts are in a bucket, and what is said where database or bucket cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from culprit.backup import __main__ as command
from culprit.backup.make import make
from culprit.backup.restore import restore
from culprit.config import Settings
from culprit.infra.artifacts import make_store
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.tests.storage.test_backup import contents, quiet
from culprit.tests.storage.test_retention import old_run
from culprit.tests.support.bucket import s3
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
    wanted = config.model_copy(
        update={
            "s3_endpoint": endpoint,
            "s3_bucket": "first",
            "s3_access_key_id": "key",
            "s3_secret_access_key": SecretStr("secret"),
        }
    )
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        old_run(session, make_store(wanted), host_id)
    return wanted


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
def test_it_goes_from_one_bucket_into_another(
    first: Settings, second: Settings, tmp_path: Path, target: str
) -> None:
    made = make(first, make_store(first), tmp_path / target, quiet)
    assert made.objects > 0 and made.missing == 0
    done = restore(second, make_store(second), made.path, quiet)
    assert done.objects == made.objects
    assert contents(first.database_url) == contents(second.database_url)
    there = make_store(second)
    for one in make_store(first).walk():
        with make_store(first).open(one.sha256) as mine, there.open(one.sha256) as theirs:
            assert mine.read() == theirs.read()


@pytest.mark.parametrize(
    ("what", "change", "says"),
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
        ("make", {"s3_bucket": "second-to-none"}, "not one of the"),
        ("restore", {"s3_bucket": "second-to-none"}, "there is no bucket second-to-none"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(
    first: Settings, second: Settings, tmp_path: Path, monkeypatch, capsys, what: str, change: dict, says: str
) -> None:
    whole = make(first, make_store(first), tmp_path / "whole.culprit-backup", quiet).path
    given = {name: value.format(port=free_port()) for name, value in change.items()}
    wanted = (first if what == "make" else second).model_copy(update=given | {"home": tmp_path / "third"})
    monkeypatch.setattr(command, "settings", lambda: wanted)
    file = tmp_path / "b.culprit-backup" if what == "make" else whole
    assert command.main([what, str(file)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("culprit: ") and says in said and said.count("\n") == 1, said
    assert "guess" not in said and not (tmp_path / "b.culprit-backup").exists()
