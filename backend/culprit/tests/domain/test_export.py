"""Exports hold all the weight, and a hostile name is nothing but a name."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter

import jsonschema
import pytest
from culprit.core import export
from culprit.core.inverted import inverted
from culprit.core.stacks import Profile

from collectors.parse import folded, perf_script
from collectors.tests.profiles import HOSTILE, captured, source, stacks

SVG = "{http://www.w3.org/2000/svg}"

SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "profiles", "shared"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "activeProfileIndex": {"type": "number"},
        "exporter": {"type": "string"},
        "name": {"type": "string"},
        "profiles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["endValue", "name", "samples", "startValue", "type", "unit", "weights"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "sampled"},
                    "name": {"type": "string"},
                    "unit": {
                        "enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]
                    },
                    "startValue": {"type": "number"},
                    "endValue": {"type": "number"},
                    "samples": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                    "weights": {"type": "array", "items": {"type": "number"}},
                },
            },
        },
        "shared": {
            "type": "object",
            "required": ["frames"],
            "additionalProperties": False,
            "properties": {
                "frames": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "file": {"type": "string"},
                            "line": {"type": "number"},
                            "col": {"type": "number"},
                        },
                        "additionalProperties": False,
                    },
                }
            },
        },
    },
}
"""The sampled part of speedscope's published file-format schema."""


def text_of(pieces) -> str:
    return "".join(pieces)


@pytest.fixture(scope="module")
def view():
    return Profile(perf_script.read(source(captured("cpu.txt")))).view()


def test_folded_goes_round(view):
    again = folded.read(source(text_of(export.folded(view)).encode()))
    assert again.samples == 1209
    expected = Counter()
    for path, n in stacks(view.profile.table).items():
        expected[tuple(name.replace(";", ":") for name in path)] += n
    assert stacks(again) == expected


def test_speedscope_fits_its_schema_and_holds_everything(view):
    made = json.loads(text_of(export.speedscope(view, "host a")))
    jsonschema.validate(made, SPEEDSCOPE)
    (one,) = made["profiles"]
    assert sum(one["weights"]) == 1209 == one["endValue"] and len(one["weights"]) == len(one["samples"])
    frames = [f["name"] for f in made["shared"]["frames"]]
    found = Counter()
    for path, n in zip(one["samples"], one["weights"], strict=True):
        found[tuple(frames[i] for i in path)] += n
    assert found == stacks(view.profile.table)


def safe(svg: str) -> ET.Element:
    """The parsed picture, after checking that it holds nothing but rectangles and text."""
    root = ET.fromstring(svg)
    assert {e.tag for e in root.iter()} <= {SVG + t for t in ("svg", "g", "rect", "text", "title")}
    for element in root.iter():
        assert not [
            a for a in element.attrib if a.lower().startswith("on") or "href" in a.lower() or a == "style"
        ]
    assert not re.search(r"<!|<\?(?!xml version=)", svg)
    assert not any(ord(c) < 32 and c != "\n" for c in svg)
    return root


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_only_text(name):
    table = folded.read(source(f"{name};{name}2;x 5\n".encode()))
    view = Profile(table).view()
    for drawn in (view.tree(), inverted(view)):
        safe(text_of(export.svg(drawn, name)))
        json.loads(drawn.json())
    jsonschema.validate(json.loads(text_of(export.speedscope(view, name))), SPEEDSCOPE)
    assert text_of(export.folded(view)).count("\n") == 1


def test_the_picture_is_as_wide_as_the_weights(view):
    drawn = view.tree()
    root = safe(text_of(export.svg(drawn, "cpu")))
    boxes = [g.find(SVG + "rect") for g in root.findall(SVG + "g")]
    assert len(boxes) == len(drawn.id)
    edges: dict[str, float] = {}
    for box in sorted(boxes, key=lambda b: (float(b.get("y")), float(b.get("x")))):
        x, w = float(box.get("x")), float(box.get("width"))
        assert x >= edges.get(box.get("y"), 0) - 0.02 and x + w <= 1190.02
        edges[box.get("y")] = x + w
    widest = max(float(b.get("width")) for b in boxes)
    assert widest == pytest.approx(1180, abs=0.01)


def test_an_empty_view_is_still_a_file():
    profile = Profile(folded.read(source(b"a;b 0\n")))
    view = profile.view()
    safe(text_of(export.svg(view.tree(), "none")))
    json.loads(text_of(export.speedscope(view, "none")))
    assert text_of(export.folded(view)) == ""
