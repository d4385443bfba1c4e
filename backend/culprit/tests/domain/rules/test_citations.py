"""Every number can be computed again from the lines that it cites, and from nothing else."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Number
from culprit.domain.rules.measures.derived import merge_citations
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import CollectorOutcome, HostView, ViewSeries
from culprit.json_types import Json
from culprit.tests.domain.rules.cited_rows import collect_cited, find_again, is_repeated, keep_cited
from culprit.tests.domain.rules.test_seeds import WITH_TEXT, view
from hypothesis import given, settings
from hypothesis import strategies as st


def list_numbers(step: Json) -> tuple[HostView, list[tuple[Number, Measurement]]]:
    """Return every measurement behind the findings of a case."""
    seen = view(step)
    results = []
    for finding in evaluate_rules([RULES[step["rule"]]], seen):
        for number in finding.numbers:
            for item in find_again(seen, number, finding.subject):
                results.append((number, item))
    return seen, results


@pytest.mark.parametrize("step", WITH_TEXT)
def test_a_number_comes_from_its_cited_lines_alone(step: Json) -> None:
    seen, numbers = list_numbers(step)
    for number, item in numbers:
        reduced = keep_cited(seen, collect_cited(item.citations))
        assert is_repeated(reduced, number, item), (number.measure, item)


@settings(deadline=None)
@given(st.data())
def test_lines_that_are_not_cited_change_nothing(data: st.DataObject) -> None:
    """Any part of the rows that are not cited is left out, not only all of them."""
    step = data.draw(st.sampled_from(WITH_TEXT)).values[0]
    seen, numbers = list_numbers(step)
    for number, item in numbers:
        cited = collect_cited(item.citations)
        also = {
            key: lines
            for key, lines in list_places(seen).items()
            if cited.get(key, set()) is not None and lines
        }
        kept = {key: data.draw(st.sets(st.sampled_from(sorted(lines)))) for key, lines in also.items()}
        merged = {
            key: None if lines is None else lines | kept.get(key, set()) for key, lines in cited.items()
        }
        reduced = keep_cited(seen, {**kept, **merged})
        assert is_repeated(reduced, number, item), (number.measure, item)


def list_places(seen: HostView) -> dict[tuple[str, str], set[int]]:
    """Return the lines of all rows by collector and part."""
    result: dict[tuple[str, str], set[int]] = defaultdict(set)
    for series in seen.series:
        result[series.citation.collector, series.citation.part].update(series.lines or ())
    for row in (row for rows in seen.tables.values() for row in rows):
        result[row.citation.collector, row.citation.part].update(row.citation.lines)
    return {key: {line for line in lines if line > 0} for key, lines in result.items()}


@given(st.lists(st.one_of(st.floats(0, 1e6), st.just(float("nan"))), min_size=1, max_size=40))
def test_a_mean_cites_its_readings_and_those_before_them(values: list[float]) -> None:
    """The reading before a rate is where its time begins, also if that reading has no value."""
    table = np.array(values, float)[:, None]
    lines = list(range(1, len(values) + 1))
    t_ns = np.arange(len(values), dtype=np.int64) * 10**9
    citation = Citation("r", "cpu_stat", "a", "samples")
    series = ViewSeries("cpu.total_busy_pct", {}, None, (), t_ns, table, lines, citation)
    seen = HostView({"cpu_stat": CollectorOutcome("cpu_stat", "done")}, [series])
    reading = take_reading(seen, MetricReading("cpu.total_busy_pct", "mean"))
    known = np.flatnonzero(np.isfinite(table[:, 0]))
    if not len(known):
        assert isinstance(reading, MissingData)
        return
    [item] = reading
    expected = {int(at) + 1 for at in known} | {max(int(at), 1) for at in known}
    assert set(item.citations[0].lines) == expected
    number = Number("cpu.total_busy_pct.mean", item.value, "pct", None, None, item.citations)
    assert is_repeated(keep_cited(seen, collect_cited(item.citations)), number, item)


def test_citations_of_the_same_part_are_merged() -> None:
    cited = [
        Citation("r", "c", "a", "p", (3, 1)),
        Citation("r", "c", "a", "p", (2,)),
        Citation("r", "c", "a", "q"),
    ]
    assert merge_citations(cited) == (Citation("r", "c", "a", "p", (1, 2, 3)), Citation("r", "c", "a", "q"))
    whole = [*cited, Citation("r", "c", "a", "p")]
    assert merge_citations(whole)[0].lines == (), "the complete part has every line"
