"""One round of the score: the fault, the diagnosis, and whether it is right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields

from culprit.json_types import Json

#: Kinds of scenarios; stacked rounds and rounds with a distractor use the scenarios of faults.
KINDS = ("fault", "validation", "development", "holdout", "decoy", "healthy")


@dataclass(slots=True)
class Round:
    """One diagnosis of one known fault.

    Attributes:
        evaluated_ms: evaluation time of all rules, for each capture of the diagnosis.
        error: why the round broke.
        nulls: the cause that each null model names.
        harmed: whether the answer shows harm.
        unexplained_pct: share of the time of the most harmed service that no named cause explains; None if unknown.
        first_right_s: seconds until the end of the first stage from which on the first cause is true until the end;
            None if the answer is wrong or there is no fault.
    """

    scenario: str
    kind: str
    seed: int
    truth: list[str]
    parameters: Json = field(default_factory=dict)
    named: list[tuple[str, str]] = field(default_factory=list)
    nulls: dict[str, str] = field(default_factory=dict)
    software: list[str] = field(default_factory=list)
    scope: dict[str, str] = field(default_factory=dict)
    harmed: bool = False
    unexplained_pct: float | None = None
    seconds: float = 0.0
    first_right_s: float | None = None
    cited: int = 0
    grounded: int = 0
    ungrounded: list[str] = field(default_factory=list)
    client_stats: Json = field(default_factory=dict)
    evaluated_ms: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def top1(self) -> bool:
        """Whether the first cause is true; on a healthy host, no cause is likely. A broken round is not right."""
        if self.error:
            return False
        if not self.truth:
            return not self.wrong_likely
        return bool(self.named) and self.named[0][0] in self.truth

    @property
    def top3(self) -> bool:
        """Whether one of the first three causes is true."""
        return any(name in self.truth for name, _ in self.named[:3]) if self.truth else self.top1

    @property
    def all_named(self) -> bool:
        """Whether every true cause is named."""
        return not self.error and set(self.truth) <= {name for name, _ in self.named}

    @property
    def is_correct(self) -> bool:
        """Whether the right cause is first, no wrong cause is likely, and every cited number is reproduced."""
        return self.top1 and not (self.wrong_likely or self.error or self.ungrounded)

    @property
    def wrong_possible(self) -> list[str]:
        """The causes that were named possible and are not true."""
        return [
            name for name, confidence in self.named if confidence == "possible" and name not in self.truth
        ]

    @property
    def wrong_likely(self) -> list[str]:
        """The causes that were named likely and are not true."""
        return [name for name, confidence in self.named if confidence == "likely" and name not in self.truth]


def find_first_right(stages: Sequence[Json], truth: Collection[str]) -> float | None:
    """Return the seconds after which a true cause was named first, and remained so in every later stage."""
    since: float | None = None
    for stage in stages:
        named = stage.get("named") or []
        is_right = bool(named) and named[0]["cause"] in truth
        since = (stage["named_after_s"] if since is None else since) if is_right else None
    return since


def load_round(stored: Json) -> Round:
    """Return a round from JSON. Keys that it does not know are left out."""
    known = {item.name for item in fields(Round)}
    values = {name: value for name, value in stored.items() if name in known}
    return Round(**values | {"named": [(name, confidence) for name, confidence in values.get("named", ())]})


def describe_round(item: Round) -> str:
    """Return one line about a round."""
    mark = "ok  " if item.is_correct else "MISS"
    named = " ".join(f"{name}({confidence[0]})" for name, confidence in item.named) or "-"
    bad = f" ungrounded: {item.ungrounded[:3]}" if item.ungrounded else ""
    return (
        f"{mark} {item.scenario:34} {item.seconds:5.1f} s  truth {' '.join(item.truth) or '-':28} named {named}"
        f"  null {item.nulls.get('largest-number') or '-'}  cited {item.grounded}/{item.cited}{bad} {item.error}"
    )


def record_round(item: Round) -> Json:
    """Return a round with what is derived from it, for tables."""
    return asdict(item) | {
        "top1": item.top1, "top3": item.top3, "wrong": item.wrong_likely, "all_named": item.all_named,
        "wrong_possible": item.wrong_possible,
        "nulls_right": [
            model
            for model, name in ({"silent": ""} | item.nulls).items()
            if (name in item.truth if item.truth else not name)
        ],
    }  # fmt: skip
