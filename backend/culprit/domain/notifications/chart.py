"""Draw the chart of a message as SVG: a series with its threshold, or a number with its previous value.

An XML writer escapes all text, so names from hosts are never markup. The document contains no script and no
link.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from culprit.domain.notifications.units import get_unit_label

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 34, 28
MAX_POINTS = 240
INK, FAINT, LINE, LIMIT = "#1a1b1e", "#8a8f98", "#1c6fb8", "#c92a2a"
_NOT_XML = re.compile(r"[^\x09\x0a\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Chart:
    """Data of a chart. `t_s` are seconds since the first reading and `values` the readings, None in gaps.

    Both are empty for a number without a series. `value` is the number that the rule compared with
    `threshold`.
    """

    title: Mapping[str, str]
    unit: str
    value: float
    threshold: float
    op: str
    t_s: tuple[float, ...] = ()
    values: tuple[float | None, ...] = ()
    baseline: float | None = None

    @staticmethod
    def from_stored(stored: Mapping[str, Any]) -> Chart:
        """Build a chart from its stored JSON."""
        return Chart(**{**stored, "t_s": tuple(stored["t_s"]), "values": tuple(stored["values"])})


def reduce_series(
    t_ns: Sequence[int], values: Sequence[float], most: int = MAX_POINTS
) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """Reduce a series to `POINTS` values: seconds since the first reading, and the largest magnitude per bucket."""
    if not len(t_ns):
        return (), ()
    size = max(1, math.ceil(len(t_ns) / most))
    times, stored = [], []
    for at in range(0, len(t_ns), size):
        piece = [float(value) for value in values[at : at + size]]
        known = [item for item in piece if math.isfinite(item)]
        times.append(round((int(t_ns[at]) - int(t_ns[0])) / 1e9, 3))
        stored.append(max(known, key=abs) if known else None)
    return tuple(times), tuple(stored)


@dataclass(frozen=True, slots=True)
class ChartScale:
    """Scales of the plot area."""

    low: float
    high: float
    seconds: float

    def x(self, seconds: float) -> float:
        """Return the column of a time, in pixels."""
        return LEFT + (WIDTH - LEFT - RIGHT) * (seconds / self.seconds if self.seconds else 0.0)

    def y(self, value: float) -> float:
        """Return the row of a value, in pixels; a value that is not finite is on the edge."""
        if not math.isfinite(value):
            value = self.high if value > 0 else self.low
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(max(share, 0.0), 1.0)


def compute_frame(chart: Chart) -> ChartScale:
    """Return a frame from zero (or below) to slightly above the highest value."""
    values = [value for value in chart.values if value is not None] + [chart.value, chart.threshold]
    if chart.baseline is not None:
        values.append(chart.baseline)
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(0.0, *finite), max(0.0, *finite)
    return ChartScale(low, high + (high - low) * 0.08 or 1.0, chart.t_s[-1] if chart.t_s else 0.0)


def build_segments(chart: Chart) -> list[list[tuple[float, float]]]:
    """Return polylines in pixels, interrupted at gaps."""
    place = compute_frame(chart)
    results: list[list[tuple[float, float]]] = [[]]
    for at, value in zip(chart.t_s, chart.values, strict=True):
        if value is None:
            results.append([])
        else:
            results[-1].append((place.x(at), place.y(value)))
    return [item for item in results if item]


def format_tick(value: float) -> str:
    """Format an axis label."""
    for factor, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{sign}"
    return f"{value:.3g}"


def render_svg(chart: Chart, locale: str = "en") -> str:
    """Return the chart as an SVG document in one language."""
    place = compute_frame(chart)
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "width": str(WIDTH),
            "height": str(HEIGHT),
            "font-family": "system-ui, sans-serif",
            "font-size": "12",
            "role": "img",
        },
    )
    title = clean_xml(chart.title.get(locale) or chart.title.get("en", ""))
    SubElement(root, "title").text = title
    SubElement(root, "rect", {"width": str(WIDTH), "height": str(HEIGHT), "fill": "#ffffff"})
    unit = f" ({clean_xml(unit_label)})" if (unit_label := get_unit_label(chart.unit)) else ""
    _draw_text(root, 12, 20, (title[:80] + unit), weight="600")
    for value in (place.low, place.high):
        _draw_rule(root, place.y(value), FAINT, "0.5")
        _draw_text(root, LEFT - 6, place.y(value) + 4, format_tick(value), anchor="end", fill=FAINT)
    if chart.values:
        _draw_line(root, chart, place)
    else:
        _draw_bars(root, chart, place)
    _draw_rule(root, place.y(chart.threshold), LIMIT, "1.5", dash="6 4")
    label = f"{chart.op} {format_tick(chart.threshold)}".strip()
    _draw_text(root, WIDTH - RIGHT - 2, place.y(chart.threshold) - 5, label, anchor="end", fill=LIMIT)
    return tostring(root, encoding="unicode")


def _draw_line(root: Element, chart: Chart, place: ChartScale) -> None:
    for piece in build_segments(chart):
        if len(piece) == 1:
            x, y = piece[0]
            SubElement(root, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "2", "fill": LINE})
            continue
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in piece)
        SubElement(
            root, "polyline", {"points": points, "fill": "none", "stroke": LINE, "stroke-width": "1.8"}
        )
    for seconds, anchor in ((0.0, "start"), (place.seconds, "end")):
        _draw_text(root, place.x(seconds), HEIGHT - 8, f"{seconds:.0f} s", anchor=anchor, fill=FAINT)


def _draw_bars(root: Element, chart: Chart, place: ChartScale) -> None:
    """Draw the number as a bar, next to its previous value if that is known."""
    values = [(chart.value, LINE)] + ([(chart.baseline, FAINT)] if chart.baseline is not None else [])
    for at, (value, color) in enumerate(values):
        top, base = sorted((place.y(value), place.y(0.0)))
        x = LEFT + 60 + at * 160
        box = {
            "x": f"{x}",
            "y": f"{top:.1f}",
            "width": "96",
            "height": f"{max(base - top, 1):.1f}",
            "fill": color,
        }
        SubElement(root, "rect", box)
        _draw_text(root, x + 48, top - 5, format_tick(value), anchor="middle", fill=INK)


def _draw_rule(root: Element, y: float, color: str, width: str, dash: str = "") -> None:
    line = {"x1": str(LEFT), "x2": str(WIDTH - RIGHT), "y1": f"{y:.1f}", "y2": f"{y:.1f}"}
    SubElement(
        root,
        "line",
        {**line, "stroke": color, "stroke-width": width, **({"stroke-dasharray": dash} if dash else {})},
    )


def _draw_text(  # noqa: PLR0917
    root: Element,
    x: float,
    y: float,
    message: str,
    anchor: str = "start",
    fill: str = INK,
    weight: str = "400",
) -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "fill": fill, "font-weight": weight}
    SubElement(root, "text", place).text = clean_xml(message)


def clean_xml(text: str) -> str:
    """Remove characters that XML does not allow."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
