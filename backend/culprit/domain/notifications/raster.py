"""Draw the chart of a message as PNG with Pillow, for mail programs that show no SVG.

The image has axis labels only, because the bundled font has no Chinese characters. The message contains the title.
"""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from culprit.domain.notifications.chart import (
    FAINT,
    HEIGHT,
    INK,
    LEFT,
    LIMIT,
    LINE,
    RIGHT,
    WIDTH,
    Chart,
    build_segments,
    compute_frame,
    format_tick,
)

#: The image is drawn this many times larger and reduced, so that slanted lines are smooth.
SCALE = 3
FONT_SIZE = 12
LINE_WIDTH = 2
DASH, GAP = 6, 4


def render_png(chart: Chart) -> bytes:
    """Return the chart as a PNG file of 640 by 220 pixels."""
    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), "white")
    canvas = _Canvas(image)
    frame = compute_frame(chart)
    for value in (frame.low, frame.high):
        canvas.line([(LEFT, frame.y(value)), (WIDTH - RIGHT, frame.y(value))], FAINT, 0.5)
        canvas.text(LEFT - 6, frame.y(value), format_tick(value), FAINT, "rm")
    if chart.values:
        for segment in build_segments(chart):
            canvas.line(segment, LINE, LINE_WIDTH)
        canvas.text(WIDTH - RIGHT, HEIGHT - 8, f"{frame.seconds:.0f} s", FAINT, "rs")
    else:
        values = [(chart.value, LINE)] + ([(chart.baseline, FAINT)] if chart.baseline is not None else [])
        for column, (value, color) in enumerate(values):
            top, base = sorted((frame.y(value), frame.y(0.0)))
            x = LEFT + 60 + column * 160
            canvas.box((x, top), (x + 96, max(base, top + 1)), color)
            canvas.text(x + 48, top - 5, format_tick(value), INK, "ms")
    y = frame.y(chart.threshold)
    for start in range(LEFT, WIDTH - RIGHT, DASH + GAP):
        canvas.line([(start, y), (min(start + DASH, WIDTH - RIGHT), y)], LIMIT, 1.6)
    label = f"{chart.op} {format_tick(chart.threshold)}"
    canvas.text(WIDTH - RIGHT - 2, y - 5, label, LIMIT, "rs")
    output = BytesIO()
    image.reduce(SCALE).save(output, "PNG", optimize=True)
    return output.getvalue()


@lru_cache(maxsize=1)
def _load_font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(FONT_SIZE * SCALE)


class _Canvas:
    """Draws at coordinates of the reduced image."""

    def __init__(self, image: Image.Image) -> None:
        self._draw = ImageDraw.Draw(image)

    def line(self, points: list[tuple[float, float]], color: str, width: float) -> None:
        """Draw a polyline, or a dot for a single point."""
        if len(points) == 1:
            (x, y) = points[0]
            self._draw.circle((x * SCALE, y * SCALE), LINE_WIDTH * SCALE, fill=color)
            return
        scaled = [(x * SCALE, y * SCALE) for x, y in points]
        self._draw.line(scaled, fill=color, width=max(1, round(width * SCALE)), joint="curve")

    def box(self, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
        """Fill a box between two corners."""
        corners = [(round(x * SCALE), round(y * SCALE)) for x, y in (start, end)]
        self._draw.rectangle(corners, fill=color)

    def text(self, x: float, y: float, text: str, color: str, anchor: str) -> None:
        """Draw a label at an anchor of Pillow, such as `rm` for right and middle."""
        self._draw.text((x * SCALE, y * SCALE), text, fill=color, font=_load_font(), anchor=anchor)
