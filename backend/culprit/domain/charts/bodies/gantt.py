"""What lanes were at, span by span: threads over their system calls, CPUs over their tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from culprit.core.rules.contract import Citation
from culprit.core.visuals.bodies.figure import Label


@dataclass(frozen=True, slots=True)
class Span:
    """One span of a lane: from `at_ms` after the beginning for `ms`, read from `line`.

    `cls` is one of the body's classes; `mark` a word that must not be missed (an error's name).
    """

    at_ms: float
    ms: float
    cls: str
    label: str
    line: int
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Bracket:
    """What spans of a lane were for: a request from `at_ms` for `ms`, read from `line`.

    `open`: its end was not seen.
    """

    at_ms: float
    ms: float
    label: str
    line: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane with its spans in order of time; they may overlap. `cite` lacks the lines, which spans have."""

    id: str
    label: Label
    cite: Citation
    spans: tuple[Span, ...]
    brackets: tuple[Bracket, ...] = ()


@dataclass(frozen=True, slots=True)
class Gantt:
    """Lanes over one axis of `span_ms` milliseconds that begins at `start_ms` (UTC since 1970)."""

    start_ms: float
    span_ms: float
    classes: tuple[tuple[str, Label], ...]
    lanes: tuple[Lane, ...]
    kind: Literal["gantt"] = "gantt"
