"""Queries about the findings of the runs of an incident."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import cast, column, func, select, true, union_all
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.orm import Session

from culprit.incidents.records.queries import Rows
from culprit.infra.models.analysis.evaluation import Evaluation
from culprit.infra.models.analysis.finding import StoredFinding

DOUBTFUL_RULES_PATH = "$[*] ? (@.numbers.size() > 0 && @.reason != null).rule"


def list_findings(
    session: Session, run_ids: Collection[UUID], rules: Collection[str]
) -> Sequence[StoredFinding]:
    """List the stored findings (matched and inconclusive) of these rules on these runs."""
    query = (
        select(StoredFinding)
        .where(StoredFinding.run_id.in_(run_ids), StoredFinding.rule.in_(rules))
        .order_by(StoredFinding.id)
    )
    return session.scalars(query).all()


def list_matched_rules(session: Session, run_ids: Collection[UUID], rules: Collection[str]) -> Rows:
    """List (run_id, rule) of the stored findings."""
    query = select(StoredFinding.run_id, StoredFinding.rule).where(
        StoredFinding.run_id.in_(run_ids), StoredFinding.rule.in_(rules)
    )
    return session.execute(query.distinct()).all()


def list_rule_summaries(session: Session, run_ids: Collection[UUID]) -> Rows:
    """List (run_id, not_matched, not_evaluated, doubted): rules by result; doubted rules have a number and a reason."""

    def names(stored: Any, path: str) -> Any:
        return func.jsonb_path_query_array(stored, cast(path, JSONPATH), type_=JSONB)

    query = select(
        Evaluation.run_id,
        names(Evaluation.not_matched, "$[*].rule").label("not_matched"),
        names(Evaluation.not_evaluated, "$[*].rule").label("not_evaluated"),
        names(Evaluation.not_evaluated, DOUBTFUL_RULES_PATH).label("doubted"),
    )
    return session.execute(query.where(Evaluation.run_id.in_(run_ids))).all()


def list_unevaluated_findings(session: Session, run_ids: Collection[UUID], rules: Collection[str]) -> Rows:
    """List (run_id, finding as JSON) of these rules if they did not match or were not evaluated."""
    selects = []
    for stored in (Evaluation.not_matched, Evaluation.not_evaluated):
        message = func.jsonb_array_elements(stored).table_valued(column("value", JSONB), name="finding")
        selects.append(
            select(Evaluation.run_id, message.c.value.label("finding"))
            .select_from(Evaluation)
            .join(message, true())
            .where(Evaluation.run_id.in_(run_ids), message.c.value["rule"].astext.in_(list(rules)))
        )
    return session.execute(union_all(*selects)).all()
