"""What holds for every collector: its texts, its limits, its golden files, and malformed input of any kind."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors import plans
from collectors.clock.mapping import ClockMap
from collectors.contract import Collector, Context, Sampled, Script, Tier
from collectors.metrics.registry import GROUPS, METRICS
from collectors.registry import COLLECTORS
from collectors.tests.contract_checks import GOLDEN, check_parsed
from collectors.tests.support import BytesPart, context, plain

pytestmark = pytest.mark.long(110)

EVERY = pytest.mark.parametrize("collector", COLLECTORS.values(), ids=COLLECTORS.keys())
CHINESE = re.compile("[\u4e00-\u9fff]")
MANDATORY = {"perf_record", "perf_sched", "iostat", "numastat", "vmstat", "softirqs"}


def test_the_six_that_must_be_there() -> None:
    assert {collector.id for collector in COLLECTORS.values() if collector.mandatory} == MANDATORY


@EVERY
def test_collector_definition_is_complete(collector: Collector) -> None:
    """Both languages, known metrics, a method, sane limits."""
    for text in (collector.title, collector.why, collector.cost.note):
        assert text.en.strip() and text.zh.strip()
    assert CHINESE.search(collector.why.zh) and CHINESE.search(collector.cost.note.zh)
    assert set(collector.yields) <= METRICS.keys()
    assert len({method.name for method in collector.methods}) == len(collector.methods) > 0
    assert 0 < collector.seconds_max <= 600 and 0 < collector.max_bytes <= 256 << 20
    assert collector.tier is Tier.LIGHT or collector.exclusive
    for method in collector.methods:
        assert method.needs.remedy
        assert method.command_line.replace("{seconds}", "")
        if isinstance(method, Script):
            assert method.sh.isascii() and "SECS" in method.sh
            assert "{seconds}" in method.command_line
        else:
            assert isinstance(method, Sampled) and all(path.startswith("/") for path in method.files)


def test_nothing_reads_command_lines_or_environments() -> None:
    """Arguments and environments hold secrets. There are two exceptions.

    One option of a JVM is looked for and is never written anywhere. PostgreSQL overwrites the arguments of its own
    processes with a title that holds no statement: user, database, client, and what the session does.
    """
    allowed = (
        'return NO_ATTACH in self.target.read("cmdline")',
        "$(grep -sxl postgres /proc/[0-9]*/comm | sed 's|comm$|cmdline|' | head -n 2000)",
        """$(sed 's|[0-9][0-9]*|/proc/&/cmdline|g' "/proc/$s/task/$s/children" 2>/dev/null)""",
    )
    for collector in COLLECTORS.values():
        for method in collector.methods:
            read = method.sh if isinstance(method, Script) else " ".join(method.files)
            for text in allowed:
                read = read.replace(text, "", 1)
            assert not re.search(r"cmdline|environ\b", read), collector.id


def test_plans_have_the_tier_that_they_promise() -> None:
    tiers = {name: plan.tier for name, plan in plans.PLANS.items()}
    light = dict.fromkeys(("triage", "io", "network", "baseline"), Tier.LIGHT)
    assert tiers == {**light, "cpu": Tier.STANDARD, "sched": Tier.DEEP}
    inside = {name: {item.id: item.seconds for item in plan.collectors} for name, plan in plans.PLANS.items()}
    assert inside["cpu"]["perf_record"] == 15
    assert inside["sched"]["perf_sched"] == 5
    default = {
        collector.id
        for collector in COLLECTORS.values()
        if collector.tier is Tier.LIGHT and not collector.on_demand
    }
    assert set(inside["triage"]) == default
    # What logs report in normal operation is no harm later.
    assert set(inside["baseline"]) == default | {"server_logs"}
    assert set(inside["cpu"]) | set(inside["sched"]) >= MANDATORY


def test_plan_can_be_scaled_and_built() -> None:
    scaled = plans.scale_plan(plans.PLANS["sched"], 60)
    assert {item.id: item.seconds for item in scaled.collectors}["perf_sched"] == 5
    assert {item.id: item.seconds for item in scaled.collectors}["vmstat"] == 60
    custom_plan = plans.build_custom_plan(["vmstat", "perf_record", "vmstat"], 100)
    assert [(item.id, item.seconds) for item in custom_plan.collectors] == [
        ("vmstat", 100),
        ("perf_record", 30),
    ]
    assert custom_plan.tier is Tier.STANDARD
    with pytest.raises(KeyError):
        plans.build_custom_plan(["no_such"], 5)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
def test_metrics_speak_both_languages(metric) -> None:
    assert metric.title.en and metric.title.zh and metric.meaning.en
    assert CHINESE.search(metric.meaning.zh)
    assert metric.track.group in GROUPS
    assert (metric.track.kind == "heatmap") <= (metric.axis is not None)
    suffix = {"pct": "_pct", "kb": "_kb", "kb_per_s": "_kb_per_s", "mb_per_s": "_mb_s", "ms": "_ms"}
    assert metric.id.endswith(suffix.get(metric.unit, ""))


def test_every_metric_has_a_single_collector() -> None:
    """Two collectors with one metric would give one track twice."""
    sources = [metric for collector in COLLECTORS.values() for metric in collector.yields]
    assert sorted(sources) == sorted(set(sources))
    assert set(sources) == METRICS.keys()


def load(how: Path) -> tuple[Collector, dict[str, BytesPart], Context]:
    reported = json.loads(how.read_text())
    names = [item for item in how.parent.iterdir() if item.name not in {"how.json", "expected.json"}]
    parts = {name.name: BytesPart(name.read_bytes()) for name in names}
    clock = ClockMap.from_records(reported["clock"])
    return COLLECTORS[how.parent.parent.name], parts, Context(clock, reported["method"], reported["seconds"])


@pytest.mark.parametrize(
    "how", GOLDEN, ids=[f"{item.parent.parent.name}/{item.parent.name}" for item in GOLDEN]
)
def test_golden(how: Path) -> None:
    """Recorded output gives the reviewed result."""
    collector, parts, reported = load(how)
    parsed = collector.parse(parts, reported)
    check_parsed(collector, parsed, parts.keys())
    assert parsed.readable
    expected = how.parent / "expected.json"
    result = json.dumps(plain(parsed), indent=1, ensure_ascii=False)
    if os.environ.get("UPDATE_GOLDEN") or not expected.exists():
        expected.write_text(result + "\n")
    assert json.loads(result) == json.loads(expected.read_text())


def test_every_collector_has_a_golden_file() -> None:
    assert {item.parent.parent.name for item in GOLDEN} == COLLECTORS.keys()


PARTS = ("stdout", "samples", "started", "status.txt", "header.txt", "stats.txt", "record.log", "script.txt")
FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@EVERY
@FEW
@given(data=st.data())
def test_malformed_input_is_a_warning(collector: Collector, data: st.DataObject) -> None:
    """Any bytes under any name."""
    names = data.draw(st.sets(st.sampled_from((*PARTS, "timehist.txt"))))
    parts = {name: BytesPart(data.draw(st.binary(max_size=400))) for name in names}
    began = time.process_time()
    check_parsed(collector, collector.parse(parts, context()), names | {"clock"})
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "how", GOLDEN, ids=[f"{item.parent.parent.name}/{item.parent.name}" for item in GOLDEN]
)
@FEW
@given(data=st.data())
def test_damaged_output_is_survived(how: Path, data: st.DataObject) -> None:
    """Real output with pieces cut out, doubled, or replaced by hostile tokens."""
    collector, parts, reported = load(how)
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
    check_parsed(
        collector, collector.parse({**parts, name: BytesPart(text)}, reported), parts.keys() | {"clock"}
    )


@EVERY
def test_large_malformed_input_takes_bounded_time(collector: Collector) -> None:
    """A quarter of a million bytes of the worst that came to mind: one line, many short lines, many headers.

    Quadratic time would exceed the limit.
    """
    for piece in (
        b"9 " * 125_000,
        b"@ 0 1 /proc/stat\n1\n" * 12_500,
        b"cpu0 1\n" * 36_000,
        b'{"timestamp": "' * 17_000,
    ):
        parts = {name: BytesPart(piece) for name in ("stdout", "samples")}
        began = time.process_time()
        check_parsed(collector, collector.parse(parts, context()), {"stdout", "samples"})
        assert time.process_time() - began < 8


@EVERY
def test_collector_and_methods_are_hashable(collector: Collector) -> None:
    """The preview of a capture removes equal methods."""
    assert len({collector, *collector.methods}) == 1 + len(collector.methods)
