"""Whose network namespace a network script saw."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Sentence
from collectors.parse.sampled import Samples


def seen(samples: Samples) -> tuple[Mapping[str, object], tuple[Sentence, ...]]:
    """The fact `namespace` (own or target), and the reader's warnings with one for a closed namespace."""
    told = samples.of("namespace")
    word = told[-1].body.strip() if told else b""
    if word == b"closed":
        return {"namespace": "own"}, (*samples.warnings, Sentence("warning.namespace_closed"))
    return {"namespace": "target" if word == b"target" else "own"}, samples.warnings
