"""Build parts that several responses share: citations and sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from collectors.contract import Sentence
from culprit.domain.rules.finding import Citation
from culprit.evidence.context.schemas import ContextCitationResponse


def build_citation(citation: Citation) -> ContextCitationResponse:
    """Build the response of one citation."""
    return ContextCitationResponse(
        run=citation.run,
        collector=citation.collector,
        artifact=citation.artifact,
        part=citation.part,
        lines=list(citation.lines),
    )


def build_citations(citations: Iterable[Citation]) -> list[ContextCitationResponse]:
    """Build the responses of several citations."""
    return [build_citation(citation) for citation in citations]


def sentence_to_json(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence as a key with parameters."""
    return {"key": sentence.key, "params": dict(sentence.params)}
