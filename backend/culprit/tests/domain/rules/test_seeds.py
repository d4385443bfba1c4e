"""The figures of the case studies that the rules grew from, as artifact text through collector, metric and rule.

Each file in `seeds/` is one case study. A step has the text that a host would have written (`parts`: collector →
part → text), the rule that judges it, the state that must come of it, and where the case tells the figure after
the fix, the text `after` it, on which the rule must stay quiet. Figures for which no text can be written are listed
with `threshold_only` and the reason. Files in `cases/` have the same form and are of our own making; `fixture`
(collector → folder of its fixtures) stands for text that was really captured, beside or instead of `parts`;
`baseline` and `twins` hold what it is compared with. A part is its text, or a list of pieces `{text, times}` that are
written one after the other, `{n}` being the number of the piece in six digits: a profile is the same few stacks many
times. `reports` (import → file among the fixtures of reports) stands for what somebody brought, and
`capture_cpu_cores` for what the runner said of itself.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from culprit.core.rules.contract import Finding, Limit, Rule
from culprit.core.rules.evaluate import evaluate
from culprit.core.rules.parsed_view import view_of
from culprit.core.rules.registry import RULES
from culprit.core.rules.view import View
from culprit.core.stacks import Profile
from culprit.imports.sources import PARSERS

from collectors.contract import Context, Parsed
from collectors.parse import folded, perf_script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import FIXTURES
from collectors.tests.support import SIMPLE, part

HERE = Path(__file__).parent
FILES = sorted((HERE / "seeds").glob("*.yaml")) + sorted((HERE / "cases").glob("*.yaml"))
Json = dict[str, Any]
TEXTS = {"parts", "fixture", "reports"}
STEPS = [(one.stem, step) for one in FILES for step in yaml.safe_load(one.read_text())]
WITH_TEXT = [
    pytest.param(step, id=f"{step['rule']}/{case}/{step['step']}")
    for case, step in STEPS
    if TEXTS & step.keys()
]
FIRED = [one for one in WITH_TEXT if one.values[0]["state"] in {"fired", "inconclusive"}]  # type: ignore[index]
AFTER = [one for one in WITH_TEXT if "after" in one.values[0]]  # type: ignore[operator]
OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
Parse = Callable[[str, Mapping[str, Any], Context], Parsed]


def parse(collector: str, parts: Mapping[str, Any], context: Context) -> Parsed:
    read = COLLECTORS[collector].parse if collector in COLLECTORS else PARSERS[collector]
    return read(parts, context)


def view(step: Json, texts: str = "parts", parser: Parse = parse, change: Callable[[str], str] = str) -> View:
    facts = step.get("facts", {})
    parsed: dict[str, Parsed] = {}
    profiles: dict[str, Profile] = {}
    given = dict(step.get(texts, {}))
    if texts == "parts":
        given |= {name: captured(name, folder) for name, folder in step.get("fixture", {}).items()}
        given |= {name: {"file": _report(file)} for name, file in step.get("reports", {}).items()}
    for collector, files in given.items():
        way = files.get("way", COLLECTORS[collector].ways[0].name if collector in COLLECTORS else "import")
        parts = {
            name: part(text if isinstance(text, bytes) else change(written(text)))
            for name, text in files.items()
            if name != "way"
        }
        parsed[collector] = parser(collector, parts, Context(SIMPLE, way, step.get("seconds", 30.0), facts))
        for source in parsed[collector].profiles:
            if source.part in parts and source.reader != "perf_sched":
                reader = perf_script if source.reader == "perf_script" else folded
                profiles[source.kind] = Profile(reader.read(parts[source.part].open()))
    before = step.get("baseline")
    baseline = (
        view({"parts": before, "facts": facts, "seconds": step.get("seconds", 30.0)}) if before else None
    )
    twins = {str(at): view({"parts": one, "facts": facts}) for at, one in enumerate(step.get("twins", ()))}
    seen = view_of(parsed, profiles=profiles, facts=facts, baseline=baseline).beside(twins)
    return replace(seen, capture_cpu_cores=step.get("capture_cpu_cores"))


def written(text: str | list[Json]) -> str:
    """A part as its text: pieces are repeated and numbered."""
    if isinstance(text, str):
        return text
    pieces = [piece["text"] for piece in text for _ in range(piece["times"])]
    return "".join(piece.replace("{n}", f"{at:06d}") for at, piece in enumerate(pieces))


def captured(collector: str, folder: str) -> Json:
    """The parts of a fixture, as text where they are text."""
    place = FIXTURES / collector / folder
    told = json.loads((place / "how.json").read_text())
    files = [one for one in place.iterdir() if one.name not in {"how.json", "expected.json"}]
    return {"way": told["way"], **{one.name: _text(one.read_bytes()) for one in files}}


def _report(file: str) -> str | bytes:
    return _text((FIXTURES / "reports" / file).read_bytes())


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def said(step: Json, rule: Rule | None = None, **changes: Any) -> Finding:
    """The strongest finding of the step's rule."""
    return evaluate([rule or RULES[step["rule"]]], view(step, **changes))[0]


