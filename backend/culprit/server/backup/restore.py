"""Restore a backup into an empty platform, and verify the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import build_actor
from culprit.incidents.responses import incident as read
from culprit.infra.artifacts.blob_files import read_blocks
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.schema_version import NewerSchemaError, check_revision
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.settings import Settings
from culprit.server.backup import rows
from culprit.server.backup.archive import BackupError, BackupReader
from culprit.server.backup.make import compute_key_marks
from culprit.server.queries import find_first_admin, find_newest_incident

# Work in progress at the time of the backup is ended, so that a restore contacts no host.
END_PENDING_WORK = (
    "UPDATE run_collector SET state = 'canceled' WHERE state IN ('queued', 'running')"
    " AND run_id IN (SELECT id FROM run WHERE state IN ('queued', 'running'))",
    "UPDATE run SET state = 'canceled', ended_at = now(), lease_until = NULL, waiting = NULL, progress = NULL,"
    " failure_side = 'user', failure = jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb)"
    " WHERE state IN ('queued', 'running')",
    "UPDATE capture SET state = 'canceled', ended_at = now() WHERE state IN ('queued', 'running')"
    " AND NOT EXISTS (SELECT FROM run WHERE run.capture_id = capture.id AND run.state = 'ingesting')",
    "UPDATE notification SET state = 'failed',"
    " failure = jsonb_build_object('key', 'notification.restored', 'params', '{}'::jsonb)"
    " WHERE state = 'queued'",
    "UPDATE grafana_annotation SET state = 'failed',"
    " failure = jsonb_build_object('key', 'notification.restored', 'params', '{}'::jsonb) WHERE state = 'queued'",
    "UPDATE diagnosis SET state = 'canceled', ended_at = now(),"
    " failure = jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb) WHERE state = 'running'",
    "UPDATE verification SET state = 'canceled', ended_at = now(),"
    " failure = jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb)"
    " WHERE state IN ('before', 'waiting', 'collecting', 'judging')",
    "UPDATE incident SET autopilot = autopilot || jsonb_build_object('state', 'stopped', 'reason',"
    " jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb)) WHERE autopilot ->> 'state' = 'running'",
    "UPDATE watcher SET state = 'canceled', ended_at = now() WHERE ended_at IS NULL",
)
ProgressReporter = Callable[[str], None]


@dataclass(slots=True)
class RestoreResult:
    """What was restored and verified, and the seconds of each step."""

    created_at: str = ""
    rows: int = 0
    objects: int = 0
    key_fits: bool | None = None
    audit_entries: int = 0
    incident: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def record_step(self, what: str, since: float) -> None:
        """Record the seconds of a step."""
        self.seconds[what] = round(time.monotonic() - since, 2)


def restore_backup(
    config: Settings, store: ArtifactStore, path: Path, message: ProgressReporter, *, drill: bool = False
) -> RestoreResult:
    """Restore a backup into the database and store of these settings. Raises BackupError.

    A drill restores and verifies in the same way, but keeps the state of running work: no worker will see it.
    """
    result = RestoreResult()
    with BackupReader(path) as reader:
        began = time.monotonic()
        _require_schema(config, reader)
        reader.check()
        result.record_step("check", began)
        message(f"every checksum of {path} is right")
        _restore_artifacts(store, reader, result)
        message(f"{result.objects} artifacts are in the store")
        _restore_rows(config, reader, result, drill=drill)
        message(f"{result.rows} rows are in the database")
        _verify_restore(config, store, reader, result)
    return result


def _require_schema(config: Settings, reader: BackupReader) -> None:
    schema = reader.manifest["schema"]
    if not rows.has_revision(schema):
        version = reader.manifest["culprit"]
        raise BackupError(
            f"the backup was created by a newer Culprit ({version}, migration {schema}). "
            "Restore it with that version"
        )
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        try:
            check_revision(rows.get_revision(connection))
        except NewerSchemaError as error:
            raise BackupError(str(error)) from None
        used = rows.is_in_use(connection)
    if used is not None:
        raise BackupError(
            f"this platform is not empty (there are rows in {used}). Restore into a fresh CULPRIT_HOME or database"
        )


def _restore_artifacts(store: ArtifactStore, reader: BackupReader, done: RestoreResult) -> None:
    """Restore artifacts before rows.

    An interruption then leaves only files without rows, and the restore can be repeated.
    """
    began = time.monotonic()
    for sha256, size in reader.objects():
        done.objects += 1
        if store.exists(sha256):
            continue
        with reader.open(sha256) as file:
            if store.put(read_blocks(file), size).sha256 != sha256:  # type: ignore[arg-type]
                raise BackupError(
                    f"the artifact {sha256} changed while it was read; nothing was written to the database"
                )
    done.record_step("artifacts", began)


def _restore_rows(config: Settings, reader: BackupReader, done: RestoreResult, *, drill: bool) -> None:
    began = time.monotonic()
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        now = rows.get_revision(connection)
    rows.upgrade_to(config.database_url, now, reader.manifest["schema"])
    with psycopg.connect(config.database_url) as connection:
        connection.execute("SET statement_timeout = 0")
        with rows.disable_references(connection):
            for table in reader.manifest["tables"]:
                pieces = reader.rows(f"tables/{table['name']}.zst")
                count = rows.copy_in(connection, table["name"], table["columns"], pieces)
                if count != table["rows"]:
                    raise BackupError(f"{table['name']} has {count} rows instead of {table['rows']}")
                done.rows += count
            if not drill:
                held = {table["name"] for table in reader.manifest["tables"]}
                for statement in END_PENDING_WORK:
                    if statement.split()[1] in held:  # an older backup may not contain that table
                        connection.execute(statement)
        rows.reset_sequences(connection)
    rows.upgrade_schema(config.database_url)
    done.record_step("rows", began)


def _verify_restore(
    config: Settings, store: ArtifactStore, reader: BackupReader, done: RestoreResult
) -> None:
    """Verify the number of rows, the digests of artifacts and the audit chain, and open one incident."""
    began = time.monotonic()
    done.created_at = reader.manifest["created_at"]
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        for table in reader.manifest["tables"]:
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table["name"]))
            row = connection.execute(query).fetchone()
            if row is None or row[0] != table["rows"]:
                raise BackupError(f"{table['name']} has {row and row[0]} rows instead of {table['rows']}")
    for sha256, _ in reader.objects():
        store.verify(sha256)
    marks = reader.manifest["keys"]
    if marks:
        here = compute_key_marks(config)
        done.key_fits = all(here.get(version) == mark for version, mark in marks.items())
    db = Database(config.sqlalchemy_url, statement_timeout_s=0)
    try:
        with unit_of_work(db.sessions) as session:
            chain = audit.verify_chain(session)
            head = reader.manifest["audit"]
            if chain.broken_at is not None or (head and chain.head != head["head"]):
                raise BackupError(f"the audit log is broken at entry {chain.broken_at}")
            done.audit_entries = chain.entries
            done.incident = _open_incident(session)
    finally:
        db.close()
    done.record_step("proof", began)


def _open_incident(session: Session) -> int | None:
    """Load the newest incident as an administrator would, and return its number."""
    admin, incident = find_first_admin(session), find_newest_incident(session)
    if admin is None or incident is None:
        return None
    return read.build_incident(session, build_actor(admin), incident).number
