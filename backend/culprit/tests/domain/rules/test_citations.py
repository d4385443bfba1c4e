"""Every number can be computed again from the lines that it cites, and from nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.rules.evaluate import evaluate_rules
from culprit.domain.rules.finding import Citation, Measurement, MissingData, Number
from culprit.domain.rules.measures.derived import merge_citations
from culprit.domain.rules.readings import take_reading
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.rule import MetricReading, RuleInput
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow, ViewSeries
from culprit.json_types import Json
from culprit.tests.domain.rules.test_seeds import WITH_TEXT, view
from hypothesis import given, settings
from hypothesis import strategies as st

Cited = Mapping[tuple[str, str], set[int] | None]
"""Cited lines by collector and part; None if a citation without lines names the complete part."""


def collect_cited(citations: Iterable[Citation]) -> Cited:
    result: dict[tuple[str, str], set[int] | None] = {}
    for citation in citations:
        key = (citation.collector, citation.part)
        if not citation.lines:
            result[key] = None
        elif (known := result.setdefault(key, set())) is not None:
            known.update(citation.lines)
    return result


def is_kept(cited: Cited, citation: Citation, lines: Sequence[int]) -> list[bool]:
    """Return which rows of a place are cited; a row without a line cannot be cited alone."""
    kept = cited.get((citation.collector, citation.part), set())
    return [kept is None or line == 0 or line in kept for line in lines]


def keep_cited(seen: HostView, cited: Cited) -> HostView:
    """Return the view without every row that is not cited."""
    series_list = []
    for series in seen.series:
        if series.lines is None:
            series_list.append(series)
            continue
        mask = np.array(is_kept(cited, series.citation, series.lines), bool)
        lines = [line for line, kept in zip(series.lines, mask, strict=True) if kept]
        if mask.any():
            series_list.append(
                replace(series, t_ns=series.t_ns[mask], values=series.values[mask], lines=lines)
            )
    tables: dict[str, list[TableRow]] = defaultdict(list)
    for kind, rows in seen.tables.items():
        tables[kind] = [row for row in rows if is_kept(cited, row.citation, row.citation.lines or (0,))[0]]
    events = [each for each in seen.events if is_kept(cited, each.citation, each.citation.lines or (0,))[0]]
    return replace(seen, series=series_list, tables=dict(tables), events=events)


def list_inputs() -> dict[str, RuleInput]:
    return {read.id: read for rule in RULES.values() for read in rule.inputs()}


INPUTS = list_inputs()


def find_again(seen: HostView, number: Number, subject) -> list[Measurement]:
    reading = take_reading(seen, INPUTS[number.measure])
    about = subject if number.subject is None else number.subject
    return [] if isinstance(reading, MissingData) else [item for item in reading if item.subject == about]


def list_numbers(step: Json) -> tuple[HostView, list[tuple[Number, Measurement]]]:
    """Return every measurement behind the findings of a case."""
    seen = view(step)
    results = []
    for finding in evaluate_rules([RULES[step["rule"]]], seen):
        for number in finding.numbers:
            for item in find_again(seen, number, finding.subject):
                results.append((number, item))
    return seen, results


#: Measures whose citations still leave lines out.
INCOMPLETE = frozenset(
    (
        "cgroup.killed_anon_mb", "cgroup.memory_blocked_threads", "cpu.one_queue_busy_pct", "cpu.others_busy_pct", "cpu.several_queues_busy_pct", "disk.read_variation_pct", "fd.sync_write_time_pct", "fd.sync_writes_per_s", "lock.futex_threads", "proc.database_sync_wait_pct",
        "proc.sync_wait_pct",
        "numa.far_from_own_pins_pct", "numa.far_memory_pct", "proc.database_threads_waiting_for_sync",
        "proc.sent_of_written", "proc.serving_cpu_pct", "proc.threads_waiting_for_sync",
        "profile.hottest_function_pct", "sched.bursts_count", "sched.kernel_share_of_allowed_pct",
        "sched.others_share_of_allowed_pct", "sched.own_share_of_allowed_pct", "sched.runnable_per_allowed_cpu", "sched.throttled_periods_pct",
    )
)  # fmt: skip


#: Time accounts and jobs are computed from all services of a host and cite the rows of one.
INCOMPLETE_GROUPS = ("jobs.", "service.", "time.")


def is_complete(measure: str) -> bool:
    return measure not in INCOMPLETE and not measure.startswith(INCOMPLETE_GROUPS)


def is_repeated(reduced: HostView, number: Number, item: Measurement) -> bool:
    again = find_again(reduced, number, item.subject)
    return any(each.value == pytest.approx(item.value, rel=1e-9) for each in again)


@pytest.mark.parametrize("step", WITH_TEXT)
def test_a_number_comes_from_its_cited_lines_alone(step: Json) -> None:
    seen, numbers = list_numbers(step)
    for number, item in numbers:
        if is_complete(number.measure):
            reduced = keep_cited(seen, collect_cited(item.citations))
            assert is_repeated(reduced, number, item), (number.measure, item)


@settings(deadline=None)
@given(st.data())
def test_lines_that_are_not_cited_change_nothing(data: st.DataObject) -> None:
    """Any part of the rows that are not cited is left out, not only all of them."""
    step = data.draw(st.sampled_from(WITH_TEXT)).values[0]
    seen, numbers = list_numbers(step)
    for number, item in numbers:
        if not is_complete(number.measure):
            continue
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
