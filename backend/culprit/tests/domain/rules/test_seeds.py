"""The figures of the case studies that the rules grew from, as artifact text through collector, metric and rule.

Each file in `seeds/` is one case study. A step has the text that a host would have written (`parts`: collector →
part → text), the rule that judges it, the state that must come of it, and, if the case has the figure after
the fix, the text `after` it, on which the rule must stay not_matched. Figures for which no text can be written are listed
with `threshold_only` and the reason. Files in `cases/` have the same form and are of our own making; `fixture`
(collector → folder of its fixtures) is text that was really captured, in addition to `parts` or instead of it;
`baseline` and `peers` hold what it is compared with. A part is its text, or a list of pieces
`{text, repeat}`: each text is repeated so many times, and the pieces are joined. `{n}` in a text is the number of the
piece in six digits. `{t}` is a time with six decimals: `start_s` plus `step_s` for each piece before it. `reports`
(import → file among the fixtures of reports) is an imported file, and `capture_cpu_cores` what the runner reported
about itself. `undecided` marks a case whose interval contains the threshold.
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
from culprit.domain.imports.file_kinds import PARSERS
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Finding
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import Rule, Threshold
from culprit.domain.rules.view import HostView
from culprit.json_types import Json

from collectors.contract import Context, Parsed
from collectors.parse.perf import folded, perf_script
from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import FIXTURES, fixture_folder
from collectors.tests.support import SIMPLE, part

HERE = Path(__file__).parent
FILES = sorted((HERE / "seeds").glob("*.yaml")) + sorted((HERE / "cases").glob("*.yaml"))
TEXTS = {"parts", "fixture", "reports"}
STEPS = [(file.stem, step) for file in FILES for step in yaml.load(file.read_text(), Loader=yaml.CSafeLoader)]
WITH_TEXT = [
    pytest.param(step, id=f"{step['rule']}/{case}/{step['step']}")
    for case, step in STEPS
    if TEXTS & step.keys()
]
#: Cases that a mistake in a rule would change; those whose interval contains the threshold are not decided either way.
FIRED = [
    item
    for item in WITH_TEXT
    if item.values[0]["state"] in {"matched", "inconclusive"}  # type: ignore[index]
    and "undecided" not in item.values[0]  # type: ignore[operator]
]
AFTER = [item for item in WITH_TEXT if "after" in item.values[0]]  # type: ignore[operator]
OPPOSITE = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "==": "!=", "!=": "=="}
Parse = Callable[[str, Mapping[str, Any], Context], Parsed]


def parse(collector: str, parts: Mapping[str, Any], context: Context) -> Parsed:
    read = COLLECTORS[collector].parse if collector in COLLECTORS else PARSERS[collector]
    return read(parts, context)


def view(
    step: Json, texts: str = "parts", parser: Parse = parse, change: Callable[[str], str] = str
) -> HostView:
    facts = step.get("facts", {})
    parsed: dict[str, Parsed] = {}
    profiles: dict[str, StackProfile] = {}
    supplied = dict(step.get(texts, {}))
    if texts == "parts":
        supplied |= {name: captured(name, folder) for name, folder in step.get("fixture", {}).items()}
        supplied |= {name: {"file": _report(file)} for name, file in step.get("reports", {}).items()}
    for collector, files in supplied.items():
        method = files.get(
            "method", COLLECTORS[collector].methods[0].name if collector in COLLECTORS else "import"
        )
        parts = {
            name: part(text if isinstance(text, bytes) else change(written(text)))
            for name, text in files.items()
            if name != "method"
        }
        parsed[collector] = parser(
            collector, parts, Context(SIMPLE, method, step.get("seconds", 30.0), facts)
        )
        for source in parsed[collector].profiles:
            if source.part in parts and source.reader != "perf_sched":
                read = (
                    perf_script.parse_perf_script if source.reader == "perf_script" else folded.parse_folded
                )
                profiles[source.kind] = StackProfile(read(parts[source.part].open()))
    before = step.get("baseline")
    baseline = (
        view({"parts": before, "facts": facts, "seconds": step.get("seconds", 30.0)}) if before else None
    )
    peers = {str(at): view({"parts": item, "facts": facts}) for at, item in enumerate(step.get("peers", ()))}
    seen = build_view(parsed, profiles=profiles, facts=facts, baseline=baseline).with_peers(peers)
    return replace(seen, capture_cpu_cores=step.get("capture_cpu_cores"))


def written(text: str | list[Json]) -> str:
    """Return a part as text, with pieces repeated, numbered and timed."""
    if isinstance(text, str):
        return text
    pieces = [piece for piece in text for _ in range(piece["repeat"])]
    return "".join(_fill_piece(piece, number) for number, piece in enumerate(pieces))


def _fill_piece(piece: Json, number: int) -> str:
    at_s = piece.get("start_s", 0) + number * piece.get("step_s", 1)
    return str(piece["text"]).replace("{n}", f"{number:06d}").replace("{t}", f"{at_s:.6f}")


def captured(collector: str, folder: str) -> Json:
    """The parts of a fixture, as text where they are text."""
    place = fixture_folder(collector) / folder
    reported = json.loads((place / "how.json").read_text())
    files = [item for item in place.iterdir() if item.name not in {"how.json", "expected.json"}]
    return {"method": reported["method"], **{file.name: _text(file.read_bytes()) for file in files}}


def _report(file: str) -> str | bytes:
    return _text((FIXTURES / "reports" / file).read_bytes())


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def evaluate_case(step: Json, rule: Rule | None = None, **changes: Any) -> Finding:
    """The strongest finding of the step's rule."""
    return evaluate_rules([rule or RULES[step["rule"]]], view(step, **changes))[0]


