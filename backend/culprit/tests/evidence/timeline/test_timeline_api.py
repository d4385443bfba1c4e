"""The timeline over HTTP: what is drawn at each zoom, what it costs the database, and who may see it."""

import json

import numpy as np
import pytest
from culprit.domain.series.chunks import HOUR_NS
from culprit.evidence.timeline import queries
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from sqlalchemy import select, text
from sqlalchemy.dialects import postgresql

pytestmark = pytest.mark.long(25)

T0 = 1_790_000_000 * 10**9 // HOUR_NS * HOUR_NS
BOOT = 500 * 10**9
SECOND = 10**9


@pytest.fixture
def host(db, session, config):
    """A host with three captures of a minute: at 0, 10 minutes and 30 hours."""
    host_id = runs.make_host(db, "feed1", {"role": "feed"})
    for minute in (0, 10, 30 * 60):
        boot = BOOT + minute * 60 * SECOND
        stat = [
            "".join(f"cpu{cpu} {tick * (50 + cpu)} 0 0 {tick * (50 - cpu)} 0 0 0 0 0 0\n" for cpu in range(4))
            for tick in range(60)
        ]
        total = [f"cpu {tick * 200} 0 0 {tick * 200} 0 0 0 0 0 0\n{item}" for tick, item in enumerate(stat)]
        parts = {
            "loadavg": {"samples": runs.sampled("/proc/loadavg", [runs.loadavg(i) for i in range(60)], boot)},
            "cpu_stat": {"samples": runs.sampled("/proc/stat", total, boot)},
        }
        waiting = runs.waiting_run(
            db, artifact_store(), parts, host_id=host_id, clock=runs.clock_now(boot, T0 + boot - BOOT)
        )
        assert ingest_run(waiting.run_id) == "done"
    return host_id


def tracks(body):
    return {(track["metric"], json.dumps(track["labels"])): track for track in body["tracks"]}


