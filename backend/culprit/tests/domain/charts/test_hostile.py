"""Charts of malformed and of crowded input: no exception, no invalid number, no endless answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from culprit.domain.charts.bodies import ChartBody
from culprit.domain.charts.chart import MAX_PER_BUILDER
from culprit.domain.charts.registry import BUILDERS, collect_reads, draw_charts, select_builders
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.registry import RULES
from culprit.domain.rules.view import CollectorOutcome, HostView, TableRow, ViewSeries
from culprit.evidence.charts.schemas import ChartResponse
from culprit.evidence.charts.service import chart_to_json
from culprit.tests.domain.charts.test_golden import CASES, seen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from collectors.metrics.registry import METRICS
from collectors.registry import COLLECTORS

pytestmark = pytest.mark.long(80)

CITE = Citation("r", "c", "a", "p", (3,))
MAX_BYTES = 256 << 10
EVERY = pytest.mark.parametrize("builder", BUILDERS)
COLUMNS = {
    kind: sorted({name for row in rows for name in row.cells})
    for case in CASES.values()
    for kind, rows in seen(case).tables.items()
}
_CELLS = st.one_of(
    st.none(),
    st.text(max_size=12),
    st.sampled_from(["DROP", "127.0.0.1", "futex", "::1", "eth0", "TCP:[1.2.3.4:5->6.7.8.9:10]", "28411"]),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.floats(0, 1e4),
)
_VALUES = st.one_of(st.floats(), st.floats(0, 1e6), st.just(float("nan")))


@st.composite
def rows(draw_from, kind: str) -> list[TableRow]:
    cells = st.fixed_dictionaries(dict.fromkeys(COLUMNS[kind], _CELLS))
    return [TableRow(item, CITE) for item in draw_from(st.lists(cells, max_size=6))]


@st.composite
def draw_series(draw_from, metric: str) -> list[ViewSeries]:
    n, k = draw_from(st.integers(0, 5)), draw_from(st.integers(1, 3))
    known = METRICS[metric]
    values = np.array(draw_from(st.lists(_VALUES, min_size=n * k, max_size=n * k)), float).reshape(n, k)
    times = np.array(sorted(draw_from(st.lists(st.integers(0, 2**62), min_size=n, max_size=n))), np.int64)
    names = tuple(str(at) for at in range(draw_from(st.integers(0, k)))) if known.axis else ()
    lines = draw_from(st.sampled_from([None, list(range(1, n + 1)), [0] * n, [1][:n]]))
    labels = {name: draw_from(st.sampled_from(["", "lo", "eth0", "x" * 300])) for name in known.labels}
    return [ViewSeries(metric, labels, known.axis, names, times, values, lines, CITE)]


@st.composite
def views(draw_from, builder: str) -> HostView:
    reads = BUILDERS[builder].reads
    tables = {kind: draw_from(rows(kind)) for kind in sorted(reads.tables & COLUMNS.keys())}
    metrics = draw_from(st.lists(st.sampled_from(sorted(reads.metrics)), max_size=3)) if reads.metrics else []
    matching_metrics = [item for metric in metrics for item in draw_from(draw_series(metric))]
    outcomes = {name: CollectorOutcome(name, "done") for name in BUILDERS[builder].collectors}
    return HostView(outcomes, matching_metrics, tables)


def sent(builder: str, view: HostView) -> Sequence[bytes]:
    [rendered] = draw_charts([BUILDERS[builder]], view)
    assert 1 <= len(rendered.charts) <= MAX_PER_BUILDER
    return [
        to_json(chart_to_json(rendered.builder, chart), inf_nan_mode="constants") for chart in rendered.charts
    ]


def sound(texts: Sequence[bytes]) -> None:
    ids = set()
    for text in texts:
        assert len(text) <= MAX_BYTES
        reported = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no number"))
        ChartResponse.model_validate(reported)
        assert (
            (reported["body"] is None) == (reported["state"] == "no_data") == (reported["reason"] is not None)
        )
        ids.add(reported["id"])
    assert len(ids) == len(texts)


@EVERY
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_malformed_input_raises_nothing(builder: str, data: st.DataObject) -> None:
    sound(sent(builder, data.draw(views(builder))))


@EVERY
def test_builder_without_data_reports_reason(builder: str) -> None:
    [text] = sent(builder, HostView())
    reported = json.loads(text)
    assert reported["reason"]["key"] == "missing.not_collected"
    sound([text])


@EVERY
def test_a_crowd_is_cut_to_what_can_be_seen(builder: str) -> None:
    view = seen(CASES[builder])
    tables = {
        kind: [row for row in rows for _ in range(20_000 // len(rows))] for kind, rows in view.tables.items()
    }
    crowd = HostView(view.outcomes, [_long(series) for series in view.series], tables)
    sound(sent(builder, crowd))


def _long(series: ViewSeries) -> ViewSeries:
    """A quarter of an hour by the second, over 256 columns where there are any."""
    k = 256 if series.axis == "cpu" else series.values.shape[1]
    t_ns = np.arange(900, dtype=np.int64) * 10**9
    values = np.resize(series.values, (900, k))
    names = tuple(str(at) for at in range(k)) if series.axis == "cpu" else series.axis_values
    return ViewSeries(
        series.metric, series.labels, series.axis, names, t_ns, values, [1] * 900, series.citation
    )


@EVERY
def test_rules_collectors_and_metrics_exist(builder: str) -> None:
    item = BUILDERS[builder]
    assert set(item.rules) <= RULES.keys()
    assert item.reads.metrics <= METRICS.keys()
    assert all(name in COLLECTORS or name.startswith("import.") for name in item.collectors)
    assert item.title.zh and item.summary.zh and item.summary.en


def test_a_step_finds_the_pictures_of_its_findings() -> None:
    assert [builder.id for builder in select_builders([], ["F-NET-LISTEN-OVERFLOW"])] == [
        builder.id for builder in BUILDERS.values() if "F-NET-LISTEN-OVERFLOW" in builder.rules
    ]
    assert [builder.id for builder in select_builders(["tcp-states"], [])] == ["tcp-states"]
    assert len(select_builders([], [])) == len(BUILDERS)
    assert select_builders(["no-such"], []) == []


def test_collect_reads_limits_reads_to_selected_builders() -> None:
    reads = collect_reads(select_builders(["tcp-states", "port-ranges"], []))
    assert (reads.metrics, reads.tables) == ({"tcp.state_count"}, {"tcp_destinations"})


def test_draw_charts_covers_every_body_kind() -> None:
    kinds = {
        item.body.kind for name, case in CASES.items() for chart in draw_charts([BUILDERS[name]], seen(case))
        for item in chart.charts if item.body is not None
    }  # fmt: skip
    assert kinds == {kind.__dataclass_fields__["kind"].default for kind in ChartBody.__args__}
