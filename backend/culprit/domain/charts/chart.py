"""The words of pictures: what a builder reads, and what it hands to whoever draws.

Everything here is an immutable value. A builder reads a view and makes visuals; a visual has a body of one kind,
which one renderer draws. Bodies are in `bodies`, one file per kind, and have bounded size whatever the host holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Subject
from culprit.core.rules.view import Reads, View
from culprit.core.visuals.bodies import Body

State = Literal["ok", "no_data"]

#: One builder draws at most so many pictures of one view (one per destination, per process, per device).
MAX_PER_BUILDER = 8


@dataclass(frozen=True, slots=True)
class Visual:
    """One picture. `id` is the builder's, with what it is about behind a colon where there are several.

    `body` is None where there is no data, and `reason` then says why. `left_out` counts what was not drawn because
    there was too much of it (always the least). `notes` say what a reader must know before believing the picture.
    """

    id: str
    builder: str
    title: Text
    subject: Subject = ()
    state: State = "ok"
    reason: Sentence | None = None
    body: Body | None = None
    left_out: int = 0
    notes: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class Builder:
    """One kind of picture: how to read it, what it reads, and the rules that it illustrates.

    `says` tells a person how to read the picture. `collectors` are those that it is made of, any of which suffices;
    `rules` are the ids of the findings that it fits. `build` yields nothing where none of its collectors came home.
    """

    id: str
    title: Text
    says: Text
    reads: Reads
    collectors: tuple[str, ...]
    rules: tuple[str, ...]
    build: Callable[[View], Sequence[Visual]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What one builder made of one view: at least one visual, if only to say why there is none."""

    builder: Builder
    visuals: tuple[Visual, ...] = field(default_factory=tuple)
