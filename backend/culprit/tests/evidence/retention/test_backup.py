"""A backup goes into an empty platform as it was, and nothing else goes anywhere."""

from __future__ import annotations

import shutil
import tarfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from alembic.config import Config
from culprit.accounts import audit
from culprit.infra.artifacts.store import DirectoryStore, artifact_store, make_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.base import Base
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.verification import Verification
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.settings import REPOSITORY, Settings
from culprit.server.backup import archive, rows
from culprit.server.backup.archive import BackupError, BackupReader
from culprit.server.backup.make import create_backup
from culprit.server.backup.restore import restore_backup
from culprit.tests.conftest import alembic_config
from culprit.tests.support.retention import apply_all_policies, make_old_run, set_policy
from culprit.tests.support.runs import make_host
from sqlalchemy import delete, func, select

NEXT_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "{newest}"


def upgrade():
    op.add_column("user_account", sa.Column("nickname", sa.Text(), server_default="none", nullable=False))
"""


def quiet(_: str) -> None:
    """Ignore progress."""


@pytest.fixture
def store(config: Settings) -> DirectoryStore:
    result = artifact_store()
    assert isinstance(result, DirectoryStore)
    return result


@pytest.fixture
def elsewhere(
    config: Settings,
    make_database: Callable[[str | None], str],
    drop_database: Callable[[str], None],
    tmp_path: Path,
):
    """Another platform: an empty database, a home of its own, the same key."""
    url = make_database(None)
    yield config.model_copy(update={"database_url": url, "home": tmp_path / "other"})
    drop_database(url)


@pytest.fixture
def filled(db: Database, store: DirectoryStore, people) -> dict[str, object]:
    """Something of much: runs with bytes, a run under way, an incident, the audit log."""
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        done = make_old_run(session, store, host_id)
        session.add(
            Incident(title="slow\tfeed \\N \u4e2d", window_from=utc_now(), created_by=people["admin"].id)
        )
        capture = Capture(plan="triage", state="running")
        session.add(capture)
        session.flush()
        under_way = Run(capture_id=capture.id, host_id=host_id, state="running", lease_until=utc_now())
        session.add(under_way)
        session.flush()
        session.add(RunCollector(run_id=under_way.id, collector="vmstat", state="running"))
        for n in range(3):
            audit.record_action(session, None, "test", "x", str(n), text="a\nb")
        return {"done": done.id, "under_way": under_way.id, "host": host_id}


def contents(url: str) -> dict[str, str]:
    """A digest of each table's rows."""
    results = {}
    with psycopg.connect(url) as connection:
        for table in rows.list_tables():
            query = f"SELECT count(*) || md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM \"{table}\" t"
            results[table] = connection.execute(query).fetchone()[0]
    return results


@pytest.mark.parametrize("form", ["file", "directory"])
def test_it_comes_back_as_it_was(config, store, filled, elsewhere, tmp_path: Path, form: str) -> None:
    target = tmp_path / ("all.culprit-backup" if form == "file" else "backups")
    backup = create_backup(config, store, target, quiet)
    assert (backup.objects, backup.copied, backup.missing) == (4, 4, 0)
    other = make_store(elsewhere)
    done = restore_backup(elsewhere, other, backup.path, quiet, drill=True)
    assert contents(elsewhere.database_url) == contents(config.database_url)
    assert {item.sha256 for item in other.walk()} == {item.sha256 for item in store.walk()}
    assert (done.rows, done.objects, done.incident, done.key_fits) == (backup.rows, 4, 1, True)
    assert done.audit_entries == 3


