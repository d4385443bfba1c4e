"""Write a regression bundle: cited artifacts, verdicts and confirmed causes of an incident, as a test case for rules.

The manifest has no names of hosts and users, the artifacts none of hosts. Collectors redact the rest on the host.
Binary recordings are left out.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, cast
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.limits import Encoding, ImportRefusedError
from culprit import VERSION
from culprit.accounts.actor import Actor
from culprit.incidents.records import queries
from culprit.incidents.records.snapshot import IncidentSnapshot, load_snapshot
from culprit.incidents.regression_bundle.redact import redact_names
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.artifacts.stored_part import PartAlteredError, StoredPart
from culprit.infra.db.clock import utc_now
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.incidents.incident import Incident
from culprit.json_types import Json
from culprit.web.errors import TooLargeError

FORMAT = "culprit-incident"
FORMAT_VERSION = 1
MAX_BYTES = 1 << 30
MAX_MEMORY_BYTES = 8 << 20
CHUNK_BYTES = 1 << 18


def write_bundle(session: Session, actor: Actor, store: ArtifactStore, incident: Incident) -> IO[bytes]:
    """Return the bundle as an open file at its start, or raise TooLargeError."""
    snapshot = load_snapshot(session, actor, incident)
    run_ids = _list_cited_runs(snapshot)
    rows = queries.list_artifacts(session, run_ids) if run_ids else []
    size = sum({row[0].sha256: row[0].size for row in rows}.values())
    if size > MAX_BYTES:
        raise TooLargeError("incident.bundle_too_large", mib=size >> 20, most=MAX_BYTES >> 20)
    file: IO[bytes] = tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES)  # noqa: SIM115 - the sender closes it
    listed: list[Json] = []
    names = {host.name: f"host-{n}" for n, (_, host) in enumerate(snapshot.hosts, start=1)}
    numbers = {run_id: f"run-{n}" for n, run_id in enumerate(run_ids, start=1)}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        written: dict[str, Json] = {}
        for artifact, collector in rows:
            if artifact.sha256 not in written:
                written[artifact.sha256] = _write_artifact(archive, store, artifact, names, len(written) + 1)
            listed.append(
                {
                    "run": numbers[artifact.run_id],
                    "collector": collector,
                    "part": artifact.part,
                    **written[artifact.sha256],
                }
            )
        manifest = _build_manifest(session, snapshot, numbers, listed)
        archive.writestr("manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True))
    file.seek(0)
    return file


def _write_artifact(
    archive: zipfile.ZipFile, store: ArtifactStore, artifact: Artifact, names: Mapping[str, str], number: int
) -> Json:
    """Write an unpacked artifact; `file` is None if it is deleted, altered or binary."""
    stored: Json = {"file": None, "sha256": None, "size": None}
    try:
        encoding = cast(Encoding, artifact.encoding)
        part = StoredPart(artifact.sha256, artifact.size, store.path(artifact.sha256), encoding)
        part.check()
        lines = redact_names(part, names)
    except (
        ArtifactMissingError,
        ArtifactAlteredError,
        PartAlteredError,
        FileNotFoundError,
        ImportRefusedError,
    ):
        return stored
    if lines is None:
        return stored
    place, digest, size = f"artifacts/{number}", hashlib.sha256(), 0
    with archive.open(place, "w") as out:
        for line in lines:
            out.write(line)
            digest.update(line)
            size += len(line)
    return {"file": place, "sha256": digest.hexdigest(), "size": size}


def read_chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in chunks, and close it at the end."""
    with file:
        while piece := file.read(CHUNK_BYTES):
            yield piece


def _list_cited_runs(snapshot: IncidentSnapshot) -> list[UUID]:
    """Return the runs that verdicts or pins cite, or that judge a fix."""
    cited = {
        UUID(host.run)
        for walked in snapshot.playbook_walks
        for hosts in walked.hosts.values()
        for host in hosts
        if host.run is not None and host.rule.findings
    }
    for pin in snapshot.pins:
        sides = (pin.ref, pin.snapshot, pin.snapshot.get("left"), pin.snapshot.get("right"))
        cited.update(UUID(side["run_id"]) for side in sides if side and side.get("run_id"))
    return [run.run_id for run in snapshot.runs if run.run_id in cited or run.role != "evidence"]


def _build_manifest(
    session: Session, snapshot: IncidentSnapshot, numbers: dict[UUID, str], artifacts: list[Json]
) -> Json:
    hosts = {host.id: f"host-{n}" for n, (_, host) in enumerate(snapshot.hosts, start=1)}
    outcomes = snapshot.outcomes
    right = [outcome.cause for outcome in outcomes if outcome.right]
    instead = [outcome.true_cause for outcome in outcomes if outcome.true_cause]
    clocks = queries.map_clocks(session, numbers)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "culprit": VERSION,
        "written_at": utc_now().isoformat(),
        "state": snapshot.incident.state,
        "severity": snapshot.incident.severity,
        "expected": {
            "causes": sorted({*right, *instead}),
            "rejected": sorted({outcome.cause for outcome in outcomes if not outcome.right}),
        },
        "named": [
            {"hypothesis": hypothesis.key, "cause": hypothesis.cause, "state": hypothesis.state}
            for hypothesis in snapshot.hypotheses
        ],
        "playbooks": [
            {"id": playbook.playbook_id, "digest": playbook.digest} for playbook in snapshot.playbooks
        ],
        "steps": [
            {
                "step": walked.key(name),
                "host": hosts[UUID(answer.host)],
                "run": numbers.get(UUID(answer.run)) if answer.run else None,
                "verdict": answer.answer.verdict,
                "by": answer.answer.by,
                "rule_verdict": answer.rule.verdict,
            }
            for walked in snapshot.playbook_walks
            for name, answers in walked.hosts.items()
            for answer in answers
        ],
        "runs": [
            {
                "id": numbers[run.run_id],
                "host": hosts.get(run.host_id),
                "role": run.role,
                "plan": run.plan,
                "clock": clocks[run.run_id],
            }
            for run in snapshot.runs
            if run.run_id in numbers
        ],
        "artifacts": artifacts,
    }
