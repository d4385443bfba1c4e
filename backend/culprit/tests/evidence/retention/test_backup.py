"""A backup goes into an empty platform as it was, and nothing else goes anywhere."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from culprit.auth import audit
from culprit.backup import archive, rows
from culprit.backup.archive import Reader, Refused
from culprit.backup.make import make
from culprit.backup.restore import restore
from culprit.config import Settings
from culprit.infra.artifacts import DirectoryStore, artifact_store, make_store
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Base, Capture, Diagnosis, Fix, Incident, Run, RunCollector, Verification
from culprit.tests.storage.test_retention import old_run
from culprit.tests.support.runs import make_host
from sqlalchemy import select


def quiet(_: str) -> None:
    """Nobody listens."""


@pytest.fixture
def store(config: Settings) -> DirectoryStore:
    made = artifact_store()
    assert isinstance(made, DirectoryStore)
    return made


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
        done = old_run(session, store, host_id)
        session.add(Incident(title="slow\tfeed \\N \u4e2d", window_from=now(), created_by=people["admin"].id))
        capture = Capture(plan="triage", state="running")
        session.add(capture)
        session.flush()
        under_way = Run(capture_id=capture.id, host_id=host_id, state="running", lease_until=now())
        session.add(under_way)
        session.flush()
        session.add(RunCollector(run_id=under_way.id, collector="vmstat", state="running"))
        for n in range(3):
            audit.record(session, None, "test", "x", str(n), text="a\nb")
        return {"done": done.id, "under_way": under_way.id, "host": host_id}


def contents(url: str) -> dict[str, str]:
    """A digest of each table's rows."""
    found = {}
    with psycopg.connect(url) as connection:
        for table in rows.tables():
            query = f"SELECT count(*) || md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM \"{table}\" t"
            found[table] = connection.execute(query).fetchone()[0]
    return found


@pytest.mark.parametrize("form", ["file", "directory"])
def test_it_comes_back_as_it_was(config, store, filled, elsewhere, tmp_path: Path, form: str) -> None:
    target = tmp_path / ("all.culprit-backup" if form == "file" else "backups")
    made = make(config, store, target, quiet)
    assert (made.objects, made.copied, made.missing) == (4, 4, 0)
    other = make_store(elsewhere)
    done = restore(elsewhere, other, made.path, quiet, drill=True)
    assert contents(elsewhere.database_url) == contents(config.database_url)
    assert {one.sha256 for one in other.walk()} == {one.sha256 for one in store.walk()}
    assert (done.rows, done.objects, done.incident, done.key_fits) == (made.rows, 4, 1, True)
    assert done.audit_entries == 3


def test_nothing_that_was_under_way_goes_on_after_it(
    config, store, filled, elsewhere, tmp_path: Path
) -> None:
    at_home = Database(config.sqlalchemy_url)
    with unit_of_work(at_home.sessions) as session:
        session.add(Diagnosis(host_id=filled["host"], seconds=1, state="running"))
        incident = session.scalars(select(Incident)).one()
        told = {"tier": "light", "by": None, "capture_id": None, "step": None, "reason": None}
        incident.autopilot = {"state": "running", "taken": 2, **told}
        fix = Fix(incident_id=incident.id, what="f")
        session.add(fix)
        session.flush()
        session.add(Verification(fix_id=fix.id, state="collecting"))
    at_home.close()
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    restore(elsewhere, make_store(elsewhere), made.path, quiet)
    db = Database(elsewhere.sqlalchemy_url)
    with unit_of_work(db.sessions) as session:
        assert session.scalars(select(Diagnosis.state)).all() == ["cancelled"]
        assert session.scalars(select(Verification.state)).all() == ["cancelled"]
        autopilot = session.scalars(select(Incident.autopilot)).one()
        assert (autopilot["state"], autopilot["taken"]) == ("stopped", 2)
        run = session.get_one(Run, filled["under_way"])
        assert (run.state, run.failure["key"], run.lease_until) == ("cancelled", "run.restored", None)
        assert session.get_one(Capture, run.capture_id).state == "cancelled"
        assert session.scalars(select(RunCollector.state)).all() == ["cancelled"]
        # Numbers that the database gives go on behind those that were restored.
        incident = Incident(title="next", window_from=now())
        session.add(incident)
        session.flush()
        assert incident.number == 2
        audit.record(session, None, "restored", "x", "y")
        assert audit.verify(session).broken_at is None
    db.close()


def test_a_directory_takes_each_artifact_once(config, store, filled, db, tmp_path: Path, monkeypatch) -> None:
    from culprit.backup import make as module

    first = make(config, store, tmp_path / "backups", quiet)
    with unit_of_work(db.sessions) as session:
        old_run(session, store, filled["host"])

    class Later:
        @staticmethod
        def now(_):
            return now().replace(year=2030)

    monkeypatch.setattr(module, "datetime", Later)
    second = make(config, store, tmp_path / "backups", quiet)
    assert (first.copied, second.copied, second.objects) == (4, 4, 8)
    for made in (first, second):
        with Reader(made.path) as reader:
            reader.check()


