"""What holds for every collector: its words, its promises, its golden files, and rubbish of any kind."""

from __future__ import annotations

import json
import math
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors import plans
from collectors.clock import ClockMap
from collectors.contract import Collector, Context, Parsed, Sampled, Script, Sentence, Tier
from collectors.metrics import CATALOGUE, GROUPS
from collectors.registry import COLLECTORS
from collectors.tests.support import BytesPart, context, plain

pytestmark = pytest.mark.long(60)

FIXTURES = Path(__file__).parent / "fixtures"
GOLDEN = sorted(FIXTURES.glob("*/*/how.json"))
EVERY = pytest.mark.parametrize("collector", COLLECTORS.values(), ids=COLLECTORS.keys())
CHINESE = re.compile("[\u4e00-\u9fff]")
SENTENCES = Path(__file__).parents[2] / "backend/culprit/kit/sentences"
MANDATORY = {"perf_record", "perf_sched", "iostat", "numastat", "vmstat", "softirqs"}


TEXTS = [yaml.safe_load((SENTENCES / f"{locale}.yaml").read_text()) for locale in ("en", "zh")]


def says(sentence: Sentence) -> None:
    """The sentence exists in both languages, and has every parameter that its text asks for."""
    for texts in TEXTS:
        asked = set(re.findall(r"\{(\w+)\}", texts[sentence.key]))
        assert asked <= sentence.params.keys(), (sentence, asked)


def sound(collector: Collector, parsed: Parsed, parts: set[str]) -> None:
    """What a parser yields is what was declared, in the shapes of the contract."""
    for one in parsed.series:
        metric = CATALOGUE[one.metric]
        assert one.metric in collector.yields
        assert (tuple(one.labels), one.axis) == (metric.labels, metric.axis)
        assert one.t_ns.dtype == np.int64 and one.values.dtype == np.float64
        assert one.values.shape == (len(one.t_ns), max(1, len(one.axis_values)))
        assert np.all(np.diff(one.t_ns) >= 0) and not np.isinf(one.values).any()
        assert one.part in parts
        assert one.lines is None or one.lines.shape == one.t_ns.shape
        if metric.unit == "pct" and metric.id != "cpu.total_busy_pct":
            known = one.values[np.isfinite(one.values)]
            assert np.all(known >= 0)
    for table in parsed.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        cells = [cell for row in table.rows for cell in row]
        assert all(math.isfinite(cell) for cell in cells if isinstance(cell, float))
        assert not any("\0" in cell for cell in cells if isinstance(cell, str))
    for event in parsed.events:
        says(event.title)
        assert "\0" not in event.detail
    for profile in parsed.profiles:
        assert profile.part in parts
    for warning in parsed.warnings:
        says(warning)
    assert "\\u0000" not in json.dumps(parsed.facts, allow_nan=False)


def test_the_six_that_must_be_there() -> None:
    assert {one.id for one in COLLECTORS.values() if one.mandatory} == MANDATORY


@EVERY
def test_what_a_collector_says_of_itself(collector: Collector) -> None:
    """Both languages, known metrics, a way, sane limits."""
    for text in (collector.title, collector.why, collector.cost.note):
        assert text.en.strip() and text.zh.strip()
    assert CHINESE.search(collector.why.zh) and CHINESE.search(collector.cost.note.zh)
    assert set(collector.yields) <= CATALOGUE.keys()
    assert len({way.name for way in collector.ways}) == len(collector.ways) > 0
    assert 0 < collector.seconds_max <= 600 and 0 < collector.max_bytes <= 256 << 20
    assert collector.tier is Tier.LIGHT or collector.exclusive
    for way in collector.ways:
        assert way.needs.mend
        assert way.shows.replace("{seconds}", "")
        if isinstance(way, Script):
            assert way.sh.isascii() and "SECS" in way.sh
            assert "{seconds}" in way.shows
        else:
            assert isinstance(way, Sampled) and all(path.startswith("/") for path in way.files)


def test_nothing_reads_command_lines_or_environments() -> None:
    """Arguments and environments hold secrets. One option of a JVM is looked for and is never written anywhere."""
    looked_for = 'return NO_ATTACH in self.target.read("cmdline")'
    for one in COLLECTORS.values():
        for way in one.ways:
            read = way.sh if isinstance(way, Script) else " ".join(way.files)
            read = read.replace(looked_for, "", 1)
            assert not re.search(r"cmdline|environ\b", read), one.id


def test_plans_have_the_tier_that_they_promise() -> None:
    tiers = {name: plan.tier for name, plan in plans.PLANS.items()}
    light = dict.fromkeys(("triage", "io", "network", "baseline"), Tier.LIGHT)
    assert tiers == {**light, "cpu": Tier.STANDARD, "sched": Tier.DEEP}
    inside = {name: {item.id: item.seconds for item in plan.collectors} for name, plan in plans.PLANS.items()}
    assert inside["cpu"]["perf_record"] == 15
    assert inside["sched"]["perf_sched"] == 5
    default = {one.id for one in COLLECTORS.values() if one.tier is Tier.LIGHT and not one.on_demand}
    assert set(inside["triage"]) == default
    assert set(inside["cpu"]) | set(inside["sched"]) >= MANDATORY


