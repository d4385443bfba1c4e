"""Fixtures and helpers of tests of retention."""

from __future__ import annotations

import os
from datetime import timedelta
from itertools import count
from uuid import UUID

import pytest
from culprit.evidence.retention.sources import STORAGE_KINDS
from culprit.infra.artifacts.store import DirectoryStore, artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.pin import Pin
from culprit.infra.models.incidents.verification import Verification
from culprit.infra.models.system.retention_policy import RetentionPolicy
from culprit.infra.settings import Settings
from culprit.jobs.system.apply_retention import run_batches
from sqlalchemy import select
from sqlalchemy.orm import Session

API = "/api/v1"
OLD = timedelta(days=100)
SERIAL = count()


def make_old_id(age: timedelta = OLD) -> UUID:
    """Return an ID that was made that long ago."""
    return new_uuid7(int((utc_now() - age).timestamp() * 1000))


def make_old_run(
    session: Session, store: DirectoryStore, host_id: object, *, source: str = "manual", plan: str = "triage"
) -> Run:
    """Store an old run with data of every kind."""
    n = next(SERIAL)
    capture = Capture(id=make_old_id(), plan=plan, state="done", source=source)
    session.add(capture)
    session.flush()
    at = utc_now() - OLD
    run = Run(
        id=make_old_id(), capture_id=capture.id, host_id=host_id, state="done", queued_at=at, ended_at=at
    )
    session.add(run)
    session.flush()
    for media_type, content in (
        ("application/octet-stream", f"raw {n}"),
        ("text/plain; charset=utf-8", f"text {n}"),
    ):
        stored = store.put([content.encode()], 100)
        session.add(
            Artifact(
                id=make_old_id(), run_id=run.id, part="stdout", sha256=stored.sha256, size=stored.size,
                stored_size=stored.size, media_type=media_type,
            )
        )  # fmt: skip
    samples, tree = (store.put([f"{what} {n}".encode()], 100).sha256 for what in ("samples", "tree"))
    session.add(
        Profile(
            id=make_old_id(), run_id=run.id, host_id=host_id, kind="on_cpu", state="ready", store_key=samples,
            tree_key=tree, stored_size=20,
        )
    )  # fmt: skip
    session.add(
        SeriesChunk(id=make_old_id(), run_id=run.id, metric="cpu.user", t0_ns=1, t1_ns=2, n=1, data=b"x" * 50)
    )
    session.add(ResultTable(id=make_old_id(), run_id=run.id, kind="t", columns=[], rows=[[1]], lines=[]))
    session.add(
        StoredEvent(id=make_old_id(), run_id=run.id, t_ns=1, kind="oom", title={"key": "x", "params": {}})
    )
    session.flush()
    return run


def set_policy(
    session: Session, kind: str, days: int | None = 30, max_bytes: int | None = None
) -> RetentionPolicy:
    """Set the policy of a kind, due now."""
    policy = RetentionPolicy(
        kind=kind, days=days, max_bytes=max_bytes, due_at=utc_now() - timedelta(seconds=5)
    )
    session.add(policy)
    session.flush()
    return policy


def apply_all_policies(db: Database, store: DirectoryStore) -> None:
    """Apply every policy until nothing more is deleted."""
    with db.sessions() as session:
        ids = session.scalars(select(RetentionPolicy.id)).all()
    for item in ids:
        while run_batches(db, store, item, 0.0) is not None:
            pass


def list_remaining_kinds(session: Session, run_id: UUID) -> set[str]:
    """Return the kinds of data that the run still has."""
    result = set()
    for kind, source in STORAGE_KINDS.items():
        if source.run_id is None:
            continue
        query = select(source.id).where(
            source.run_id == run_id, *source.stored_condition, *source.kind_condition
        )
        if session.scalars(query).first() is not None:
            result.add(kind)
    return result


ALL = {"recordings", "texts", "profiles", "series", "tables", "events"}


@pytest.fixture
def store(config: Settings) -> DirectoryStore:
    """Return the artifact store of the test."""
    result = artifact_store()
    assert isinstance(result, DirectoryStore)
    return result


def age_files(store: DirectoryStore) -> None:
    """Set the time of all files to two days ago."""
    at = (utc_now() - timedelta(days=2)).timestamp()
    for file in store.objects.glob("*/*"):
        os.utime(file, (at, at))


def cite_run(session: Session, how: str, run: Run) -> None:
    """Cite a run in one column. A new citing column fails here until it has a case."""
    incident = Incident(title="i", window_from=utc_now())
    session.add(incident)
    session.flush()
    profile = session.scalars(select(Profile).where(Profile.run_id == run.id)).one()
    artifact = session.scalars(select(Artifact).where(Artifact.run_id == run.id)).first()
    table = session.scalars(select(ResultTable).where(ResultTable.run_id == run.id)).one()
    assert artifact is not None
    fix = Fix(incident_id=incident.id, what="f")
    capture = session.get_one(Capture, run.capture_id)
    n = next(SERIAL)
    match how:
        case "incident_run.run_id":
            session.add(IncidentRun(incident_id=incident.id, run_id=run.id))
        case "incident.symptom":
            incident.symptom = {"source": {"run_id": str(run.id)}}
        case "pin.ref" | "pin.snapshot":
            ids = (run.id, run.capture_id, profile.id, artifact.id, table.id)
            place = {"deep": [{"there": str(ids[n % len(ids)])}]}
            ref, message = (place, {}) if how == "pin.ref" else ({}, place)
            session.add(Pin(incident_id=incident.id, kind="line", ref=ref, view="/", snapshot=message))
        case "verification.before" | "verification.captures_before" | "verification.after":
            session.add(fix)
            session.flush()
            side = how.partition(".")[2]
            what = run.id if side == "before" else run.capture_id
            session.add(Verification(fix_id=fix.id, state="done", **{side: [str(new_uuid7()), str(what)]}))
        case "profile_comparison.a" | "profile_comparison.b":
            sides = {"a": {"profile_id": str(new_uuid7())}, "b": {"profile_id": str(new_uuid7())}}
            sides[how[-1]] = {"profile_id": str(new_uuid7()), "also": [str(profile.id)]}
            session.add(ProfileComparison(state="ready", **sides))
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


def make_host_like(session: Session, like: object) -> object:
    """Store a host with the credential of another one."""
    first = session.get_one(Host, like)
    host = Host(
        name=f"b-{next(SERIAL)}", address="192.0.2.9", username="u", credential_id=first.credential_id
    )
    session.add(host)
    session.flush()
    return host.id
