"""What retention deletes, what holds it back, and what is said afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from uuid import UUID

import pytest
from culprit.auth import audit
from culprit.config import Settings
from culprit.infra.artifacts import DirectoryStore, artifact_store
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import (
    Artifact,
    Base,
    Capture,
    Diagnosis,
    DoomedBlob,
    Evaluation,
    Event,
    Fix,
    HostFact,
    Incident,
    IncidentRun,
    Pin,
    Profile,
    ProfileDiff,
    Removal,
    ResultTable,
    RetentionPolicy,
    Run,
    SeriesChunk,
    Verification,
)
from culprit.storage import retain
from culprit.storage.references import EVIDENCE, HOLDS, SILENT, held
from culprit.storage.sources import SOURCES
from culprit.tests.support.runs import make_host
from culprit.workflows import evaluate_run
from culprit.workflows.retain import one_batch, take_turn
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

API = "/api/v1"
OLD = timedelta(days=100)
_serial = count()


def old_id(age: timedelta = OLD) -> UUID:
    return uuid7(int((now() - age).timestamp() * 1000))


def old_run(
    session: Session, store: DirectoryStore, host_id: object, *, source: str = "manual", plan: str = "triage"
) -> Run:
    """A run of long ago with something of every kind."""
    n = next(_serial)
    capture = Capture(id=old_id(), plan=plan, state="done", source=source)
    session.add(capture)
    session.flush()
    at = now() - OLD
    run = Run(id=old_id(), capture_id=capture.id, host_id=host_id, state="done", queued_at=at, ended_at=at)
    session.add(run)
    session.flush()
    for media_type, content in (
        ("application/octet-stream", f"raw {n}"),
        ("text/plain; charset=utf-8", f"text {n}"),
    ):
        stored = store.put([content.encode()], 100)
        session.add(
            Artifact(
                id=old_id(), run_id=run.id, part="stdout", sha256=stored.sha256, size=stored.size,
                stored_size=stored.size, media_type=media_type,
            )
        )  # fmt: skip
    samples, tree = (store.put([f"{what} {n}".encode()], 100).sha256 for what in ("samples", "tree"))
    session.add(
        Profile(
            id=old_id(), run_id=run.id, host_id=host_id, kind="on_cpu", state="ready", store_key=samples,
            tree_key=tree, stored_size=20,
        )
    )  # fmt: skip
    session.add(
        SeriesChunk(id=old_id(), run_id=run.id, metric="cpu.user", t0_ns=1, t1_ns=2, n=1, data=b"x" * 50)
    )
    session.add(ResultTable(id=old_id(), run_id=run.id, kind="t", columns=[], rows=[[1]], lines=[]))
    session.add(Event(id=old_id(), run_id=run.id, t_ns=1, kind="oom", title={"key": "x", "params": {}}))
    session.flush()
    return run


def limit(
    session: Session, kind: str, days: int | None = 30, max_bytes: int | None = None
) -> RetentionPolicy:
    policy = RetentionPolicy(kind=kind, days=days, max_bytes=max_bytes, due_at=now() - timedelta(seconds=5))
    session.add(policy)
    session.flush()
    return policy


def everything(db: Database, store: DirectoryStore) -> None:
    """Every policy until it is through."""
    with db.sessions() as session:
        ids = session.scalars(select(RetentionPolicy.id)).all()
    for one in ids:
        while take_turn(db, store, one, 0.0) is not None:
            pass


def left(session: Session, run_id: UUID) -> set[str]:
    """The kinds of which the run still has something."""
    found = set()
    for kind, source in SOURCES.items():
        if source.run_id is None:
            continue
        query = select(source.id).where(source.run_id == run_id, *source.live, *source.mine)
        if session.scalars(query).first() is not None:
            found.add(kind)
    return found


ALL = {"recordings", "texts", "profiles", "series", "tables", "events"}


@pytest.fixture
def store(config: Settings) -> DirectoryStore:
    made = artifact_store()
    assert isinstance(made, DirectoryStore)
    return made


def test_every_column_that_could_cite_evidence_is_decided_about() -> None:
    """A new reference to evidence, or a new JSON column in which one could be, fails here until somebody decides."""
    cites = set()
    for table in Base.metadata.tables.values():
        for column in table.columns:
            targets = {key.column.table.name for key in column.foreign_keys}
            if targets & EVIDENCE or (isinstance(column.type, JSONB) and table.name not in EVIDENCE):
                cites.add(f"{table.name}.{column.name}")
    silent = {one for columns in SILENT.values() for one in columns}
    assert not silent & HOLDS.keys()
    assert cites - silent - HOLDS.keys() == set()
    known = {f"{t.name}.{c.name}" for t in Base.metadata.tables.values() for c in t.columns}
    assert (silent | HOLDS.keys()) - known == set(), "a column that is gone"


def test_everything_old_goes_and_says_so(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, host_id)
        run_id = run.id
        artifacts = session.scalars(select(Artifact).where(Artifact.run_id == run_id)).all()
        digests = [one.sha256 for one in artifacts]
        artifact_id = artifacts[0].id
        profile_id = session.scalars(select(Profile.id)).one()
        session.add(Evaluation(run_id=run_id, elapsed_ms=1.0))
        for kind in SOURCES:
            limit(session, kind)
        assert left(session, run_id) == ALL
    everything(db, store)
    with db.sessions() as session:
        assert left(session, run_id) == set()
        told = {one.kind: one.items for one in session.scalars(select(Removal))}
        assert told == dict.fromkeys(ALL, 1)
        assert all(store.exists(one) for one in digests), "bytes stay a day longer than their rows"
        assert audit.verify(session).broken_at is None
    day = now().date().isoformat()
    admin = as_("admin")
    for path in (
        f"/artifacts/{artifact_id}/content",
        f"/artifacts/{artifact_id}/lines",
        f"/profiles/{profile_id}/tree",
    ):
        answer = admin.get(API + path)
        assert (answer.status_code, answer.json()["params"].get("at")) == (410, day), path
    read = admin.get(f"{API}/runs/{run_id}").json()
    assert {one["kind"] for one in read["removals"]} == ALL and read["tables"] == []
    assert evaluate_run.evaluate_run(run_id) is None, "what rules said about it stands"
    with unit_of_work(db.sessions) as session:
        session.execute(update(DoomedBlob).values(at=now() - timedelta(days=2)))
        assert retain.drain(session, store, now()) == (0, 4), (
            "somebody has stored these bytes within the last hour"
        )
    age(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(DoomedBlob).values(at=now() - timedelta(days=2)))
        assert retain.drain(session, store, now()) == (4, 0)
    assert not any(store.exists(one) for one in digests)


def age(store: DirectoryStore) -> None:
    """All files were stored two days ago."""
    import os

    at = (now() - timedelta(days=2)).timestamp()
    for file in store.objects.glob("*/*"):
        os.utime(file, (at, at))


def cite(session: Session, how: str, run: Run) -> None:
    """A reference of one kind. A new kind of reference fails here until the test can make one."""
    incident = Incident(title="i", window_from=now())
    session.add(incident)
    session.flush()
    profile = session.scalars(select(Profile).where(Profile.run_id == run.id)).one()
    artifact = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).first()
    table = session.scalars(select(ResultTable).where(ResultTable.run_id == run.id)).one()
    assert artifact is not None
    fix = Fix(incident_id=incident.id, what="f")
    capture = session.get_one(Capture, run.capture_id)
    n = next(_serial)
    match how:
        case "incident_run.run_id":
            session.add(IncidentRun(incident_id=incident.id, run_id=run.id))
        case "incident.symptom":
            incident.symptom = {"source": {"run_id": str(run.id)}}
        case "pin.ref" | "pin.said":
            ids = (run.id, run.capture_id, profile.id, artifact.id, table.id)
            place = {"deep": [{"there": str(ids[n % len(ids)])}]}
            ref, said = (place, {}) if how == "pin.ref" else ({}, place)
            session.add(Pin(incident_id=incident.id, kind="line", ref=ref, view="/", said=said))
        case "verification.before" | "verification.made_before" | "verification.after":
            session.add(fix)
            session.flush()
            side = how.partition(".")[2]
            what = run.id if side == "before" else run.capture_id
            session.add(Verification(fix_id=fix.id, state="done", **{side: [str(uuid7()), str(what)]}))
        case "profile_diff.a" | "profile_diff.b":
            sides = {"a": {"profile_id": str(uuid7())}, "b": {"profile_id": str(uuid7())}}
            sides[how[-1]] = {"profile_id": str(uuid7()), "also": [str(profile.id)]}
            session.add(ProfileDiff(state="ready", **sides))
        case "host_fact.first_run_id" | "host_fact.last_run_id":
            end = how.partition(".")[2]
            fact = HostFact(
                host_id=run.host_id, source="sysctl", name=f"f{n}", since_ns=1, seen_ns=2, **{end: run.id}
            )
            session.add(fact)
        case "diagnosis.baseline_run_id":
            session.add(Diagnosis(host_id=run.host_id, seconds=1, state="done", baseline_run_id=run.id))
        case "capture.incident_id":
            capture.incident_id = incident.id
        case "capture.diagnosis_id":
            diagnosis = Diagnosis(host_id=run.host_id, seconds=1, state="running")
            session.add(diagnosis)
            session.flush()
            capture.diagnosis_id = diagnosis.id
        case "capture.plan":
            capture.plan = "baseline"
        case "run.state":
            run.state = "ingesting"
        case _:
            raise AssertionError(f"no test makes a reference of {how}")
    session.flush()


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(st.one_of(st.none(), st.sampled_from(sorted(HOLDS))), min_size=1, max_size=12))
def test_whatever_cites_a_run_keeps_all_of_it(
    db: Database, store: DirectoryStore, drawn: list[str | None]
) -> None:
    """Any mixture of references of every kind: what is cited stays whole, everything else goes."""
    host_id = make_host(db, f"host-{next(_serial)}")
    with unit_of_work(db.sessions) as session:
        session.execute(RetentionPolicy.__table__.delete())
        runs = {}
        for how in drawn:
            # Each on a host of its own where that is what is asked: the newest baseline of a host is one run.
            mine = host_id if how != "capture.plan" else _new_host(session, host_id)
            run = old_run(session, store, mine)
            runs[run.id] = how
            if how is not None:
                cite(session, how, run)
        for kind in SOURCES:
            limit(session, kind, 30)
    everything(db, store)
    with db.sessions() as session:
        for run_id, how in runs.items():
            assert left(session, run_id) == (ALL if how else set()), how
            assert (run_id in held(session)) == (how is not None)


def _new_host(session: Session, like: object) -> object:
    from culprit.models import Host

    first = session.get_one(Host, like)
    host = Host(
        name=f"b-{next(_serial)}", address="192.0.2.9", username="u", credential_id=first.credential_id
    )
    session.add(host)
    session.flush()
    return host.id


@pytest.mark.parametrize("how", sorted(HOLDS))
def test_each_kind_of_reference_holds(db: Database, store: DirectoryStore, how: str) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        cited, other = old_run(session, store, host_id), old_run(session, store, host_id)
        cite(session, how, cited)
        assert held(session, [cited.id, other.id]) == {cited.id: how}
        for kind in SOURCES:
            limit(session, kind)
        ids = cited.id, other.id
    everything(db, store)
    with db.sessions() as session:
        assert (left(session, ids[0]), left(session, ids[1])) == (ALL, set())


def test_bytes_that_another_row_names_stay(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, host_id)
        artifact = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).first()
        assert artifact is not None
        shared = artifact.sha256
        fresh = Capture(plan="triage", state="done")
        session.add(fresh)
        session.flush()
        young = Run(capture_id=fresh.id, host_id=host_id, state="done", ended_at=now())
        session.add(young)
        session.flush()
        session.add(Artifact(run_id=young.id, part="stdout", sha256=shared, size=1, stored_size=1))
        limit(session, "recordings")
    everything(db, store)
    age(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(DoomedBlob).values(at=now() - timedelta(days=2)))
        assert retain.drain(session, store, now()) == (0, 1)
    assert store.exists(shared)


def test_what_is_cited_before_its_bytes_are_gone_comes_back(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, host_id)
        run_id = run.id
        limit(session, "recordings")
        limit(session, "profiles")
    everything(db, store)
    age(store)
    with unit_of_work(db.sessions) as session:
        assert left(session, run_id) == ALL - {"recordings", "profiles"}
        cite(session, "pin.ref", session.get_one(Run, run_id))
        session.execute(update(DoomedBlob).values(at=now() - timedelta(days=2)))
        gone, kept = retain.drain(session, store, now())
        assert (gone, kept) == (0, 3)
    with db.sessions() as session:
        assert left(session, run_id) == ALL
        assert session.scalars(select(Removal)).all() == []


def test_a_crash_after_any_batch_loses_nothing_and_it_goes_on(
    db: Database, store: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retain, "BLOBS_AT_ONCE", 3)
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        runs = [old_run(session, store, host_id).id for _ in range(3)]
        policy_id = limit(session, "recordings").id

    class Crash(Exception):
        pass

    with pytest.raises(Crash), unit_of_work(db.sessions) as session:
        policy = session.get_one(RetentionPolicy, policy_id)
        assert retain.remove_batch(session, policy, now()).items == 3
        raise Crash
    with db.sessions() as session:
        assert all("recordings" in left(session, one) for one in runs)
    assert one_batch(db, policy_id) == 3
    assert one_batch(db, policy_id) is None, "the next pass is tomorrow's"
    age(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(DoomedBlob).values(at=now() - timedelta(days=2)))
    with pytest.raises(Crash), unit_of_work(db.sessions) as session:
        assert retain.drain(session, store, now()) == (3, 0)
        raise Crash
    with unit_of_work(db.sessions) as session:
        assert retain.drain(session, store, now()) == (3, 0), "deleting again what is gone changes nothing"


def test_nothing_is_deleted_while_a_backup_reads_the_store(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        old_run(session, store, host_id)
        limit(session, "recordings")
    everything(db, store)
    age(store)
    with unit_of_work(db.sessions) as session:
        session.execute(update(DoomedBlob).values(at=now() - timedelta(days=2)))
    from sqlalchemy import func

    with db.engine.connect() as reading, unit_of_work(db.sessions) as session:
        reading.execute(select(func.pg_advisory_lock_shared(retain.STORE_LOCK)))
        assert retain.drain(session, store, now()) == (0, 0)
        reading.execute(select(func.pg_advisory_unlock_shared(retain.STORE_LOCK)))
        reading.commit()
        assert retain.drain(session, store, now()) == (1, 0)


def test_imports_and_their_upload_go_by_their_own_policy(db: Database, store: DirectoryStore) -> None:
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, None, source="import")
        upload = store.put([b"the bundle"], 100).sha256
        run.spec = {"sha256": upload}
        run_id = run.id
        assert "imports" in left(session, run_id) and "texts" not in left(session, run_id)
        limit(session, "recordings")
        limit(session, "texts")
    everything(db, store)
    with unit_of_work(db.sessions) as session:
        assert "imports" in left(session, run_id)
        limit(session, "imports")
    everything(db, store)
    with db.sessions() as session:
        assert "imports" not in left(session, run_id)
        assert upload in session.scalars(select(DoomedBlob.sha256)).all()


def test_an_event_that_a_later_capture_repeats_stays(db: Database, store: DirectoryStore) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        run = old_run(session, store, host_id)
        first = session.scalars(select(Event).where(Event.run_id == run.id)).one()
        title = {"key": "x", "params": {}}
        session.add(Event(t_ns=1, kind="oom", title=title, repeats_id=first.id))
        limit(session, "events")
        run_id = run.id
    everything(db, store)
    with db.sessions() as session:
        assert session.scalars(select(Event.run_id)).all() == [run_id, None]


def test_limits_are_previewed_set_and_audited(
    as_: Callable[[str], TestClient], db: Database, store: DirectoryStore
) -> None:
    host_id = make_host(db)
    with unit_of_work(db.sessions) as session:
        old_run(session, store, host_id)
        cited = old_run(session, store, host_id)
        cite(session, "pin.ref", cited)
    admin = as_("admin")
    for kind in ("recordings", "series"):
        seen = admin.post(f"{API}/storage/policy/preview", json={"kind": kind, "days": 30}).json()
        assert (seen["items"], seen["runs"], seen["cited_items"]) == (1, 1, 1), seen
    nothing = admin.post(f"{API}/storage/policy/preview", json={"kind": "recordings", "days": 365}).json()
    assert (nothing["items"], nothing["cited_items"]) == (0, 0)
    told = admin.patch(f"{API}/storage/policy", json={"kind": "recordings", "days": 30}).json()
    assert next(one for one in told if one["kind"] == "recordings")["days"] == 30
    assert as_("oncall").get(f"{API}/storage").status_code == 403
    entries = admin.get(f"{API}/audit").json()["items"]
    assert any(one["action"] == "retention.set" and one["detail"]["after"]["days"] == 30 for one in entries)
    for body in (
        {"kind": "audit", "days": 1},
        {"kind": "texts", "days": 0},
        {"kind": "texts", "max_bytes": -1},
    ):
        assert admin.patch(f"{API}/storage/policy", json=body).status_code == 422
    assert admin.patch(f"{API}/storage/policy", json={"kind": "recordings"}).json()[0]["days"] is None
    with db.sessions() as session:
        assert session.scalars(select(RetentionPolicy.due_at)).one() is None
