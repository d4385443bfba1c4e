"""Which causes are suspected and not settled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.rule import Rule


def list_open_hypotheses(
    findings: Iterable[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    settled: Iterable[str],
) -> list[str]:
    """Return the causes that are not settled and that a matched or inconclusive rule suspects.

    An inconclusive rule also keeps the causes open that its match would support: more samples decide it.
    """
    suspected = {
        cause
        for finding in findings
        if finding.state in ("matched", "inconclusive") and finding.rule in rules
        for cause in (
            *rules[finding.rule].suspects,
            *(rules[finding.rule].causes if finding.state == "inconclusive" else ()),
        )
    }
    return [cause for cause in causes if cause in suspected - set(settled)]
