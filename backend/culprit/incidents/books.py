"""Playbooks as incidents keep them: the version that was attached, whatever becomes of the catalogue."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from collectors.contract import Text
from culprit.core.playbooks.contract import END, Hypothesis, Playbook, Primary, Step
from culprit.models import Hypothesis as HypothesisRow
from culprit.playbooks.library import library

Json = dict[str, Any]
#: The playbook of what people thought of themselves: one step for each of their hypotheses.
OWN = "own"
_READER = TypeAdapter(Playbook)
#: Playbooks out of incidents that were read lately, by digest, the oldest first.
_KEPT: dict[str, Playbook] = {}
MOST_KEPT = 256
_NOTHING = Text("", "")
_LOOK = Text(
    "Pin what speaks for it or against it, and say which.", "请固定支持或反驳它的证据，并说明是哪一种。"
)


def content_of(playbook: Playbook) -> Json:
    """A playbook as JSON."""
    content: Json = _READER.dump_python(playbook, mode="json")
    return content


def digest_of(content: Json) -> str:
    """The SHA-256 of a playbook's canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def shipped(playbook_id: str) -> tuple[Playbook, Json, str] | None:
    """What the catalogue has now: the playbook, its JSON and its digest."""
    found = library().get(playbook_id)
    if found is None:
        return None
    content = content_of(found)
    return found, content, digest_of(content)


def kept(content: Json, digest: str) -> Playbook:
    """A playbook out of an incident; its digest stands for its content."""
    found = _KEPT.get(digest)
    if found is None:
        found = _READER.validate_json(json.dumps(content))
        while len(_KEPT) >= MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        _KEPT[digest] = found
    return found


def own(rows: Sequence[HypothesisRow]) -> Playbook | None:
    """What people thought of themselves as a playbook, each hypothesis with one step for a person."""
    mine = [one for one in rows if one.key.startswith(f"{OWN}/")]
    if not mine:
        return None
    names = [one.key.partition("/")[2] for one in mine]
    says = [Text(one.says["en"], one.says["zh"]) for one in mine]
    return Playbook(
        OWN, "method", _NOTHING, _NOTHING, (), (),
        tuple(
            Hypothesis(name, text, one.cause, Primary(**one.primary) if one.primary else None)
            for name, text, one in zip(names, says, mine, strict=True)
        ),
        tuple(
            Step(name, text, name, {"otherwise": to}, look=_LOOK)
            for name, text, to in zip(names, says, [*names[1:], END], strict=True)
        ),
    )  # fmt: skip
