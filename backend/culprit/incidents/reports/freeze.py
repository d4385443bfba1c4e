"""From what is known to what may leave: redacted, looked at, frozen."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.redaction import preview
from culprit.core.redaction.kinds import Rules
from culprit.core.redaction.redactor import Redactor
from culprit.incidents import journal
from culprit.infra.artifacts import ArtifactStore
from culprit.infra.secrets import vault
from culprit.kit.errors import Conflict, TooLarge
from culprit.kit.uuid7 import uuid7
from culprit.models import Report, ReportVersion
from culprit.reports import gather, private_map, queries

Json = dict[str, Any]
MAX_BYTES = 24 << 20
#: Culprit's own words and its hashes: nothing that a host or a person wrote.
OWN = frozenset(
    {
        "format", "culprit", "language", "zone", "preset", "redacted", "at", "from", "to", "opened_at", "resolved_at",
        "detected_at", "mitigated_at", "due", "rule", "rule_title", "measure", "measure_title", "op", "key", "step",
        "cause", "state", "standing", "grade", "verdict", "confidence", "outcome", "better", "role", "kind",
        "sha256", "cites", "id", "not_covered", "collector",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A document that may leave, with what was done to it. `raw` may not."""

    raw: Json
    content: Json
    redactor: Redactor

    @property
    def text(self) -> str:
        """The bytes that are frozen, as ASCII text."""
        return canonical(self.content)


def canonical(content: Json) -> str:
    """JSON that is the same for the same content."""
    return json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)


def make(session: Session, actor: Actor, store: ArtifactStore, report: Report) -> Made:
    """The report as it would leave now. Pseudonyms are those of the versions before it. Raises Conflict."""
    incident = journal.found(session, actor, report.incident_id)
    raw = _finite(gather.document(session, actor, store, incident, report))
    before = queries.newest(session, report.id)
    redactor = Redactor(_rules(session, report, raw), private_map.opened(before, vault()) if before else None)
    _redacted(redactor, raw)
    redactor.learn()
    content = _redacted(redactor, raw)
    content["hosts"] = [
        {name: value for name, value in one.items() if name != "id"} for one in content["hosts"]
    ]
    content["replaced"] = dict(sorted(redactor.counts.items()))
    return Made(raw, content, redactor)


def _redacted(redactor: Redactor, raw: Json) -> Json:
    return {
        name: _trees(redactor, value) if name == "trees" else redactor.value({name: value}, own=OWN)[name]
        for name, value in raw.items()
    }


def _rules(session: Session, report: Report, raw: Json) -> Rules:
    hosts, users = queries.known_names(session)
    return Rules(
        frozenset(report.kinds),
        frozenset(name for name in {*hosts, *(one["host"] for one in raw["hosts"])} if not _is_address(name)),
        users,
        frozenset(report.words),
    )


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _trees(redactor: Redactor, trees: list[Json]) -> list[Json]:
    """Flame graphs: every name and module, drawn or too narrow to be."""
    found = []
    for one in trees:
        tree = one["tree"]
        kernel = [kind in {"kernel", "pruned", "root", "idle"} for kind in tree["kind"]]
        names = [redactor.frame(name, kernel=of) for name, of in zip(tree["name"], kernel, strict=True)]
        modules = [redactor.frame(name, kernel=True) for name in tree["module"]]
        shown = {name: redactor.text(one[name]) for name in ("host",)}
        frames = [redactor.frame(name) for name in one["frames"]]
        found.append({**one, **shown, "frames": frames, "tree": {**tree, "name": names, "module": modules}})
    return found


def _finite(value: Any) -> Any:
    """Numbers that are none become null: JSON has no word for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(inside) for name, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value if isinstance(value, str | int | bool | None) else str(value)


def look(session: Session, actor: Actor, store: ArtifactStore, report: Report) -> tuple[Made, Json]:
    """What would leave, with what was replaced in it: for the people of the incident."""
    policy(actor, "report.names")
    made = make(session, actor, store, report)
    replaced = [
        {"kind": one.kind, "original": one.original, "pseudonym": one.pseudonym}
        for one in preview.replaced(made.redactor)
    ]
    changed = [
        {"before": one.before, "after": one.after} for one in preview.changed(made.redactor, _lines(made.raw))
    ]
    return made, {
        "content": made.content,
        "counts": made.content["replaced"],
        "replaced": replaced,
        "changed": changed,
    }


def _lines(value: Any, name: str = "") -> Iterator[str]:
    """Every text of a structure that people or hosts wrote."""
    if isinstance(value, str):
        if name not in OWN:
            yield from value.splitlines()
    elif isinstance(value, dict):
        for key, inside in value.items():
            if key != "tree":
                yield from _lines(inside, key)
    elif isinstance(value, list):
        for one in value:
            yield from _lines(one, name)


def freeze(session: Session, actor: Actor, store: ArtifactStore, report: Report) -> ReportVersion:
    """A new version of it, which nobody changes any more. The report must be locked. Raises TooLarge."""
    policy(actor, "report.edit")
    made = make(session, actor, store, report)
    text = made.text
    if len(text) > MAX_BYTES:
        raise TooLarge("report.too_large", mib=len(text) >> 20, most=MAX_BYTES >> 20)
    report.frozen += 1
    version = ReportVersion(
        id=uuid7(),
        report_id=report.id,
        number=report.frozen,
        content=text,
        counts=made.content["replaced"],
        hosts=[one["id"] for one in made.raw["hosts"]],
        sha256=digest(text),
        created_by=actor.id,
    )
    private_map.seal(version, made.redactor.names, vault())
    session.add(version)
    session.flush()
    audit.record(
        session, actor, "report.freeze", "report", report.id, version=version.number, sha256=version.sha256
    )
    return version


def digest(text: str) -> str:
    """SHA-256 of what was frozen."""
    return hashlib.sha256(text.encode()).hexdigest()


def opened(version: ReportVersion) -> Json:
    """What a version says. Raises Conflict where its bytes are not those that were frozen."""
    if digest(version.content) != version.sha256:
        raise Conflict("report.altered", sha256=version.sha256)
    content: Json = json.loads(version.content)
    return content
