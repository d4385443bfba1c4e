"""The same picture as PNG, for mail programs that show no SVG: painted with numpy, packed with zlib.

Letters are few: digits and the signs of numbers, as dots of five by seven. The title stands in the message.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

from culprit.core.notices.chart import (
    BOTTOM,
    FAINT,
    HEIGHT,
    INK,
    LEFT,
    LIMIT,
    LINE,
    RIGHT,
    WIDTH,
    Chart,
    frame,
    pieces,
    tick,
)

Canvas = npt.NDArray[np.float32]
#: Painted so many times larger and averaged, so that slanted lines are smooth.
FINE = 3
_GLYPHS = {
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111",
    "3": "01110 10001 00001 00110 00001 10001 01110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "00110 01000 10000 11110 10001 10001 01110",
    "7": "11111 00001 00010 00100 01000 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00010 01100",
    ".": "00000 00000 00000 00000 00000 01100 01100",
    "-": "00000 00000 00000 11111 00000 00000 00000",
    "+": "00000 00100 00100 11111 00100 00100 00000",
    "e": "00000 00000 01110 10001 11111 10000 01110",
    "k": "10000 10000 10010 10100 11000 10100 10010",
    "M": "10001 11011 10101 10101 10001 10001 10001",
    "G": "01110 10001 10000 10111 10001 10001 01110",
    "s": "00000 00000 01111 10000 01110 00001 11110",
    ">": "01000 00100 00010 00001 00010 00100 01000",
    "<": "00010 00100 01000 10000 01000 00100 00010",
    "=": "00000 00000 11111 00000 11111 00000 00000",
    "!": "00100 00100 00100 00100 00100 00000 00100",
}  # fmt: skip
_CELL, _DOT = 6, 2


def png(chart: Chart) -> bytes:
    """The picture as a PNG file of 640 by 220 pixels."""
    canvas = np.full((HEIGHT * FINE, WIDTH * FINE, 3), 255.0, np.float32)
    place = frame(chart)
    for value in (place.low, place.high):
        _rule(canvas, place.y(value), FAINT, 0.5)
        _write(canvas, tick(value), LEFT - 6, place.y(value) - 7, FAINT, right=True)
    if chart.values:
        for piece in pieces(chart):
            for (x0, y0), (x1, y1) in zip(piece, piece[1:] or piece, strict=False):
                _stroke(canvas, (x0, y0), (x1, y1), LINE)
        _write(canvas, f"{place.seconds:.0f} s", WIDTH - RIGHT, HEIGHT - BOTTOM + 8, FAINT, right=True)
    else:
        shown = [(chart.value, LINE)] + ([(chart.baseline, FAINT)] if chart.baseline is not None else [])
        for at, (value, colour) in enumerate(shown):
            top, base = sorted((place.y(value), place.y(0.0)))
            x = LEFT + 60 + at * 160
            _box(canvas, (x, top), (x + 96, max(base, top + 1)), colour)
            _write(canvas, tick(value), x + 20, top - 18, INK)
    for start in range(LEFT, WIDTH - RIGHT, 10):
        y = place.y(chart.threshold)
        _box(canvas, (start, y - 0.8), (min(start + 6, WIDTH - RIGHT), y + 0.8), LIMIT)
    label = f"{chart.op} {tick(chart.threshold)}"
    _write(canvas, label, WIDTH - RIGHT - 2, place.y(chart.threshold) - 19, LIMIT, right=True)
    small = canvas.reshape(HEIGHT, FINE, WIDTH, FINE, 3).mean(axis=(1, 3))
    return _packed(small.round().astype(np.uint8))


def _colour(text: str) -> npt.NDArray[np.float32]:
    return np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)], np.float32)


def _box(canvas: Canvas, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    (x0, y0), (x1, y1) = ((round(x * FINE), round(y * FINE)) for x, y in (start, end))
    rows, columns = canvas.shape[:2]
    canvas[max(y0, 0) : min(y1, rows), max(x0, 0) : min(x1, columns)] = _colour(colour)


def _rule(canvas: Canvas, y: float, colour: str, width: float) -> None:
    _box(canvas, (LEFT, y - width / 2), (WIDTH - RIGHT, y + width / 2), colour)


def _stroke(canvas: Canvas, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    """A line of about two pixels, as dots that overlap."""
    (x0, y0), (x1, y1) = start, end
    steps = max(2, int(max(abs(x1 - x0), abs(y1 - y0)) * FINE))
    ink, reach = _colour(colour), FINE - 1
    for x, y in zip(np.linspace(x0, x1, steps) * FINE, np.linspace(y0, y1, steps) * FINE, strict=True):
        row, column = int(y), int(x)
        canvas[max(row - reach, 0) : row + reach + 1, max(column - reach, 0) : column + reach + 1] = ink


def _write(canvas: Canvas, text: str, x: float, y: float, colour: str, *, right: bool = False) -> None:
    """A number in dots. What has no glyph is a space."""
    left = x - len(text) * _CELL * _DOT if right else x
    for at, sign in enumerate(text):
        for row, bits in enumerate(_GLYPHS.get(sign, "").split()):
            for column, bit in enumerate(bits):
                if bit == "1":
                    dot = (left + (at * _CELL + column) * _DOT, y + row * _DOT)
                    _box(canvas, dot, (dot[0] + _DOT, dot[1] + _DOT), colour)


def _packed(pixels: npt.NDArray[np.uint8]) -> bytes:
    rows, columns = pixels.shape[:2]
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(raw, 9))
        + chunk(b"IEND", b"")
    )
