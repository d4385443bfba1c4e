"""A captured incident as a bundle, and another Culprit that imports it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any
from uuid import UUID

from culprit.incidents.records import queries
from culprit.incidents.transfer.bundle.document import DOCUMENT, MANIFEST
from culprit.incidents.transfer.imports import importer
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.settings import get_settings
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.incidents.compare_import import compare_import
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support.fixed import Case
from culprit.tests.support.incidents import API, BOOK, Desk
from fastapi.testclient import TestClient
from sqlalchemy import select

HOST = "shop-db7.corp.example.com"


class NamedCase(Case):
    """Its access log contains the host name as a route."""

    def _parts(self, busy: float, rate: float, at: float, seconds: int) -> dict[str, tuple[str, bytes]]:
        parts = super()._parts(busy, rate, at, seconds)
        part, log = parts["app_metrics"]
        named = b"".join(
            line.replace(b"route=*", b"route=" + HOST.encode())
            for line in log.splitlines(keepends=True)
            if line.startswith(b"point")
        )
        return {**parts, "app_metrics": (part, log + named)}


def captured(db: Any, actor: Any, client: TestClient) -> Desk:
    """Create an incident with a host, a playbook, evaluated captures, a verdict, waivers, and a judged fix."""
    case = NamedCase(db, actor)
    host = case.host(HOST)
    case.before(host, busy=95.0)
    requested = case.ask(case.fix(host))
    case.play(requested, 40.0)
    desk = Desk(client, client.get(f"{API}/incidents/{case.incident}").json())
    desk.patch(
        title=f"{HOST} is slow",
        symptom={"service": "shop", "description": f"ask {actor.name}@corp.example.com"},
    )
    desk.post("playbooks", playbooks=[BOOK])
    with db.sessions() as session:
        evidence = select(Artifact).join(IncidentRun, IncidentRun.run_id == Artifact.run_id)
        row = session.scalars(evidence.where(Artifact.part == "stdout").order_by(Artifact.id)).first()
    binary = f"\0 recorded on {HOST}".encode()
    stored = artifact_store().put([binary], 1000)
    with unit_of_work(db.sessions) as session:
        size = len(binary)
        session.add(
            Artifact(run_id=row.run_id, part="raw", sha256=stored.sha256, size=size, stored_size=size)
        )
    ref = {"artifact_id": str(row.id), "lines": [1]}
    pin = desk.post("pins", kind="line", view=f"/runs/{row.run_id}", ref=ref)["created_id"]
    desk.post("verdicts", step=f"{BOOK}/time-wait", verdict="refutes", pins=[pin], note=f"not on {HOST}")
    desk.waive_all()
    return desk


def changed(
    data: bytes, change: Callable[[dict[str, Any]], object] | None = None, **members: bytes | None
) -> bytes:
    """Return a bundle with another document or members (None:

    without it) and a matching manifest, like a forger.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {item: archive.read(item) for item in archive.namelist()}
    if change is not None:
        document = json.loads(files[DOCUMENT])
        change(document)
        files[DOCUMENT] = json.dumps(document).encode()
    files |= {name: text for name, text in members.items() if text is not None}
    for name in [name for name, text in members.items() if text is None]:
        del files[name]
    manifest = json.loads(files.pop(MANIFEST))
    manifest["members"] = [
        {"name": name, "sha256": hashlib.sha256(text).hexdigest(), "size": len(text)}
        for name, text in sorted(files.items())
    ]
    return packed({**files, MANIFEST: json.dumps(manifest).encode()})


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip file."""
    bytes_io = io.BytesIO()
    with zipfile.ZipFile(bytes_io, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return bytes_io.getvalue()


def import_bundle(db: Any, actor: Any, data: bytes) -> UUID:
    """Import a bundle in this environment, without parsing its runs."""
    with unit_of_work(db.sessions) as session:
        incident = importer.import_incident(
            session, artifact_store(), get_settings(), actor, io.BytesIO(data)
        )
        return incident.incident.id


def read_all(db: Any, incident_id: UUID) -> dict[str, Any]:
    """Parse and evaluate its runs like workers; return the comparison."""
    with db.sessions() as session:
        query = select(Run.id).join(IncidentRun, IncidentRun.run_id == Run.id)
        runs = session.scalars(query.where(IncidentRun.incident_id == incident_id)).all()
    for run in runs:
        assert ingest_run(run) is not None
        evaluate_run(run)
    assert compare_import(incident_id)
    with db.sessions() as session:
        assert session.get_one(Incident, incident_id).id
        compared = queries.find_origin(session, incident_id).compared
        assert compared is not None
        return compared
