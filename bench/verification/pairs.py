"""Pairs of sides of real captures: which are compared, what a right answer is, and the table of the outcomes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Literal

from culprit.domain.verification.windows import MIN_SINGLE, MIN_WINDOWS
from culprit.json_types import Json

Role = Literal["harm", "cause"]

OUTCOMES = ("verified", "worse", "no_effect", "no_conclusion")
BEFORE_AFTER, IN_TURNS = "before and after", "in turns"
REMOVED, ADDED = "fault removed", "fault added"
UNHARMED_SUFFIX = ", clients unharmed"
#: What must be answered where the clients measured a difference.
RIGHT_OUTCOMES = {REMOVED: "verified", ADDED: "worse"}
COLUMNS = (
    "number", "design", "changed", "pairs", "independent", "verified", "worse", "no effect", "no conclusion",
    "false", "missed",
)  # fmt: skip
#: Turns of an alternating verification.
TURN_COUNT = 4
#: What a fault must do to clients (lab/real/README.md): p99 times that, or that much more of the requests failing.
HARM_TIMES, HARM_SHARE = 3.0, 0.02


@dataclass(frozen=True, slots=True)
class Phase:
    """Windows in which nothing was changed, by their run IDs in the order of time, and what the clients saw."""

    unhealthy: bool
    runs: Sequence[str]
    clients: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Two sides to compare, by run IDs. `changed`: what is different between them."""

    design: str
    changed: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(slots=True)
class PlayedPair:
    """One judged pair. Changes are shares; None if the judgment states none."""

    design: str
    changed: str
    role: Role
    read: str
    before: list[str]
    after: list[str]
    outcome: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    load_change: float | None = None
    reasons: list[str] = field(default_factory=list)

    @property
    def is_false(self) -> bool:
        """A change is reported that is not there, or in the wrong direction. Unharmed clients prove neither."""
        if self.changed.endswith(UNHARMED_SUFFIX) or self.outcome not in {"verified", "worse"}:
            return False
        return self.outcome != RIGHT_OUTCOMES.get(self.changed)

    @property
    def is_missed(self) -> bool:
        """The clients measured a change, and no change is reported."""
        return self.changed in RIGHT_OUTCOMES and self.outcome in {"no_effect", "no_conclusion"}


@dataclass(slots=True)
class PlayedStart:
    """One start of the software, with the pairs that it served. `error`: why it broke; then it has no pairs.

    `stopped`: the time was over before the last phase. `seconds`: of the whole start. `equal`: whether the platform
    judged the same windows alike; None if they were judged here only. `code`: digest of the code that judged.
    """

    scenario: str
    seed: int
    software: list[str] = field(default_factory=list)
    parameters: Json = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    phases: list[Json] = field(default_factory=list)
    pairs: list[PlayedPair] = field(default_factory=list)
    seconds: float = 0.0
    stopped: bool = False
    equal: bool | None = None
    error: str = ""
    code: str = ""


def plan_pairs(phases: Sequence[Phase], *, is_single: bool) -> list[PairPlan]:
    """List the pairs that windows of these phases serve.

    `is_single`: a window has one reading. Two halves of a phase are then too close to their middle for a comparison
    before and after, so only whole phases and turns are compared.
    """
    least = MIN_SINGLE if is_single else MIN_WINDOWS
    plans = []
    for phase in phases:
        state = f"nothing, {'unhealthy' if phase.unhealthy else 'healthy'}"
        halves = _split_runs(phase.runs, 2)
        if not is_single:
            plans.append(PairPlan(BEFORE_AFTER, state, halves[0], halves[1]))
        turns = _split_runs(phase.runs, TURN_COUNT)
        plans.append(PairPlan(IN_TURNS, state, turns[0] + turns[2], turns[1] + turns[3]))
    for first, second in pairwise(phases):
        plans.append(
            PairPlan(BEFORE_AFTER, _describe_change(first, second), tuple(first.runs), tuple(second.runs))
        )
    if len(phases) >= TURN_COUNT:
        turns = [tuple(phase.runs) for phase in phases[:TURN_COUNT]]
        changed = _describe_change(phases[0], phases[1])
        plans.append(PairPlan(IN_TURNS, changed, turns[0] + turns[2], turns[1] + turns[3]))
    return [plan for plan in plans if min(len(plan.before), len(plan.after)) >= least]


def _split_runs(runs: Sequence[str], parts: int) -> list[tuple[str, ...]]:
    """Return that many parts of nearly equal length, in order."""
    ends = [round(len(runs) * part / parts) for part in range(parts + 1)]
    return [tuple(runs[start:end]) for start, end in pairwise(ends)]


def _describe_change(first: Phase, second: Phase) -> str:
    healthy, unhealthy = (second, first) if first.unhealthy else (first, second)
    is_harm = has_harm(healthy.clients, unhealthy.clients)
    return (REMOVED if first.unhealthy else ADDED) + ("" if is_harm else UNHARMED_SUFFIX)


def has_harm(healthy: Mapping[str, float], unhealthy: Mapping[str, float]) -> bool:
    """Return whether the clients are worse off by as much as a fault of the lab must show."""
    if find_failing(unhealthy) - find_failing(healthy) >= HARM_SHARE:
        return True
    return unhealthy["p99_ms"] >= HARM_TIMES * healthy["p99_ms"]


def find_failing(clients: Mapping[str, float]) -> float:
    """Return the share of the requests that failed or got no answer in time."""
    return (clients["errors"] + clients["timeouts"]) / max(1.0, clients["requests"])


