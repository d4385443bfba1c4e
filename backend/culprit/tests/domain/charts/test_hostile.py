"""Pictures of rubbish and of crowds: never an exception, never a number that is none, never an answer without end."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from culprit.core.rules.contract import Citation
from culprit.core.rules.registry import RULES
from culprit.core.rules.view import Lane, Outcome, Row, View
from culprit.core.visuals.bodies import Body
from culprit.core.visuals.contract import MAX_PER_BUILDER
from culprit.core.visuals.registry import BUILDERS, draw, fitting, reads_of
from culprit.tests.core.visuals.test_golden import CASES, seen
from culprit.visuals.schemas import VisualRead
from culprit.visuals.service import visual_form
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from collectors.metrics import CATALOGUE
from collectors.registry import COLLECTORS

pytestmark = pytest.mark.long(15)

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
def rows(draw_from, kind: str) -> list[Row]:
    cells = st.fixed_dictionaries(dict.fromkeys(COLUMNS[kind], _CELLS))
    return [Row(one, CITE) for one in draw_from(st.lists(cells, max_size=6))]


@st.composite
def lanes(draw_from, metric: str) -> list[Lane]:
    n, k = draw_from(st.integers(0, 5)), draw_from(st.integers(1, 3))
    known = CATALOGUE[metric]
    values = np.array(draw_from(st.lists(_VALUES, min_size=n * k, max_size=n * k)), float).reshape(n, k)
    times = np.array(sorted(draw_from(st.lists(st.integers(0, 2**62), min_size=n, max_size=n))), np.int64)
    names = tuple(str(at) for at in range(draw_from(st.integers(0, k)))) if known.axis else ()
    lines = draw_from(st.sampled_from([None, list(range(1, n + 1)), [0] * n, [1][:n]]))
    labels = {name: draw_from(st.sampled_from(["", "lo", "eth0", "x" * 300])) for name in known.labels}
    return [Lane(metric, labels, known.axis, names, times, values, lines, CITE)]


@st.composite
def views(draw_from, builder: str) -> View:
    wanted = BUILDERS[builder].reads
    tables = {kind: draw_from(rows(kind)) for kind in sorted(wanted.tables & COLUMNS.keys())}
    metrics = (
        draw_from(st.lists(st.sampled_from(sorted(wanted.metrics)), max_size=3)) if wanted.metrics else []
    )
    found = [one for metric in metrics for one in draw_from(lanes(metric))]
    outcomes = {name: Outcome(name, "done") for name in BUILDERS[builder].collectors}
    return View(outcomes, found, tables)


def sent(builder: str, view: View) -> Sequence[bytes]:
    [drawn] = draw([BUILDERS[builder]], view)
    assert 1 <= len(drawn.visuals) <= MAX_PER_BUILDER
    return [to_json(visual_form(drawn.builder, one), inf_nan_mode="constants") for one in drawn.visuals]


def sound(texts: Sequence[bytes]) -> None:
    ids = set()
    for text in texts:
        assert len(text) <= MAX_BYTES
        told = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no number"))
        VisualRead.model_validate(told)
        assert (told["body"] is None) == (told["state"] == "no_data") == (told["reason"] is not None)
        ids.add(told["id"])
    assert len(ids) == len(texts)


@EVERY
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_rubbish_makes_no_exception(builder: str, data: st.DataObject) -> None:
    sound(sent(builder, data.draw(views(builder))))


@EVERY
def test_nothing_says_why(builder: str) -> None:
    [text] = sent(builder, View())
    told = json.loads(text)
    assert told["reason"]["key"] == "missing.not_collected"
    sound([text])


@EVERY
def test_a_crowd_is_cut_to_what_can_be_seen(builder: str) -> None:
    view = seen(CASES[builder])
    tables = {
        kind: [one for one in rows for _ in range(20_000 // len(rows))] for kind, rows in view.tables.items()
    }
    crowd = View(view.outcomes, [_long(lane) for lane in view.lanes], tables)
    sound(sent(builder, crowd))


def _long(lane: Lane) -> Lane:
    """A quarter of an hour by the second, over 256 columns where there are any."""
    k = 256 if lane.axis == "cpu" else lane.values.shape[1]
    t_ns = np.arange(900, dtype=np.int64) * 10**9
    values = np.resize(lane.values, (900, k))
    names = tuple(str(at) for at in range(k)) if lane.axis == "cpu" else lane.axis_values
    return Lane(lane.metric, lane.labels, lane.axis, names, t_ns, values, [1] * 900, lane.cite)


@EVERY
def test_rules_collectors_and_metrics_exist(builder: str) -> None:
    one = BUILDERS[builder]
    assert set(one.rules) <= RULES.keys()
    assert one.reads.metrics <= CATALOGUE.keys()
    assert all(name in COLLECTORS or name.startswith("import.") for name in one.collectors)
    assert one.title.zh and one.says.zh and one.says.en


def test_a_step_finds_the_pictures_of_its_findings() -> None:
    assert [one.id for one in fitting([], ["F-NET-LISTEN-OVERFLOW"])] == [
        one.id for one in BUILDERS.values() if "F-NET-LISTEN-OVERFLOW" in one.rules
    ]
    assert [one.id for one in fitting(["tcp-states"], [])] == ["tcp-states"]
    assert len(fitting([], [])) == len(BUILDERS)
    assert fitting(["no-such"], []) == []


def test_only_what_is_drawn_is_read() -> None:
    reads = reads_of(fitting(["tcp-states", "port-ranges"], []))
    assert (reads.metrics, reads.tables) == ({"tcp.state_count"}, {"tcp_destinations"})


def test_every_kind_of_body_is_drawn_of_something_real() -> None:
    kinds = {
        one.body.kind for name, case in CASES.items() for drawn in draw([BUILDERS[name]], seen(case))
        for one in drawn.visuals if one.body is not None
    }  # fmt: skip
    assert kinds == {kind.__dataclass_fields__["kind"].default for kind in Body.__args__}
