"""Exports hold all the weight, and a hostile name is nothing but a name."""

from __future__ import annotations

import gzip
import json
import re
import xml.etree.ElementTree as ET
from collections import Counter

import jsonschema
import pytest
from culprit.domain.profile_exports.firefox import write_firefox
from culprit.domain.profile_exports.folded import write_folded
from culprit.domain.profile_exports.pprof import write_pprof
from culprit.domain.profile_exports.speedscope import write_speedscope
from culprit.domain.profile_exports.svg import write_svg
from culprit.domain.profiles.inverted import render_inverted_tree
from culprit.domain.profiles.stacks import StackProfile

from collectors.parse.perf import folded, perf_script
from collectors.parse.profile_formats.pprof import parse_pprof
from collectors.tests.recorded_profiles import HOSTILE, captured, source, stacks

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
    return StackProfile(perf_script.parse_perf_script(source(captured("cpu.txt")))).view()


def test_folded_goes_round(view):
    again = folded.parse_folded(source(text_of(write_folded(view)).encode()))
    assert again.samples == 1209
    expected = Counter()
    for path, n in stacks(view.profile.table).items():
        expected[tuple(name.replace(";", ":") for name in path)] += n
    assert stacks(again) == expected


def test_speedscope_fits_its_schema_and_holds_everything(view):
    result = json.loads(text_of(write_speedscope(view, "host a")))
    jsonschema.validate(result, SPEEDSCOPE)
    frames = [f["name"] for f in result["shared"]["frames"]]
    counter = Counter()
    for item in result["profiles"]:
        assert sum(item["weights"]) == item["endValue"] and len(item["weights"]) == len(item["samples"])
        comm = re.fullmatch(r"(.*) \d+/\d+|(.*)", item["name"])
        for path, n in zip(item["samples"], item["weights"], strict=True):
            counter[(comm[1] or comm[2], *(frames[i] for i in path))] += n
    assert counter == stacks(view.profile.table)


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
    table = folded.parse_folded(source(f"{name};{name}2;x 5\n".encode()))
    view = StackProfile(table).view()
    for tree in (view.render_tree(), render_inverted_tree(view)):
        safe(text_of(write_svg(tree, name)))
        json.loads(tree.json())
    jsonschema.validate(json.loads(text_of(write_speedscope(view, name))), SPEEDSCOPE)
    json.loads(text_of(write_firefox(view, name)))
    assert parse_pprof(source(gzip.decompress(b"".join(write_pprof(view)))))[0].total == 5
    assert text_of(write_folded(view)).count("\n") == 1


def test_the_picture_is_as_wide_as_the_weights(view):
    tree = view.render_tree()
    root = safe(text_of(write_svg(tree, "cpu")))
    boxes = [g.find(SVG + "rect") for g in root.findall(SVG + "g")]
    assert len(boxes) == len(tree.id)
    edges: dict[str, float] = {}
    for box in sorted(boxes, key=lambda b: (float(b.get("y")), float(b.get("x")))):
        x, w = float(box.get("x")), float(box.get("width"))
        assert x >= edges.get(box.get("y"), 0) - 0.02 and x + w <= 1190.02
        edges[box.get("y")] = x + w
    widest = max(float(b.get("width")) for b in boxes)
    assert widest == pytest.approx(1180, abs=0.01)


def test_an_empty_view_is_still_a_file():
    profile = StackProfile(folded.parse_folded(source(b"a;b 0\n")))
    view = profile.view()
    safe(text_of(write_svg(view.render_tree(), "none")))
    json.loads(text_of(write_speedscope(view, "none")))
    json.loads(text_of(write_firefox(view, "none")))
    assert b"samples" in gzip.decompress(b"".join(write_pprof(view)))
    assert text_of(write_folded(view)) == ""
