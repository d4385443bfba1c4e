"""The picture of a message: well-formed, harmless, and the same as SVG and as PNG."""

from __future__ import annotations

import json
import math
import struct
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from culprit.core.notices.chart import HEIGHT, MAX_POINTS, WIDTH, Chart, frame, pieces, svg, thinned
from culprit.core.notices.message import Figure, Message, figure, figures, sparkline
from culprit.core.notices.raster import png
from culprit.notices.service import example

TITLE = {"en": "Delay of a switch", "zh": "切换延迟"}
LINE = Chart(TITLE, "ms", 44.1, 3.0, ">", (0.0, 1.0, 2.0, 3.0), (1.1, 44.1, None, 40.0))
NAMES = ["<script>alert(1)</script>", "]]>&<", "\x00\x1b\ud800", "a" * 5000, 'onload="x" \'']


def texts(document: str) -> list[str]:
    root = ElementTree.fromstring(document)
    return [one.text or "" for one in root.iter() if one.text]


def pixels(data: bytes) -> np.ndarray:
    """A PNG read back: 8 bits, RGB, no filter."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, size = 8, b"", (0, 0)
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert zlib.crc32(name + body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if name == b"IHDR":
            size = struct.unpack(">II", body[:8])
        packed += body if name == b"IDAT" else b""
        at += 12 + length
    width, height = size
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * 3)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_a_gap_is_never_bridged_and_a_threshold_is_drawn() -> None:
    assert [len(one) for one in pieces(LINE)] == [2, 1]
    document = svg(LINE)
    told = texts(document)
    assert "Delay of a switch" in told and any("> 3" in one for one in told)
    assert document.count("<polyline") == 1 and document.count("<circle") == 1
    assert "切换延迟" in svg(LINE, "zh")


def test_the_line_stands_where_its_values_are() -> None:
    place = frame(LINE)
    assert place.low == 0 and place.y(place.high) < place.y(3.0) < place.y(0.0)
    picture = pixels(png(LINE))
    assert picture.shape == (HEIGHT, WIDTH, 3)
    red = (picture[:, :, 0] > 180) & (picture[:, :, 1] < 90)
    rows = np.flatnonzero(red[:, 100:300].any(axis=1))
    assert abs(rows.mean() - place.y(3.0)) < 2
    blue = (picture[:, :, 2] > 150) & (picture[:, :, 0] < 90)
    assert np.flatnonzero(blue.any(axis=1)).min() == pytest.approx(place.y(44.1), abs=3)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_text_and_never_markup(name: str) -> None:
    document = svg(replace(LINE, title={"en": name}, unit=name))
    root = ElementTree.fromstring(document.encode("utf-8", "strict"))
    known = {"svg", "title", "rect", "line", "text", "polyline", "circle"}
    assert {one.tag.partition("}")[2] for one in root.iter()} <= known
    assert not any(key.startswith("on") or "href" in key for one in root.iter() for key in one.attrib)


@pytest.mark.parametrize("value", [0.0, -5.0, 1e-12, 1e15, math.inf, math.nan])
def test_any_number_can_be_drawn(value: float) -> None:
    for chart in (
        Chart(TITLE, "", value, 3.0, ">"),
        Chart(TITLE, "", 1.0, value, "<", baseline=value),
        Chart(TITLE, "", value, value, ">", (0.0, 0.0), (None, 1.0)),
    ):
        ElementTree.fromstring(svg(chart))
        assert pixels(png(chart)).shape[2] == 3


def test_long_series_are_thinned_and_keep_their_peak() -> None:
    values = [0.0] * 10_000
    values[4321] = 99.0
    t_s, kept = thinned([n * 10**9 for n in range(10_000)], values)
    assert len(t_s) == len(kept) <= MAX_POINTS and max(one for one in kept if one is not None) == 99.0
    assert thinned([0, 10**9], [math.nan, 1.0]) == ((0.0, 1.0), (None, 1.0))


def test_a_message_comes_back_as_it_was_stored() -> None:
    one = example()
    assert Message.of(one.as_json()) == one
    assert (
        Message.of(Message("failed", "h", failure={"key": "x", "params": {}}).as_json()).outcome == "failed"
    )


def titled(rule: str, measure: str) -> dict[str, str]:
    return {"en": f"{rule} {measure}", "zh": f"{measure} 忙"}


def test_three_numbers_none_twice_with_unit_and_threshold() -> None:
    def told(metric: str, value: float, rule: str = "F-X") -> dict:
        return {"finding": rule, "metric": metric, "value": value, "unit": "pct", "op": ">", "threshold": 90,
                "subject": {"cpu": "0"}}  # fmt: skip

    result = {
        "causes": [{"evidence": [told("a", 99.0), told("a", 99.0)]}, {"evidence": [told("b", 95.5)]}],
        "inconclusive": [{"rule": "F-W", "subject": {}, "numbers": [{**told("w", 1.0), "measure": "w", "unit": "bool"}]},
                         {"rule": "F-Y", "subject": {}, "numbers": [{**told("c", 12345.0), "measure": "c"}]}],
        "context": [{"rule": "F-Z", "subject": {}, "numbers": [{**told("d", 1.0), "measure": "d"}]}],
    }  # fmt: skip
    found = figures(result, titled)
    assert [one.measure for one in found] == ["a", "b", "c"]
    assert figure(found[0]) == "99 % > 90 %" and figure(found[2]) == "12,345 % > 90 %"
    assert found[0].about == "cpu=0" and found[0].title["zh"] == "a 忙"
    assert figure(Figure({}, 0.5, "ms", "<=", 1.0)) == "0.5 ms ≤ 1 ms"
    assert sparkline([0, 1, None, 7]) == "▁▂ █" and sparkline([None]) == ""


def test_a_number_that_was_compared_with_nothing_is_told_without_a_threshold() -> None:
    beside = {
        "finding": "F-X",
        "metric": "limit",
        "value": 256.0,
        "unit": "mb",
        "op": None,
        "threshold": None,
    }
    [found] = figures({"causes": [{"evidence": [beside]}]}, titled)
    assert (found.op, found.threshold, found.title["en"]) == (None, None, "F-X limit")
    assert figure(found) == "256 MiB"
    stored = Message("named", "h", figures=(found,)).as_json()
    assert Message.of(json.loads(json.dumps(stored))).figures == (found,)