def test_a_plan_can_be_scaled_and_made_up() -> None:
    scaled = plans.scaled(plans.PLANS["sched"], 60)
    assert {item.id: item.seconds for item in scaled.collectors}["perf_sched"] == 5
    assert {item.id: item.seconds for item in scaled.collectors}["vmstat"] == 60
    made = plans.custom(["vmstat", "perf_record", "vmstat"], 100)
    assert [(item.id, item.seconds) for item in made.collectors] == [("vmstat", 100), ("perf_record", 30)]
    assert made.tier is Tier.STANDARD
    with pytest.raises(KeyError):
        plans.custom(["no_such"], 5)


@pytest.mark.parametrize("metric", CATALOGUE.values(), ids=CATALOGUE.keys())
def test_metrics_speak_both_languages(metric) -> None:
    assert metric.title.en and metric.title.zh and metric.meaning.en
    assert CHINESE.search(metric.meaning.zh)
    assert metric.lane.group in GROUPS
    assert (metric.lane.kind == "heatmap") <= (metric.axis is not None)
    suffix = {"pct": "_pct", "kb": "_kb", "kb_per_s": "_kb_per_s", "mb_per_s": "_mb_s", "ms": "_ms"}
    assert metric.id.endswith(suffix.get(metric.unit, ""))


def test_every_metric_comes_from_one_collector() -> None:
    """Two collectors with one metric would draw one lane twice."""
    sources = [metric for one in COLLECTORS.values() for metric in one.yields]
    assert sorted(sources) == sorted(set(sources))
    assert set(sources) == CATALOGUE.keys()


def load(how: Path) -> tuple[Collector, dict[str, BytesPart], Context]:
    told = json.loads(how.read_text())
    names = [one for one in how.parent.iterdir() if one.name not in {"how.json", "expected.json"}]
    parts = {one.name: BytesPart(one.read_bytes()) for one in names}
    clock = ClockMap.from_records(told["clock"])
    return COLLECTORS[how.parent.parent.name], parts, Context(clock, told["way"], told["seconds"])


@pytest.mark.parametrize("how", GOLDEN, ids=[f"{one.parent.parent.name}/{one.parent.name}" for one in GOLDEN])
def test_golden(how: Path) -> None:
    """Really captured output gives what it gave when somebody looked at it."""
    collector, parts, told = load(how)
    parsed = collector.parse(parts, told)
    sound(collector, parsed, parts.keys())
    assert parsed.readable
    expected = how.parent / "expected.json"
    found = json.dumps(plain(parsed), indent=1, ensure_ascii=False)
    if os.environ.get("UPDATE_GOLDEN") or not expected.exists():
        expected.write_text(found + "\n")
    assert json.loads(found) == json.loads(expected.read_text())


def test_every_collector_has_a_golden_file() -> None:
    assert {one.parent.parent.name for one in GOLDEN} == COLLECTORS.keys()


PARTS = ("stdout", "samples", "started", "status.txt", "header.txt", "stats.txt", "record.log", "script.txt")
FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@EVERY
@FEW
@given(data=st.data())
def test_rubbish_is_a_warning(collector: Collector, data: st.DataObject) -> None:
    """Any bytes under any name."""
    names = data.draw(st.sets(st.sampled_from((*PARTS, "timehist.txt"))))
    parts = {name: BytesPart(data.draw(st.binary(max_size=400))) for name in names}
    began = time.process_time()
    sound(collector, collector.parse(parts, context()), names | {"clock"})
    assert time.process_time() - began < 5


@pytest.mark.parametrize("how", GOLDEN, ids=[f"{one.parent.parent.name}/{one.parent.name}" for one in GOLDEN])
@FEW
@given(data=st.data())
def test_damaged_output_is_survived(how: Path, data: st.DataObject) -> None:
    """Real output with pieces cut out, doubled, or replaced by hostile tokens."""
    collector, parts, told = load(how)
    name = data.draw(st.sampled_from(sorted(parts)))
    text = parts[name].data
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 300))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=40),
                st.sampled_from(
                    [
                        b"9" * 30,
                        b"-1",
                        b"nan",
                        b"1e999",
                        b"\n@ 1 99999999999999999999 /proc/stat\n",
                        b"\0",
                        b"CPU99999",
                    ]
                ),
                st.just(text[at : at + 2000]),
            )
        )
        text = text[:at] + piece + text[at + length :]
    sound(collector, collector.parse({**parts, name: BytesPart(text)}, told), parts.keys() | {"clock"})


@EVERY
def test_great_rubbish_takes_bounded_time(collector: Collector) -> None:
    """A million bytes of the worst that came to mind: one line, many short lines, many headers."""
    for piece in (
        b"9 " * 500_000,
        b"@ 0 1 /proc/stat\n1\n" * 200_000,
        b"cpu0 1\n" * 150_000,
        b'{"timestamp": "' * 70_000,
    ):
        parts = {name: BytesPart(piece) for name in ("stdout", "samples")}
        began = time.process_time()
        sound(collector, collector.parse(parts, context()), {"stdout", "samples"})
        assert time.process_time() - began < 30
