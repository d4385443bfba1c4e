"""What holds for the result of every parser of a collector, and the recordings that they are tried with."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path

import numpy as np
import yaml

from collectors.contract import Collector, Parsed, Sentence
from collectors.metrics.registry import METRICS
from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import FIXTURES

GOLDEN = sorted(FIXTURES.glob("*/*/*/how.json"))
#: NUL in JSON, not a backslash that is followed by its name.
ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
PACKAGES = Path(__file__).parents[2] / "backend/culprit"


TEXTS = [
    {
        key: languages[locale]
        for file in PACKAGES.rglob("messages.yaml")
        for key, languages in yaml.load(file.read_text(), Loader=yaml.CSafeLoader).items()
    }
    | {
        key: getattr(text, locale)
        for collector in COLLECTORS.values()
        for key, text in collector.messages.items()
    }
    for locale in ("en", "zh")
]


def check_sentence(sentence: Sentence) -> None:
    """The sentence exists in both languages, and has every parameter that its text asks for."""
    for texts in TEXTS:
        matches = set(re.findall(r"\{(\w+)\}", texts[sentence.key]))
        assert matches <= sentence.params.keys(), (sentence, matches)


def check_parsed(collector: Collector | None, parsed: Parsed, parts: AbstractSet[str]) -> None:
    """Check that a parser yields what was declared, in the shapes of the contract. Raises AssertionError.

    Parsers of files that users import have no collector.
    """
    for series in parsed.series:
        metric = METRICS[series.metric]
        assert collector is None or series.metric in collector.yields
        assert (tuple(series.labels), series.axis) == (metric.labels, metric.axis)
        assert series.t_ns.dtype == np.int64 and series.values.dtype == np.float64
        assert series.values.shape == (len(series.t_ns), max(1, len(series.axis_values)))
        assert np.all(np.diff(series.t_ns) >= 0) and not np.isinf(series.values).any()
        assert series.part in parts
        assert series.lines is None or series.lines.shape == series.t_ns.shape
        if metric.unit == "pct" and metric.id != "cpu.total_busy_pct":
            known = series.values[np.isfinite(series.values)]
            assert np.all(known >= 0)
    for table in parsed.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        cells = [cell for row in table.rows for cell in row]
        assert all(math.isfinite(cell) for cell in cells if isinstance(cell, float))
        check_storable(cell for cell in cells if isinstance(cell, str))
    for event in parsed.events:
        check_sentence(event.title)
        check_storable([event.detail, *map(str, event.title.params.values())])
    for profile in parsed.profiles:
        assert profile.part in parts
    for warning in parsed.warnings:
        check_sentence(warning)
        check_storable(map(str, warning.params.values()))
    facts = json.dumps(parsed.facts, ensure_ascii=False, allow_nan=False)
    assert not ESCAPED_NUL.search(facts)
    check_storable([facts])
    check_storable(
        text for series in parsed.series for text in (*series.labels.values(), *series.axis_values)
    )


def check_storable(texts: Iterable[str]) -> None:
    """Check that a database can store texts. Raises AssertionError for NUL, UnicodeEncodeError for half a character."""
    for text in texts:
        assert "\0" not in text
        text.encode()
