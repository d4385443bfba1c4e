"""Puts a backup into an empty platform, and proves that it is all there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import actor_of
from culprit.backup import rows
from culprit.backup.archive import Reader, Refused
from culprit.backup.make import key_marks
from culprit.config import Settings
from culprit.incidents import read
from culprit.infra.artifacts import ArtifactStore, blocks
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Incident, UserAccount

# What was under way when the backup was made is over: nothing shall reach for a host because of a restore.
SETTLE = (
    "UPDATE run_collector SET state = 'cancelled' WHERE state IN ('queued', 'running')"
    " AND run_id IN (SELECT id FROM run WHERE state IN ('queued', 'running'))",
    "UPDATE run SET state = 'cancelled', ended_at = now(), lease_until = NULL, waiting = NULL, progress = NULL,"
    " failure_side = 'user', failure = jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb)"
    " WHERE state IN ('queued', 'running')",
    "UPDATE capture SET state = 'cancelled', ended_at = now() WHERE state IN ('queued', 'running')"
    " AND NOT EXISTS (SELECT FROM run WHERE run.capture_id = capture.id AND run.state = 'ingesting')",
    "UPDATE notice SET state = 'dead', failure = jsonb_build_object('key', 'notice.restored', 'params', '{}'::jsonb)"
    " WHERE state = 'queued'",
    "UPDATE grafana_annotation SET state = 'dead',"
    " failure = jsonb_build_object('key', 'notice.restored', 'params', '{}'::jsonb) WHERE state = 'queued'",
    "UPDATE diagnosis SET state = 'cancelled', ended_at = now(),"
    " failure = jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb) WHERE state = 'running'",
    "UPDATE verification SET state = 'cancelled', ended_at = now(),"
    " failure = jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb)"
    " WHERE state IN ('before', 'waiting', 'collecting', 'judging')",
    "UPDATE incident SET autopilot = autopilot || jsonb_build_object('state', 'stopped', 'reason',"
    " jsonb_build_object('key', 'run.restored', 'params', '{}'::jsonb)) WHERE autopilot ->> 'state' = 'running'",
    "UPDATE standby SET state = 'cancelled', ended_at = now() WHERE ended_at IS NULL",
)
Said = Callable[[str], None]
Json = dict[str, Any]


@dataclass(slots=True)
class Restored:
    """What was put in, what was proven of it, and the seconds of each step."""

    made_at: str = ""
    rows: int = 0
    objects: int = 0
    key_fits: bool | None = None
    audit_entries: int = 0
    incident: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def took(self, what: str, since: float) -> None:
        """Keep the seconds of a step."""
        self.seconds[what] = round(time.monotonic() - since, 2)


def restore(
    config: Settings, store: ArtifactStore, path: Path, said: Said, *, drill: bool = False
) -> Restored:
    """All of a backup into the database and store of these settings. Raises Refused.

    A drill restores the same and looks at it, and settles nothing: no worker will ever see it.
    """
    done = Restored()
    with Reader(path) as reader:
        began = time.monotonic()
        _fits(config, reader)
        reader.check()
        done.took("check", began)
        said(f"every checksum of {path} is right")
        _artifacts(store, reader, done)
        said(f"{done.objects} artifacts are in the store")
        _rows(config, reader, done, drill=drill)
        said(f"{done.rows} rows are in the database")
        _prove(config, store, reader, done)
    return done


def _fits(config: Settings, reader: Reader) -> None:
    wanted = reader.manifest["schema"]
    if not rows.knows(wanted):
        made_by = reader.manifest["culprit"]
        raise Refused(
            f"the backup was made by a newer Culprit ({made_by}, tables {wanted}): restore with that version"
        )
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        used = rows.in_use(connection)
    if used is not None:
        raise Refused(
            f"this platform is not empty (there are rows in {used}): restore into a fresh CULPRIT_HOME or database"
        )


def _artifacts(store: ArtifactStore, reader: Reader, done: Restored) -> None:
    """Bytes before rows, as ever: what is interrupted here leaves files that no row names, and is begun again."""
    began = time.monotonic()
    for sha256, size in reader.objects():
        done.objects += 1
        if store.exists(sha256):
            continue
        with reader.open(sha256) as file:
            if store.put(blocks(file), size).sha256 != sha256:  # type: ignore[arg-type]
                raise Refused(
                    f"the artifact {sha256} changed while it was read; nothing was written to the database"
                )
    done.took("artifacts", began)


def _rows(config: Settings, reader: Reader, done: Restored, *, drill: bool) -> None:
    began = time.monotonic()
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        now = rows.revision(connection)
    rows.bring_to(config.database_url, now, reader.manifest["schema"])
    with psycopg.connect(config.database_url) as connection:
        connection.execute("SET statement_timeout = 0")
        with rows.without_references(connection):
            for table in reader.manifest["tables"]:
                pieces = reader.rows(f"tables/{table['name']}.zst")
                count = rows.copy_in(connection, table["name"], table["columns"], pieces)
                if count != table["rows"]:
                    raise Refused(f"{table['name']} has {count} rows instead of {table['rows']}")
                done.rows += count
            if not drill:
                held = {table["name"] for table in reader.manifest["tables"]}
                for statement in SETTLE:
                    if statement.split()[1] in held:  # an older backup may not know that table yet
                        connection.execute(statement)
        rows.count_on(connection)
    rows.bring_up(config.database_url)
    done.took("rows", began)


def _prove(config: Settings, store: ArtifactStore, reader: Reader, done: Restored) -> None:
    """Rows by their number, artifacts by their digest, the audit log by its chain, and one incident opened."""
    began = time.monotonic()
    done.made_at = reader.manifest["made_at"]
    with psycopg.connect(config.database_url, autocommit=True) as connection:
        for table in reader.manifest["tables"]:
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table["name"]))
            row = connection.execute(query).fetchone()
            if row is None or row[0] != table["rows"]:
                raise Refused(f"{table['name']} has {row and row[0]} rows instead of {table['rows']}")
    for sha256, _ in reader.objects():
        store.verify(sha256)
    marks = reader.manifest["keys"]
    if marks:
        here = key_marks(config)
        done.key_fits = all(here.get(version) == mark for version, mark in marks.items())
    db = Database(config.sqlalchemy_url, statement_timeout_s=0)
    try:
        with unit_of_work(db.sessions) as session:
            chain = audit.verify(session)
            head = reader.manifest["audit"]
            if chain.broken_at is not None or (head and chain.head != head["head"]):
                raise Refused(f"the audit log is broken at entry {chain.broken_at}")
            done.audit_entries = chain.entries
            done.incident = _open_incident(session)
    finally:
        db.close()
    done.took("proof", began)


def _open_incident(session: Session) -> int | None:
    """The newest incident, read as an administrator would see it; its number."""
    admin = session.scalars(
        select(UserAccount).where(UserAccount.role == "admin").order_by(UserAccount.id)
    ).first()
    incident = session.scalars(select(Incident).order_by(Incident.number.desc())).first()
    if admin is None or incident is None:
        return None
    return read.read(session, actor_of(admin), incident).number