@pytest.mark.parametrize("step", WITH_TEXT)
def test_the_figure_of_the_case_study(step: Json) -> None:
    found = said(step)
    assert found.state == step["state"], found
    if "value" in step:
        assert found.numbers[0].value == pytest.approx(step["value"], rel=1e-3)
    if found.state == "fired":
        assert all(number.citations for number in found.numbers)
        assert found.numbers[0].citations[0].lines or found.numbers[0].citations[0].frame


@pytest.mark.parametrize("step", AFTER)
def test_the_figure_after_the_fix_is_quiet(step: Json) -> None:
    assert said(step, texts="after").state == "quiet"


@pytest.mark.parametrize("step", FIRED)
def test_the_wrong_operator_would_be_noticed(step: Json) -> None:
    rule = RULES[step["rule"]]
    # the mildest level alone: a number between two levels is on both sides of them
    turned = replace(rule, op=OPPOSITE[rule.op], levels=rule.levels[:1])  # type: ignore[arg-type]
    assert said(step, turned).state != step["state"]


@pytest.mark.parametrize("step", FIRED)
def test_the_wrong_unit_would_be_noticed(step: Json) -> None:
    """A threshold a million times off, as seconds for microseconds would be."""
    rule = RULES[step["rule"]]
    if any(limit.value == 0 for _, limit in rule.levels) or rule.op in {"==", "!="}:
        pytest.skip("a counter that should stand still has no unit to mistake")
    far = operator.mul if rule.op in {">", ">="} else operator.truediv
    levels = tuple((level, Limit(one.name, far(one.value, 1e6), one.source)) for level, one in rule.levels)
    assert said(step, replace(rule, levels=levels)).state != step["state"]


@pytest.mark.parametrize("step", FIRED)
def test_the_wrong_parser_would_be_noticed(step: Json) -> None:
    """One that reads nothing, and one that reads every number as nought."""
    assert said(step, parser=lambda *_: Parsed(readable=False)).state == "not_evaluated"
    if step.get("text_decides"):
        return
    keep_stamps = re.compile(r"^(?!@ )(.*)$", re.MULTILINE)

    def nought(text: str) -> str:
        return keep_stamps.sub(
            lambda line: re.sub(r"(?<![A-Za-z_.\d])\d+(\.\d+)?(?![A-Za-z_])", "0", line[0]), text
        )

    assert said(step, change=nought).state != step["state"]


def test_every_figure_has_text_or_a_reason() -> None:
    for case, step in STEPS:
        text = bool(TEXTS & step.keys())
        assert text != ("threshold_only" in step), (case, step["step"])
        assert step.get("rule") in RULES or "threshold_only" in step, (case, step["step"])
        assert step["kind"] in {"stated", "derived", "refuted", "own"}
