"""What the storage page is told, and whether rows and bytes fit together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from culprit.config import Settings
from culprit.infra.artifacts import DirectoryStore, artifact_store
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, RetentionPolicy, StorageLook
from culprit.storage.retain import cutoff
from culprit.storage.schemas import Disk, Measured
from culprit.storage.service import forecast
from culprit.tests.storage.test_retention import OLD, age, cite, everything, left, limit, old_run
from culprit.tests.support.runs import make_host
from culprit.workflows.look_at_storage import look
from culprit.workflows.sweep import measure_again
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

API = "/api/v1"
TODAY = date(2026, 3, 1)


@pytest.fixture
def store(config: Settings) -> DirectoryStore:
    made = artifact_store()
    assert isinstance(made, DirectoryStore)
    return made


def looked(db: Database, store: DirectoryStore, kind: str) -> None:
    with unit_of_work(db.sessions) as session:
        row = StorageLook(kind=kind)
        session.add(row)
        session.flush()
        look_id = row.id
    assert look(db, store, look_id) == kind
    assert look(db, store, look_id) is None, "asked twice, done once"


def test_it_tells_what_uses_the_space(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db, "feed-1")
    admin = as_("admin")
    before = admin.get(f"{API}/storage").json()
    assert before["measured"] is None and before["forecast"] is None and before["disk"]["total"] > 0
    with unit_of_work(db.sessions) as session:
        old_run(session, store, host_id)
        cite(session, "pin.ref", old_run(session, store, host_id))
        old_run(session, store, None, source="import")
    looked(db, store, "measure")
    told = admin.get(f"{API}/storage").json()
    measured = told["measured"]
    day = (now() - OLD).astimezone(UTC).date().isoformat()
    assert measured["kinds"]["recordings"]["items"] == 2
    assert measured["kinds"]["imports"]["items"] == 2
    assert measured["days"]["series"] == {day: measured["kinds"]["series"]["bytes"]}
    assert 0 < measured["kinds"]["texts"]["cited_bytes"] < measured["kinds"]["texts"]["bytes"]
    assert [one["name"] for one in measured["hosts"]] == ["feed-1", ""]
    assert measured["kept"]["audit"] > 0
    assert {one["kind"]: one["days"] for one in told["policies"]}["texts"] is None


def test_it_is_measured_every_hour_and_not_more_often(db: Database, store: DirectoryStore) -> None:
    for _ in range(3):
        with unit_of_work(db.sessions) as session:
            measure_again(session)
    with unit_of_work(db.sessions) as session:
        looks = session.scalars(select(StorageLook)).all()
        assert len(looks) == 1
        looks[0].created_at = now() - timedelta(hours=2)
    with unit_of_work(db.sessions) as session:
        measure_again(session)
        assert len(session.scalars(select(StorageLook)).all()) == 2


def test_bytes_without_a_row_and_rows_without_bytes_are_found(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, make_host(db))
        lost = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).first()
        assert lost is not None
        digest = lost.sha256
    store.delete(digest)
    orphan = store.put([b"nobody knows me"], 100)
    looked(db, store, "check")
    admin = as_("admin")
    checked = admin.get(f"{API}/storage").json()["checked"]
    assert checked["lost"] == {"count": 1, "named": [digest]}
    assert checked["orphans"]["count"] == 0, "somebody may be about to write its row"
    age(store)
    looked(db, store, "check")
    checked = admin.get(f"{API}/storage").json()["checked"]
    assert [one["sha256"] for one in checked["orphans"]["named"]] == [orphan.sha256]
    assert admin.post(f"{API}/storage/mend").json() == {"count": 1, "bytes": orphan.size}
    assert not store.exists(orphan.sha256) and len(list(store.walk())) == 3


def test_what_retention_has_marked_is_neither_lost_nor_an_orphan(
    db: Database, store: DirectoryStore, as_
) -> None:
    with unit_of_work(db.sessions) as session:
        old_run(session, store, make_host(db))
        limit(session, "recordings")
    everything(db, store)
    age(store)
    looked(db, store, "check")
    told = as_("admin").get(f"{API}/storage").json()
    assert (told["checked"]["orphans"]["count"], told["checked"]["lost"]["count"]) == (0, 0)
    assert told["waiting"] == 1


def test_a_limit_of_size_takes_the_oldest_days(db: Database, store: DirectoryStore) -> None:
    result = {"days": {"texts": {"2026-01-03": 10, "2026-01-02": 20, "2026-01-01": 30}}}
    with unit_of_work(db.sessions) as session:
        session.add(StorageLook(kind="measure", state="done", result=result))
        session.flush()
        at = datetime(2026, 1, 10, tzinfo=UTC)
        for size, day in ((100, None), (60, None), (59, 2), (29, 3), (9, 4)):
            found = cutoff(session, "texts", None, size, at)
            assert (found.year == 1970) if day is None else (found == datetime(2026, 1, day, tzinfo=UTC)), (
                size
            )
        assert cutoff(session, "texts", 3, 100, at) == at - timedelta(days=3)
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, make_host(db))
        limit(session, "texts", days=None, max_bytes=0)
        run_id = run.id
    looked(db, store, "measure")
    everything(db, store)
    with db.sessions() as session:
        assert "texts" not in left(session, run_id) and "recordings" in left(session, run_id)
        assert session.scalars(select(RetentionPolicy.cursor)).one() is None


def measured_of(days: dict[str, int], removed: dict[str, int] | None = None) -> Measured:
    disk = Disk(total=1000, free=500, low=False)
    return Measured(
        at=now(),
        disk=disk,
        database_bytes=0,
        kinds={},
        kept={},
        days={"texts": days},
        hosts=[],
        removed=removed or {},
    )


def test_the_forecast_needs_full_days_and_counts_what_goes() -> None:
    days = {(TODAY - timedelta(days=n)).isoformat(): 10 for n in range(20)}
    seen = forecast(measured_of(days), 100, TODAY)
    assert (seen.days, seen.grows_per_day) == (14, 10)
    assert seen.full_at is not None and seen.full_at.date() == (now() + timedelta(days=10)).date()
    steady = forecast(measured_of(days, dict(days)), 100, TODAY)
    assert (steady.removed_per_day, steady.full_at) == (10, None)
    young = forecast(measured_of({TODAY.isoformat(): 5}), 100, TODAY)
    assert (young.days, young.full_at) == (0, None)


@given(st.dictionaries(st.integers(0, 40), st.integers(0, 1 << 50), max_size=30), st.integers(0, 1 << 50))
def test_a_forecast_is_never_in_the_past_and_never_an_error(sizes: dict[int, int], free: int) -> None:
    days = {(TODAY - timedelta(days=n)).isoformat(): size for n, size in sizes.items()}
    seen = forecast(measured_of(days), free, TODAY)
    assert seen.full_at is None or seen.full_at >= now() - timedelta(minutes=1)
    assert seen.grows_per_day >= 0


def test_who_sees_only_some_hosts_does_not_see_the_storage_of_all(as_) -> None:
    answer = as_("scoped").get(f"{API}/storage")
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.role_too_low")
