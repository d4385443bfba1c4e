"""Charts of notifications are well-formed and harmless, as SVG and as PNG."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from culprit.domain.notifications.chart import (
    HEIGHT,
    MAX_POINTS,
    WIDTH,
    Chart,
    build_segments,
    compute_frame,
    reduce_series,
    render_svg,
)
from culprit.domain.notifications.message import (
    MessageNumber,
    NotificationContent,
    format_figure,
    render_sparkline,
    select_figures,
)
from culprit.domain.notifications.raster import render_png
from culprit.notifications.service import build_example
from PIL import Image

TITLE = {"en": "Delay of a switch", "zh": "切换延迟"}
LINE = Chart(TITLE, "ms", 44.1, 3.0, ">", (0.0, 1.0, 2.0, 3.0), (1.1, 44.1, None, 40.0))
NAMES = ["<script>alert(1)</script>", "]]>&<", "\x00\x1b\ud800", "a" * 5000, 'onload="x" \'']


def texts(document: str) -> list[str]:
    root = ElementTree.fromstring(document)
    return [item.text or "" for item in root.iter() if item.text]


def pixels(data: bytes) -> np.ndarray:
    """Return the pixels of a PNG: uint8 [rows, columns, RGB]."""
    image = Image.open(BytesIO(data))
    image.load()
    assert (image.format, image.mode) == ("PNG", "RGB")
    return np.asarray(image)


def test_svg_keeps_gaps_and_shows_threshold() -> None:
    assert [len(segment) for segment in build_segments(LINE)] == [2, 1]
    document = render_svg(LINE)
    reported = texts(document)
    assert "Delay of a switch" in reported and any("> 3" in item for item in reported)
    assert document.count("<polyline") == 1 and document.count("<circle") == 1
    assert "切换延迟" in render_svg(LINE, "zh")


def test_png_line_is_at_its_values() -> None:
    place = compute_frame(LINE)
    assert place.low == 0 and place.y(place.high) < place.y(3.0) < place.y(0.0)
    picture = pixels(render_png(LINE))
    assert picture.shape == (HEIGHT, WIDTH, 3)
    red = (picture[:, :, 0] > 180) & (picture[:, :, 1] < 90)
    rows = np.flatnonzero(red[:, 100:300].any(axis=1))
    assert abs(rows.mean() - place.y(3.0)) < 2
    blue = (picture[:, :, 2] > 150) & (picture[:, :, 0] < 90)
    assert np.flatnonzero(blue.any(axis=1)).min() == pytest.approx(place.y(44.1), abs=3)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_text_and_never_markup(name: str) -> None:
    document = render_svg(replace(LINE, title={"en": name}, unit=name))
    root = ElementTree.fromstring(document.encode("utf-8", "strict"))
    known = {"svg", "title", "rect", "line", "text", "polyline", "circle"}
    assert {item.tag.partition("}")[2] for item in root.iter()} <= known
    assert not any(key.startswith("on") or "href" in key for item in root.iter() for key in item.attrib)


@pytest.mark.parametrize("value", [0.0, -5.0, 1e-12, 1e15, math.inf, math.nan])
def test_charts_render_any_number(value: float) -> None:
    for chart in (
        Chart(TITLE, "", value, 3.0, ">"),
        Chart(TITLE, "", 1.0, value, "<", baseline=value),
        Chart(TITLE, "", value, value, ">", (0.0, 0.0), (None, 1.0)),
    ):
        ElementTree.fromstring(render_svg(chart))
        assert pixels(render_png(chart)).shape[2] == 3


def test_long_series_are_thinned_and_keep_their_peak() -> None:
    values = [0.0] * 10_000
    values[4321] = 99.0
    t_s, stored = reduce_series([n * 10**9 for n in range(10_000)], values)
    assert len(t_s) == len(stored) <= MAX_POINTS and max(item for item in stored if item is not None) == 99.0
    assert reduce_series([0, 10**9], [math.nan, 1.0]) == ((0.0, 1.0), (None, 1.0))


def test_message_round_trip() -> None:
    example = build_example()
    assert NotificationContent.from_stored(example.as_json()) == example
    assert (
        NotificationContent.from_stored(
            NotificationContent("failed", "h", failure={"key": "x", "params": {}}).as_json()
        ).outcome
        == "failed"
    )


def titled(rule: str, measure: str) -> dict[str, str]:
    return {"en": f"{rule} {measure}", "zh": f"{measure} 忙"}


def test_three_numbers_none_twice_with_unit_and_threshold() -> None:
    def evidence(metric: str, value: float, rule: str = "F-X") -> dict:
        return {"finding": rule, "metric": metric, "value": value, "unit": "pct", "op": ">", "threshold": 90,
                "subject": {"cpu": "0"}}  # fmt: skip

    result = {
        "causes": [{"evidence": [evidence("a", 99.0), evidence("a", 99.0)]}, {"evidence": [evidence("b", 95.5)]}],
        "inconclusive": [{"rule": "F-W", "subject": {}, "numbers": [{**evidence("w", 1.0), "measure": "w", "unit": "bool"}]},
                         {"rule": "F-Y", "subject": {}, "numbers": [{**evidence("c", 12345.0), "measure": "c"}]}],
        "context": [{"rule": "F-Z", "subject": {}, "numbers": [{**evidence("d", 1.0), "measure": "d"}]}],
    }  # fmt: skip
    figures = select_figures(result, titled)
    assert [figure.measure for figure in figures] == ["a", "b", "c"]
    assert format_figure(figures[0]) == "99 % > 90 %" and format_figure(figures[2]) == "12,345 % > 90 %"
    assert figures[0].about == "cpu=0" and figures[0].title["zh"] == "a 忙"
    assert format_figure(MessageNumber({}, 0.5, "ms", "<=", 1.0)) == "0.5 ms ≤ 1 ms"
    assert render_sparkline([0, 1, None, 7]) == "▁▂ █" and render_sparkline([None]) == ""


def test_number_without_comparison_has_no_threshold() -> None:
    related = {
        "finding": "F-X",
        "metric": "limit",
        "value": 256.0,
        "unit": "mb",
        "op": None,
        "threshold": None,
    }
    [result] = select_figures({"causes": [{"evidence": [related]}]}, titled)
    assert (result.op, result.threshold, result.title["en"]) == (None, None, "F-X limit")
    assert format_figure(result) == "256 MiB"
    stored = NotificationContent("named", "h", figures=(result,)).as_json()
    assert NotificationContent.from_stored(json.loads(json.dumps(stored))).figures == (result,)
