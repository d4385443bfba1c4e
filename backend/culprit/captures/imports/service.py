"""Files that somebody brings: stored, checked in a confined child, made into a run that waits to be read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.config import Settings
from culprit.imports import confined_check, perf_file, queries
from culprit.imports.bundle_rows import file_bundle
from culprit.imports.schemas import HostRef, ImportedRun, ImportRead, UserRef
from culprit.imports.sources import NAMES, PART, Kind
from culprit.infra.artifacts import ArtifactStore, ArtifactTooLarge, Stored, blocks
from culprit.infra.bounded import Ended, Limits, open_output, run_confined, workspace
from culprit.infra.broker import announce
from culprit.kit.errors import CulpritError, Invalid, NotFound, TooLarge, Unavailable
from culprit.models import Artifact, Capture, Host, Run, RunCollector

# Somebody waits for the answer; what takes longer is no ordinary file.
LIMITS = Limits(address_space=3 << 30, cpu_s=60, file_bytes=1100 << 20, wall_s=90)
MAX_RESULT_BYTES = 4 << 20
MODULE = confined_check.__name__
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "busy-host.culprit"
EXAMPLE_HOST = "example"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Upload:
    """What came in: the file, and what somebody said of it."""

    file: BinaryIO
    filename: str
    kind: str = "auto"
    host_id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """What the child found; of a bundle also its parts, as files, and what the run was."""

    kind: Kind
    encoding: str
    size: int
    bundle: Json = field(default_factory=dict)


def bring(
    session: Session, store: ArtifactStore, config: Settings, actor: Actor, upload: Upload
) -> ImportRead:
    """Makes a capture of one run out of a file; raises Invalid or TooLarge with the line or the limit."""
    policy(actor, "capture.import")
    if store.space().low:
        raise Unavailable("capture.disk_low")
    host = _given_host(session, actor, upload.host_id)
    try:
        stored = store.put(blocks(upload.file), config.upload_limit)
    except ArtifactTooLarge:
        raise TooLarge("import.limit_packed", limit=config.upload_limit) from None
    with workspace(config.home / "work") as directory:
        checked = _check(store, stored, upload.kind, directory)
        if checked.kind == "bundle" and host is None:
            host = _imported_host(session, actor, upload)
        run, capture = _make(session, actor, upload, host, (checked, stored))
        if checked.kind == "bundle":
            file_bundle(session, store, run, checked.bundle, directory)
        else:
            _file(session, run, stored, checked)
    run.state = "ingesting"
    session.flush()
    announce(session, "culprit.ingest_run", run.id)
    audit.record(
        session,
        actor,
        "capture.import",
        "capture",
        capture.id,
        kind=checked.kind,
        sha256=stored.sha256,
        bytes=stored.size,
        host=host.name if host else None,
    )
    return _read(actor, run, capture, host, checked.kind)


def example(session: Session, store: ArtifactStore, config: Settings, actor: Actor) -> ImportRead:
    """The recorded example as a capture; the one that is there, where somebody has opened it before."""
    policy(actor, "capture.import")
    try:
        with EXAMPLE.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            known = queries.imported_before(session, actor, digest)
            if known is not None:
                return _read(actor, known[0], known[1], known[0].host, "bundle")
            file.seek(0)
            upload = Upload(file, EXAMPLE_HOST, "bundle", None, EXAMPLE_HOST)
            return bring(session, store, config, actor, upload)
    except FileNotFoundError:
        raise NotFound("import.example_missing") from None


def _imported_host(session: Session, actor: Actor, upload: Upload) -> Host:
    """The host that a bundle without one is filed under, by name; it cannot be reached, only looked at.

    Somebody who sees only some hosts gets one that they see: with the first label that each rule allows.
    """
    name = _clean(upload.name or upload.filename.rpartition(".")[0] or "imported")[:100]
    found = queries.imported_host(session, actor, name)
    if found is not None:
        return found
    labels = {label: allowed[0] for label, allowed in actor.label_scope.items() if allowed}
    host = Host(
        name=name, address="", port=22, username="", state="imported", labels=labels, created_by=actor.id
    )
    session.add(host)
    session.flush()
    return host


def _clean(name: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in name).strip()


def _given_host(session: Session, actor: Actor, host_id: UUID | None) -> Host | None:
    if host_id is None:
        return None
    host = queries.host(session, actor, host_id)
    if host is None:
        raise NotFound("host.not_found")
    return host


def _check(store: ArtifactStore, stored: Stored, kind: str, directory: Path) -> Checked:
    request = {"path": str(store.path(stored.sha256)), "kind": kind}
    ended = run_confined(
        MODULE, request, directory, LIMITS, inputs=[request["path"]], programs=perf_file.list_programs()
    )
    if ended.verdict != "ok":
        raise _died(ended)
    with open_output(directory / "result.json") as stream:
        result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        failure = result["failure"]
        kind_of_error = TooLarge if "limit" in failure["params"] else Invalid
        raise kind_of_error(failure["key"], errors=(), **failure["params"])
    return Checked(result["kind"], result["encoding"], int(result["size"]), result.get("bundle", {}))


def _died(ended: Ended) -> CulpritError:
    if ended.verdict == "crashed":
        raise RuntimeError(f"the check of an import died: {ended.stderr}")
    params = {
        "out_of_memory": {"limit_mb": LIMITS.address_space >> 20},
        "too_slow": {"limit_s": int(LIMITS.wall_s)},
        "too_large": {"limit_mb": LIMITS.file_bytes >> 20},
    }[ended.verdict]
    return TooLarge(f"ingest.{ended.verdict}", attempts=1, errors=(), **params)


def _make(
    session: Session, actor: Actor, upload: Upload, host: Host | None, what: tuple[Checked, Stored]
) -> tuple[Run, Capture]:
    checked, stored = what
    name = _clean(upload.name or upload.filename or checked.kind)[:200]
    outcomes = checked.bundle.get("outcomes", [])
    capture = Capture(
        plan="import",
        collectors=[{"id": one["collector"]} for one in outcomes],
        reason=name,
        source="import",
        state="running",
        requested_by=actor.id,
    )
    session.add(capture)
    session.flush()
    run = Run(
        capture_id=capture.id,
        host_id=host.id if host else None,
        state="queued",
        attempt=1,
        started_at=func.now(),
        spec={"kind": checked.kind, "file": name, "sha256": stored.sha256},
    )
    session.add(run)
    session.flush()
    return run, capture


def _file(session: Session, run: Run, stored: Stored, checked: Checked) -> None:
    """A file that is one artifact."""
    collector = RunCollector(
        run_id=run.id, collector=NAMES[checked.kind], state="done", way="import", bytes=stored.size
    )
    session.add(collector)
    session.flush()
    text = checked.kind not in {"perf_data", "perf_sched"}
    session.add(
        Artifact(
            run_id=run.id,
            run_collector_id=collector.id,
            part=PART,
            sha256=stored.sha256,
            size=checked.size,
            stored_size=stored.size,
            encoding=checked.encoding,
            media_type="text/plain; charset=utf-8" if text else "application/octet-stream",
        )
    )
    run.bytes = stored.size
    session.flush()


def _read(actor: Actor, run: Run, capture: Capture, host: Host | None, kind: str) -> ImportRead:
    return ImportRead(
        id=capture.id,
        number=capture.number,
        plan=capture.plan,
        seconds=capture.seconds,
        state=capture.state,
        reason=capture.reason,
        source=capture.source,
        requested_by=UserRef(id=actor.id, name=actor.name),
        created_at=capture.created_at,
        ended_at=capture.ended_at,
        runs=[
            ImportedRun(
                id=run.id, host=HostRef(id=host.id, name=host.name) if host else None, state=run.state
            )
        ],
        kind=kind,
    )
