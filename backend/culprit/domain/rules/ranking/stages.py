"""Plan the next stage of a diagnosis: collectors that decide open hypotheses, or explain what is unexplained.

Together with the triage of 8 seconds and the transfer, a stage must leave the median time to a cause below 30 seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Tier
from collectors.registry import COLLECTORS
from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding, Subject
from culprit.domain.rules.ranking.deeper_checks import RequestedCheck, list_requested_checks
from culprit.domain.rules.ranking.rank import Ranking
from culprit.domain.rules.rule import Rule

MAX_STAGES = 3
#: Duration of collectors in later stages, by ID; other collectors run for the duration of the stage.
SECONDS: Mapping[str, int] = {
    **{"perf_record": 8, "perf_sched": 2, "perf_trace": 5, "offcpu": 5},
    # A few queries, with a pause between two readings of counters.
    **{"postgres_stats": 2, "mariadb_stats": 2, "dns_probe": 2, "certificates": 3},
}
DEFAULT_SECONDS = 5
#: Collectors that run one after the other may take this long together in one stage.
MAX_EXCLUSIVE_S = 15


@dataclass(frozen=True, slots=True)
class DiagnosisStage:
    """The collectors of a stage with their seconds, its hypotheses, and collectors that may not run.

    `about` is the scope of the stage; if it is empty, the stage has the scope of the diagnosis.
    """

    collectors: Mapping[str, int]
    hypotheses: tuple[str, ...]
    refused: tuple[str, ...]
    about: Subject


@dataclass(frozen=True, slots=True)
class DeeperLook:
    """A collector that was not run, for how many seconds it would run, and the causes that it decides."""

    collector: str
    seconds: int
    decides: tuple[str, ...]


def list_untried_collectors(
    ranking: Ranking, causes: Mapping[str, Cause], tried: Collection[str]
) -> list[DeeperLook]:
    """Return the collectors that decide causes that are neither named likely nor ruled out, most causes first."""
    settled = {item.cause for item in ranking.ruled_out}
    settled |= {
        name
        for item in ranking.causes
        if item.confidence == "likely"
        for name in (item.cause, *item.explains)
    }
    decides: dict[str, list[str]] = {}
    for cause in causes.values():
        for collector in cause.tested_by:
            if cause.id not in settled and collector in COLLECTORS and collector not in tried:
                decides.setdefault(collector, []).append(cause.id)
    untried = [
        DeeperLook(collector, SECONDS.get(collector, DEFAULT_SECONDS), tuple(names))
        for collector, names in decides.items()
    ]
    return sorted(untried, key=lambda check: -len(check.decides))


def plan_next_stage(
    ranking: Ranking,
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    *,
    tried: Collection[str],
    may_run: Callable[[Tier], bool],
    is_named: bool = False,
) -> DiagnosisStage | None:
    """Return the next stage, or None if no untried collector can decide an open hypothesis or explain more.

    `tried` are the collectors of earlier stages, with any outcome. `is_named` is set if the diagnosis is about a
    process, a port or a control group.
    """
    requested: dict[str, int] = {}
    refused: list[str] = []
    hypotheses: list[str] = []
    checks = [
        check
        for check in list_requested_checks(ranking, findings, is_named=is_named)
        if check.collector in COLLECTORS and check.collector not in tried
    ]
    for check in checks:
        if not may_run(COLLECTORS[check.collector].tier):
            refused.append(check.collector)
        elif _has_room(requested, check.collector):
            requested[check.collector] = SECONDS.get(check.collector, DEFAULT_SECONDS)
    for name in ranking.open:
        fresh = [item for item in causes[name].tested_by if item in COLLECTORS and item not in tried]
        allowed = [item for item in fresh if may_run(COLLECTORS[item].tier)]
        refused += [item for item in fresh if item not in allowed and item not in refused]
        fitting = [item for item in allowed if item in requested or _has_room(requested, item)]
        if fitting:
            hypotheses.append(name)
            requested |= {item: SECONDS.get(item, DEFAULT_SECONDS) for item in fitting}
    if not requested:
        return None
    about = _about(findings, rules, hypotheses, [check for check in checks if check.collector in requested])
    return DiagnosisStage(requested, tuple(hypotheses), tuple(refused), about)


def _has_room(requested: Mapping[str, int], collector: str) -> bool:
    """Return whether the stage stays short enough with one more collector; the first one always fits."""
    if not COLLECTORS[collector].exclusive:
        return True
    spent = sum(seconds for name, seconds in requested.items() if COLLECTORS[name].exclusive)
    return not spent or spent + SECONDS.get(collector, DEFAULT_SECONDS) <= MAX_EXCLUSIVE_S


def _about(
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    hypotheses: Sequence[str],
    checks: Sequence[RequestedCheck],
) -> Subject:
    """Return the service that a check is about, else the process or group of the first finding with a hypothesis."""
    for check in checks:
        if check.about:
            return check.about
    for name in hypotheses:
        for finding in findings:
            rule = rules.get(finding.rule)
            if finding.state in ("matched", "inconclusive") and rule is not None and name in rule.suspects:
                places = tuple(pair for pair in finding.subject if pair[0] in ("pid", "cgroup"))
                if places:
                    return places
    return ()
