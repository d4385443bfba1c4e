"""Workers, stored files and backups that are missing, late or damaged, and the checks of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat
from culprit.infra.settings import Settings, get_settings
from culprit.server.backup.__main__ import main as run_backup
from culprit.server.doctor import database_checks
from culprit.tests.support.service_checks import require_check
from redis import Redis
from sqlalchemy import update


def test_worker_that_does_not_run(check, db: Database, config: Settings) -> None:
    with Redis.from_url(config.redis_url) as client:
        client.rpush("ssh", "one", "two")
    checks = check()
    require_check(
        checks["worker-ssh"], "problem", "No worker-ssh runs", "2 jobs wait", "culprit.server.worker ssh"
    )
    require_check(checks["worker-parse"], "problem", "no heartbeat", "culprit.server.worker parse")
    require_check(checks["scheduler"], "problem", "culprit.server.scheduler")
    with unit_of_work(db.sessions) as session:
        session.add(ProcessHeartbeat(name="worker@a:1", detail={"queues": ["ssh"]}))
        session.add(ProcessHeartbeat(name="worker@b:2", detail={"queues": ["ssh"]}))
        session.flush()
        session.execute(
            update(ProcessHeartbeat)
            .where(ProcessHeartbeat.name == "worker@b:2")
            .values(seen_at=utc_now() - timedelta(minutes=7))
        )
    require_check(check()["worker-ssh"], "ok", "1 process runs; 2 jobs wait")
    with unit_of_work(db.sessions) as session:
        session.execute(update(ProcessHeartbeat).values(seen_at=utc_now() - timedelta(minutes=7)))
    require_check(check()["worker-ssh"], "problem", "7 min old", "2 jobs wait")


def test_long_queue_recommends_a_second_worker(check, db: Database, config: Settings) -> None:
    with Redis.from_url(config.redis_url) as client:
        client.rpush("parse", *range(300))
    with unit_of_work(db.sessions) as session:
        session.add(ProcessHeartbeat(name="worker@a:1", detail={"queues": ["default", "parse"]}))
    require_check(check()["worker-parse"], "warning", "300 jobs wait", "second worker-parse")


def test_stored_file_that_is_altered_or_unchecked(check, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(BlobCheck(sha256="a" * 64, size=1))
        session.flush()
        session.execute(update(BlobCheck).values(checked_at=utc_now() - timedelta(hours=50)))
    require_check(check()["stored files"], "warning", "50 h old", "second scheduler")
    require_check(check(CULPRIT_FILE_CHECK_HOURS="0")["stored files"], "warning", "not checked")
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobCheck).values(altered_at=utc_now(), reason="altered"))
    require_check(check()["stored files"], "problem", "1 stored files are altered", "./culprit storage check")


def test_backup_that_is_missing_or_old(
    check, db: Database, people: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check()["backup"].state == "ok"  # a platform of today
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).values(created_at=utc_now() - timedelta(days=3)))
    require_check(check()["backup"], "warning", "no backup", "culprit.server.backup make")
    get_settings.cache_clear()
    assert run_backup(["make", str(tmp_path / "backups")]) == 0
    require_check(check()["backup"], "ok", "0.0 h old")
    monkeypatch.setattr(database_checks, "BACKUP_AGE", timedelta(0))
    require_check(check()["backup"], "warning", "0.0 h old", "culprit.server.backup make")
