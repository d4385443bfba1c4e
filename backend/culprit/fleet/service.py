"""What the views of the fleet say."""

from __future__ import annotations

from collections import Counter

from sqlalchemy.orm import Session

from culprit.auth.actor import Actor
from culprit.auth.policy import policy
from culprit.core.fleet import Cell, cells
from culprit.core.rules.use import PLACES, Place
from culprit.fleet import read
from culprit.fleet.schemas import (
    CellRead,
    FindingsHostRead,
    FindingsMatrixRead,
    UseHostRead,
    UseRead,
)
from culprit.kit.clock import now


def use(session: Session, actor: Actor, labels: read.Labels) -> UseRead:
    """The USE grid of the visible hosts with these labels."""
    policy(actor, "finding.read")
    seen, left_out = read.fleet(session, actor, labels)
    hosts: list[UseHostRead] = []
    shown: set[str] = set()
    for one in seen:
        found = cells(one.words)
        shown.update(cell.word.rule for cell in found.values())
        hosts.append(
            UseHostRead(**one.short(), cells={_column(place): _cell(cell) for place, cell in found.items()})
        )
    asks = Counter(_column(place) for place in PLACES.values())
    return UseRead(at=now(), hosts=hosts, rules=read.rules(shown), asks=dict(asks), left_out=left_out)


def _column(place: Place) -> str:
    return f"{place.resource}.{place.letter}"


def _cell(cell: Cell) -> CellRead:
    return CellRead(**read.word_values(cell.word), said=cell.said, fired=cell.fired)


def findings(session: Session, actor: Actor, labels: read.Labels) -> FindingsMatrixRead:
    """What fired where, of the visible hosts with these labels."""
    policy(actor, "finding.read")
    seen, left_out = read.fleet(session, actor, labels)
    fired = {word.rule for one in seen for word in one.words.values() if word.state == "fired"}
    hosts = []
    for one in seen:
        words = [word for rule, word in sorted(one.words.items()) if rule in fired]
        hosts.append(
            FindingsHostRead(
                **one.short(),
                fired=[read.word(word) for word in words if word.state == "fired"],
                inconclusive=[word.rule for word in words if word.state == "inconclusive"],
                quiet=[word.rule for word in words if word.state == "quiet"],
            )
        )
    return FindingsMatrixRead(at=now(), hosts=hosts, rules=read.rules(fired), left_out=left_out)