def test_only_an_empty_platform_takes_it(config, store, filled, elsewhere, tmp_path: Path) -> None:
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    before = contents(config.database_url)
    with pytest.raises(Refused, match="not empty"):
        restore(config, store, made.path, quiet)
    assert contents(config.database_url) == before
    with pytest.raises(Refused, match="there already"):
        make(config, store, made.path, quiet)


def test_one_made_by_a_newer_version_is_refused(
    config, store, filled, elsewhere, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(rows, "revision", lambda _: "9999")
    monkeypatch.setattr(rows, "newest", lambda: "9999")
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    monkeypatch.undo()
    with pytest.raises(Refused, match="newer Culprit"):
        restore(elsewhere, make_store(elsewhere), made.path, quiet)
    monkeypatch.setattr("culprit.backup.make.FORMAT_VERSION", 99)
    other = make(config, store, tmp_path / "b.culprit-backup", quiet)
    with pytest.raises(Refused, match="newer"):
        Reader(other.path)


def test_an_older_one_is_brought_up_to_date(config, store, elsewhere, people, tmp_path: Path) -> None:
    """A backup of the tables as they were one migration ago."""
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        now_at = rows.revision(connection)
    from alembic import command
    from culprit.tests.conftest import alembic_config

    command.downgrade(alembic_config(config.database_url), "-1")
    with psycopg.connect(config.database_url) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        there = {row[0] for row in connection.execute(query)}
    tables = [name for name in rows.tables() if name in there]
    with pytest.MonkeyPatch.context() as patch:
        with pytest.raises(Refused, match="brings them up"):
            make(config, store, tmp_path / "old.culprit-backup", quiet)
        patch.setattr(rows, "tables", lambda: tables)
        with psycopg.connect(config.database_url) as connection:
            at = rows.revision(connection)
        patch.setattr(rows, "newest", lambda: at)
        made = make(config, store, tmp_path / "old.culprit-backup", quiet)
    restore(elsewhere, make_store(elsewhere), made.path, quiet)
    with psycopg.connect(elsewhere.database_url) as connection:
        assert rows.revision(connection) == now_at
        assert connection.execute("SELECT count(*) FROM user_account").fetchone() == (5,)


@pytest.mark.parametrize("where", [0.02, 0.3, 0.6, 0.9])
def test_a_changed_byte_is_found_before_anything_is_written(
    config, store, filled, elsewhere, tmp_path: Path, where: float
) -> None:
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    data = bytearray(made.path.read_bytes())
    with tarfile.open(made.path) as tar:
        members = [one for one in tar if one.size]
    member = members[int(where * len(members))]
    data[member.offset_data + member.size // 2] ^= 1
    made.path.chmod(0o600)
    made.path.write_bytes(data)
    with pytest.raises(Refused, match=r"altered|not whole|no backup"):
        restore(elsewhere, make_store(elsewhere), made.path, quiet)
    with psycopg.connect(elsewhere.database_url) as connection:
        assert rows.revision(connection) is None


def test_a_cut_file_is_no_backup(config, store, filled, tmp_path: Path) -> None:
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    data = made.path.read_bytes()
    for share in (0.0, 0.1, 0.5, 0.9):
        cut = tmp_path / f"cut-{share}"
        cut.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(Refused, match=r"not whole|no backup"):
            Reader(cut)


def test_one_that_is_interrupted_leaves_no_file(config, store, filled, tmp_path: Path, monkeypatch) -> None:
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.Writer, "seal", full)
    folder = tmp_path / "b"
    with pytest.raises(OSError, match="No space"):
        make(config, store, folder / "a.culprit-backup", quiet)
    assert list(folder.iterdir()) == []


def test_an_artifact_that_is_not_there_is_told_and_does_not_end_it(
    config, store, filled, tmp_path: Path
) -> None:
    one = next(iter(store.walk()))
    store.delete(one.sha256)
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    assert (made.missing, made.objects) == (1, 3)
    with Reader(made.path) as reader:
        assert reader.manifest["missing"] == [one.sha256]


def test_the_key_is_not_in_it_and_is_recognised(config, store, filled, elsewhere, tmp_path: Path) -> None:
    made = make(config, store, tmp_path / "a.culprit-backup", quiet)
    key = config.key_ring()[1]
    data = made.path.read_bytes()
    assert key not in data and config.secret_key.get_secret_value().encode() not in data
    wrong = elsewhere.model_copy(update={"secret_key": type(config.secret_key)("A" * 43 + "=")})
    assert restore(wrong, make_store(wrong), made.path, quiet).key_fits is False


def test_every_table_is_in_it_or_left_out_on_purpose() -> None:
    names = {table.name for table in Base.metadata.tables.values()}
    assert set(rows.tables()) | rows.LEFT_OUT == names
    assert names >= rows.LEFT_OUT