def test_a_backup_under_writes_and_deletions_is_of_a_single_moment(
    config, db: Database, store, elsewhere, tmp_path: Path
) -> None:
    """Runs are stored and retention deletes others while backups are made: each restores whole, with all its bytes."""
    host_id = make_host(db)
    stop = threading.Event()
    stored: list[UUID] = []

    def store_runs() -> None:
        while not stop.is_set():
            with unit_of_work(db.sessions) as session:
                run_id = make_old_run(session, store, host_id).id
            stored.append(run_id)

    def delete_runs() -> None:
        while not stop.is_set():
            with unit_of_work(db.sessions) as session:
                session.execute(delete(RetentionPolicy))
                set_policy(session, "recordings")
            apply_all_policies(db, store)

    with ThreadPoolExecutor(3) as pool:
        work = [pool.submit(store_runs), pool.submit(store_runs), pool.submit(delete_runs)]
        try:
            backups, before = [], []
            for n in range(3):
                while len(stored) < 30 * (n + 1) and not any(item.done() for item in work):
                    time.sleep(0.01)
                before.append(set(stored))
                backups.append(create_backup(config, store, tmp_path / f"{n}.culprit-backup", quiet))
        finally:
            stop.set()
        for item in work:
            item.result(30)
    assert [backup.missing for backup in backups] == [0, 0, 0]
    restored = make_store(elsewhere)
    restore_backup(elsewhere, restored, backups[-1].path, quiet, drill=True)
    there = Database(elsewhere.sqlalchemy_url)
    try:
        with there.sessions() as session:
            assert before[-1] <= set(session.scalars(select(Run.id)))
            kept = set(session.scalars(select(Artifact.sha256).where(Artifact.removed_at.is_(None))))
            removed = session.scalars(select(func.count(Artifact.removed_at))).one()
    finally:
        there.close()
    assert kept and kept <= {item.sha256 for item in restored.walk()}
    assert removed, "retention deleted nothing before the last backup, so nothing was at risk"
    assert backups[0].rows < backups[-1].rows


def test_nothing_that_was_under_way_goes_on_after_it(
    config, store, filled, elsewhere, tmp_path: Path
) -> None:
    at_home = Database(config.sqlalchemy_url)
    with unit_of_work(at_home.sessions) as session:
        session.add(Diagnosis(host_id=filled["host"], seconds=1, state="running"))
        incident = session.scalars(select(Incident)).one()
        reported = {"tier": "light", "by": None, "capture_id": None, "step": None, "reason": None}
        incident.autopilot = {"state": "running", "capture_count": 2, **reported}
        fix = Fix(incident_id=incident.id, what="f")
        session.add(fix)
        session.flush()
        session.add(Verification(fix_id=fix.id, state="collecting"))
    at_home.close()
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    restore_backup(elsewhere, make_store(elsewhere), backup.path, quiet)
    db = Database(elsewhere.sqlalchemy_url)
    with unit_of_work(db.sessions) as session:
        assert session.scalars(select(Diagnosis.state)).all() == ["canceled"]
        assert session.scalars(select(Verification.state)).all() == ["canceled"]
        autopilot = session.scalars(select(Incident.autopilot)).one()
        assert (autopilot["state"], autopilot["capture_count"]) == ("stopped", 2)
        run = session.get_one(Run, filled["under_way"])
        assert (run.state, run.failure["key"], run.lease_until) == ("canceled", "run.restored", None)
        assert session.get_one(Capture, run.capture_id).state == "canceled"
        assert session.scalars(select(RunCollector.state)).all() == ["canceled"]
        # Numbers that the database gives go on behind those that were restored.
        incident = Incident(title="next", window_from=utc_now())
        session.add(incident)
        session.flush()
        assert incident.number == 2
        audit.record_action(session, None, "restored", "x", "y")
        assert audit.verify_chain(session).broken_at is None
    db.close()


def test_a_directory_takes_each_artifact_once(config, store, filled, db, tmp_path: Path, monkeypatch) -> None:
    from culprit.server.backup import make as module

    first = create_backup(config, store, tmp_path / "backups", quiet)
    with unit_of_work(db.sessions) as session:
        make_old_run(session, store, filled["host"])

    class Later:
        @staticmethod
        def now(_):
            return utc_now().replace(year=2030)

    monkeypatch.setattr(module, "datetime", Later)
    second = create_backup(config, store, tmp_path / "backups", quiet)
    assert (first.copied, second.copied, second.objects) == (4, 4, 8)
    for new_first in (first, second):
        with BackupReader(new_first.path) as reader:
            reader.check()


def test_only_an_empty_platform_takes_it(config, store, filled, elsewhere, tmp_path: Path) -> None:
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    before = contents(config.database_url)
    with pytest.raises(BackupError, match="not empty"):
        restore_backup(config, store, backup.path, quiet)
    assert contents(config.database_url) == before
    with pytest.raises(BackupError, match="already exists"):
        create_backup(config, store, backup.path, quiet)


