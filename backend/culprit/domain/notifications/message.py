"""A message: the cause, three numbers that prove it, and a picture. Told in a language when it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from culprit.core.notices.chart import Chart
from culprit.core.notices.units import unit_of

Json = dict[str, Any]
Both = Mapping[str, str]
#: What has this unit is no number to be told.
YES_OR_NO = "bool"
NUMBERS = 3
Outcome = Literal["named", "nothing", "failed", "mention", "test"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its unit, what it was held against, and what it is about. `title` is in both languages.

    `op` and `threshold` are None where it was held against nothing.
    """

    title: Both
    value: float
    unit: str
    op: str | None
    threshold: float | None
    about: str = ""
    baseline: float | None = None
    measure: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """What is told. `cause`, `fix` and `doubt` are in both languages; `failure` is a sentence.

    `paths` are addresses below the platform's own: of the incident, of the diagnosis. `more` counts further causes.
    `who` wrote `words`, the beginning of a comment on the incident of that `title`, where the outcome is a mention.
    """

    outcome: Outcome
    host: str
    service: str = ""
    alert: str = ""
    trigger: str = ""
    alerts: int = 0
    cause: Both | None = None
    cause_id: str = ""
    confidence: str = ""
    fix: Both | None = None
    more: int = 0
    figures: tuple[Figure, ...] = ()
    peers: tuple[str, ...] = ()
    failure: Json | None = None
    incident: int | None = None
    diagnosis: int | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = None
    chart: Chart | None = None
    who: str = ""
    words: str = ""
    title: str = ""

    def as_json(self) -> Json:
        """As it is stored."""
        return asdict(self)

    @staticmethod
    def of(kept: Mapping[str, Any]) -> Message:
        """Out of what was stored."""
        chart = kept.get("chart")
        return Message(
            **{
                **kept,
                "figures": tuple(Figure(**one) for one in kept.get("figures", ())),
                "peers": tuple(kept.get("peers", ())),
                "chart": Chart.of(chart) if chart else None,
            }
        )


def figures(result: Mapping[str, Any], title: Callable[[str, str], Both]) -> list[Figure]:
    """The numbers of a diagnosis, the most telling first, three at most and none twice.

    Those of the first cause, then of the others, then what stood out beside them without being evidence. `title` says
    what the number of a rule is called: (rule, measure).
    """
    found: dict[tuple[str, str], Figure] = {}
    for one in told(result):
        kept = _figure(one, title)
        if kept is not None:
            found.setdefault((kept.measure, kept.about), kept)
    return list(found.values())[:NUMBERS]


def told(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every number of a diagnosis in the form of evidence, the most telling first; what is only yes or no is none."""
    for cause in result.get("causes", ()):
        yield from (one for one in cause.get("evidence", ()) if one.get("unit") != YES_OR_NO)
    for group in ("inconclusive", "context"):
        for finding in result.get(group, ()):
            for number in finding.get("numbers", ())[:1]:
                if number.get("unit") != YES_OR_NO:
                    cited: Json = next(iter(number.get("citations") or ()), {})
                    yield {
                        **number,
                        "metric": number.get("measure"),
                        "finding": finding.get("rule"),
                        "subject": finding.get("subject", {}),
                        "locator": {"run": cited.get("run")},
                    }


def _figure(one: Mapping[str, Any], title: Callable[[str, str], Both]) -> Figure | None:
    try:
        rule, measure, value = str(one["finding"]), str(one["metric"]), float(one["value"])
        threshold = None if one["threshold"] is None else float(one["threshold"])
    except (KeyError, TypeError, ValueError):
        return None
    baseline = one.get("baseline")
    return Figure(
        title=dict(title(rule, measure)),
        value=value,
        unit=str(one.get("unit") or ""),
        op=None if threshold is None else str(one.get("op") or ""),
        threshold=threshold,
        about=about(one.get("subject") or {}),
        baseline=float(baseline) if isinstance(baseline, int | float) else None,
        measure=measure,
    )


def about(subject: Mapping[str, Any], most: int = 60) -> str:
    """What a number is about, in one short line."""
    said = " ".join(f"{name}={value}" for name, value in subject.items())
    return said if len(said) <= most else said[: most - 1] + "…"


def short(value: float) -> str:
    """Four digits, as people read numbers: 44.1, 12,911, 0.0021."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is unlike itself
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


SIGNS: Mapping[str, str] = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}


def figure(one: Figure) -> str:
    """A number with its unit, beside its threshold where it has one: `44.1 ms > 3 ms`, `256 MiB`."""
    unit = f" {shown}" if (shown := unit_of(one.unit)) else ""
    if not one.op or one.threshold is None:
        return f"{short(one.value)}{unit}"
    return f"{short(one.value)}{unit} {SIGNS.get(one.op, one.op)} {short(one.threshold)}{unit}"


def sparkline(values: Sequence[float | None], width: int = 40) -> str:
    """A row of blocks for places that show no picture; a gap is a space and never the lowest block."""
    known = [one for one in values if one is not None]
    if not known:
        return ""
    low, high = min(0.0, *known), max(known)
    step = max(1, -(-len(values) // width))
    cells = []
    for at in range(0, len(values), step):
        here = [one for one in values[at : at + step] if one is not None]
        level = round((max(here) - low) / (high - low) * 7) if here and high > low else 0
        cells.append("▁▂▃▄▅▆▇█"[level] if here else " ")
    return "".join(cells)
