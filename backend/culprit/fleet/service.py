"""What the views of the fleet say."""

from __future__ import annotations

from sqlalchemy.orm import Session

from culprit.core.fleet import Cell, cells
from culprit.core.rules.use import PLACES, Place
from culprit.fleet import read
from culprit.fleet.schemas import (
    FindingsHostRead,
    FindingsMatrixRead,
    FleetCellRead,
    UseHostRead,
    UseRead,
)
from culprit.kit.clock import now


def use(session: Session, known: read.Glance) -> UseRead:
    """The USE grid of these hosts."""
    seen, left_out = read.fleet(session, known)
    hosts = [
        UseHostRead(
            **one.short(), cells={_column(place): _cell(cell) for place, cell in cells(one.words).items()}
        )
        for one in seen
    ]
    return UseRead(at=now(), hosts=hosts, rules=read.rules(PLACES), left_out=left_out)


def _column(place: Place) -> str:
    return f"{place.resource}.{place.letter}"


def _cell(cell: Cell) -> FleetCellRead:
    return FleetCellRead(**read.word_values(cell.word), said=cell.said, fired=cell.fired)


def findings(session: Session, known: read.Glance) -> FindingsMatrixRead:
    """What fired where, of these hosts."""
    seen, left_out = read.fleet(session, known)
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
