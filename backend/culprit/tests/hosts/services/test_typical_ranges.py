"""The band behind a Prometheus track: the same hours of earlier days, asked once for a run and stored with it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from culprit.domain.series.typical_range import DAY_S, DAYS, KIND, MIN_DAYS, WINDOW_HALF_S
from culprit.evidence.readiness_queries import is_evaluation_pending
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.jobs.ingest import fetch_typical_ranges as typical
from culprit.jobs.ingest.fetch_service_metrics import fetch_service_metrics
from culprit.jobs.ingest.fetch_typical_ranges import fetch_typical_ranges
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from culprit.tests.support.web import free_port, prometheus, reply, web
from sqlalchemy import func, select

API = "/api/v1/services"
BOOT = 500 * 10**9
QUERIES = {"rate": "r", "errors": "e", "latency": "histogram_quantile($quantile, x)"}
LABELS = {"role": "feed"}


@pytest.fixture
def admin(as_, db):
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    return as_("admin")


def declare(admin, url: str, queries=QUERIES, **more) -> None:
    source = {"kind": "prometheus", "url": url, "queries": queries}
    assert (
        admin.post(API, json={"name": "feed", "selector": LABELS, "source": source} | more).status_code == 201
    )


def waiting(db, t0_ns: int | None = None) -> runs.Waiting:
    samples = runs.sampled("/proc/loadavg", [runs.loadavg(i) for i in range(10)], BOOT)
    host = runs.make_host(db, "web1", LABELS)
    clock = runs.clock_now(BOOT, t0_ns or time.time_ns() - 10 * 10**9)
    return runs.waiting_run(
        db, artifact_store(), {"loadavg": {"samples": samples}}, host_id=host, clock=clock
    )


def history(value_of, *, now_s: float, routes=("/",)):
    """A Prometheus whose value at a time is `value_of(query, days before today, route)`; None is nothing."""

    def answer(handler) -> None:
        requested = {name: item[0] for name, item in parse_qs(urlsplit(handler.path).query).items()}
        start, end, step = (float(requested[name]) for name in ("start", "end", "step"))
        back = round((now_s - (start + end) / 2) / DAY_S)
        result = []
        for route in routes:
            value = value_of(requested["query"], back, route)
            if value is not None:
                times = [start + i * step for i in range(int((end - start) // step) + 1)]
                result.append({"metric": {"route": route}, "values": [[t, str(value)] for t in times]})
        body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        reply(200, json.dumps(body, indent=1, ensure_ascii=False).encode())(handler)

    return answer


def fetched(db, run) -> str | None:
    assert ingest_run(run.run_id) == "done"
    assert fetch_service_metrics(run.run_id) == "done"
    return fetch_typical_ranges(run.run_id)


def collector(session, run_id) -> RunCollector:
    session.expire_all()
    query = select(RunCollector).where(
        RunCollector.run_id == run_id, RunCollector.collector == "prom_typical"
    )
    return session.scalars(query).one()


def tracks(who, run, **span: int) -> dict[tuple[str, str], list[dict]]:
    answer = who.get(f"/api/v1/hosts/{run.host_id}/timeline", params={"width": 800} | span)
    assert answer.status_code == 200, answer.text
    tracks = answer.json()["tracks"]
    return {(track["metric"], track["labels"].get("route", "")): track["typical"] for track in tracks}


def test_series_has_typical_range_of_its_hour(admin, as_, db, session) -> None:
    def value(query: str, back: int, route: str) -> float | None:
        if query == "e":
            return 5 if back else 50
        return {"r": 100 + 10 * back}.get(query, 0.001 * (10 + back))

    with web(history(value, now_s=time.time(), routes=("/", "/x"))) as server:
        declare(admin, server.url, token="t0k")
        run = waiting(db)
        assert ingest_run(run.run_id) == "done" and fetch_service_metrics(run.run_id) == "done"
        assert not is_evaluation_pending(session, run.run_id), "no diagnosis waits for earlier days"
        assert fetch_typical_ranges(run.run_id) == "done"
        assert len(server.requests) == 6 + 6 * DAYS
        assert {secret for _, secret in server.requests} == {"Bearer t0k"}
        assert fetch_typical_ranges(run.run_id) is None, "a second message finds nothing to do"
        seen = tracks(as_("viewer"), run)
        assert len(server.requests) == 6 + 6 * DAYS, "reading a run starts no connection"
    (band,) = seen["app.requests_per_s", "/x"]
    assert set(band["days"]) == {DAYS} and band["failure"] is None
    # 110 to 170, each as often: 10 % lie at the first day's value.
    assert {*band["low"]} == {110} and {*band["median"]} == {140} and {*band["high"]} == {170}
    assert {*seen["app.p99_ms", "/"][0]["median"]} == {14}
    assert {*seen["app.errors_pct", "/"][0]["median"]} == {3.57143}, "5 of 140 requests"
    assert seen["load.avg1", ""] == []
    item = collector(session, run.run_id)
    artifact = session.get_one(Artifact, band["artifact_id"])
    assert (artifact.part, artifact.run_collector_id) == ("rate.jsonl", item.id)
    text = artifact_store().path(artifact.sha256).read_bytes()
    assert len(text.splitlines()) == DAYS, "a line is a day"
    for part in session.scalars(select(Artifact).where(Artifact.run_id == run.run_id)):
        assert b"t0k" not in artifact_store().path(part.sha256).read_bytes()
    tables = session.scalars(select(ResultTable).where(ResultTable.run_id == run.run_id)).all()
    assert {table.kind for table in tables} == {KIND} and len(tables) == 6
    assert all(len(table.lines) == len(table.rows) for table in tables)
    assert ingest_run(run.run_id, again=True) == "done"
    session.expire_all()
    stored = select(func.count()).select_from(ResultTable).where(ResultTable.run_id == run.run_id)
    assert session.scalar(stored) == 6
    assert tracks(as_("viewer"), run) == seen


def test_fetch_typical_ranges_queries_same_hour_of_each_day(admin, db) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        assert fetched(db, waiting(db)) == "done"
        spans = [re.search(r"start=([\d.]+)&end=([\d.]+)&step=(\d+)", path) for path, _ in server.requests]
    matching_spans = [(float(span[1]), float(span[2]), int(span[3])) for span in spans if span is not None]
    today, before = matching_spans[0], matching_spans[6::6]
    assert [round((today[0] - WINDOW_HALF_S - start) / DAY_S, 6) for start, _, _ in before] == list(
        range(1, DAYS + 1)
    )
    assert {step for _, _, step in before} == {60}
    assert all(end - start <= 3600 + (today[1] - today[0]) + 1 for start, end, _ in before)


def test_two_days_are_no_history_and_never_zero(admin, db) -> None:
    with web(history(lambda _, back, __: 3 if back <= 2 else None, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "done"
    (band,) = tracks(admin, run)["app.p99_ms", "/"]
    assert set(band["days"]) == {2}
    assert set(band["low"]) == set(band["median"]) == set(band["high"]) == {None}


def test_a_route_that_is_new_has_no_days(admin, db) -> None:
    def value(_query: str, back: int, route: str) -> float | None:
        return None if back and route == "/new" else 1

    with web(history(value, now_s=time.time(), routes=("/\u2028\x85", "/new"))) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "done"
    seen = tracks(admin, run)
    assert set(seen["app.p99_ms", "/new"][0]["days"]) == {0}
    # What Python takes for the end of a line is none in an answer.
    assert set(seen["app.p99_ms", "/\u2028\x85"][0]["days"]) == {DAYS}


def test_fetch_typical_ranges_reports_unreachable_prometheus(admin, db, session) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert ingest_run(run.run_id) == "done" and fetch_service_metrics(run.run_id) == "done"
    assert fetch_typical_ranges(run.run_id) == "failed"
    lost = collector(session, run.run_id)
    assert lost.reason is not None and lost.reason["key"] == "outgoing.unreachable"
    (band,) = tracks(admin, run)["app.p99_ms", "/"]
    assert band["failure"]["key"] == "outgoing.unreachable" and band["t_ns"] == band["low"] == []
    assert (
        session.scalar(
            select(func.count()).select_from(StoredFinding).where(StoredFinding.run_id == run.run_id)
        )
        == 0
    )


def test_days_before_it_went_away_count(admin, db, session, monkeypatch) -> None:
    now = time.time()

    def answer(handler) -> None:
        back = (now - float(parse_qs(urlsplit(handler.path).query)["start"][0])) / DAY_S
        (reply(503, b"no") if back > 4.5 else history(lambda *_: 1, now_s=now))(handler)

    with web(answer) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "done"
    item = collector(session, run.run_id)
    assert [warning["key"] for warning in item.warnings] == ["outgoing.status"]
    assert set(tracks(admin, run)["app.p99_ms", "/"][0]["days"]) == {4}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("TOTAL_S", 0.0, "typical.too_slow"), ("MAX_TOTAL_BYTES", -1, "typical.too_large")],
)
def test_it_ends_in_time_and_within_its_bytes(admin, db, session, monkeypatch, name, value, expected) -> None:
    monkeypatch.setattr(typical, name, value)
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "failed"
        assert len(server.requests) == 6
    assert (collector(session, run.run_id).reason or {})["key"] == expected


def test_nothing_is_dialled_that_is_no_longer_allowed(admin, db, session) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert ingest_run(run.run_id) == "done" and fetch_service_metrics(run.run_id) == "done"
        with unit_of_work(db.sessions) as own:
            for rule in own.scalars(select(NetworkRule)):
                own.delete(rule)
        assert fetch_typical_ranges(run.run_id) == "failed"
        assert len(server.requests) == 6
    assert (collector(session, run.run_id).reason or {})["key"] == "outgoing.not_allowed"


def test_a_refusal_of_every_query_is_unreadable(admin, db, session) -> None:
    now = time.time()
    refusal = b'{"status":"error","errorType":"execution",\n"error":"too many samples"}'

    def answer(handler) -> None:
        early = float(parse_qs(urlsplit(handler.path).query)["start"][0]) < now - DAY_S / 2
        (reply(422, refusal) if early else history(lambda *_: 1, now_s=now))(handler)

    with web(answer) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "unreadable"
    assert tracks(admin, run)["app.p99_ms", "/"][0]["failure"]["key"] == "reports.prometheus_error"


def test_a_run_without_series_requests_no_earlier_day(admin, db, session) -> None:
    declare(admin, f"http://127.0.0.1:{free_port()}")
    run = waiting(db)
    assert ingest_run(run.run_id) == "done"
    assert fetch_service_metrics(run.run_id) == "failed"
    assert fetch_typical_ranges(run.run_id) is None
    query = select(RunCollector.id).where(RunCollector.collector == "prom_typical")
    assert session.scalar(query) is None


def test_the_newer_run_covers_the_older(admin, db) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        first = waiting(db, time.time_ns() - 60 * 10**9)
        assert fetched(db, first) == "done"
        samples = runs.sampled("/proc/loadavg", [runs.loadavg(i) for i in range(10)], BOOT)
        second = runs.waiting_run(
            db, artifact_store(), {"loadavg": {"samples": samples}}, host_id=first.host_id,
            clock=runs.clock_now(BOOT, time.time_ns() - 10 * 10**9),
        )  # fmt: skip
        assert fetched(db, second) == "done"
    since = time.time_ns() - 300 * 10**9
    bands = tracks(admin, first, from_ns=since, to_ns=time.time_ns())["app.p99_ms", "/"]
    assert [band["run_id"] for band in bands] == [str(first.run_id), str(second.run_id)]
    assert bands[0]["to_ns"] < bands[1]["from_ns"]
    month = {"from_ns": since - 90 * 86_400 * 10**9, "to_ns": time.time_ns()}
    assert tracks(admin, first, **month)["app.p99_ms", "/"] == [], (
        "where a pixel is hours there is no time of day"
    )


@pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="no prometheus here"
)
def test_a_real_prometheus_with_a_past(admin, db, session, tmp_path: Path) -> None:
    """Seven days of it are filled in as its own tool does that; of a younger series three are too many."""
    now = int(time.time())
    lines = ["# TYPE requests gauge"]
    for back, route in ((back, route) for route in ("/", "/young") for back in range(DAYS, -1, -1)):
        if route == "/" or back < MIN_DAYS:
            at = range(now - back * int(DAY_S) - 3000, now - back * int(DAY_S) + (3000 if back else 0), 30)
            lines += [f'requests{{route="{route}"}} {100 + 10 * back} {t}' for t in at]
    (tmp_path / "past.txt").write_text("\n".join([*lines, "# EOF", ""]))
    fill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "past.txt", "tsdb"]
    subprocess.run(fill, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    queries = {"rate": "requests", "errors": "requests * 0.5", "latency": "requests * $quantile"}
    with prometheus(tmp_path, free_port()) as url:
        declare(admin, url, queries)
        run = waiting(db)
        assert fetched(db, run) == "done", collector(session, run.run_id).reason
    seen = tracks(admin, run)
    (band,) = seen["app.requests_per_s", "/"]
    assert set(band["days"]) == {DAYS}
    assert ({*band["low"]}, {*band["median"]}, {*band["high"]}) == ({110}, {140}, {170})
    assert {*seen["app.errors_pct", "/"][0]["median"]} == {50}
    (young,) = seen["app.requests_per_s", "/young"]
    assert set(young["days"]) == {MIN_DAYS - 1} and set(young["median"]) == {None}
