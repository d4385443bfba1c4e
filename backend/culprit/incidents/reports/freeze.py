"""Redaction, preview and freezing of a report."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.actor import Actor
from culprit.accounts.authorization import authorize
from culprit.domain.redaction import preview
from culprit.domain.redaction.kinds import RedactionRules
from culprit.domain.redaction.redactor import Redactor
from culprit.incidents.records import journal
from culprit.incidents.reports import pseudonym_map, queries
from culprit.incidents.reports.content import collect
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.vault import get_vault
from culprit.json_types import Json
from culprit.web.errors import ConflictError, TooLargeError

MAX_BYTES = 24 << 20
#: Fields with text or hashes of Culprit, never of a host or a user.
OWN_FIELDS = frozenset(
    {
        "format", "culprit", "language", "zone", "preset", "redacted", "at", "from", "to", "opened_at", "resolved_at",
        "detected_at", "mitigated_at", "due", "rule", "rule_title", "measure", "measure_title", "op", "key", "step",
        "cause", "state", "standing", "strength", "verdict", "confidence", "outcome", "better", "role", "kind",
        "sha256", "cites", "id", "not_covered", "collector",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FrozenContent:
    """Redacted document with its replacements. `raw` is confidential."""

    raw: Json
    content: Json
    redactor: Redactor

    @property
    def text(self) -> str:
        """Return the frozen bytes as ASCII text."""
        return to_canonical_json(self.content)


def to_canonical_json(content: Json) -> str:
    """Return JSON that is identical for identical content."""
    return json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)


def build_content(session: Session, actor: Actor, store: ArtifactStore, report: Report) -> FrozenContent:
    """Build the redacted report. Pseudonyms of earlier versions are reused. Raises ConflictError."""
    incident = journal.get_incident(session, actor, report.incident_id)
    raw = _replace_non_finite(collect.build_document(session, actor, store, incident, report))
    before = queries.find_newest_versions(session, report.id)
    redactor = Redactor(
        _build_rules(session, report, raw), pseudonym_map.open_names(before, get_vault()) if before else None
    )
    _redact_content(redactor, raw)
    redactor.learn_names()
    content = _redact_content(redactor, raw)
    content["hosts"] = [
        {name: value for name, value in host.items() if name != "id"} for host in content["hosts"]
    ]
    content["replaced"] = dict(sorted(redactor.counts.items()))
    return FrozenContent(raw, content, redactor)


def _redact_content(redactor: Redactor, raw: Json) -> Json:
    return {
        name: _redact_trees(redactor, value)
        if name == "trees"
        else redactor.redact_value({name: value}, own=OWN_FIELDS)[name]
        for name, value in raw.items()
    }


def _build_rules(session: Session, report: Report, raw: Json) -> RedactionRules:
    hosts, users = queries.list_known_names(session)
    return RedactionRules(
        frozenset(report.kinds),
        frozenset(
            name for name in {*hosts, *(host["host"] for host in raw["hosts"])} if not _is_address(name)
        ),
        users,
        frozenset(report.words),
    )


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _redact_trees(redactor: Redactor, trees: list[Json]) -> list[Json]:
    """Redact all names and modules of flame graphs, including frames too narrow to draw."""
    results = []
    for item in trees:
        tree = item["tree"]
        kernel = [kind in {"kernel", "pruned", "root", "idle"} for kind in tree["kind"]]
        names = [
            redactor.redact_frame(name, kernel=of) for name, of in zip(tree["name"], kernel, strict=True)
        ]
        modules = [redactor.redact_frame(name, kernel=True) for name in tree["module"]]
        displayed = {name: redactor.redact_text(item[name]) for name in ("host",)}
        frames = [redactor.redact_frame(name) for name in item["frames"]]
        results.append(
            {**item, **displayed, "frames": frames, "tree": {**tree, "name": names, "module": modules}}
        )
    return results


def _replace_non_finite(value: Any) -> Any:
    """Replace NaN and infinity by null, because JSON does not support them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _replace_non_finite(inside) for name, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item) for item in value]
    return value if isinstance(value, str | int | bool | None) else str(value)


def preview_redaction(
    session: Session, actor: Actor, store: ArtifactStore, report: Report
) -> tuple[FrozenContent, Json]:
    """Return the redacted content with its replacements, for the participants of the incident."""
    authorize(actor, "report.names")
    content = build_content(session, actor, store, report)
    replaced = [
        {"kind": item.kind, "original": item.original, "pseudonym": item.pseudonym}
        for item in preview.list_replaced(content.redactor)
    ]
    changed = [
        {"before": item.before, "after": item.after}
        for item in preview.list_changed(content.redactor, _list_lines(content.raw))
    ]
    return content, {
        "content": content.content,
        "counts": content.content["replaced"],
        "replaced": replaced,
        "changed": changed,
    }


def _list_lines(value: Any, name: str = "") -> Iterator[str]:
    """Return every text of a structure that comes from people or hosts."""
    if isinstance(value, str):
        if name not in OWN_FIELDS:
            yield from value.splitlines()
    elif isinstance(value, dict):
        for key, inside in value.items():
            if key != "tree":
                yield from _list_lines(inside, key)
    elif isinstance(value, list):
        for item in value:
            yield from _list_lines(item, name)


def freeze_report(session: Session, actor: Actor, store: ArtifactStore, report: Report) -> ReportVersion:
    """Create an immutable version. The report must be locked. Raises TooLargeError."""
    authorize(actor, "report.edit")
    content = build_content(session, actor, store, report)
    text = content.text
    if len(text) > MAX_BYTES:
        raise TooLargeError("report.too_large", mib=len(text) >> 20, most=MAX_BYTES >> 20)
    report.frozen += 1
    version = ReportVersion(
        id=new_uuid7(),
        report_id=report.id,
        number=report.frozen,
        content=text,
        counts=content.content["replaced"],
        hosts=[host["id"] for host in content.raw["hosts"]],
        sha256=compute_digest(text),
        created_by=actor.id,
    )
    pseudonym_map.seal_names(version, content.redactor.names, get_vault())
    session.add(version)
    session.flush()
    audit.record_action(
        session, actor, "report.freeze", "report", report.id, version=version.number, sha256=version.sha256
    )
    return version


def compute_digest(text: str) -> str:
    """Return the SHA-256 of the frozen content."""
    return hashlib.sha256(text.encode()).hexdigest()


def open_content(version: ReportVersion) -> Json:
    """Return the content of a version. Raises ConflictError if its bytes were altered."""
    if compute_digest(version.content) != version.sha256:
        raise ConflictError("report.altered", sha256=version.sha256)
    content: Json = json.loads(version.content)
    return content
