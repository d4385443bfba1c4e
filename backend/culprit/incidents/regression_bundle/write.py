"""A case to test rules with: the artifacts that an incident cites, what was concluded, and what it was.

Names of hosts and people are left out of the manifest, and those of hosts out of the artifacts, which are as they came
home otherwise: collectors redact on the host, before anything leaves it. Recordings that are no text stay here.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any, cast
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from collectors.parse.limits import Encoding, ImportRefused
from culprit.auth.actor import Actor
from culprit.incidents import queries
from culprit.incidents.load import Loaded, load
from culprit.incidents.redaction import without_names
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.infra.parts import Altered, StoredPart
from culprit.kit.clock import now
from culprit.kit.errors import TooLarge
from culprit.kit.version import VERSION
from culprit.models import Artifact, Incident, Run

Json = dict[str, Any]
FORMAT = "culprit-incident"
FORMAT_VERSION = 1
MAX_BYTES = 1 << 30
IN_MEMORY = 8 << 20
PIECE = 1 << 18


def write(session: Session, actor: Actor, store: ArtifactStore, incident: Incident) -> IO[bytes]:
    """The bundle as an open file at its beginning. Raises TooLarge."""
    loaded = load(session, actor, incident)
    run_ids = _cited(loaded)
    rows = queries.artifacts(session, run_ids) if run_ids else []
    size = sum({row[0].sha256: row[0].size for row in rows}.values())
    if size > MAX_BYTES:
        raise TooLarge("incident.bundle_too_large", mib=size >> 20, most=MAX_BYTES >> 20)
    file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - whoever sends it closes it
    listed: list[Json] = []
    names = {host.name: f"host-{n}" for n, (_, host) in enumerate(loaded.hosts, start=1)}
    numbers = {run_id: f"run-{n}" for n, run_id in enumerate(run_ids, start=1)}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        written: dict[str, Json] = {}
        for artifact, collector in rows:
            if artifact.sha256 not in written:
                written[artifact.sha256] = _put(archive, store, artifact, names, len(written) + 1)
            listed.append(
                {
                    "run": numbers[artifact.run_id],
                    "collector": collector,
                    "part": artifact.part,
                    **written[artifact.sha256],
                }
            )
        manifest = _manifest(session, loaded, numbers, listed)
        archive.writestr("manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True))
    file.seek(0)
    return file


def _put(
    archive: zipfile.ZipFile, store: ArtifactStore, artifact: Artifact, names: Mapping[str, str], number: int
) -> Json:
    """Writes an artifact, unpacked; `file` None where it is not there any more, or no text."""
    kept: Json = {"file": None, "sha256": None, "size": None}
    try:
        encoding = cast(Encoding, artifact.encoding)
        part = StoredPart(artifact.sha256, artifact.size, store.path(artifact.sha256), encoding)
        part.check()
        lines = without_names(part, names)
    except (ArtifactMissing, ArtifactAltered, Altered, FileNotFoundError, ImportRefused):
        return kept
    if lines is None:
        return kept
    place, digest, size = f"artifacts/{number}", hashlib.sha256(), 0
    with archive.open(place, "w") as out:
        for line in lines:
            out.write(line)
            digest.update(line)
            size += len(line)
    return {"file": place, "sha256": digest.hexdigest(), "size": size}


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """A file piece by piece; it is closed at the end."""
    with file:
        while piece := file.read(PIECE):
            yield piece


def _cited(loaded: Loaded) -> list[UUID]:
    """The runs that verdicts rest on, that pins show, or that a fix was judged by."""
    cited = {
        UUID(one.run)
        for walked in loaded.walks
        for hosts in walked.hosts.values()
        for one in hosts
        if one.run is not None and one.rule.findings
    }
    for pin in loaded.pins:
        sides = (pin.ref, pin.said, pin.said.get("left"), pin.said.get("right"))
        cited.update(UUID(one["run_id"]) for one in sides if one and one.get("run_id"))
    return [one.run_id for one in loaded.runs if one.run_id in cited or one.role != "evidence"]


def _manifest(session: Session, loaded: Loaded, numbers: dict[UUID, str], artifacts: list[Json]) -> Json:
    hosts = {host.id: f"host-{n}" for n, (_, host) in enumerate(loaded.hosts, start=1)}
    outcomes = loaded.outcomes
    right = [one.cause for one in outcomes if one.right]
    instead = [one.true_cause for one in outcomes if one.true_cause]
    clocks = {
        row.id: row
        for row in session.execute(select(Run.id, Run.clock, Run.boot_id).where(Run.id.in_(numbers)))
    }
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "culprit": VERSION,
        "written_at": now().isoformat(),
        "state": loaded.incident.state,
        "severity": loaded.incident.severity,
        "expected": {
            "causes": sorted({*right, *instead}),
            "wrong": sorted({one.cause for one in outcomes if not one.right}),
        },
        "named": [
            {"hypothesis": one.key, "cause": one.cause, "state": one.state} for one in loaded.hypotheses
        ],
        "playbooks": [{"id": one.playbook_id, "digest": one.digest} for one in loaded.playbooks],
        "steps": [
            {
                "step": walked.key(name),
                "host": hosts[UUID(one.host)],
                "run": numbers.get(UUID(one.run)) if one.run else None,
                "verdict": one.answer.verdict,
                "by": one.answer.by,
                "rule_verdict": one.rule.verdict,
            }
            for walked in loaded.walks
            for name, answers in walked.hosts.items()
            for one in answers
        ],
        "runs": [
            {
                "id": numbers[one.run_id],
                "host": hosts.get(one.host_id),
                "role": one.role,
                "plan": one.plan,
                "clock": clocks[one.run_id].clock,
            }
            for one in loaded.runs
            if one.run_id in numbers
        ],
        "artifacts": artifacts,
    }
