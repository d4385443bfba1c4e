"""The pictures of a report as SVG without scripts, styles or links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from culprit.core.drawing import Drawn
from culprit.core.export import svg
from culprit.core.reports.escaping import html, plain
from culprit.core.reports.figures import number

Json = Mapping[str, Any]
WIDTH, HEIGHT, PAD = 900, 120, 8
_COLOURS = {"before": "#8a5a00", "after": "#1a5fb4", "control_before": "#b0a080", "control_after": "#8fb0d8"}


def flame(tree: Json, title: str) -> str:
    """A flame graph of what was frozen."""
    columns = tree["tree"]
    drawn = Drawn(
        columns["id"],
        columns["level"],
        [plain(name) for name in columns["name"]],
        [plain(name) for name in columns["module"]],
        columns["kind"],
        columns["value"],
        columns["own"],
    )
    pieces = list(svg(drawn, plain(title), 1000))
    return "".join(pieces[1:])  # an XML declaration is no part of HTML


def chart(windows: Sequence[Json], unit: str, title: str) -> str:
    """The readings of every window over one axis of values, the sides beside each other in their order."""
    drawn = [one for one in windows if any(value is not None for value in one["values"])]
    values = [value for one in drawn for value in one["values"] if value is not None]
    if not values:
        return ""
    top = max(*values, 0.0)
    low = min(*values, 0.0)
    span = (top - low) or 1.0
    each = (WIDTH - 2 * PAD) / len(drawn)
    pieces = [
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 24}" role="img" '
        f'font-family="monospace" font-size="11"><title>{html(title)}</title>'
    ]
    for n, one in enumerate(drawn):
        left = PAD + n * each
        colour = _COLOURS.get(one["side"], "#666")
        for points in _runs(one["values"], left, each - PAD, low, span):
            pieces.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
        label = f"{one['side'].replace('_', ' ')} {one['host']} {number(one['mean'], unit)}"
        pieces.append(
            f'<text x="{left:.1f}" y="{HEIGHT + 18}" fill="{colour}">{html(label[: max(6, int(each / 7))])}</text>'
        )
    zero = HEIGHT - (0 - low) / span * (HEIGHT - PAD)
    pieces.append(
        f'<line x1="0" x2="{WIDTH}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="#999" stroke-width="0.5"/></svg>'
    )
    return "".join(pieces)


def _runs(
    values: Sequence[float | None], left: float, width: float, low: float, span: float
) -> Iterator[str]:
    """Points of each piece without a gap; a reading alone is drawn as a short line."""
    step = width / max(len(values) - 1, 1)
    points: list[str] = []
    for n, value in enumerate([*values, None]):
        if value is None:
            if len(points) == 1:
                x, y = points[0].split(",")
                points.append(f"{float(x) + 2:.1f},{y}")
            if points:
                yield " ".join(points)
            points = []
        else:
            points.append(f"{left + n * step:.1f},{HEIGHT - (value - low) / span * (HEIGHT - PAD):.1f}")
