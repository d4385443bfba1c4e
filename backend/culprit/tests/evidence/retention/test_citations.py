"""Citations keep the data of a run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.evidence.retention import retain
from culprit.evidence.retention.citation_queries import (
    CITING_COLUMNS,
    EVIDENCE,
    NON_CITING_COLUMNS,
    find_cited_runs,
)
from culprit.evidence.retention.sources import STORAGE_KINDS
from culprit.infra.artifacts.store import DirectoryStore
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.base import Base
from culprit.infra.models.captures.run import Run
from culprit.infra.models.system.blob_deletion import BlobDeletion
from culprit.infra.models.system.removal import Removal
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.tests.support.retention import (
    ALL,
    SERIAL,
    age_files,
    apply_all_policies,
    cite_run,
    list_remaining_kinds,
    make_host_like,
    make_old_run,
    set_policy,
    store,
)
from culprit.tests.support.runs import make_host
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import JSONB

__all__ = ["store"]
pytestmark = pytest.mark.long(75)


def test_citing_columns_list_every_reference_to_evidence() -> None:
    """A new reference to evidence, or a new JSON column in which one could be, fails here until it is listed."""
    cites = set()
    for table in Base.metadata.tables.values():
        for column in table.columns:
            targets = {key.column.table.name for key in column.foreign_keys}
            if targets & EVIDENCE or (isinstance(column.type, JSONB) and table.name not in EVIDENCE):
                cites.add(f"{table.name}.{column.name}")
    silent = {column for columns in NON_CITING_COLUMNS.values() for column in columns}
    assert not silent & CITING_COLUMNS.keys()
    assert cites - silent - CITING_COLUMNS.keys() == set()
    known = {f"{t.name}.{c.name}" for t in Base.metadata.tables.values() for c in t.columns}
    assert (silent | CITING_COLUMNS.keys()) - known == set(), "a column that is gone"


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    columns=st.lists(st.one_of(st.none(), st.sampled_from(sorted(CITING_COLUMNS))), min_size=1, max_size=12)
)
def test_retention_keeps_all_data_of_cited_runs(
    db: Database, store: DirectoryStore, columns: list[str | None]
) -> None:
    """Any mixture of references of every kind: what is cited stays whole, everything else goes."""
    host_id = make_host(db, f"host-{next(SERIAL)}")
    with unit_of_work(db.sessions) as session:
        session.execute(RetentionPolicy.__table__.delete())
        runs = {}
        for how in columns:
            # Each on a host of its own where that is what is asked: the newest baseline of a host is one run.
            mine = host_id if how != "capture.plan" else make_host_like(session, host_id)
            run = make_old_run(session, store, mine)
            runs[run.id] = how
            if how is not None:
                cite_run(session, how, run)
        for kind in STORAGE_KINDS:
            set_policy(session, kind, 30)
    apply_all_policies(db, store)
    with db.sessions() as session:
        for run_id, how in runs.items():
            assert list_remaining_kinds(session, run_id) == (ALL if how else set()), how
            assert (run_id in find_cited_runs(session)) == (how is not None)


@pytest.mark.parametrize("how", sorted(CITING_COLUMNS))
def test_find_cited_runs_finds_each_citing_column(db: Database, store: DirectoryStore, how: str) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        cited, other = make_old_run(session, store, host_id), make_old_run(session, store, host_id)
        cite_run(session, how, cited)
        assert find_cited_runs(session, [cited.id, other.id]) == {cited.id: how}
        for kind in STORAGE_KINDS:
            set_policy(session, kind)
        ids = cited.id, other.id
    apply_all_policies(db, store)
    with db.sessions() as session:
        assert (list_remaining_kinds(session, ids[0]), list_remaining_kinds(session, ids[1])) == (ALL, set())


def test_retention_restores_run_cited_before_deletion_of_its_bytes(
    db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, host_id)
        run_id = run.id
        set_policy(session, "recordings")
        set_policy(session, "profiles")
    apply_all_policies(db, store)
    age_files(store)
    with unit_of_work(db.sessions) as session:
        assert list_remaining_kinds(session, run_id) == ALL - {"recordings", "profiles"}
        cite_run(session, "pin.ref", session.get_one(Run, run_id))
        session.execute(update(BlobDeletion).values(at=utc_now() - timedelta(days=2)))
        gone, stored = retain.delete_pending_blobs(session, store, utc_now())
        assert (gone, stored) == (0, 3)
    with db.sessions() as session:
        assert list_remaining_kinds(session, run_id) == ALL
        assert session.scalars(select(Removal)).all() == []
