"""Evaluate all rules on stored data and rank the causes."""

from __future__ import annotations

import structlog

from culprit.domain.rules.evaluate import READING_ERRORS, ThresholdValues, evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.measures.service_time.accounts import ServiceTimes, read_service_times
from culprit.domain.rules.ranking.rank import Ranking, rank_causes
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import RuleInput
from culprit.domain.rules.view import HostView

log = structlog.get_logger("culprit.evaluation")


def evaluate_view(view: HostView, thresholds: ThresholdValues) -> tuple[list[Finding], Ranking]:
    """Return the findings of all rules, and the ranked causes.

    Hosts return unexpected data. A measure that fails on it is logged and its rules are `not_evaluated`;
    if the time accounts fail, causes are ranked without them. All other rules still count.
    """
    findings = evaluate_rules(RULES.values(), view, thresholds, _log_failure)
    return findings, rank_causes(findings, RULES, CAUSES, _read_times(view))


def _read_times(view: HostView) -> ServiceTimes:
    try:
        return read_service_times(view)
    except READING_ERRORS as error:
        log.exception("time_accounts_failed", error=type(error).__name__)
        return ServiceTimes()


def _log_failure(read: RuleInput, error: Exception) -> None:
    log.error("measure_failed", measure=read.id, exc_info=error)
