"""SELECTs and changes of stored symbol files and of their fetches."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Exists, Select, and_, delete, exists, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session

from collectors.runner import symbols
from culprit.domain.profiles import debug_files
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.base import JsonList
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.symbol_file import SymbolFile
from culprit.json_types import Json

#: Prefix of the keys of kernel symbols.
KERNEL = "kernel "
#: Longer than any fetch may take.
LOST_AFTER_NS = 300 * 10**9
READ_WITHIN_NS = 60 * 10**9


class StoredSymbols(NamedTuple):
    """Symbols of one file: the artifact, and the ranges of blocks [first, count] that it contains; empty for a text."""

    artifact: Artifact
    blocks: list[list[int]]


class SymbolFetch(NamedTuple):
    """Result of a fetch from a host, or from debuginfod servers.

    `failure` is the reason why it failed or was skipped, `states` the state of each file by key.
    """

    failure: Json | None
    states: Mapping[str, str]


def load_symbol_files(session: Session, host_id: UUID, keys: Collection[str]) -> dict[str, StoredSymbols]:
    """Return the stored symbols of these files of a host, by key."""
    query = (
        select(SymbolFile, Artifact)
        .join(Artifact, Artifact.id == SymbolFile.artifact_id)
        .where(Artifact.removed_at.is_(None), SymbolFile.host_id == host_id, SymbolFile.key.in_(keys))
    )
    return {row.key: StoredSymbols(artifact, row.blocks) for row, artifact in session.execute(query)}


def find_kernel_key(session: Session, host_id: UUID) -> str:
    """Return the key of the newest stored kernel symbols of a host, without the prefix, or ""."""
    query = (
        select(SymbolFile.key)
        .join(Artifact, Artifact.id == SymbolFile.artifact_id)
        .where(
            SymbolFile.host_id == host_id,
            SymbolFile.key.startswith(KERNEL),
            Artifact.removed_at.is_(None),
        )
        .order_by(SymbolFile.id.desc())
        .limit(1)
    )
    return (session.scalar(query) or "").removeprefix(KERNEL)


def store_symbol_files(session: Session, host_id: UUID, files: Iterable[SymbolFile]) -> None:
    """Store symbol files of a host. Replace files with the same key, and delete those whose artifacts were removed."""
    removed = exists().where(Artifact.id == SymbolFile.artifact_id, Artifact.removed_at.is_not(None))
    session.execute(delete(SymbolFile).where(SymbolFile.host_id == host_id, removed))
    for file in files:
        values = {"artifact_id": file.artifact_id, "blocks": file.blocks}
        query = insert(SymbolFile).values(id=new_uuid7(), host_id=host_id, key=file.key, **values)
        session.execute(query.on_conflict_do_update(constraint="uq_symbol_file_host_id_key", set_=values))


def is_fetch_pending(run_id: UUID | InstrumentedAttribute[UUID]) -> Exists:
    """Return the condition that symbols of a run are still to be fetched or stored."""
    is_unread = and_(
        RunCollector.parser_version.is_(None), RunCollector.ended_ns > time.time_ns() - READ_WITHIN_NS
    )
    return exists().where(
        RunCollector.run_id == run_id,
        RunCollector.collector.in_((symbols.ID, debug_files.ID)),
        or_(RunCollector.state.in_(("queued", "running")), and_(RunCollector.state == "done", is_unread)),
    )


def claim_fetch(session: Session, run_id: UUID, collector: str) -> RunCollector | None:
    """Return the planned fetch of a run, now running, or None if there is none or another worker has it."""
    query = (
        update(RunCollector)
        .where(RunCollector.run_id == run_id, _is_waiting(collector))
        .values(state="running", started_ns=time.time_ns())
        .returning(RunCollector)
        .execution_options(synchronize_session=False)
    )
    return session.scalar(query)


def is_fetch_lost(session: Session, run_id: UUID, collector: str) -> bool:
    """Return whether the worker of a fetch was lost."""
    query = select(RunCollector.id).where(
        RunCollector.run_id == run_id, RunCollector.state == "running", _is_waiting(collector)
    )
    return session.scalar(query) is not None


def pending_symbol_fetches(collector: str) -> Select[UUID]:
    """Select the runs whose symbols are to be fetched, and those whose worker was lost."""
    return select(RunCollector.run_id).where(_is_waiting(collector))


def _is_waiting(collector: str) -> ColumnElement[bool]:
    is_lost = and_(RunCollector.state == "running", RunCollector.started_ns < time.time_ns() - LOST_AFTER_NS)
    return and_(RunCollector.collector == collector, or_(RunCollector.state == "queued", is_lost))


def load_fetch(session: Session, run_id: UUID) -> SymbolFetch:
    """Return the result of the symbol fetch of a run from its host."""
    failure, rows = _load_result(session, run_id, symbols.ID, symbols.TABLE)
    return SymbolFetch(failure, {row[0]: row[1] for row in rows})


def load_debug_fetch(session: Session, run_id: UUID) -> SymbolFetch:
    """Return the answers of debuginfod servers for the stripped programs of a run."""
    failure, rows = _load_result(session, run_id, debug_files.ID, debug_files.TABLE)
    return SymbolFetch(failure, {row[0]: row[2] for row in rows})


def _load_result(session: Session, run_id: UUID, collector: str, table: str) -> tuple[Json | None, JsonList]:
    """Return why the collector of a run failed, and the rows of its table."""
    fetch = session.scalar(
        select(RunCollector).where(RunCollector.run_id == run_id, RunCollector.collector == collector)
    )
    if fetch is None:
        return None, []
    tables = session.scalars(
        select(ResultTable.rows).where(ResultTable.run_collector_id == fetch.id, ResultTable.kind == table)
    )
    return fetch.reason if fetch.state != "done" else None, [row for rows in tables for row in rows]