def select_harm_number(healthy: Mapping[str, float], unhealthy: Mapping[str, float]) -> str:
    """Return the number of the service that shows what its clients complain about, as a user would select it.

    The median where most requests are slow or get no answer in time, the failed share where requests are refused, else
    the slowest hundredth.
    """
    errors = unhealthy["errors"] / max(1.0, unhealthy["requests"])
    timeouts = unhealthy["timeouts"] / max(1.0, unhealthy["requests"])
    if unhealthy["p50_ms"] >= HARM_TIMES * healthy["p50_ms"] or timeouts > max(0.5, errors):
        return "app.p50_ms"
    return "app.errors_pct" if errors >= HARM_SHARE else "app.p99_ms"


def count_independent(pairs: Sequence[PlayedPair]) -> int:
    """Return how many pairs of one start have no window in common, of the shortest first."""
    used: set[str] = set()
    count = 0
    for pair in sorted(pairs, key=lambda item: len(item.before) + len(item.after)):
        windows = {*pair.before, *pair.after}
        if not windows & used:
            used |= windows
            count += 1
    return count


def render_table(starts: Sequence[PlayedStart], code: str) -> str:
    """Return the table and the sentences for docs/figures.md. `code`: digest of the code of today."""
    rows: dict[tuple[str, str, str], list[tuple[PlayedStart, list[PlayedPair]]]] = defaultdict(list)
    for start in starts:
        own: dict[tuple[str, str, str], list[PlayedPair]] = defaultdict(list)
        for pair in start.pairs:
            own[pair.role, pair.design, pair.changed].append(pair)
        for key, pairs in own.items():
            rows[key].append((start, pairs))
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|--:|--:|--:|--:|--:|---|--:|--:|"]
    for key in sorted(rows, key=_sort_key):
        lines.append(_render_row(key, rows[key]))
    return "\n".join([*lines, "", *_summarize(starts, code)])


def _sort_key(key: tuple[str, str, str]) -> tuple[bool, str, bool, str]:
    role, design, changed = key
    return role == "cause", design, not changed.startswith("nothing"), changed


def _render_row(key: tuple[str, str, str], groups: Sequence[tuple[PlayedStart, list[PlayedPair]]]) -> str:
    role, design, changed = key
    pairs = [pair for _, own in groups for pair in own]
    counts = Counter(pair.outcome for pair in pairs)
    reasons = Counter(
        (pair.reasons or ["unknown"])[0].removeprefix("verify.")
        for pair in pairs
        if pair.outcome == "no_conclusion"
    )
    why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    independent = sum(count_independent(own) for _, own in groups)
    is_change = changed in RIGHT_OUTCOMES
    cells: list[object] = [
        role, design, changed, len(pairs), independent,
        *(counts[outcome] for outcome in OUTCOMES[:3]),
        f"{counts['no_conclusion']} ({why})" if why else 0,
        "-" if changed.endswith(UNHARMED_SUFFIX) else sum(pair.is_false for pair in pairs),
        sum(pair.is_missed for pair in pairs) if is_change else "-",
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _summarize(starts: Sequence[PlayedStart], code: str) -> Iterator[str]:
    played = [start for start in starts if start.pairs]
    broken = [start for start in starts if start.error]
    for role in ("harm", "cause"):
        pairs = [pair for start in played for pair in start.pairs if pair.role == role]
        changed = [pair for pair in pairs if pair.changed in RIGHT_OUTCOMES]
        yield (
            f"Judged by the number of the {role}: {len(pairs)} pairs, false {sum(pair.is_false for pair in pairs)}; "
            f"{len(changed)} of them with a fault that clients measured, "
            f"missed {sum(pair.is_missed for pair in changed)}."
        )
    scenarios = sorted({start.scenario for start in played})
    hours = sum(start.seconds for start in starts) / 3600
    yield (
        f"{len(played)} starts of {len(scenarios)} scenarios ({', '.join(scenarios) or '-'}), "
        f"{len(broken)} broken, {sum(start.stopped for start in starts)} stopped early, {hours:.1f} hours."
    )
    if older := sum(start.code != code for start in played):
        yield f"Out of date: {older} starts were judged by other code."
    checked = [start for start in starts if start.equal is not None]
    if checked:
        equal = sum(bool(start.equal) for start in checked)
        yield f"Verified completely by the platform: {len(checked)}; judged alike here: {equal}."
    yield (
        "Pairs of one start share windows, so they depend on each other; `independent` counts those of a row "
        "without a common window. Both numbers of a pair come from the same windows."
    )
    yield from (f"Broken: {start.scenario}, seed {start.seed}: {start.error}" for start in broken)


def load_start(stored: Json) -> PlayedStart:
    """Return a start from JSON. Keys that it does not know are left out."""
    values = _keep_known(PlayedStart, stored)
    return PlayedStart(
        **values
        | {"pairs": [PlayedPair(**_keep_known(PlayedPair, item)) for item in stored.get("pairs", ())]}
    )


def _keep_known(kind: type, stored: Json) -> Json:
    known = {item.name for item in fields(kind)}
    return {name: value for name, value in stored.items() if name in known}


def count_stored(starts: Collection[PlayedStart], scenario: str, *, by_platform: bool = False) -> int:
    """Return how many starts of a scenario were played to the end, in turns or as a verification of the platform."""
    return sum(
        item.scenario == scenario
        and not (item.error or item.stopped)
        and (item.equal is not None) == by_platform
        for item in starts
    )


def is_close(number: float | None, other: float | None) -> bool:
    """Return whether two numbers of a judgment agree, up to the rounding of stored float32 readings."""
    if number is None or other is None:
        return number is other
    return math.isclose(number, other, rel_tol=1e-3, abs_tol=1e-3)
