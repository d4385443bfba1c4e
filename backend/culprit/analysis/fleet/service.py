"""Assemble the responses of the fleet views."""

from __future__ import annotations

from sqlalchemy.orm import Session

from culprit.analysis.fleet import responses
from culprit.analysis.fleet.schemas import (
    FindingsHostResponse,
    FindingsMatrixResponse,
    UseCellResponse,
    UseGridResponse,
    UseHostResponse,
)
from culprit.domain.hosts.fleet import HostUseCell, build_use_cells
from culprit.domain.rules.registry import USE_BY_RULE
from culprit.domain.rules.use_method import Use
from culprit.infra.db.clock import utc_now


def build_use_grid(session: Session, snapshot: responses.FleetSnapshot) -> UseGridResponse:
    """Return the USE grid of these hosts."""
    rows, left_out = responses.load_hosts(session, snapshot)
    hosts = [
        UseHostResponse(
            **item.build_fields(),
            cells={_column_id(use): _build_cell(cell) for use, cell in build_use_cells(item.results).items()},
        )
        for item in rows
    ]
    return UseGridResponse(
        at=utc_now(), hosts=hosts, rules=responses.describe_rules(USE_BY_RULE), left_out=left_out
    )


def _column_id(use: Use) -> str:
    return f"{use.resource}.{use.use_category}"


def _build_cell(cell: HostUseCell) -> UseCellResponse:
    return UseCellResponse(
        **responses.build_finding_fields(cell.result), evaluated=cell.evaluated, matched=cell.matched
    )


def build_findings_matrix(session: Session, snapshot: responses.FleetSnapshot) -> FindingsMatrixResponse:
    """Return the rules that matched on these hosts."""
    rows, left_out = responses.load_hosts(session, snapshot)
    matched = {result.rule for item in rows for result in item.results.values() if result.state == "matched"}
    hosts = []
    for item in rows:
        results = [result for rule, result in sorted(item.results.items()) if rule in matched]
        hosts.append(
            FindingsHostResponse(
                **item.build_fields(),
                matched=[responses.build_finding(result) for result in results if result.state == "matched"],
                inconclusive=[result.rule for result in results if result.state == "inconclusive"],
                not_matched=[result.rule for result in results if result.state == "not_matched"],
            )
        )
    return FindingsMatrixResponse(
        at=utc_now(), hosts=hosts, rules=responses.describe_rules(matched), left_out=left_out
    )
