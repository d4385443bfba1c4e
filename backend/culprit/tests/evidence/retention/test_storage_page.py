"""Data of the storage page, and the consistency of rows and bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from culprit.evidence.retention.retain import compute_cutoff
from culprit.evidence.retention.schemas import DiskSpace, StorageMeasurement
from culprit.evidence.retention.service import compute_forecast
from culprit.infra.artifacts.store import DirectoryStore, artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.models.system.storage_check import StorageCheck
from culprit.infra.settings import Settings
from culprit.jobs.system.check_storage import run_check
from culprit.jobs.system.sweep import enqueue_measurement
from culprit.tests.support.retention import (
    OLD,
    age_files,
    apply_all_policies,
    cite_run,
    list_remaining_kinds,
    make_old_run,
    set_policy,
)
from culprit.tests.support.runs import make_host
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

API = "/api/v1"
TODAY = date(2026, 3, 1)


@pytest.fixture
def store(config: Settings) -> DirectoryStore:
    result = artifact_store()
    assert isinstance(result, DirectoryStore)
    return result


def complete_check(db: Database, store: DirectoryStore, kind: str) -> None:
    with unit_of_work(db.sessions) as session:
        row = StorageCheck(kind=kind)
        session.add(row)
        session.flush()
        check_id = row.id
    assert run_check(db, store, check_id) == kind
    assert run_check(db, store, check_id) is None, "asked twice, done once"


def test_storage_reports_use_of_space(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db, "feed-1")
    admin = as_("admin")
    before = admin.get(f"{API}/storage").json()
    assert before["measured"] is None and before["forecast"] is None and before["disk"]["total"] > 0
    with unit_of_work(db.sessions) as session:
        make_old_run(session, store, host_id)
        cite_run(session, "pin.ref", make_old_run(session, store, host_id))
        make_old_run(session, store, None, source="import")
    complete_check(db, store, "measure")
    reported = admin.get(f"{API}/storage").json()
    measured = reported["measured"]
    day = (utc_now() - OLD).astimezone(UTC).date().isoformat()
    assert measured["kinds"]["recordings"]["items"] == 2
    assert measured["kinds"]["imports"]["items"] == 2
    assert measured["days"]["series"] == {day: measured["kinds"]["series"]["bytes"]}
    assert 0 < measured["kinds"]["texts"]["cited_bytes"] < measured["kinds"]["texts"]["bytes"]
    assert [host["name"] for host in measured["hosts"]] == ["feed-1", ""]
    assert measured["permanent"]["audit"] > 0
    assert {policy["kind"]: policy["days"] for policy in reported["policies"]}["texts"] is None


def test_it_is_measured_every_hour_and_not_more_often(db: Database, store: DirectoryStore) -> None:
    for _ in range(3):
        with unit_of_work(db.sessions) as session:
            enqueue_measurement(session)
    with unit_of_work(db.sessions) as session:
        checks = session.scalars(select(StorageCheck)).all()
        assert len(checks) == 1
        checks[0].created_at = utc_now() - timedelta(hours=2)
    with unit_of_work(db.sessions) as session:
        enqueue_measurement(session)
        assert len(session.scalars(select(StorageCheck)).all()) == 2


def test_storage_check_lists_orphans_and_missing_artifacts(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, make_host(db))
        artifact = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).first()
        assert artifact is not None
        digest = artifact.sha256
    store.delete(digest)
    orphan = store.put([b"unknown bytes"], 100)
    complete_check(db, store, "check")
    admin = as_("admin")
    checked = admin.get(f"{API}/storage").json()["checked"]
    assert checked["missing"] == {"count": 1, "examples": [digest]}
    assert checked["orphans"]["count"] == 0, "a request may be about to write its row"
    age_files(store)
    complete_check(db, store, "check")
    checked = admin.get(f"{API}/storage").json()["checked"]
    assert [item["sha256"] for item in checked["orphans"]["examples"]] == [orphan.sha256]
    assert admin.delete(f"{API}/storage/orphans").json() == {"count": 1, "bytes": orphan.size}
    assert not store.exists(orphan.sha256) and len(list(store.walk())) == 3


def test_storage_check_ignores_files_that_retention_marked(db: Database, store: DirectoryStore, as_) -> None:
    with unit_of_work(db.sessions) as session:
        make_old_run(session, store, make_host(db))
        set_policy(session, "recordings")
    apply_all_policies(db, store)
    age_files(store)
    complete_check(db, store, "check")
    reported = as_("admin").get(f"{API}/storage").json()
    assert (reported["checked"]["orphans"]["count"], reported["checked"]["missing"]["count"]) == (0, 0)
    assert reported["waiting"] == 1


def test_a_limit_of_size_takes_the_oldest_days(db: Database, store: DirectoryStore) -> None:
    result = {"days": {"texts": {"2026-01-03": 10, "2026-01-02": 20, "2026-01-01": 30}}}
    with unit_of_work(db.sessions) as session:
        session.add(StorageCheck(kind="measure", state="done", result=result))
        session.flush()
        at = datetime(2026, 1, 10, tzinfo=UTC)
        for size, day in ((100, None), (60, None), (59, 2), (29, 3), (9, 4)):
            cutoff = compute_cutoff(session, "texts", None, size, at)
            assert (cutoff.year == 1970) if day is None else (cutoff == datetime(2026, 1, day, tzinfo=UTC)), (
                size
            )
        assert compute_cutoff(session, "texts", 3, 100, at) == at - timedelta(days=3)
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, make_host(db))
        set_policy(session, "texts", days=None, max_bytes=0)
        run_id = run.id
    complete_check(db, store, "measure")
    apply_all_policies(db, store)
    with db.sessions() as session:
        assert "texts" not in list_remaining_kinds(session, run_id) and "recordings" in list_remaining_kinds(
            session, run_id
        )
        assert session.scalars(select(RetentionPolicy.cursor)).one() is None


def measured_of(days: dict[str, int], removed: dict[str, int] | None = None) -> StorageMeasurement:
    disk = DiskSpace(total=1000, free=500, low=False)
    return StorageMeasurement(
        at=utc_now(),
        disk=disk,
        database_bytes=0,
        kinds={},
        permanent={},
        days={"texts": days},
        hosts=[],
        removed=removed or {},
    )


def test_the_forecast_needs_full_days_and_counts_what_goes() -> None:
    days = {(TODAY - timedelta(days=n)).isoformat(): 10 for n in range(20)}
    seen = compute_forecast(measured_of(days), 100, TODAY)
    assert (seen.days, seen.grows_per_day) == (14, 10)
    assert seen.full_at is not None and seen.full_at.date() == (utc_now() + timedelta(days=10)).date()
    steady = compute_forecast(measured_of(days, dict(days)), 100, TODAY)
    assert (steady.removed_per_day, steady.full_at) == (10, None)
    young = compute_forecast(measured_of({TODAY.isoformat(): 5}), 100, TODAY)
    assert (young.days, young.full_at) == (0, None)


@given(st.dictionaries(st.integers(0, 40), st.integers(0, 1 << 50), max_size=30), st.integers(0, 1 << 50))
def test_a_forecast_is_never_in_the_past_and_never_an_error(sizes: dict[int, int], free: int) -> None:
    days = {(TODAY - timedelta(days=n)).isoformat(): size for n, size in sizes.items()}
    seen = compute_forecast(measured_of(days), free, TODAY)
    assert seen.full_at is None or seen.full_at >= utc_now() - timedelta(minutes=1)
    assert seen.grows_per_day >= 0


def test_who_sees_only_some_hosts_does_not_see_the_storage_of_all(as_) -> None:
    answer = as_("scoped").get(f"{API}/storage")
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.role_too_low")
