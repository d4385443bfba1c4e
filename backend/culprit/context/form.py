"""What both answers are made of: places in artifacts, and sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from collectors.contract import Sentence
from culprit.context.schemas import ContextCited
from culprit.core.rules.contract import Citation


def citation(one: Citation) -> ContextCited:
    """A place as it is sent."""
    return ContextCited(
        run=one.run, collector=one.collector, artifact=one.artifact, part=one.part, lines=list(one.lines)
    )


def citations(places: Iterable[Citation]) -> list[ContextCited]:
    """Several places as they are sent."""
    return [citation(one) for one in places]


def sentence(one: Sentence) -> dict[str, Any]:
    """A sentence as it is sent."""
    return {"key": one.key, "params": dict(one.params)}
