"""Judge pairs of captures of a benchmark with the code that judges a verification on the platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from culprit.domain.rules.view import HostView
from culprit.domain.verification import primary_number
from culprit.infra.models.captures.run import Run
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.verification.judge import judge_runs
from culprit.jobs.verification.measurements import SideReader, VerificationSpec
from culprit.json_types import Json

from bench.verification.pairs import PairPlan, Phase, PlayedPair, PlayedStart, Role, plan_pairs

#: Everything is measured on the one host of a start.
HOST_ID = UUID(int=1)


def judge_cause(
    phases: Sequence[Phase],
    views: Mapping[str, HostView],
    causes: Sequence[tuple[str, str]],
    start: PlayedStart,
) -> list[PlayedPair]:
    """Judge by the number of the first hypothesis that the captures before the first change measure."""
    seen = [views[run] for run in phases[0].runs]
    for read, better in causes:
        subject = primary_number.select_subject(seen, read, "lower" if better == "lower" else "higher")
        window = primary_number.measure_primary(seen[0], read, subject).window
        if len(window.values):
            return judge_role(phases, views, "cause", read, better, start)
    return []


def judge_role(
    phases: Sequence[Phase],
    views: Mapping[str, HostView],
    role: Role,
    read: str,
    better: str,
    start: PlayedStart,
) -> list[PlayedPair]:
    """Judge the pairs that these phases serve by a number."""
    start.numbers[role] = read
    plans = plan_pairs(phases, is_single=primary_number.is_single_reading(read))
    return [
        build_pair(plan, role, read, judge_sides(plan.before, plan.after, views, read, better))
        for plan in plans
    ]


def build_pair(plan: PairPlan, role: Role, read: str, judged: Json) -> PlayedPair:
    """Return a pair with what was judged."""
    return PlayedPair(
        plan.design, plan.changed, role, read, list(plan.before), list(plan.after), judged["outcome"],
        judged["change"], judged["low"], judged["high"], judged["load"]["change"],
        [reason["key"] for reason in judged["reasons"]],
    )  # fmt: skip


def judge_sides(
    before: Sequence[str],
    after: Sequence[str],
    views: Mapping[str, HostView],
    read: str,
    better: str,
) -> Json:
    """Judge captures as a job of the platform does, with its code. Returns the result as it is stored."""
    spec = VerificationSpec(
        Verification(kind="plain"), Fix(), read, "lower" if better == "lower" else "higher", (HOST_ID,)
    )
    by_id = {UUID(run): view for run, view in views.items()}
    sides = SideReader(by_id.__getitem__, {HOST_ID: "host"}, spec)
    runs = [[Run(id=UUID(run), host_id=HOST_ID) for run in side] for side in (before, after)]
    return judge_runs(spec, sides, runs[0], runs[1], None)
