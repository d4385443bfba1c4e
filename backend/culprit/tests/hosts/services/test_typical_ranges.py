"""The band behind a Prometheus lane: the same hours of earlier days, asked once for a run and stored with it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from culprit.core.usual import DAY_S, DAYS, KIND, MIN_DAYS, REACH_S
from culprit.infra.artifacts import artifact_store
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, Finding, NetworkRule, ResultTable, RunCollector
from culprit.tests.support import runs
from culprit.tests.support.web import free_port, prometheus, reply, web
from culprit.workflows import fetch_usual as usual
from culprit.workflows.fetch_service import fetch_service
from culprit.workflows.fetch_usual import fetch_usual
from culprit.workflows.ingest_run import ingest_run
from culprit.workflows.readiness import being_built
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
        asked = {name: one[0] for name, one in parse_qs(urlsplit(handler.path).query).items()}
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        back = round((now_s - (start + end) / 2) / DAY_S)
        result = []
        for route in routes:
            value = value_of(asked["query"], back, route)
            if value is not None:
                times = [start + i * step for i in range(int((end - start) // step) + 1)]
                result.append({"metric": {"route": route}, "values": [[t, str(value)] for t in times]})
        body = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        reply(200, json.dumps(body, indent=1, ensure_ascii=False).encode())(handler)

    return answer


def fetched(db, run) -> str | None:
    assert ingest_run(run.run_id) == "done"
    assert fetch_service(run.run_id) == "done"
    return fetch_usual(run.run_id)


def collector(session, run_id) -> RunCollector:
    session.expire_all()
    query = select(RunCollector).where(RunCollector.run_id == run_id, RunCollector.collector == "prom_usual")
    return session.scalars(query).one()


def lanes(who, run, **span: int) -> dict[tuple[str, str], list[dict]]:
    answer = who.get(f"/api/v1/hosts/{run.host_id}/timeline", params={"width": 800} | span)
    assert answer.status_code == 200, answer.text
    found = answer.json()["lanes"]
    return {(one["metric"], one["labels"].get("route", "")): one["usual"] for one in found}


def test_a_lane_knows_what_is_usual_at_its_hour(admin, as_, db, session) -> None:
    def value(query: str, back: int, route: str) -> float | None:
        if query == "e":
            return 5 if back else 50
        return {"r": 100 + 10 * back}.get(query, 0.001 * (10 + back))

    with web(history(value, now_s=time.time(), routes=("/", "/x"))) as server:
        declare(admin, server.url, token="t0k")
        run = waiting(db)
        assert ingest_run(run.run_id) == "done" and fetch_service(run.run_id) == "done"
        assert not being_built(session, run.run_id), "no diagnosis waits for earlier days"
        assert fetch_usual(run.run_id) == "done"
        assert len(server.asked) == 6 + 6 * DAYS
        assert {secret for _, secret in server.asked} == {"Bearer t0k"}
        assert fetch_usual(run.run_id) is None, "a second message finds nothing to do"
        seen = lanes(as_("viewer"), run)
        assert len(server.asked) == 6 + 6 * DAYS, "who looks makes nobody dial"
    (band,) = seen["app.requests_per_s", "/x"]
    assert set(band["days"]) == {DAYS} and band["failure"] is None
    # 110 to 170, each as often: 10 % lie at the first day's value.
    assert {*band["low"]} == {110} and {*band["median"]} == {140} and {*band["high"]} == {170}
    assert {*seen["app.p99_ms", "/"][0]["median"]} == {14}
    assert {*seen["app.errors_pct", "/"][0]["median"]} == {3.57143}, "5 of 140 requests"
    assert seen["load.avg1", ""] == []
    one = collector(session, run.run_id)
    artifact = session.get_one(Artifact, band["artifact_id"])
    assert (artifact.part, artifact.run_collector_id) == ("rate.jsonl", one.id)
    text = artifact_store().path(artifact.sha256).read_bytes()
    assert len(text.splitlines()) == DAYS, "a line is a day"
    for part in session.scalars(select(Artifact).where(Artifact.run_id == run.run_id)):
        assert b"t0k" not in artifact_store().path(part.sha256).read_bytes()
    tables = session.scalars(select(ResultTable).where(ResultTable.run_id == run.run_id)).all()
    assert {one.kind for one in tables} == {KIND} and len(tables) == 6
    assert all(len(one.lines) == len(one.rows) for one in tables)
    assert ingest_run(run.run_id, again=True) == "done"
    session.expire_all()
    kept = select(func.count()).select_from(ResultTable).where(ResultTable.run_id == run.run_id)
    assert session.scalar(kept) == 6
    assert lanes(as_("viewer"), run) == seen


def test_what_is_asked_is_the_same_hour_of_each_day(admin, db) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        assert fetched(db, waiting(db)) == "done"
        spans = [re.search(r"start=([\d.]+)&end=([\d.]+)&step=(\d+)", path) for path, _ in server.asked]
    found = [(float(one[1]), float(one[2]), int(one[3])) for one in spans if one is not None]
    today, before = found[0], found[6::6]
    assert [round((today[0] - REACH_S - start) / DAY_S, 6) for start, _, _ in before] == list(
        range(1, DAYS + 1)
    )
    assert {step for _, _, step in before} == {60}
    assert all(end - start <= 3600 + (today[1] - today[0]) + 1 for start, end, _ in before)


def test_two_days_are_no_history_and_never_zero(admin, db) -> None:
    with web(history(lambda _, back, __: 3 if back <= 2 else None, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "done"
    (band,) = lanes(admin, run)["app.p99_ms", "/"]
    assert set(band["days"]) == {2}
    assert set(band["low"]) == set(band["median"]) == set(band["high"]) == {None}


def test_a_route_that_is_new_has_no_days(admin, db) -> None:
    def value(_query: str, back: int, route: str) -> float | None:
        return None if back and route == "/new" else 1

    with web(history(value, now_s=time.time(), routes=("/\u2028\x85", "/new"))) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "done"
    seen = lanes(admin, run)
    assert set(seen["app.p99_ms", "/new"][0]["days"]) == {0}
    # What Python takes for the end of a line is none in an answer.
    assert set(seen["app.p99_ms", "/\u2028\x85"][0]["days"]) == {DAYS}


def test_a_prometheus_that_goes_away_is_said(admin, db, session) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert ingest_run(run.run_id) == "done" and fetch_service(run.run_id) == "done"
    assert fetch_usual(run.run_id) == "failed"
    lost = collector(session, run.run_id)
    assert lost.reason is not None and lost.reason["key"] == "outgoing.unreachable"
    (band,) = lanes(admin, run)["app.p99_ms", "/"]
    assert band["failure"]["key"] == "outgoing.unreachable" and band["t_ns"] == band["low"] == []
    assert session.scalar(select(func.count()).select_from(Finding).where(Finding.run_id == run.run_id)) == 0


def test_days_before_it_went_away_count(admin, db, session, monkeypatch) -> None:
    now = time.time()

    def answer(handler) -> None:
        back = (now - float(parse_qs(urlsplit(handler.path).query)["start"][0])) / DAY_S
        (reply(503, b"no") if back > 4.5 else history(lambda *_: 1, now_s=now))(handler)

    with web(answer) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "done"
    one = collector(session, run.run_id)
    assert [said["key"] for said in one.warnings] == ["outgoing.status"]
    assert set(lanes(admin, run)["app.p99_ms", "/"][0]["days"]) == {4}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("TOTAL_S", 0.0, "usual.too_slow"), ("MAX_TOTAL_BYTES", -1, "usual.too_large")],
)
def test_it_ends_in_time_and_within_its_bytes(admin, db, session, monkeypatch, name, value, said) -> None:
    monkeypatch.setattr(usual, name, value)
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert fetched(db, run) == "failed"
        assert len(server.asked) == 6
    assert (collector(session, run.run_id).reason or {})["key"] == said


def test_nothing_is_dialled_that_is_no_longer_allowed(admin, db, session) -> None:
    with web(history(lambda *_: 1, now_s=time.time())) as server:
        declare(admin, server.url)
        run = waiting(db)
        assert ingest_run(run.run_id) == "done" and fetch_service(run.run_id) == "done"
        with unit_of_work(db.sessions) as own:
            for rule in own.scalars(select(NetworkRule)):
                own.delete(rule)
        assert fetch_usual(run.run_id) == "failed"
        assert len(server.asked) == 6
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
    assert lanes(admin, run)["app.p99_ms", "/"][0]["failure"]["key"] == "reports.prometheus_error"


def test_a_run_without_a_lane_asks_for_no_earlier_day(admin, db, session) -> None:
    declare(admin, f"http://127.0.0.1:{free_port()}")
    run = waiting(db)
    assert ingest_run(run.run_id) == "done"
    assert fetch_service(run.run_id) == "failed"
    assert fetch_usual(run.run_id) is None
    query = select(RunCollector.id).where(RunCollector.collector == "prom_usual")
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
    bands = lanes(admin, first, from_ns=since, to_ns=time.time_ns())["app.p99_ms", "/"]
    assert [one["run_id"] for one in bands] == [str(first.run_id), str(second.run_id)]
    assert bands[0]["to_ns"] < bands[1]["from_ns"]
    month = {"from_ns": since - 90 * 86_400 * 10**9, "to_ns": time.time_ns()}
    assert lanes(admin, first, **month)["app.p99_ms", "/"] == [], (
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
    seen = lanes(admin, run)
    (band,) = seen["app.requests_per_s", "/"]
    assert set(band["days"]) == {DAYS}
    assert ({*band["low"]}, {*band["median"]}, {*band["high"]}) == ({110}, {140}, {170})
    assert {*seen["app.errors_pct", "/"][0]["median"]} == {50}
    (young,) = seen["app.requests_per_s", "/young"]
    assert set(young["days"]) == {MIN_DAYS - 1} and set(young["median"]) == {None}
