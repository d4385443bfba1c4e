"""Plan the next stage of a diagnosis: only collectors that open hypotheses need and that may run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Tier
from collectors.registry import COLLECTORS
from culprit.domain.rules.cause import Cause
from culprit.domain.rules.finding import Finding, Subject
from culprit.domain.rules.rank import Ranking
from culprit.domain.rules.rule import Rule

MAX_STAGES = 3
#: Duration of collectors in later stages, by ID; other collectors run for the duration of the stage.
SECONDS: Mapping[str, int] = {"perf_record": 8, "perf_sched": 2, "perf_trace": 5, "offcpu": 5}
DEFAULT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class DiagnosisStage:
    """The collectors of a stage with their seconds, its hypotheses, and collectors that may not run.

    `about` is the scope of the stage if the diagnosis has none.
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
    return sorted(untried, key=lambda look: -len(look.decides))


def plan_next_stage(
    ranking: Ranking,
    findings: Sequence[Finding],
    rules: Mapping[str, Rule],
    causes: Mapping[str, Cause],
    *,
    tried: Collection[str],
    may_run: Callable[[Tier], bool],
) -> DiagnosisStage | None:
    """Return the next stage, or None if no untried collector can decide an open hypothesis.

    `tried` are the collectors of earlier stages, with any outcome.
    """
    requested: dict[str, int] = {}
    refused: list[str] = []
    hypotheses: list[str] = []
    for name in ranking.open:
        fresh = [item for item in causes[name].tested_by if item in COLLECTORS and item not in tried]
        allowed = [item for item in fresh if may_run(COLLECTORS[item].tier)]
        refused += [item for item in fresh if item not in allowed and item not in refused]
        if allowed:
            hypotheses.append(name)
            requested |= {item: SECONDS.get(item, DEFAULT_SECONDS) for item in allowed}
    if not requested:
        return None
    return DiagnosisStage(requested, tuple(hypotheses), tuple(refused), _about(findings, rules, hypotheses))


def _about(findings: Sequence[Finding], rules: Mapping[str, Rule], hypotheses: Sequence[str]) -> Subject:
    """Return the process or control group of the first finding that suspects a hypothesis."""
    for name in hypotheses:
        for finding in findings:
            rule = rules.get(finding.rule)
            if finding.state in ("matched", "inconclusive") and rule is not None and name in rule.suspects:
                places = tuple(pair for pair in finding.subject if pair[0] in ("pid", "cgroup"))
                if places:
                    return places
    return ()