@pytest.mark.parametrize("step", WITH_TEXT)
def test_the_figure_of_the_case_study(step: Json) -> None:
    result = evaluate_case(step)
    assert result.state == step["state"], result
    if "value" in step:
        assert result.numbers[0].value == pytest.approx(step["value"], rel=1e-3)
    if result.state == "matched":
        assert all(number.citations for number in result.numbers)
        assert result.numbers[0].citations[0].lines or result.numbers[0].citations[0].frame


@pytest.mark.parametrize("step", AFTER)
def test_the_figure_after_the_fix_is_quiet(step: Json) -> None:
    assert evaluate_case(step, texts="after").state == "not_matched"


@pytest.mark.parametrize("step", FIRED)
def test_the_wrong_operator_would_be_noticed(step: Json) -> None:
    rule = RULES[step["rule"]]
    # the mildest level alone: a number between two levels is on both sides of them
    turned = replace(rule, op=OPPOSITE[rule.op], thresholds=rule.thresholds[:1])  # type: ignore[arg-type]
    subject = evaluate_case(step).subject
    findings = evaluate_rules([turned], view(step))
    assert step["state"] not in {finding.state for finding in findings if finding.subject == subject}


@pytest.mark.parametrize("step", FIRED)
def test_the_wrong_unit_would_be_noticed(step: Json) -> None:
    """A threshold a million times off, as seconds for microseconds would be."""
    rule = RULES[step["rule"]]
    if any(limit.value == 0 for _, limit in rule.thresholds) or rule.op in {"==", "!="}:
        pytest.skip("a threshold of zero has no unit")
    far = operator.mul if rule.op in {">", ">="} else operator.truediv
    levels = tuple(
        (level, Threshold(item.name, far(item.value, 1e6), item.source)) for level, item in rule.thresholds
    )
    assert evaluate_case(step, replace(rule, thresholds=levels)).state != step["state"]


@pytest.mark.parametrize("step", FIRED)
def test_the_wrong_parser_would_be_noticed(step: Json) -> None:
    """One that reads nothing, and one that reads every number as nought."""
    assert evaluate_case(step, parser=lambda *_: Parsed(readable=False)).state == "not_evaluated"
    if step.get("text_decides"):
        return
    keep_stamps = re.compile(r"^(?!@ )(.*)$", re.MULTILINE)

    def nought(text: str) -> str:
        return keep_stamps.sub(
            lambda line: re.sub(r"(?<![A-Za-z_.\d])\d+(\.\d+)?(?![A-Za-z_])", "0", line[0]), text
        )

    assert evaluate_case(step, change=nought).state != step["state"]


def test_every_figure_has_text_or_a_reason() -> None:
    for case, step in STEPS:
        text = bool(TEXTS & step.keys())
        assert text != ("threshold_only" in step), (case, step["step"])
        assert step.get("rule") in RULES or "threshold_only" in step, (case, step["step"])
        assert step["kind"] in {"stated", "derived", "refuted", "own"}
