"""Redact a document and its artifacts with one map of pseudonyms, for this bundle only.

An artifact is changed only if its parser reads the same from the redacted bytes, apart from the replaced names.
Otherwise evidence would change, so the artifact is left out with the reason. Binary artifacts are left out too, because
their content cannot be redacted. Finished profiles take the place of recordings, see `redact_profiles`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy.orm import Session

from collectors.profiles.limits import Encoding, ImportRefusedError
from culprit.domain.redaction.kinds import PRESETS, RedactionRules
from culprit.domain.redaction.redactor import MIN_NAME_LENGTH, Redactor
from culprit.evidence.parsing import parse_run
from culprit.incidents.reports.queries import list_known_names
from culprit.incidents.transfer.bundle.document import BundleDocument
from culprit.incidents.transfer.export.redact_profiles import MAX_EVENT, ProfileTables
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.artifacts.stored_part import StoredPart
from culprit.infra.models.captures.run import Run
from culprit.json_types import Json

#: Maximum size of a text artifact that is redacted.
MAX_TEXT = 16 << 20
_IDS = re.compile(
    r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))\Z"
)
_VIEW = re.compile(r"(/[a-z-]+(?:/[0-9a-f-]{36})?)")
#: Fields with values of Culprit: catalog IDs, states, units, names of parts.
_SAFE_FIELDS = frozenset(
    {
        "id", "key", "kind", "what", "metric", "collector", "part", "unit", "state", "rule", "measure", "read",
        "better", "outcome", "side", "role", "plan", "op", "axis", "event", "tab", "mode",
    }
)  # fmt: skip
#: Fields of each group with text of users or hosts.
_FREE_TEXT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "hosts": ("scope",),
    "playbooks": ("dismissed_reason",),
    "verdicts": ("note",),
    "pins": ("ref", "snapshot"),
    "waivers": ("reason",),
    "outcomes": ("note",),
    "fixes": ("what", "command", "risk", "rollback"),
    "verifications": ("result", "failure"),
    "captures": ("collectors", "scope", "reason"),
    "runs": ("failure", "target"),
    "collectors": ("reason", "argv", "stderr_tail"),
    "comments": ("text",),
}
_PEOPLE = ("by", "dismissed_by")


def redact_document(
    session: Session, store: ArtifactStore, document: Json, directory: Path
) -> tuple[Json, Mapping[str, Path]]:
    """Return the redacted document, and the changed artifacts as files by their new digests."""
    hosts, users = list_known_names(session)
    names = {*hosts, *(host["name"] for host in document["hosts"])}
    names = {name for name in names if not _is_address(name)}
    redactor = Redactor(
        RedactionRules(
            PRESETS["customer"],
            frozenset({*names, *_list_short_names(names)}),
            frozenset({*users, *_redact_people(document)}),
        )
    )
    tables = ProfileTables(session, store, document)
    texts = _TextRedactor(store, document, tables.replaced)
    _redact_message(redactor, document)
    for _, text in texts:
        redactor.redact_text(text)
    tables.learn_names(redactor)
    redactor.learn_names()
    result = _redact_message(redactor, document)
    changed = {
        **_redact_artifacts(session, store, redactor, result, texts, directory),
        **tables.write(redactor, result, directory),
    }
    result["origin"]["redacted"] = True
    return BundleDocument.model_validate(result).model_dump(mode="json"), changed


def _list_short_names(names: Iterable[str]) -> Iterator[str]:
    """Yield names without their domain, which recordings have, except numbers and possible ordinary words."""
    for name in names:
        first, dot, _ = name.partition(".")
        if dot and len(first) >= MIN_NAME_LENGTH and not first.isalpha() and not first.isdigit():
            yield first


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _redact_people(document: Json) -> Iterator[str]:
    for rows in document.values():
        for row in rows if isinstance(rows, list) else ():
            yield from (row[name] for name in _PEOPLE if row.get(name))


def _redact_message(redactor: Redactor, document: Json) -> Json:
    result = deepcopy(document)
    head = result["incident"]
    head["title"] = redactor.redact_text(head["title"])[:1000]
    head["symptom"] = _redact_value(redactor, head["symptom"], "")
    for host in result["hosts"]:
        host["name"] = redactor.assign_pseudonym("host", host["name"])
    for host in result["hypotheses"]:
        if host["key"].startswith("own/"):
            host["summary"] = {
                language: redactor.redact_text(text)[:1000] for language, text in host["summary"].items()
            }
    for group, names in _FREE_TEXT_FIELDS.items():
        for row in result[group]:
            row.update({name: _redact_value(redactor, row[name], name) for name in names})
            row.update(
                {name: redactor.assign_pseudonym("user", row[name]) for name in _PEOPLE if row.get(name)}
            )
    for pin in result["pins"]:
        view = _VIEW.match(pin["view"])
        pin["view"] = view[1] if view else "/incidents"
    for run in result["runs"]:
        run["boot_id"] = None
    for profile in result["profiles"]:
        profile["event"] = redactor.redact_frame(profile["event"])[:MAX_EVENT]
    return result


def _redact_value(redactor: Redactor, value: Any, key: str) -> Any:
    """Redact a value, except IDs, digests and times: they look like secrets but name nothing."""
    if isinstance(value, str):
        return value if key in _SAFE_FIELDS or _IDS.match(value) else redactor.redact_field(key, value)
    if isinstance(value, Mapping):
        return {name: _redact_value(redactor, inside, str(name)) for name, inside in value.items()}
    if isinstance(value, list):
        return [_redact_value(redactor, item, key) for item in value]
    return value


class _TextRedactor:
    """The text artifacts by digest; for others the reason of omission. `replaced` are those left out for profiles."""

    def __init__(self, store: ArtifactStore, document: Json, replaced: Collection[str]) -> None:
        self.store = store
        self.rows = {
            artifact["sha256"]: artifact
            for artifact in document["artifacts"]
            if artifact["left_out"] is None and artifact["sha256"] not in replaced
        }
        self.left_out: dict[str, str] = dict.fromkeys(replaced, "as_profile")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for sha256, item in self.rows.items():
            text = self._read_text(item)
            if text is not None:
                yield sha256, text

    def _read_text(self, item: Json) -> str | None:
        try:
            part = StoredPart(
                item["sha256"],
                item["size"],
                self.store.path(item["sha256"]),
                cast(Encoding, item["encoding"]),
            )
            data = part.read(MAX_TEXT + 1)
        except (ArtifactMissingError, ArtifactAlteredError, FileNotFoundError):
            self.left_out[item["sha256"]] = "gone"
            return None
        except ImportRefusedError:
            self.left_out[item["sha256"]] = "no_text"
            return None
        if len(data) > MAX_TEXT:
            self.left_out[item["sha256"]] = "too_large"
            return None
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            self.left_out[item["sha256"]] = "no_text"
            return None
        return text


def _redact_artifacts(  # noqa: PLR0917
    session: Session,
    store: ArtifactStore,
    redactor: Redactor,
    document: Json,
    texts: _TextRedactor,
    directory: Path,
) -> Mapping[str, Path]:
    written: dict[str, tuple[str, Path, int]] = {}
    for number, (sha256, text) in enumerate(texts):
        message = redactor.redact_text(text)
        if message != text:
            path, data = directory / f"redacted-{number}", message.encode()
            path.write_bytes(data)
            written[sha256] = hashlib.sha256(data).hexdigest(), path, len(data)
    by_run: dict[str, list[Json]] = {}
    for artifact in document["artifacts"]:
        if artifact["left_out"] is None:
            artifact["left_out"] = texts.left_out.get(artifact["sha256"])
        if artifact["left_out"] is None and artifact["sha256"] in written:
            by_run.setdefault(artifact["run"], []).append(artifact)
    for run, rows in by_run.items():
        same = _list_same_collectors(session, store, redactor, UUID(run), written, directory)
        for artifact in rows:
            if artifact["collector"] is not None and UUID(artifact["collector"]) not in same:
                artifact["left_out"] = "reads_otherwise"
    return _redact_artifact(document, written)


def _redact_artifact(document: Json, written: Mapping[str, tuple[str, Path, int]]) -> Mapping[str, Path]:
    """Set the new digests of changed artifacts, and remove the digests of omitted ones."""
    changed: dict[str, Path] = {}
    for artifact in document["artifacts"]:
        if artifact["left_out"] is not None:
            artifact["sha256"] = "0" * 64
        elif artifact["sha256"] in written:
            artifact["sha256"], path, artifact["size"] = written[artifact["sha256"]]
            artifact["encoding"] = "identity"
            changed[artifact["sha256"]] = path
    return changed


def _list_same_collectors(  # noqa: PLR0917
    session: Session,
    store: ArtifactStore,
    redactor: Redactor,
    run_id: UUID,
    written: Mapping[str, tuple[str, Path, int]],
    directory: Path,
) -> set[UUID]:
    """Return the collectors of a run whose parsers read the same from the redacted bytes, apart from profiles."""

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

    before = _read_parsed(session, store, run_id, directory / f"{run_id}-before", lambda order: order)
    after = _read_parsed(session, store, run_id, directory / f"{run_id}-after", swapped)
    return {
        item
        for item in before.keys() & after.keys()
        if _redact_value(redactor, _drop_profiles(before[item][0]), "") == _drop_profiles(after[item][0])
        and before[item][1] == after[item][1]
    }


def _drop_profiles(parsed: Json) -> Json:
    """Profiles are built by another job, and are in the bundle as tables."""
    return {name: value for name, value in parsed.items() if name != "profiles"}


def _read_parsed(
    session: Session, store: ArtifactStore, run_id: UUID, directory: Path, change: Callable[[Json], Json]
) -> dict[UUID, tuple[Json, bytes]]:
    run = session.get_one(Run, run_id)
    target = (run.facts or {}).get("target")
    work = parse_run.ParseWork(run_id, run.fence, run.clock, {"target": target} if target else {})
    parse_run.collect_parse_jobs(session, store, work)
    for job in work.jobs:
        job.request = change(job.request)
    directory.mkdir()
    parse_run.parse_all(work, directory, parse_run.LIMITS)
    return {
        reading.run_collector_id: (reading.parsed, reading.blob)
        for reading in work.results
        if reading.failure is None
    }
