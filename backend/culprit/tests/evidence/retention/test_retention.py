"""What retention deletes, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from culprit.accounts import audit
from culprit.evidence.retention import retain
from culprit.evidence.retention.sources import STORAGE_KINDS
from culprit.infra.artifacts.store import DirectoryStore
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.system.blob_deletion import BlobDeletion
from culprit.infra.models.system.removal import Removal
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.jobs.analysis import evaluate_run
from culprit.jobs.system.apply_retention import run_batch
from culprit.tests.support.retention import (
    ALL,
    API,
    age_files,
    apply_all_policies,
    cite_run,
    list_remaining_kinds,
    make_old_run,
    set_policy,
    store,
)
from culprit.tests.support.runs import make_host
from fastapi.testclient import TestClient
from sqlalchemy import select, update

__all__ = ["store"]


def test_retention_deletes_old_data_and_reports_it(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, host_id)
        run_id = run.id
        artifacts = session.scalars(select(Artifact).where(Artifact.run_id == run_id)).all()
        digests = [artifact.sha256 for artifact in artifacts]
        artifact_id = artifacts[0].id
        profile_id = session.scalars(select(Profile.id)).one()
        session.add(Evaluation(run_id=run_id, elapsed_ms=1.0))
        for kind in STORAGE_KINDS:
            set_policy(session, kind)
        assert list_remaining_kinds(session, run_id) == ALL
    apply_all_policies(db, store)
    with db.sessions() as session:
        assert list_remaining_kinds(session, run_id) == set()
        reported = {item.kind: item.items for item in session.scalars(select(Removal))}
        assert reported == dict.fromkeys(ALL, 1)
        assert all(store.exists(digest) for digest in digests), "bytes stay a day longer than their rows"
        assert audit.verify_chain(session).broken_at is None
    day = utc_now().date().isoformat()
    admin = as_("admin")
    for path in (
        f"/artifacts/{artifact_id}/content",
        f"/artifacts/{artifact_id}/lines",
        f"/profiles/{profile_id}/tree",
    ):
        answer = admin.get(API + path)
        assert (answer.status_code, answer.json()["params"].get("at")) == (410, day), path
    read = admin.get(f"{API}/runs/{run_id}").json()
    assert {removal["kind"] for removal in read["removals"]} == ALL and read["tables"] == []
    assert evaluate_run.evaluate_run(run_id) is None, "its evaluation is kept"
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobDeletion).values(at=utc_now() - timedelta(days=2)))
        assert retain.delete_pending_blobs(session, store, utc_now()) == (0, 4), (
            "these bytes were stored again within the last hour"
        )
    age_files(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobDeletion).values(at=utc_now() - timedelta(days=2)))
        assert retain.delete_pending_blobs(session, store, utc_now()) == (4, 0)
    assert not any(store.exists(digest) for digest in digests)


def test_retention_keeps_bytes_that_another_row_names(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, host_id)
        artifact = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).first()
        assert artifact is not None
        shared = artifact.sha256
        fresh = Capture(plan="triage", state="done")
        session.add(fresh)
        session.flush()
        young = Run(capture_id=fresh.id, host_id=host_id, state="done", ended_at=utc_now())
        session.add(young)
        session.flush()
        session.add(Artifact(run_id=young.id, part="stdout", sha256=shared, size=1, stored_size=1))
        set_policy(session, "recordings")
    apply_all_policies(db, store)
    age_files(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobDeletion).values(at=utc_now() - timedelta(days=2)))
        assert retain.delete_pending_blobs(session, store, utc_now()) == (0, 1)
    assert store.exists(shared)


def test_retention_continues_after_crash_in_any_batch(
    db: Database, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retain, "BLOBS_PER_BATCH", 3)
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        runs = [make_old_run(session, store, host_id).id for _ in range(3)]
        policy_id = set_policy(session, "recordings").id

    class Crash(Exception):
        pass

    with pytest.raises(Crash), unit_of_work(db.sessions) as session:
        policy = session.get_one(RetentionPolicy, policy_id)
        assert retain.remove_batch(session, policy, utc_now()).items == 3
        raise Crash
    with db.sessions() as session:
        assert all("recordings" in list_remaining_kinds(session, run) for run in runs)
    assert run_batch(db, policy_id) == 3
    assert run_batch(db, policy_id) is None, "the next pass is tomorrow's"
    age_files(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobDeletion).values(at=utc_now() - timedelta(days=2)))
    with pytest.raises(Crash), unit_of_work(db.sessions) as session:
        assert retain.delete_pending_blobs(session, store, utc_now()) == (3, 0)
        raise Crash
    with unit_of_work(db.sessions) as session:
        assert retain.delete_pending_blobs(session, store, utc_now()) == (3, 0), (
            "deleting again what is gone changes nothing"
        )


def test_retention_deletes_nothing_during_backup(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        make_old_run(session, store, host_id)
        set_policy(session, "recordings")
    apply_all_policies(db, store)
    age_files(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobDeletion).values(at=utc_now() - timedelta(days=2)))
    from sqlalchemy import func

    with db.engine.connect() as reading, unit_of_work(db.sessions) as session:
        reading.execute(select(func.pg_advisory_lock_shared(retain.STORE_LOCK)))
        assert retain.delete_pending_blobs(session, store, utc_now()) == (0, 0)
        reading.execute(select(func.pg_advisory_unlock_shared(retain.STORE_LOCK)))
        reading.commit()
        assert retain.delete_pending_blobs(session, store, utc_now()) == (1, 0)


def test_retention_deletes_imports_by_their_own_policy(db: Database, store: DirectoryStore) -> None:
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, None, source="import")
        upload = store.put([b"the bundle"], 100).sha256
        run.spec = {"sha256": upload}
        run_id = run.id
        assert "imports" in list_remaining_kinds(session, run_id) and "texts" not in list_remaining_kinds(
            session, run_id
        )
        set_policy(session, "recordings")
        set_policy(session, "texts")
    apply_all_policies(db, store)
    with unit_of_work(db.sessions) as session:
        assert "imports" in list_remaining_kinds(session, run_id)
        set_policy(session, "imports")
    apply_all_policies(db, store)
    with db.sessions() as session:
        assert "imports" not in list_remaining_kinds(session, run_id)
        assert upload in session.scalars(select(BlobDeletion.sha256)).all()


def test_retention_keeps_event_that_later_capture_repeats(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = make_old_run(session, store, host_id)
        first = session.scalars(select(StoredEvent).where(StoredEvent.run_id == run.id)).one()
        title = {"key": "x", "params": {}}
        session.add(StoredEvent(t_ns=1, kind="oom", title=title, repeats_id=first.id))
        set_policy(session, "events")
        run_id = run.id
    apply_all_policies(db, store)
    with db.sessions() as session:
        assert session.scalars(select(StoredEvent.run_id)).all() == [run_id, None]


def test_retention_policy_is_previewed_set_and_audited(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        make_old_run(session, store, host_id)
        cited = make_old_run(session, store, host_id)
        cite_run(session, "pin.ref", cited)
    admin = as_("admin")
    for kind in ("recordings", "series"):
        seen = admin.post(f"{API}/storage/policy/preview", json={"kind": kind, "days": 30}).json()
        assert (seen["items"], seen["runs"], seen["cited_items"]) == (1, 1, 1), seen
    nothing = admin.post(f"{API}/storage/policy/preview", json={"kind": "recordings", "days": 365}).json()
    assert (nothing["items"], nothing["cited_items"]) == (0, 0)
    reported = admin.patch(f"{API}/storage/policy", json={"kind": "recordings", "days": 30}).json()
    assert next(item for item in reported if item["kind"] == "recordings")["days"] == 30
    assert as_("oncall").get(f"{API}/storage").status_code == 403
    entries = admin.get(f"{API}/audit").json()["items"]
    assert any(
        entry["action"] == "retention.set" and entry["detail"]["after"]["days"] == 30 for entry in entries
    )
    for body in (
        {"kind": "audit", "days": 1},
        {"kind": "texts", "days": 0},
        {"kind": "texts", "max_bytes": -1},
    ):
        assert admin.patch(f"{API}/storage/policy", json=body).status_code == 422
    assert admin.patch(f"{API}/storage/policy", json={"kind": "recordings"}).json()[0]["days"] is None
    with db.sessions() as session:
        assert session.scalars(select(RetentionPolicy.due_at)).one() is None
