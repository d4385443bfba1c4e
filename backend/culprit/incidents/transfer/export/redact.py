"""A document and its artifacts without names: one map of pseudonyms over all of it, for this bundle alone.

An artifact may only be changed where its parser reads the same out of it: what it reads, redacted, must be what it
reads of the redacted bytes. Where that does not hold, evidence would be forged, and where bytes are no text, nobody can
tell what is in them. Such artifacts are left out, and the document says why.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.parse.limits import Encoding, ImportRefused
from culprit.carried.form import Document
from culprit.core.redaction.kinds import PRESETS, Rules
from culprit.core.redaction.redactor import Redactor
from culprit.infra.artifacts import ArtifactAltered, ArtifactMissing, ArtifactStore
from culprit.infra.parts import StoredPart
from culprit.models import Run
from culprit.reports.queries import known_names
from culprit.workflows import parse_run

Json = dict[str, Any]
#: Text of one artifact that is looked through here; recordings are far larger, and no text.
MOST_TEXT = 16 << 20
_IDS = re.compile(
    r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))\Z"
)
_VIEW = re.compile(r"(/[a-z-]+(?:/[0-9a-f-]{36})?)")
#: Culprit's own words: ids of the catalogue, states, units, names of parts.
_OWN = frozenset(
    {
        "id", "key", "kind", "what", "metric", "collector", "part", "unit", "state", "rule", "measure", "read",
        "better", "outcome", "side", "role", "plan", "op", "axis", "event", "tab", "mode",
    }
)  # fmt: skip
#: Of each group of rows the fields that people or hosts wrote; the rest is Culprit's.
_WRITTEN: Mapping[str, tuple[str, ...]] = {
    "hosts": ("scope",),
    "playbooks": ("aside_reason",),
    "verdicts": ("note",),
    "pins": ("ref", "said"),
    "waivers": ("reason",),
    "outcomes": ("note",),
    "fixes": ("what", "command", "risk", "way_back"),
    "verifications": ("result", "failure"),
    "captures": ("collectors", "scope", "reason"),
    "runs": ("failure", "target"),
    "collectors": ("reason", "argv", "stderr_tail"),
    "comments": ("text",),
}
_PEOPLE = ("by", "aside_by")


def redacted(
    session: Session, store: ArtifactStore, document: Json, directory: Path
) -> tuple[Json, Mapping[str, Path]]:
    """The document without names, and the artifacts that were changed, by their new digests, as files there."""
    hosts, users = known_names(session)
    own_hosts = {one["name"] for one in document["hosts"]}
    redactor = Redactor(
        Rules(
            PRESETS["customer"],
            frozenset(one for one in {*hosts, *own_hosts} if not _is_address(one)),
            frozenset({*users, *_people(document)}),
        )
    )
    texts = _Texts(store, document)
    _told(redactor, document)
    for _, text in texts:
        redactor.text(text)
    redactor.learn()
    found = _told(redactor, document)
    changed = _artifacts(session, store, redactor, found, texts, directory)
    found["origin"]["redacted"] = True
    return Document.model_validate(found).model_dump(mode="json"), changed


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _people(document: Json) -> Iterator[str]:
    for rows in document.values():
        for row in rows if isinstance(rows, list) else ():
            yield from (row[name] for name in _PEOPLE if row.get(name))


def _told(redactor: Redactor, document: Json) -> Json:
    found = deepcopy(document)
    head = found["incident"]
    head["title"] = redactor.text(head["title"])[:1000]
    head["symptom"] = _value(redactor, head["symptom"], "")
    for one in found["hosts"]:
        one["name"] = redactor.pseudonym("host", one["name"])
    for one in found["hypotheses"]:
        if one["key"].startswith("own/"):
            one["says"] = {language: redactor.text(text)[:1000] for language, text in one["says"].items()}
    for group, names in _WRITTEN.items():
        for row in found[group]:
            row.update({name: _value(redactor, row[name], name) for name in names})
            row.update({name: redactor.pseudonym("user", row[name]) for name in _PEOPLE if row.get(name)})
    for pin in found["pins"]:
        view = _VIEW.match(pin["view"])
        pin["view"] = view[1] if view else "/incidents"
    for run in found["runs"]:
        run["boot_id"] = None
    return found


def _value(redactor: Redactor, value: Any, key: str) -> Any:
    """As the redactor does it, except for ids, digests and times, which look like secrets and name nobody."""
    if isinstance(value, str):
        return value if key in _OWN or _IDS.match(value) else redactor.field(key, value)
    if isinstance(value, Mapping):
        return {name: _value(redactor, inside, str(name)) for name, inside in value.items()}
    if isinstance(value, list):
        return [_value(redactor, one, key) for one in value]
    return value


class _Texts:
    """The artifacts that are text, by digest; of the others why they stay here."""

    def __init__(self, store: ArtifactStore, document: Json) -> None:
        self.store = store
        self.rows = {one["sha256"]: one for one in document["artifacts"] if one["left_out"] is None}
        self.left_out: dict[str, str] = {}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for sha256, one in self.rows.items():
            text = self._text(one)
            if text is not None:
                yield sha256, text

    def _text(self, one: Json) -> str | None:
        try:
            part = StoredPart(
                one["sha256"], one["size"], self.store.path(one["sha256"]), cast(Encoding, one["encoding"])
            )
            data = part.read(MOST_TEXT + 1)
        except (ArtifactMissing, ArtifactAltered, FileNotFoundError):
            self.left_out[one["sha256"]] = "gone"
            return None
        except ImportRefused:
            self.left_out[one["sha256"]] = "no_text"
            return None
        if len(data) > MOST_TEXT:
            self.left_out[one["sha256"]] = "too_large"
            return None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            self.left_out[one["sha256"]] = "no_text"
            return None
        return text


def _artifacts(  # noqa: PLR0917
    session: Session, store: ArtifactStore, redactor: Redactor, document: Json, texts: _Texts, directory: Path
) -> Mapping[str, Path]:
    written: dict[str, tuple[str, Path, int]] = {}
    for number, (sha256, text) in enumerate(texts):
        said = redactor.text(text)
        if said != text:
            path, data = directory / f"redacted-{number}", said.encode()
            path.write_bytes(data)
            written[sha256] = hashlib.sha256(data).hexdigest(), path, len(data)
    by_run: dict[str, list[Json]] = {}
    for one in document["artifacts"]:
        if one["left_out"] is None:
            one["left_out"] = texts.left_out.get(one["sha256"])
        if one["left_out"] is None and one["sha256"] in written:
            by_run.setdefault(one["run"], []).append(one)
    for run, rows in by_run.items():
        same = _same_collectors(session, store, redactor, UUID(run), written, directory)
        for one in rows:
            if one["collector"] is not None and UUID(one["collector"]) not in same:
                one["left_out"] = "reads_otherwise"
    return _renamed(document, written)


def _renamed(document: Json, written: Mapping[str, tuple[str, Path, int]]) -> Mapping[str, Path]:
    """What was changed is another artifact. What was left out keeps no digest by which others could look for it."""
    changed: dict[str, Path] = {}
    for one in document["artifacts"]:
        if one["left_out"] is not None:
            one["sha256"] = "0" * 64
        elif one["sha256"] in written:
            one["sha256"], path, one["size"] = written[one["sha256"]]
            one["encoding"] = "identity"
            changed[one["sha256"]] = path
    return changed


def _same_collectors(  # noqa: PLR0917
    session: Session,
    store: ArtifactStore,
    redactor: Redactor,
    run_id: UUID,
    written: Mapping[str, tuple[str, Path, int]],
    directory: Path,
) -> set[UUID]:
    """The collectors of a run of whose redacted bytes their parsers read what they read before, redacted.

    A profile is read by a task of its own: one of changed bytes would be another recording.
    """

    def swapped(order: Json) -> Json:
        parts = {
            name: part
            if part["sha256"] not in written
            else {
                "sha256": written[part["sha256"]][0],
                "size": written[part["sha256"]][2],
                "encoding": "identity",
                "path": str(written[part["sha256"]][1]),
            }
            for name, part in order["parts"].items()
        }
        return {**order, "parts": parts}

    before = _readings(session, store, run_id, directory / f"{run_id}-before", lambda order: order)
    after = _readings(session, store, run_id, directory / f"{run_id}-after", swapped)
    return {
        one
        for one in before.keys() & after.keys()
        if not before[one][0].get("profiles")
        and _value(redactor, before[one][0], "") == after[one][0]
        and before[one][1] == after[one][1]
    }


def _readings(
    session: Session, store: ArtifactStore, run_id: UUID, directory: Path, change: Callable[[Json], Json]
) -> dict[UUID, tuple[Json, bytes]]:
    run = session.get_one(Run, run_id)
    target = (run.facts or {}).get("target")
    work = parse_run.Work(run_id, run.fence, run.clock, {"target": target} if target else {})
    parse_run.gather(session, store, work)
    for job in work.jobs:
        job.order = change(job.order)
    directory.mkdir()
    parse_run.read_all(work, directory, parse_run.LIMITS)
    return {one.run_collector_id: (one.parsed, one.blob) for one in work.readings if one.failure is None}