def test_restore_refuses_backup_of_newer_version(
    config, store, filled, elsewhere, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(rows, "get_revision", lambda _: "9999")
    monkeypatch.setattr(rows, "get_newest_revision", lambda: "9999")
    monkeypatch.setattr("culprit.server.backup.make.check_revision", lambda _: None)
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    monkeypatch.undo()
    with pytest.raises(BackupError, match="newer Culprit"):
        restore_backup(elsewhere, make_store(elsewhere), backup.path, quiet)
    monkeypatch.setattr("culprit.server.backup.make.FORMAT_VERSION", 99)
    other = create_backup(config, store, tmp_path / "b.culprit-backup", quiet)
    with pytest.raises(BackupError, match="newer"):
        BackupReader(other.path)


def test_restore_migrates_an_older_backup(config, store, elsewhere, people, tmp_path: Path) -> None:
    """A backup of this version is restored by a version that has one migration more."""
    backup = create_backup(config, store, tmp_path / "old.culprit-backup", quiet)
    newer = tmp_path / "migrations"
    shutil.copytree(REPOSITORY / "migrations", newer, ignore=shutil.ignore_patterns("__pycache__"))
    migration = NEXT_MIGRATION.format(newest=rows.get_newest_revision())
    (newer / "versions" / "next_add_a_column.py").write_text(migration, "utf-8")

    def alembic_of_newer(url: str) -> Config:
        newer_config = alembic_config(url)
        newer_config.set_main_option("script_location", str(newer))
        return newer_config

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_alembic", alembic_of_newer)
        restore_backup(elsewhere, make_store(elsewhere), backup.path, quiet)
    with psycopg.connect(elsewhere.database_url) as connection:
        assert rows.get_revision(connection) == "next"
        assert connection.execute("SELECT count(*), max(nickname) FROM user_account").fetchone() == (
            5,
            "none",
        )


@pytest.mark.parametrize("where", [0.02, 0.3, 0.6, 0.9])
def test_restore_detects_changed_byte_before_writing(
    config, store, filled, elsewhere, tmp_path: Path, where: float
) -> None:
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    data = bytearray(backup.path.read_bytes())
    with tarfile.open(backup.path) as tar:
        members = [item for item in tar if item.size]
    member = members[int(where * len(members))]
    data[member.offset_data + member.size // 2] ^= 1
    backup.path.chmod(0o600)
    backup.path.write_bytes(data)
    with pytest.raises(BackupError, match=r"altered|not whole|no backup"):
        restore_backup(elsewhere, make_store(elsewhere), backup.path, quiet)
    with psycopg.connect(elsewhere.database_url) as connection:
        assert rows.get_revision(connection) is None


def test_a_cut_file_is_no_backup(config, store, filled, tmp_path: Path) -> None:
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    data = backup.path.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9):
        cut = tmp_path / f"cut-{share}"
        cut.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(BackupError, match=r"incomplete|not a backup|not whole"):
            BackupReader(cut)


def test_interrupted_backup_leaves_no_file(config, store, filled, tmp_path: Path, monkeypatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.BackupWriter, "seal", full)
    folder = tmp_path / "b"
    with pytest.raises(OSError, match="No space"):
        create_backup(config, store, folder / "a.culprit-backup", quiet)
    assert list(folder.iterdir()) == []


def test_backup_reports_missing_artifact_and_continues(config, store, filled, tmp_path: Path) -> None:
    item = next(iter(store.walk()))
    store.delete(item.sha256)
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    assert (backup.missing, backup.objects) == (1, 3)
    with BackupReader(backup.path) as reader:
        assert reader.manifest["missing"] == [item.sha256]


def test_the_key_is_not_in_it_and_is_recognised(config, store, filled, elsewhere, tmp_path: Path) -> None:
    backup = create_backup(config, store, tmp_path / "a.culprit-backup", quiet)
    key = config.key_ring()[1]
    data = backup.path.read_bytes()
    assert key not in data and config.secret_key.get_secret_value().encode() not in data
    wrong = elsewhere.model_copy(update={"secret_key": type(config.secret_key)("A" * 43 + "=")})
    assert restore_backup(wrong, make_store(wrong), backup.path, quiet).key_fits is False


def test_every_table_is_in_it_or_left_out_on_purpose() -> None:
    names = {table.name for table in Base.metadata.tables.values()}
    assert set(rows.list_tables()) | rows.EXCLUDED_TABLES == names
    assert names >= rows.EXCLUDED_TABLES
