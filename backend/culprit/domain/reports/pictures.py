"""Charts of a report as SVG without scripts, styles or links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from culprit.domain.profile_exports.svg import write_svg
from culprit.domain.profiles.tree import RenderedTree
from culprit.domain.reports.escaping import escape_html, remove_invisible
from culprit.domain.reports.figures import format_number
from culprit.json_types import JsonMapping

WIDTH, HEIGHT, PAD = 900, 120, 8
_COLOURS = {"before": "#8a5a00", "after": "#1a5fb4", "control_before": "#b0a080", "control_after": "#8fb0d8"}


def draw_flame_graph(tree: JsonMapping, title: str) -> str:
    """Draw a flame graph of the frozen content."""
    columns = tree["tree"]
    rendered_tree = RenderedTree(
        columns["id"],
        columns["level"],
        [remove_invisible(name) for name in columns["name"]],
        [remove_invisible(name) for name in columns["module"]],
        columns["kind"],
        columns["value"],
        columns["own"],
    )
    pieces = list(write_svg(rendered_tree, remove_invisible(title), 1000))
    return "".join(pieces[1:])  # an XML declaration is no part of HTML


def draw_windows(windows: Sequence[JsonMapping], unit: str, title: str) -> str:
    """Draw the values of all measurement windows on one axis, grouped by side."""
    rendered_windows = [window for window in windows if any(value is not None for value in window["values"])]
    values = [value for window in rendered_windows for value in window["values"] if value is not None]
    if not values:
        return ""
    top = max(*values, 0.0)
    low = min(*values, 0.0)
    span = (top - low) or 1.0
    each = (WIDTH - 2 * PAD) / len(rendered_windows)
    pieces = [
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 24}" role="img" '
        f'font-family="monospace" font-size="11"><title>{escape_html(title)}</title>'
    ]
    for n, item in enumerate(rendered_windows):
        left = PAD + n * each
        color = _COLOURS.get(item["side"], "#666")
        for points in _runs(item["values"], left, each - PAD, low, span):
            pieces.append(f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{points}"/>')
        label = f"{item['side'].replace('_', ' ')} {item['host']} {format_number(item['mean'], unit)}"
        text = escape_html(label[: max(6, int(each / 7))])
        pieces.append(f'<text x="{left:.1f}" y="{HEIGHT + 18}" fill="{color}">{text}</text>')
    zero = HEIGHT - (0 - low) / span * (HEIGHT - PAD)
    pieces.append(
        f'<line x1="0" x2="{WIDTH}" y1="{zero:.1f}" y2="{zero:.1f}" stroke="#999" stroke-width="0.5"/></svg>'
    )
    return "".join(pieces)


def _runs(
    values: Sequence[float | None], left: float, width: float, low: float, span: float
) -> Iterator[str]:
    """Return the points of each segment without gaps; a single value is drawn as a short line."""
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
