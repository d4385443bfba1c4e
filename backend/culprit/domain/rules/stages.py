"""What the next stage of a diagnosis captures: only what open hypotheses need, and only what may run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Tier
from collectors.registry import COLLECTORS
from culprit.core.rules.cause import Cause
from culprit.core.rules.contract import Finding, Subject
from culprit.core.rules.rank import Ranking

MAX_STAGES = 3
#: How long collectors of later stages run, by id; the others for as long as their stage.
SECONDS: Mapping[str, int] = {"perf_record": 8, "perf_sched": 2, "perf_trace": 5, "offcpu": 5}
DEFAULT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Stage:
    """The collectors of a next stage with their seconds, the hypotheses behind them, and what may not run.

    `about` is what a suspicion points at: the scope that the stage looks at where the question named none.
    """

    collectors: Mapping[str, int]
    hypotheses: tuple[str, ...]
    refused: tuple[str, ...]
    about: Subject


def next_stage(
    ranking: Ranking,
    findings: Sequence[Finding],
    causes: Mapping[str, Cause],
    tried: Collection[str],
    may_run: Callable[[Tier], bool],
) -> Stage | None:
    """The next stage, None where nothing is open that anything untried could settle.

    `tried` are the collectors of earlier stages, whatever became of them: trying again would tell the same.
    """
    wanted: dict[str, int] = {}
    refused: list[str] = []
    hypotheses: list[str] = []
    for name in ranking.open:
        fresh = [one for one in causes[name].tested_by if one in COLLECTORS and one not in tried]
        allowed = [one for one in fresh if may_run(COLLECTORS[one].tier)]
        refused += [one for one in fresh if one not in allowed and one not in refused]
        if allowed:
            hypotheses.append(name)
            wanted |= {one: SECONDS.get(one, DEFAULT_SECONDS) for one in allowed}
    if not wanted:
        return None
    return Stage(wanted, tuple(hypotheses), tuple(refused), _about(findings, causes, hypotheses))


def _about(findings: Sequence[Finding], causes: Mapping[str, Cause], hypotheses: Sequence[str]) -> Subject:
    """The process or control group that the first suspicion with one points at."""
    for name in hypotheses:
        for one in findings:
            if one.state in ("fired", "inconclusive") and one.rule in causes[name].suspected_by:
                places = tuple(pair for pair in one.subject if pair[0] in ("pid", "cgroup"))
                if places:
                    return places
    return ()
