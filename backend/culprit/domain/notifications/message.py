"""A message about a diagnosis: the cause, three numbers as evidence, and a chart. Translated when it is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from culprit.domain.notifications.chart import Chart
from culprit.domain.notifications.units import get_unit_label
from culprit.json_types import Json

Both = Mapping[str, str]
#: Numbers with this unit are not shown.
YES_OR_NO = "bool"
MAX_FIGURES = 3
Outcome = Literal["named", "nothing", "failed", "mention", "test"]


@dataclass(frozen=True, slots=True)
class MessageNumber:
    """A number with its unit, threshold and subject. `title` is in both languages.

    `op` and `threshold` are None if the number was not compared.
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
class NotificationContent:
    """Content of a message. `cause`, `fix` and `doubt` are in both languages; `failure` is a message
    reference.

    `paths` are relative addresses of the incident and the diagnosis. `more` counts further causes. For a
    mention in a comment, `who` is the author, `words` the beginning of the comment, and `title` the incident.
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
    figures: tuple[MessageNumber, ...] = ()
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
        """Return the JSON that is stored."""
        return asdict(self)

    @staticmethod
    def from_stored(stored: Mapping[str, Any]) -> NotificationContent:
        """Build a message from its stored JSON."""
        chart = stored.get("chart")
        return NotificationContent(
            **{
                **stored,
                "figures": tuple(MessageNumber(**item) for item in stored.get("figures", ())),
                "peers": tuple(stored.get("peers", ())),
                "chart": Chart.from_stored(chart) if chart else None,
            }
        )


def select_figures(result: Mapping[str, Any], title: Callable[[str, str], Both]) -> list[MessageNumber]:
    """Return up to three distinct numbers of a diagnosis, the most significant first.

    The first cause comes first, then other causes, then findings that are no evidence. `title` returns the
    name of the number of (rule, measure).
    """
    figures: dict[tuple[str, str], MessageNumber] = {}
    for number in iter_numbers(result):
        figure = _build_figure(number, title)
        if figure is not None:
            figures.setdefault((figure.measure, figure.about), figure)
    return list(figures.values())[:MAX_FIGURES]


def iter_numbers(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Return every number of a diagnosis, the most significant first; yes/no values are omitted."""
    for cause in result.get("causes", ()):
        yield from (item for item in cause.get("evidence", ()) if item.get("unit") != YES_OR_NO)
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


def _build_figure(item: Mapping[str, Any], title: Callable[[str, str], Both]) -> MessageNumber | None:
    try:
        rule, measure, value = str(item["finding"]), str(item["metric"]), float(item["value"])
        threshold = None if item["threshold"] is None else float(item["threshold"])
    except (KeyError, TypeError, ValueError):
        return None
    baseline = item.get("baseline")
    return MessageNumber(
        title=dict(title(rule, measure)),
        value=value,
        unit=str(item.get("unit") or ""),
        op=None if threshold is None else str(item.get("op") or ""),
        threshold=threshold,
        about=describe_subject(item.get("subject") or {}),
        baseline=float(baseline) if isinstance(baseline, int | float) else None,
        measure=measure,
    )


def describe_subject(subject: Mapping[str, Any], most: int = 60) -> str:
    """Return the subject of a number as one short line."""
    message = " ".join(f"{name}={value}" for name, value in subject.items())
    return message if len(message) <= most else message[: most - 1] + "…"


def format_number(value: float) -> str:
    """Format a number with four significant digits: 44.1, 12,911, 0.0021."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is unlike itself
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


SIGNS: Mapping[str, str] = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}


def format_figure(figure: MessageNumber) -> str:
    """Format a number with its unit and its threshold: `44.1 ms > 3 ms`, `256 MiB`."""
    unit = f" {unit_label}" if (unit_label := get_unit_label(figure.unit)) else ""
    if not figure.op or figure.threshold is None:
        return f"{format_number(figure.value)}{unit}"
    threshold = f"{format_number(figure.threshold)}{unit}"
    return f"{format_number(figure.value)}{unit} {SIGNS.get(figure.op, figure.op)} {threshold}"


def render_sparkline(values: Sequence[float | None], width: int = 40) -> str:
    """Return a row of block characters for channels without images; a gap is a space."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(0.0, *known), max(known)
    step = max(1, -(-len(values) // width))
    cells = []
    for at in range(0, len(values), step):
        here = [value for value in values[at : at + step] if value is not None]
        level = round((max(here) - low) / (high - low) * 7) if here and high > low else 0
        cells.append("▁▂▃▄▅▆▇█"[level] if here else " ")
    return "".join(cells)