def read(client, host_id, **query):
    answer = client.get(f"/api/v1/hosts/{host_id}/timeline", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_all_time_by_default(host, as_):
    body = read(as_("viewer"), host)
    assert body["captures_total"] == len(body["captures"]) == 3
    assert body["range"]["first_ns"] == body["from_ns"] <= T0 + 2 * SECOND
    assert body["to_ns"] - body["from_ns"] > 29 * HOUR_NS
    assert len(body["tracks"]) == body["track_count"] > 3


def test_zoomed_timeline_returns_samples_with_citations(host, as_):
    client = as_("investigator")
    body = read(client, host, from_ns=T0 - SECOND, to_ns=T0 + 70 * SECOND, width=1200)
    track = next(track for track in body["tracks"] if track["metric"].startswith("load"))
    assert track["level"] == 0
    points = track["points"]
    assert len(points["t_ns"]) == 60
    assert points["min"] == points["mean"] == points["max"]
    assert track["gaps"][-1][1] == body["to_ns"]
    at = points["t_ns"][7]
    query = {"host_id": host, "metric": track["metric"], "labels": json.dumps(track["labels"]), "t_ns": at}
    cited = client.get("/api/v1/citations", params=query).json()
    assert cited["t_ns"] == at
    assert list(cited["values"].values()) == [pytest.approx(points["mean"][7], rel=1e-4)]
    assert runs.loadavg(7).strip() in cited["text"]
    window = client.get(
        f"/api/v1/artifacts/{cited['artifact_id']}/lines", params={"from": cited["line"], "count": 1}
    ).json()
    assert window == {"from": cited["line"], "total": None, "lines": [cited["text"]]}


def test_per_cpu_tracks_are_a_matrix(host, as_):
    body = read(as_("viewer"), host, from_ns=T0, to_ns=T0 + 60 * SECOND, metrics="cpu.busy_pct")
    (track,) = body["tracks"]
    assert track["axis"] == "cpu"
    assert track["axis_values"] == ["0", "1", "2", "3"]
    assert track["points"] is None
    values = np.array(track["matrix"]["values"], float)
    assert values.shape == (len(track["matrix"]["t_ns"]), 4)
    np.testing.assert_allclose(values[5], [50, 51, 52, 53], rtol=1e-3)
    high = read(as_("viewer"), host, metrics="cpu.busy_pct", agg="max", width=10)
    assert np.nanmax(np.array(high["tracks"][0]["matrix"]["values"], float)) >= values.max() - 0.1


def test_gaps_between_captures_are_gaps_at_every_zoom(host, as_):
    client = as_("viewer")
    for width in (4000, 1200, 300):
        body = read(client, host, from_ns=T0, to_ns=T0 + 31 * HOUR_NS, width=width)
        for track in body["tracks"]:
            spans = track["gaps"]
            assert any(begin < T0 + 20 * HOUR_NS < end for begin, end in spans), track["metric"]
            times = (track["points"] or track["matrix"])["t_ns"]
            assert not any(begin < at < end for begin, end in spans for at in times)


def test_the_same_extremes_whatever_the_zoom(host, as_):
    client = as_("viewer")
    seen = set()
    for width, span in ((4000, 1), (100, 31), (1, 31), (10, 400 * 24)):
        body = read(client, host, from_ns=T0 - HOUR_NS, to_ns=T0 + span * HOUR_NS, width=width)
        track = next(track for track in body["tracks"] if track["metric"].startswith("load"))
        assert len(track["points"]["t_ns"]) <= width
        seen.add((track["level"], min(track["points"]["min"]), round(max(track["points"]["max"]), 3)))
    assert {item[1:] for item in seen} == {(0.0, 5.9)}
    assert {item[0] for item in seen} >= {"hours", "chunks"}


def test_timeline_limits_events_by_severity(host, db, as_, monkeypatch):
    with unit_of_work(db.sessions) as session:
        session.add_all(
            StoredEvent(
                host_id=host, t_ns=T0 + i * SECOND, kind="kmsg", severity="critical" if i == 30 else "info",
                title={"key": "event.oom_kill", "params": {}}, detail="\x1b]0;x\x07<b>",
            )
            for i in range(50)
        )  # fmt: skip
    monkeypatch.setattr("culprit.evidence.timeline.service.MAX_EVENTS", 5)
    body = read(as_("viewer"), host, from_ns=T0, to_ns=T0 + 60 * SECOND)
    assert body["events_total"] >= 50
    assert len(body["events"]) == 5
    assert "critical" in {event["severity"] for event in body["events"]}
    assert [e["t_ns"] for e in body["events"]] == sorted(e["t_ns"] for e in body["events"])


def test_overview_lists_tracks_without_opening_chunks(host, as_):
    body = as_("viewer").get(f"/api/v1/hosts/{host}/timeline/overview").json()
    assert body["runs_total"] == 3
    assert {track["metric"] for track in body["tracks"]} >= {"cpu.busy_pct"}


def test_timeline_outside_label_scope_returns_404(host, db, session, config, as_):
    other = runs.make_host(db, "db1", {"role": "db"})
    scoped = as_("scoped")
    assert scoped.get(f"/api/v1/hosts/{host}/timeline").status_code == 200
    for path in (f"hosts/{other}/timeline", f"hosts/{other}/timeline/overview"):
        assert scoped.get(f"/api/v1/{path}").status_code == 404
    assert scoped.get(f"/api/v1/citations?host_id={other}&metric=x&t_ns=1").status_code == 404
    assert as_("viewer").get(f"/api/v1/citations?host_id={host}&metric=x&t_ns=1").status_code == 403


def test_invalid_queries_are_refused(host, as_):
    for query in (
        "width=0",
        "width=4001",
        "from_ns=-1",
        "from_ns=9&to_ns=3",
        "to_ns=99999999999999999999",
        "agg=x",
    ):
        assert as_("viewer").get(f"/api/v1/hosts/{host}/timeline?{query}").status_code == 422, query


def test_an_empty_host_has_an_empty_timeline(db, session, config, as_):
    host_id = runs.make_host(db, "quiet")
    body = read(as_("viewer"), host_id)
    assert (body["tracks"], body["captures"], body["range"]["first_ns"]) == ([], [], None)


def plan(session, statement) -> str:
    sql = str(statement.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}))
    return "\n".join(session.scalars(text(f"EXPLAIN {sql}")))


def test_no_question_scans_all_chunks(host, db, session):
    """With a year of chunks in the table, a range of any size uses the index on series and time."""
    series = session.scalars(select(StoredSeries)).all()
    run_id = session.scalars(select(Run.id)).first()
    chunk = session.scalars(select(SeriesChunk).where(SeriesChunk.level == 0)).first()
    fill = text(
        "INSERT INTO series_chunk (id, series_id, host_id, run_id, metric, labels, level, t0_ns, t1_ns,"
        " step_ns, raw_step_ns, n, data, summary, parser_version)"
        " SELECT gen_random_uuid(), :series, :host, :run, 'm', '{}', 0, :t0 + i * :hour, :t0 + i * :hour + 1,"
        " 1, 1, 2, :data, :summary, 1 FROM generate_series(1, 8760) AS i"
    )
    for item in series[:3]:
        session.execute(
            fill,
            {
                "series": item.id, "host": host, "run": run_id, "t0": T0, "hour": HOUR_NS,
                "data": chunk.data, "summary": chunk.summary,
            },
        )  # fmt: skip
    session.execute(text("ANALYZE series_chunk"))
    ids = [series.id for series in series[:3]]
    for hours, pixel in ((1, SECOND), (24, 60 * SECOND), (24 * 30, 2000 * SECOND)):
        begin = T0 + 100 * HOUR_NS
        reported = plan(session, queries.chunks_query(ids, begin, begin + hours * HOUR_NS, pixel))
        assert "Seq Scan" not in reported, reported
        assert "ix_series_chunk_series_id_t0_ns_level" in reported
