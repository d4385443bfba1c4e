"""Services over HTTP, and the Prometheus data around a capture."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from culprit.accounts import sealed_columns
from culprit.domain.series import chunks as chunk_rows
from culprit.evidence.readiness_queries import is_evaluation_pending
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.hosts.service import Service
from culprit.infra.vault import Vault, get_vault
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.fetch_service_metrics import build_query_range, fetch_service_metrics
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from culprit.tests.support.web import free_port, prometheus, reply, web
from sqlalchemy import func, select

pytestmark = pytest.mark.long(25)

API = "/api/v1/services"
BOOT = 500 * 10**9
QUERIES = {"rate": "r", "errors": "e", "latency": "histogram_quantile($quantile, x)"}
LABELS = {"role": "feed"}
LIMIT = "F-CPU-THROTTLED-WAITING"


@pytest.fixture
def admin(as_, db):
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    return as_("admin")


def body(url: str = "http://127.0.0.1:9", **more):
    source = {"kind": "prometheus", "url": url, "queries": QUERIES}
    return {"name": "feed", "selector": LABELS, "source": source} | more


def matrix(value: str, at_s: int, route: str = "/") -> bytes:
    result = [{"metric": {"route": route}, "values": [[at_s, value], [at_s + 1, value]]}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def test_declare_change_and_forget(admin, as_, db, session) -> None:
    runs.make_host(db, "a", LABELS | {"dc": "x"})
    runs.make_host(db, "b", {"role": "ads"})
    result = admin.post(API, json={"name": "feed", "selector": LABELS}).json()
    assert (result["missing"], result["hosts"], result["proxy"]) == (["rate", "errors", "latency"], 1, False)
    assert admin.post(API, json={"name": "feed", "selector": LABELS}).status_code == 409
    assert admin.post(API, json={"name": "x", "selector": {}}).status_code == 422
    accepts = {"source": {"kind": "accepts", "port": 80}, "locate": {"kind": "unit", "value": "feed.service"}}
    changed = admin.patch(f"{API}/{result['id']}", json=accepts).json()
    assert (changed["proxy"], changed["missing"]) == (True, ["errors", "latency"])
    assert changed["locate"] == {"kind": "unit", "value": "feed.service"}
    log = {"kind": "access_log", "path": "/var/log/nginx/access.log", "format": "combined"}
    assert (
        admin.patch(f"{API}/{result['id']}", json={"source": log, "no_locate": True}).json()["locate"] is None
    )
    assert as_("viewer").get(API).json()["items"][0]["source"] == log
    other = admin.post(API, json={"name": "ads", "selector": {"role": "ads"}}).json()
    assert [item["name"] for item in as_("scoped").get(API).json()["items"]] == ["feed"]
    assert as_("scoped").get(f"{API}/{other['id']}").status_code == 404
    assert admin.delete(f"{API}/{result['id']}").status_code == 204
    assert admin.get(f"{API}/{result['id']}").status_code == 404
    actions = list(session.scalars(select(AuditEntry.action).where(AuditEntry.resource_kind == "service")))
    assert actions == [
        "service.declared", "service.changed", "service.changed", "service.declared", "service.removed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "url",
    ["http://10.1.2.3:9090", "http://169.254.169.254", "http://u:p@127.0.0.1/", "http://127.0.0.1/?x=1", "file:///etc/passwd"],
)  # fmt: skip
def test_service_with_disallowed_server_is_refused(admin, url: str) -> None:
    assert admin.post(API, json=body(url)).status_code == 422


def test_strange_bodies(admin) -> None:
    for change in (
        {"locate": {"kind": "port", "value": "x"}},
        {"source": {"kind": "access_log", "path": "/var/log/$(id)"}},
        {"source": {"kind": "access_log", "path": "relative"}},
        {
            "source": {
                "kind": "prometheus",
                "url": "http://127.0.0.1:1",
                "queries": QUERIES | {"latency": "x"},
            }
        },
        {"token": "two\nlines"},
        {"source": {"kind": "none"}, "token": "t"},
    ):
        assert admin.post(API, json=body() | change).status_code == 422, change


def test_a_token_is_sealed_sent_and_forgotten(admin, db, session, config) -> None:
    with web(reply(200, matrix("1", int(time.time()) - 5))) as server, web(reply(200, b"{}")) as other:
        answer = admin.post(API, json=body(server.url, token="canary-1"), headers={"Idempotency-Key": "k"})
        result = answer.json()
        assert result["has_token"] and "canary-1" not in answer.text
        results = admin.post(f"{API}/{result['id']}/check").json()["results"]
        assert [result["name"] for result in results] == ["rate", "errors", "p50", "p90", "p99", "p999"]
        assert all(result["failure"] is None and result["points"] == 2 for result in results)
        assert {secret for _, secret in server.requests} == {"Bearer canary-1"}
        assert any("histogram_quantile%280.999" in path for path, _ in server.requests)
        row = session.get_one(Service, UUID(result["id"]))
        assert (
            b"canary-1" not in (row.ciphertext or b"")
            and sealed_columns.open_secret(row, get_vault()) == "canary-1"
        )
        rotated = Vault({**config.key_ring(), 2: b"k" * 32}, 2)
        assert (
            sealed_columns.rewrap_secrets(session, rotated) == 1
            and sealed_columns.open_secret(row, rotated) == "canary-1"
        )
        session.rollback()
        moved = admin.patch(f"{API}/{result['id']}", json={"source": body(other.url)["source"]}).json()
        assert moved["has_token"] is False, "a token is never sent to another server than it was given for"
        admin.post(f"{API}/{result['id']}/check")
        assert {secret for _, secret in other.requests} == {None}
    entries = json.dumps([item.detail for item in session.scalars(select(AuditEntry))])
    assert "canary-1" not in entries


def test_service_check_reports_failures(admin) -> None:
    refusal = b'{"status":"error","errorType":"bad_data","error":"parse error"}'
    with web(reply(400, refusal)) as server:
        result = admin.post(API, json=body(server.url)).json()
        failures = [
            result["failure"] for result in admin.post(f"{API}/{result['id']}/check").json()["results"]
        ]
    assert {failure["key"] for failure in failures} == {"reports.prometheus_error"} and len(failures) == 6
    gone = admin.post(f"{API}/{result['id']}/check").json()["results"]
    assert [item["failure"]["key"] for item in gone] == ["outgoing.unreachable"], (
        "the other five are not tried"
    )


def waiting(db, labels=None, t0_ns: int | None = None) -> runs.Waiting:
    samples = runs.sampled("/proc/loadavg", [runs.loadavg(i) for i in range(10)], BOOT)
    host = runs.make_host(db, "web1", LABELS if labels is None else labels)
    clock = runs.clock_now(BOOT, t0_ns or time.time_ns() - 10 * 10**9)
    return runs.waiting_run(
        db, artifact_store(), {"loadavg": {"samples": samples}}, host_id=host, clock=clock
    )


def throttled_host(db) -> runs.Waiting:
    """A handful of threads that wait while a limit of a third of a CPU strikes in every period."""
    rows = yaml.safe_load((Path(__file__).parents[2] / "domain/rules/cases/cpu.yaml").read_text())
    case = next(row for row in rows if (row["rule"], row["state"]) == (LIMIT, "matched"))
    parts = {name: {part: text.encode() for part, text in of.items()} for name, of in case["parts"].items()}
    samples = runs.sampled("/proc/loadavg", [runs.loadavg(i) for i in range(10)], BOOT)
    clock = runs.clock_now(BOOT, time.time_ns() - 10 * 10**9)
    host = runs.make_host(db, "web1", LABELS)
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, host).facts = {"cpus": 2}
    parts["loadavg"] = {"samples": samples}
    return runs.waiting_run(db, artifact_store(), parts, host_id=host, clock=clock)


@pytest.mark.parametrize(
    ("p99_s", "expected"), [("0.140", ("matched", None)), ("0.003", ("inconclusive", "guard.not_felt"))]
)
def test_a_limit_is_blamed_where_prometheus_shows_slow_requests(admin, db, session, p99_s, expected) -> None:
    with web(reply(200, matrix(p99_s, int(time.time()) - 4))) as server:
        admin.post(API, json=body(server.url))
        run = throttled_host(db)
        assert ingest_run(run.run_id) == "done"
        with unit_of_work(db.sessions) as own:
            own.get_one(Run, run.run_id).facts = {"cpus": 2}
        assert is_evaluation_pending(session, run.run_id), "a diagnosis waits for what is being fetched"
        assert fetch_service_metrics(run.run_id) == "done"
    session.rollback()
    assert not is_evaluation_pending(session, run.run_id)
    evaluate_run(run.run_id)
    stored_finding = session.scalars(
        select(StoredFinding).where(StoredFinding.run_id == run.run_id, StoredFinding.rule == LIMIT)
    ).one()
    assert (stored_finding.state, (stored_finding.reason or {}).get("key")) == expected
    number = stored_finding.numbers[-1]
    assert expected[1] or (number["measure"], number["value"]) == ("app.latency_p99_ms", 140.0)


def collector(session, run_id) -> RunCollector | None:
    session.expire_all()
    query = select(RunCollector).where(
        RunCollector.run_id == run_id, RunCollector.collector == "prom_service"
    )
    return session.scalar(query)


def test_a_capture_brings_what_prometheus_knows(admin, db, session) -> None:
    at_s = int(time.time()) - 30
    bodies = {"query=r&": matrix("50", at_s), "query=e&": matrix("1", at_s)}

    def answer(handler) -> None:
        body = next((item for mark, item in bodies.items() if mark in handler.path), matrix("0.25", at_s))
        reply(200, body)(handler)

    with web(answer) as server:
        admin.post(API, json=body(server.url, token="t0k"))
        run = waiting(db)
        assert ingest_run(run.run_id) == "done"
        planned = collector(session, run.run_id)
        assert planned is not None and planned.state == "queued"
        before = session.get_one(Run, run.run_id)
        span = (before.t0_ns, before.t1_ns)
        assert fetch_service_metrics(run.run_id) == "done"
        assert fetch_service_metrics(run.run_id) is None, "a second message finds nothing to do"
        assert len(server.requests) == 6
    chunks = session.scalars(
        select(SeriesChunk).where(SeriesChunk.run_id == run.run_id, SeriesChunk.level == 0)
    ).all()
    app = {chunk.metric: chunk for chunk in chunks if chunk.metric.startswith("app.")}
    assert set(app) == {
        "app.requests_per_s", "app.errors_pct", "app.p50_ms", "app.p90_ms", "app.p99_ms", "app.p999_ms",
    }  # fmt: skip
    assert any(chunk.metric.startswith("load") for chunk in chunks), "what was read of the host stays"
    assert {item.artifact_id is not None for item in app.values()} == {True}
    for metric, value in (("app.errors_pct", 2.0), ("app.p99_ms", 250.0), ("app.requests_per_s", 50.0)):
        assert chunk_rows.decode_rows(app[metric].data).mean.max() == value, metric
        where = {
            "host_id": str(run.host_id),
            "t_ns": at_s * 10**9,
            "metric": metric,
            "labels": '{"route":"/"}',
        }
        reported = admin.get("/api/v1/citations", params=where)
        assert reported.status_code == 200, reported.text
    parts = set(session.scalars(select(Artifact.part).where(Artifact.run_id == run.run_id)))
    assert {"query.json", "rate.json", "errors.json", "p999.json"} <= parts
    for artifact in session.scalars(select(Artifact).where(Artifact.run_id == run.run_id)):
        assert b"t0k" not in artifact_store().path(artifact.sha256).read_bytes()
    after = session.get_one(Run, run.run_id)
    assert (after.t0_ns, after.t1_ns, after.state) == (*span, "done"), "the margins belong to no capture"
    count = session.scalar(select(func.count()).select_from(SeriesChunk))
    assert ingest_run(run.run_id, again=True) == "done"
    session.expire_all()
    assert session.scalar(select(func.count()).select_from(SeriesChunk)) == count
    again = session.get_one(Run, run.run_id)
    assert (again.t0_ns, again.t1_ns) == span


def test_losing_prometheus_fails_no_run(admin, db, session) -> None:
    port = free_port()
    result = admin.post(API, json=body(f"http://127.0.0.1:{port}")).json()
    run = waiting(db)
    assert ingest_run(run.run_id) == "done"
    assert fetch_service_metrics(run.run_id) == "failed"
    lost = collector(session, run.run_id)
    assert lost is not None and lost.reason is not None and lost.reason["key"] == "outgoing.unreachable"
    assert session.get_one(Run, run.run_id).state == "done"
    assert admin.get(f"/api/v1/runs/{run.run_id}").json()["state"] == "done"
    admin.delete(f"{API}/{result['id']}")
    assert ingest_run(run.run_id, again=True) == "done"


def test_a_refused_query_is_a_warning_or_unreadable(admin, db, session) -> None:
    refusal = reply(422, b'{"status":"error","errorType":"execution","error":"too many samples"}')
    with web(refusal) as server:
        admin.post(API, json=body(server.url))
        run = waiting(db)
        assert ingest_run(run.run_id) == "done"
        assert fetch_service_metrics(run.run_id) == "unreadable"
    item = collector(session, run.run_id)
    assert item is not None and item.reason == {
        "key": "reports.prometheus_error", "params": {"message": "too many samples"},
    }  # fmt: skip


def test_hosts_without_such_a_service_are_left_alone(admin, db, session) -> None:
    admin.post(API, json=body())
    admin.post(API, json={"name": "ads", "selector": {"role": "ads"}})
    run = waiting(db, {"role": "ads"})
    assert ingest_run(run.run_id) == "done"
    assert collector(session, run.run_id) is None and fetch_service_metrics(run.run_id) is None


def test_the_window_has_margins_and_no_future() -> None:
    window = build_query_range(1_000 * 10**9, 1_300 * 10**9, now_s=1_310)
    assert (window.start_s, window.end_s, window.step_s) == (700, 1_310, 2)
    assert build_query_range(1_000 * 10**9, 1_001 * 10**9, now_s=9_999).start_s == 940
    assert build_query_range(10**15, 10**15 + 86_400 * 10**9, now_s=1e9).start_s == 1e6 - 900


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus here")
def test_a_real_prometheus(admin, db, session, tmp_path: Path) -> None:
    queries = {
        "rate": 'sum by (route) (label_replace(rate(prometheus_http_requests_total[8s]), "route", "$1", "handler", "(.*)"))',
        "errors": 'sum by (route) (rate(prometheus_http_requests_total{code="599"}[8s]))',
        "latency": "histogram_quantile($quantile, sum by (le) (rate(prometheus_http_request_duration_seconds_bucket[8s])))",
    }
    port = free_port()
    began = time.time_ns()
    with prometheus(tmp_path, port) as url:
        source = {"kind": "prometheus", "url": url, "queries": queries}
        result = admin.post(API, json=body() | {"source": source}).json()
        results = {}
        for _ in range(
            60
        ):  # it begins to scrape when it likes; the grid of the capture is not that of the check
            time.sleep(1)
            results = {
                result["name"]: result
                for result in admin.post(f"{API}/{result['id']}/check").json()["results"]
            }
            if min(results["rate"]["points"], results["p99"]["points"]) >= 6:
                break
        assert results["rate"]["points"] >= 6 and results["p99"]["last"] > 0, results
        assert results["errors"]["failure"]["key"] == "reports.prometheus_empty", "no request returns 599"
        run = waiting(db, t0_ns=began)
        assert ingest_run(run.run_id) == "done"
        assert fetch_service_metrics(run.run_id) == "done"
    series_list = session.scalars(
        select(SeriesChunk).where(SeriesChunk.run_id == run.run_id, SeriesChunk.level == 0)
    )
    metrics = {(series.metric, series.labels.get("route")) for series in series_list}
    routes = {route for metric, route in metrics if metric == "app.requests_per_s"}
    assert routes and all(route.startswith("/") for route in routes), (
        "which of them were asked is Prometheus's affair"
    )
    assert {("app.errors_pct", route) for route in routes} | {("app.p99_ms", "")} <= metrics
