"""An incident that was really captured, as a bundle; and another Culprit that reads it."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any
from uuid import UUID

from culprit.carried import bring
from culprit.carried.compare import compare_carried
from culprit.carried.form import DOCUMENT, MANIFEST
from culprit.config import settings
from culprit.incidents import queries
from culprit.infra.artifacts import artifact_store
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, Incident, IncidentRun, Run
from culprit.tests.support.fixed import Case
from culprit.tests.support.incidents import API, BOOK, Desk
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.ingest_run import ingest_run
from fastapi.testclient import TestClient
from sqlalchemy import select

HOST = "shop-db7.corp.example.com"


class NamedCase(Case):
    """Its access log names the host, as a route."""

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
    """One with a host, a playbook, captures that rules spoke about, a verdict, waivers, and a fix that was judged."""
    case = NamedCase(db, actor)
    host = case.host(HOST)
    case.before(host, busy=95.0)
    asked = case.ask(case.fix(host))
    case.play(asked, 40.0)
    desk = Desk(client, client.get(f"{API}/incidents/{case.incident}").json())
    desk.patch(
        title=f"{HOST} is slow", symptom={"service": "shop", "says": f"ask {actor.name}@corp.example.com"}
    )
    desk.post("playbooks", playbooks=[BOOK])
    with db.sessions() as session:
        evidence = select(Artifact).join(IncidentRun, IncidentRun.run_id == Artifact.run_id)
        one = session.scalars(evidence.where(Artifact.part == "stdout").order_by(Artifact.id)).first()
    binary = f"\0 recorded on {HOST}".encode()
    stored = artifact_store().put([binary], 1000)
    with unit_of_work(db.sessions) as session:
        size = len(binary)
        session.add(
            Artifact(run_id=one.run_id, part="raw", sha256=stored.sha256, size=size, stored_size=size)
        )
    ref = {"artifact_id": str(one.id), "lines": [1]}
    pin = desk.post("pins", kind="line", view=f"/runs/{one.run_id}", ref=ref)["made"]
    desk.post("verdicts", step=f"{BOOK}/time-wait", verdict="refutes", pins=[pin], note=f"not on {HOST}")
    desk.waive_all()
    return desk


def changed(
    data: bytes, change: Callable[[dict[str, Any]], object] | None = None, **members: bytes | None
) -> bytes:
    """A bundle with another document or other members (None: without it), and a manifest that fits, as a forger has."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {one: archive.read(one) for one in archive.namelist()}
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
    """A zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def brought(db: Any, actor: Any, data: bytes) -> UUID:
    """The incident that a bundle becomes where the environment is, without anything read yet."""
    with unit_of_work(db.sessions) as session:
        made = bring.bring(session, artifact_store(), settings(), actor, io.BytesIO(data))
        return made.incident.id


def read_all(db: Any, incident_id: UUID) -> dict[str, Any]:
    """Its runs are read and evaluated, as workers do it; what the comparison says."""
    with db.sessions() as session:
        query = select(Run.id).join(IncidentRun, IncidentRun.run_id == Run.id)
        runs = session.scalars(query.where(IncidentRun.incident_id == incident_id)).all()
    for run in runs:
        assert ingest_run(run) is not None
        evaluate_run(run)
    assert compare_carried(incident_id)
    with db.sessions() as session:
        assert session.get_one(Incident, incident_id).id
        compared = queries.origin(session, incident_id).compared
        assert compared is not None
        return compared
