"""Every SELECT about what rules said of the runs of an incident."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import cast, column, func, select, true, union_all
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.orm import Session

from culprit.incidents.queries import Rows
from culprit.models import Evaluation, Finding

DOUBTED = "$[*] ? (@.numbers.size() > 0 && @.reason != null).rule"


def findings(session: Session, run_ids: Collection[UUID], rules: Collection[str]) -> Sequence[Finding]:
    """What fired, or nearly did, on these runs by these rules."""
    query = select(Finding).where(Finding.run_id.in_(run_ids), Finding.rule.in_(rules)).order_by(Finding.id)
    return session.scalars(query).all()


def spoken(session: Session, run_ids: Collection[UUID], rules: Collection[str]) -> Rows:
    """(run_id, rule) of what fired, or nearly did."""
    query = select(Finding.run_id, Finding.rule).where(Finding.run_id.in_(run_ids), Finding.rule.in_(rules))
    return session.execute(query.distinct()).all()


def named(session: Session, run_ids: Collection[UUID]) -> Rows:
    """(run_id, quiet, not_evaluated, doubted): the rules of each kind; doubted ones have a number and a reason."""

    def names(stored: Any, path: str) -> Any:
        return func.jsonb_path_query_array(stored, cast(path, JSONPATH), type_=JSONB)

    query = select(
        Evaluation.run_id,
        names(Evaluation.quiet, "$[*].rule").label("quiet"),
        names(Evaluation.not_evaluated, "$[*].rule").label("not_evaluated"),
        names(Evaluation.not_evaluated, DOUBTED).label("doubted"),
    )
    return session.execute(query.where(Evaluation.run_id.in_(run_ids))).all()


def silent(session: Session, run_ids: Collection[UUID], rules: Collection[str]) -> Rows:
    """(run_id, finding as JSON) of these rules where they were quiet or could not be asked."""
    kept = []
    for stored in (Evaluation.quiet, Evaluation.not_evaluated):
        said = func.jsonb_array_elements(stored).table_valued(column("value", JSONB), name="said")
        kept.append(
            select(Evaluation.run_id, said.c.value.label("said"))
            .select_from(Evaluation)
            .join(said, true())
            .where(Evaluation.run_id.in_(run_ids), said.c.value["rule"].astext.in_(list(rules)))
        )
    return session.execute(union_all(*kept)).all()
