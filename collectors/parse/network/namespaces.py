"""Whose network namespace a network script saw."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import Sentence
from collectors.parse.proc.sampled import Samples


def read_namespace(samples: Samples) -> tuple[Mapping[str, object], tuple[Sentence, ...]]:
    """The fact `namespace` (own or target), and the reader's warnings with one for a closed namespace."""
    reported_samples = samples.of("namespace")
    word = reported_samples[-1].body.strip() if reported_samples else b""
    if word == b"closed":
        return {"namespace": "own"}, (*samples.warnings, Sentence("warning.namespace_closed"))
    return {"namespace": "target" if word == b"target" else "own"}, samples.warnings
