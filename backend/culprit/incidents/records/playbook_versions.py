"""Versions of playbooks that are attached to incidents, independent of later changes of the catalog."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache

from pydantic import TypeAdapter

from collectors.contract import Text
from culprit.analysis.playbooks.library import load_catalog
from culprit.domain.playbooks.model import END, Playbook, PlaybookHypothesis, PlaybookStep, PrimaryNumber
from culprit.infra.models.incidents.hypothesis import Hypothesis as HypothesisRow
from culprit.json_types import Json

#: The playbook of hypotheses that users added: one step for each hypothesis.
CUSTOM_PLAYBOOK_ID = "own"
_READER = TypeAdapter(Playbook)
#: Recently parsed playbooks of incidents, by digest, the oldest first.
_CACHE: dict[str, Playbook] = {}
MAX_CACHED = 256
_NOTHING = Text("", "")
_LOOK = Text(
    "Pin the evidence for or against it, and give a verdict.", "请固定支持或反驳它的证据，并给出判定。"
)


def playbook_to_json(playbook: Playbook) -> Json:
    """Return a playbook as JSON."""
    content: Json = _READER.dump_python(playbook, mode="json")
    return content


def compute_digest(content: Json) -> str:
    """Return the SHA-256 of a playbook's canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def get_catalog_version(playbook_id: str) -> tuple[Playbook, Json, str] | None:
    """Return the playbook of the catalog with its JSON and digest, or None."""
    result = load_catalog().get(playbook_id)
    if result is None:
        return None
    content = playbook_to_json(result)
    return result, content, compute_digest(content)


def get_attached_version(content: Json, digest: str) -> Playbook:
    """Parse a playbook of an incident; cached by its digest."""
    result = _CACHE.get(digest)
    if result is None:
        result = _READER.validate_json(json.dumps(content))
        while len(_CACHE) >= MAX_CACHED:
            _CACHE.pop(next(iter(_CACHE)), None)
        _CACHE[digest] = result
    return result


def build_custom_playbook(rows: Sequence[HypothesisRow]) -> Playbook | None:
    """Build the playbook of hypotheses that users added, each with one step for a person; None without any."""
    mine = [row for row in rows if row.key.startswith(f"{CUSTOM_PLAYBOOK_ID}/")]
    if not mine:
        return None
    names = [item.key.partition("/")[2] for item in mine]
    texts = [Text(item.summary["en"], item.summary["zh"]) for item in mine]
    return Playbook(
        CUSTOM_PLAYBOOK_ID, "method", _NOTHING, _NOTHING, (), (),
        tuple(
            PlaybookHypothesis(name, text, item.cause, PrimaryNumber(**item.primary) if item.primary else None)
            for name, text, item in zip(names, texts, mine, strict=True)
        ),
        tuple(
            PlaybookStep(name, text, name, {"otherwise": to}, instructions=_LOOK)
            for name, text, to in zip(names, texts, [*names[1:], END], strict=True)
        ),
    )  # fmt: skip
