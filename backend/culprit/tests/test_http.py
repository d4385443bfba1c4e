"""Headers, limits, problems, health, the web interface and the page at /docs."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat
from culprit.infra.settings import Settings
from culprit.server.web import JSON_LIMIT, create_app
from culprit.tests.conftest import alembic_config
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import text

API = "/api/v1"


@pytest.fixture
def app(config: Settings) -> Iterator[FastAPI]:
    """Return a separate application with the interface and the metrics of the test."""
    app = create_app(config)
    yield app
    app.state.database.close()


@pytest.fixture
def ui(config: Settings) -> Path:
    """Create a built web interface."""
    (config.ui_dir / "assets").mkdir(parents=True)
    (config.ui_dir / "index.html").write_text("<!doctype html><title>Culprit</title>")
    (config.ui_dir / "favicon.svg").write_text("<svg/>")
    (config.ui_dir / "assets" / "app-1a2b.js").write_text("1")
    (config.ui_dir.parent / "secret.txt").write_text("not yours")
    return config.ui_dir


def test_every_answer_has_the_headers(client: TestClient, ui: Path) -> None:
    for path in ("/", "/hosts/1", "/docs", "/healthz", "/metrics", f"{API}/me", "/assets/none.js", "/api/x"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy and "unsafe-eval" not in policy
        assert "unsafe-inline" not in policy, "no inline scripts, no inline styles"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY" and headers["referrer-policy"] == "no-referrer"
    assert client.get(f"{API}/me").headers["cache-control"] == "no-store"


def test_the_interface_is_served_with_the_right_lifetimes(client: TestClient, ui: Path) -> None:
    for address in ("/", "/hosts/018f", "/profiles/x?from_ns=1", "/login"):
        page = client.get(address)
        assert page.status_code == 200 and "<title>Culprit" in page.text
        assert page.headers["cache-control"] == "no-cache"
    script = client.get("/assets/app-1a2b.js")
    assert "immutable" in script.headers["cache-control"] and "javascript" in script.headers["content-type"]
    assert client.get("/favicon.svg").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [("gzip, deflate, br, zstd", True), ("br;q=1", True), ("gzip", False), ("br;q=0", False), ("", False)],
)
def test_files_that_the_build_compressed_are_served_so(
    client: TestClient, ui: Path, accepted: str, is_packed: bool
) -> None:
    (ui / "assets" / "app-1a2b.js.br").write_bytes(b"\x0b\x00\x801\x03")  # "1", compressed with Brotli
    with client.stream("GET", "/assets/app-1a2b.js", headers={"Accept-Encoding": accepted}) as answer:
        body = b"".join(answer.iter_raw())
    assert body == (b"\x0b\x00\x801\x03" if is_packed else b"1")
    assert answer.headers.get("content-encoding") == ("br" if is_packed else None)
    assert "javascript" in answer.headers["content-type"] and "immutable" in answer.headers["cache-control"]
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/assets/..%2f..%2fsecret.txt", "/%00",
     "/..%5csecret.txt", "/%2fetc%2fh.conf", "/assets/missing.js", "/api/v1/none", "/api/", "/robots.txt"],
)  # fmt: skip
def test_only_interface_files_are_served(client: TestClient, ui: Path, path: str) -> None:
    answer = client.get(path)
    assert "not yours" not in answer.text and "root:" not in answer.text
    assert answer.status_code == 404


def test_a_link_out_of_the_folder_is_not_followed(client: TestClient, ui: Path) -> None:
    (ui / "assets" / "out.js").symlink_to(ui.parent / "secret.txt")
    assert client.get("/assets/out.js").status_code == 404


def test_missing_interface_build_is_reported(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.status_code == 503 and "./culprit up" in answer.text


def test_docs_need_no_other_server_and_no_script(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    assert "<script" not in page.text and not re.search(r"(src|href)=.?(https?:)?//", page.text)
    document = client.get("/openapi.json").json()
    for path in document["paths"]:
        assert path in page.text
    assert all(
        "summary" in operation for methods in document["paths"].values() for operation in methods.values()
    )


def test_errors_are_problems(client: TestClient, as_) -> None:
    for answer, status, key in (
        (client.get(f"{API}/nothing"), 404, "request.no_such_path"),
        (client.put(f"{API}/me"), 405, "request.method_not_allowed"),
        (client.get(f"{API}/me"), 401, "auth.needed"),
        (as_("admin").get(f"{API}/hosts/no-id"), 422, "request.invalid"),
        (as_("admin").get(f"{API}/hosts", params={"q": "\0"}), 422, "request.not_storable"),
        (as_("admin").post(f"{API}/network-rules", content=b"{"), 422, "request.invalid"),
        (as_("admin").post(f"{API}/network-rules", content=b"\xff\xfe"), None, None),
        (as_("admin").post(f"{API}/network-rules", content=b"[" * 100_000), None, None),
    ):
        assert answer.headers["content-type"] == "application/problem+json"
        body = answer.json()
        assert {"type", "title", "status", "detail", "key", "params"} <= set(body)
        assert body["status"] == answer.status_code and 400 <= answer.status_code < 500
        assert status in {None, answer.status_code} and key in {None, body["key"]}
        assert body["detail"] != body["key"], "every key has a text"


def test_a_body_above_the_limit_is_refused_stated_or_not(as_) -> None:
    big = b'{"cidr": "' + b"x" * JSON_LIMIT + b'"}'

    def drip():
        for at in range(0, len(big), 65536):
            yield big[at : at + 65536]

    headers = {"Content-Type": "application/json"}
    for content in (big, drip()):
        answer = as_("admin").post(f"{API}/network-rules", content=content, headers=headers)
        assert answer.status_code == 413 and answer.json()["key"] == "request.too_large"


@pytest.mark.parametrize("path", ["imports", "incidents/import"])
def test_files_may_be_larger_than_other_requests(path, as_):
    answer = as_("admin").post(f"{API}/{path}", content=b"x" * (JSON_LIMIT + 1))
    assert answer.status_code != 413, answer.text


def test_healthy_ready_degraded_and_not(client: TestClient, db: Database, database_url: str) -> None:
    assert client.get("/healthz").text == "ok\n"
    seen = client.get("/readyz")
    assert seen.status_code == 200 and seen.json()["state"] == "degraded"
    assert seen.json()["checks"] == {
        "database": "ok", "migrations": "ok", "worker_ssh": "not_seen", "worker_parse": "not_seen",
        "scheduler": "not_seen", "broker": "ok",
    }  # fmt: skip
    with unit_of_work(db.sessions) as session:
        session.add(ProcessHeartbeat(name="scheduler@here:1", seen_at=utc_now()))
        session.add(ProcessHeartbeat(name="worker@here:2", seen_at=utc_now(), detail={"queues": ["ssh"]}))
    item_worker = client.get("/readyz")  # one running worker does not replace the other
    assert item_worker.status_code == 200 and item_worker.json()["checks"]["worker_parse"] == "not_seen"
    with unit_of_work(db.sessions) as session:
        session.add(
            ProcessHeartbeat(name="worker@here:3", seen_at=utc_now(), detail={"queues": ["default", "parse"]})
        )
    assert client.get("/readyz").json()["state"] == "ready"
    with db.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    behind = client.get("/readyz")
    assert behind.status_code == 503 and behind.json()["checks"]["migrations"].startswith("at 0000")
    with db.engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    assert client.get("/readyz").json()["checks"]["migrations"] == "missing"


def test_health_reports_supervisor_notes(client: TestClient, db: Database, config: Settings) -> None:
    machine = socket.gethostname()
    with unit_of_work(db.sessions) as session:
        session.add(
            ProcessHeartbeat(name=f"worker@{machine}:11", seen_at=utc_now(), detail={"queues": ["ssh"]})
        )
        session.add(
            ProcessHeartbeat(name=f"worker@{machine}:12", seen_at=utc_now(), detail={"queues": ["parse"]})
        )
        session.add(ProcessHeartbeat(name=f"scheduler@{machine}:13", seen_at=utc_now()))
    ended = {"state": "restarting", "since": "2026-01-01T00:00:00Z", "restarts": 2, "signal": "SIGKILL"}
    document: dict[str, Any] = {
        "supervisor": {"pid": os.getppid()},
        "processes": {"worker-parse": {"pid": 12}, "scheduler": {"pid": 14}},
        "parts": {"worker-ssh": ended | {"log": ["a line that is not for everybody"], "reason": "/a/path"}},
    }
    (config.home / "running.json").write_text(json.dumps(document))
    ready = client.get("/readyz")
    assert ready.status_code == 200 and ready.json()["state"] == "degraded"
    parts = ready.json()["parts"]
    assert parts["worker-ssh"] == ended
    assert parts["worker-parse"]["state"] == "ok"
    assert parts["scheduler"]["state"] == "starting"  # the process that runs has not sent a heartbeat
    document["supervisor"]["pid"] = 1  # left by another platform: ignored
    (config.home / "running.json").write_text(json.dumps(document))
    assert client.get("/readyz").json()["state"] == "ready"


def test_health_reports_unavailable_database(config: Settings, tmp_path: Path) -> None:
    away = config.model_copy(update={"database_url": f"postgresql://nobody@/none?host={tmp_path}"})
    with TestClient(create_app(away)) as client:
        assert client.get("/healthz").status_code == 200
        ready = client.get("/readyz")
        assert ready.status_code == 503 and ready.json()["checks"]["database"] == "away"
        answer = client.post(f"{API}/session", json={"name": "a", "password": "b"})
        assert answer.status_code == 503 and answer.json()["key"] == "platform.database_away"
        assert answer.headers["retry-after"] == "5"
        assert "culprit_database_up 0.0" in client.get("/metrics").text


def test_with_the_broker_away_requests_are_still_served(config: Settings, tmp_path: Path, people) -> None:
    away = config.model_copy(update={"redis_url": f"unix://{tmp_path}/none"})
    with TestClient(create_app(away), headers=people["admin"].headers) as client:
        assert client.get("/readyz").json()["checks"]["broker"] == "away"
        assert client.get(f"{API}/hosts").status_code == 200


def test_figures_know_routes_and_no_ids(app: FastAPI, as_) -> None:
    as_("admin").get(f"{API}/hosts/018f0000-0000-7000-8000-000000000000")
    as_("admin").get("/some/018f/page")
    figures = as_("admin").get("/metrics").text
    assert (
        'culprit_http_requests_total{method="GET",route="/api/v1/hosts/{host_id}",status="404"} 1.0'
        in figures
    )
    assert "018f" not in figures and "culprit_database_up 1.0" in figures


def test_the_schema_that_is_served_is_migrated_by_alembic(database_url: str) -> None:
    command.check(alembic_config(database_url))
