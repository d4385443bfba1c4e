"""Import files: store them, check them in a sandboxed child, and create runs that wait to be parsed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.captures.imports import confined_check, queries
from culprit.captures.imports.bundle_rows import store_bundle
from culprit.captures.imports.schemas import ImportedRun, ImportResponse
from culprit.domain.imports.file_kinds import NAMES, PART, Kind
from culprit.infra.artifacts.blob_files import ArtifactTooLargeError, StoredBlob, read_blocks
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.host import Host
from culprit.infra.sandbox import perf_data
from culprit.infra.sandbox.process import (
    SandboxExit,
    SandboxLimits,
    create_workspace,
    open_output,
    run_in_sandbox,
)
from culprit.infra.settings import Settings
from culprit.infra.task_queue import enqueue_after_commit
from culprit.json_types import Json
from culprit.web.errors import (
    CulpritError,
    InvalidRequestError,
    NotFoundError,
    TooLargeError,
    UnavailableError,
)
from culprit.web.schemas import HostRef, UserRef

# A user waits for the answer; ordinary files need less.
LIMITS = SandboxLimits(address_space=3 << 30, cpu_s=60, file_bytes=1100 << 20, wall_s=90)
MAX_RESULT_BYTES = 4 << 20
MODULE = confined_check.__name__
EXAMPLE_BUNDLE = Path(__file__).resolve().parents[4] / "examples" / "busy-host.culprit"
EXAMPLE_HOST = "example"


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """An uploaded file with the details that the user entered."""

    file: BinaryIO
    filename: str
    kind: str = "auto"
    host_id: UUID | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """Result of the check; of a bundle also its parts as files, and the data of the run."""

    kind: Kind
    encoding: str
    size: int
    bundle: Json = field(default_factory=dict)


def import_file(
    session: Session, store: ArtifactStore, config: Settings, actor: Actor, upload: UploadedFile
) -> ImportResponse:
    """Create a capture with one run from a file.

    Raises:
        InvalidRequestError: with the line that cannot be read.
        TooLargeError: with the limit.
    """
    authorize(actor, "capture.import")
    if store.space().is_low:
        raise UnavailableError("capture.disk_low")
    host = _find_target_host(session, actor, upload.host_id)
    try:
        stored = store.put(read_blocks(upload.file), config.upload_limit)
    except ArtifactTooLargeError:
        raise TooLargeError("import.limit_packed", mib=config.upload_limit >> 20) from None
    with create_workspace(config.home / "work") as directory:
        checked = _check_in_sandbox(store, stored, upload.kind, directory)
        if checked.kind == "bundle" and host is None:
            host = _ensure_imported_host(session, actor, upload)
        run, capture = _create_run(session, actor, upload, host, (checked, stored))
        if checked.kind == "bundle":
            store_bundle(session, store, run, checked.bundle, directory)
        else:
            _store_rows(session, run, stored, checked)
    run.state = "ingesting"
    session.flush()
    enqueue_after_commit(session, "culprit.ingest_run", run.id)
    audit.record_action(
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
    return _build_response(actor, run, capture, host, checked.kind)


def import_example(session: Session, store: ArtifactStore, config: Settings, actor: Actor) -> ImportResponse:
    """Return the recorded example as a capture, created at the first call."""
    authorize(actor, "capture.import")
    try:
        with EXAMPLE_BUNDLE.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            known = queries.find_earlier_import(session, actor, digest)
            if known is not None:
                return _build_response(actor, known[0], known[1], known[0].host, "bundle")
            file.seek(0)
            upload = UploadedFile(file, EXAMPLE_HOST, "bundle", None, EXAMPLE_HOST)
            return import_file(session, store, config, actor, upload)
    except FileNotFoundError:
        raise NotFoundError("import.example_missing") from None


def _ensure_imported_host(session: Session, actor: Actor, upload: UploadedFile) -> Host:
    """Return the host for a bundle without an added host, by name; it has no address and cannot be captured.

    A user with a limited label scope gets a host that they can see: with the first allowed value of each
    label.
    """
    name = _clean_name(upload.name or upload.filename.rpartition(".")[0] or "imported")[:100]
    result = queries.find_imported_host(session, actor, name)
    if result is not None:
        return result
    labels = {label: allowed[0] for label, allowed in actor.label_scope.items() if allowed}
    host = Host(
        name=name, address="", port=22, username="", state="imported", labels=labels, created_by=actor.id
    )
    session.add(host)
    session.flush()
    return host


def _clean_name(name: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in name).strip()


def _find_target_host(session: Session, actor: Actor, host_id: UUID | None) -> Host | None:
    if host_id is None:
        return None
    host = queries.find_host(session, actor, host_id)
    if host is None:
        raise NotFoundError("host.not_found")
    return host


def _check_in_sandbox(store: ArtifactStore, stored: StoredBlob, kind: str, directory: Path) -> CheckedFile:
    request = {"path": str(store.path(stored.sha256)), "kind": kind}
    ended = run_in_sandbox(
        MODULE, request, directory, LIMITS, inputs=[request["path"]], programs=perf_data.list_programs()
    )
    if ended.verdict != "ok":
        raise _describe_exit(ended)
    with open_output(directory / "result.json") as stream:
        result: Json = json.loads(stream.read(MAX_RESULT_BYTES))
    if "failure" in result:
        failure = result["failure"]
        kind_of_error = TooLargeError if "limit" in failure["params"] else InvalidRequestError
        raise kind_of_error(failure["key"], errors=(), **failure["params"])
    return CheckedFile(result["kind"], result["encoding"], int(result["size"]), result.get("bundle", {}))


def _describe_exit(ended: SandboxExit) -> CulpritError:
    if ended.verdict == "crashed":
        raise RuntimeError(f"the check of an import died: {ended.stderr}")
    params = {
        "out_of_memory": {"limit_mb": LIMITS.address_space >> 20},
        "too_slow": {"limit_s": int(LIMITS.wall_s)},
        "too_large": {"limit_mb": LIMITS.file_bytes >> 20},
    }[ended.verdict]
    return TooLargeError(f"ingest.{ended.verdict}", attempts=1, errors=(), **params)


def _create_run(
    session: Session,
    actor: Actor,
    upload: UploadedFile,
    host: Host | None,
    what: tuple[CheckedFile, StoredBlob],
) -> tuple[Run, Capture]:
    checked, stored = what
    name = _clean_name(upload.name or upload.filename or checked.kind)[:200]
    outcomes = checked.bundle.get("outcomes", [])
    capture = Capture(
        plan="import",
        collectors=[{"id": outcome["collector"]} for outcome in outcomes],
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


def _store_rows(session: Session, run: Run, stored: StoredBlob, checked: CheckedFile) -> None:
    """Store a file that is one artifact."""
    collector = RunCollector(
        run_id=run.id, collector=NAMES[checked.kind], state="done", method="import", bytes=stored.size
    )
    session.add(collector)
    session.flush()
    text = checked.kind not in {"perf_data", "perf_sched", "pprof"}
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


def _build_response(actor: Actor, run: Run, capture: Capture, host: Host | None, kind: str) -> ImportResponse:
    return ImportResponse(
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
