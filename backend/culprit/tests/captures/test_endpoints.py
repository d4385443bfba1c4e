"""Captures over HTTP: previews, creation, scope, cancellation, and progress with resume."""

import json
import threading
import uuid
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
import uvicorn
from culprit.captures import locks as leases
from culprit.captures import service
from culprit.domain.rules.registry import CAUSES
from culprit.infra.artifacts.store import StoreSpace
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import EventPublisher, get_stream_name
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.preflight import Preflight
from culprit.tests.support.sshd import free_port
from redis import Redis
from sqlalchemy import func, select

from collectors.contract import Option, Text
from collectors.plans import PLANS
from collectors.registry import COLLECTORS


def build_capture(*hosts, **values):
    return {
        "host_ids": [str(host) for host in hosts],
        "plan": "triage",
        "reason": "slow since noon",
        **values,
    }


def build_preview(*hosts, **values):
    return {"host_ids": [str(host) for host in hosts], **values}


def test_a_preview_shows_commands_cost_and_what_will_work(db, as_, make_host):
    known, unknown = make_host("known"), make_host("unknown")
    verdicts = [
        {"id": "vmstat", "state": "works", "method": "vmstat", "reason": None, "remedy": None},
        {
            "id": "perf_record",
            "state": "unavailable",
            "method": "",
            "reason": {"key": "reason.tool_missing", "params": {"tool": "perf"}},
            "remedy": {"key": "remedy.install", "params": {"command": "apt-get install linux-perf"}},
        },
    ]
    with unit_of_work(db.sessions) as session:
        session.add(Preflight(host_id=known, state="done", collectors=verdicts))
    answer = (
        as_("investigator")
        .post("/api/v1/captures/preview", json=build_preview(known, unknown, plan="cpu"))
        .json()
    )
    assert (answer["tier"], answer["allowed"], answer["refusal"]) == ("standard", True, None)
    collectors = {collector["id"]: collector for collector in answer["collectors"]}
    [on_known, on_unknown] = collectors["perf_record"]["hosts"]
    assert (on_known["state"], on_known["reason"]["key"]) == ("unavailable", "reason.tool_missing")
    assert on_unknown["state"] == "unknown"
    assert any("perf record" in command for command in collectors["perf_record"]["commands"])
    assert not any(
        "{seconds}" in command for collector in answer["collectors"] for command in collector["commands"]
    )
    assert set(collectors["vmstat"]["cost"]["note"]) == {"en", "zh"}
    with db.sessions() as session:
        assert session.scalar(select(func.count(Capture.id))) == 0


@pytest.mark.parametrize(
    ("person", "plan", "status", "key"),
    [
        ("viewer", "triage", 403, "auth.role_too_low"),
        ("investigator", "sched", 403, "auth.role_too_low"),
        ("investigator", "cpu", 201, None),
        ("oncall", "sched", 201, None),
        ("scoped", "triage", 404, "host.not_found"),
        ("oncall", "no-such-plan", 422, "capture.plan_unknown"),
    ],
)
def test_who_may_start_what(as_, make_host, person, plan, status, key):
    answer = as_(person).post("/api/v1/captures", json=build_capture(make_host(), plan=plan))
    assert answer.status_code == status
    assert answer.json().get("key") == key


def test_capture_preview_lists_refusals(as_, make_host):
    answer = (
        as_("investigator")
        .post("/api/v1/captures/preview", json=build_preview(make_host(), plan="sched"))
        .json()
    )
    assert (answer["allowed"], answer["refusal"]["key"]) == (False, "auth.role_too_low")


PORT = Option("port", r"[0-9]{1,5}", Text("Port", "端口"), "6379")


@pytest.fixture
def with_an_option(monkeypatch):
    """Give one collector a port option."""
    changed = {**COLLECTORS, "vmstat": replace(COLLECTORS["vmstat"], options=(PORT,))}
    monkeypatch.setattr(service, "COLLECTORS", changed)


@pytest.mark.usefixtures("with_an_option")
@pytest.mark.parametrize("where", ["captures", "captures/preview"])
@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"scope": {"kind": "cgroup", "value": "app"}}, "capture.scope_invalid"),
        ({"scope": {"kind": "cgroup", "value": "/app/../x"}}, "capture.scope_invalid"),
        ({"scope": {"kind": "process", "value": "4194305"}}, "capture.scope_invalid"),
        ({"scope": {"kind": "host", "value": "x"}}, "capture.scope_invalid"),
        ({"scope": {"kind": "unit", "value": "a; id"}}, "capture.scope_invalid"),
        ({"options": {"perf_record": {"port": "1"}}}, "capture.option_without_collector"),
        ({"options": {"vmstat": {"path": "1"}}}, "capture.option_unknown"),
        ({"options": {"vmstat": {"port": "$(id)"}}}, "capture.option_invalid"),
        ({"scope": {"kind": "planet", "value": "earth"}}, "request.invalid"),
    ],
)
def test_capture_refuses_invalid_scopes_and_options(as_, make_host, where, values, key):
    body = build_capture(make_host(), **values)
    if where.endswith("preview"):
        del body["reason"]
    answer = as_("oncall").post(f"/api/v1/{where}", json=body)
    assert answer.status_code == 422
    assert answer.json()["key"] == key or key == "request.invalid"


@pytest.mark.parametrize("where", ["/api/v1/captures", "/api/v1/captures/preview"])
def test_a_collector_that_cannot_run_without_a_value_is_not_planned_without(as_, make_host, where):
    host, client = make_host(), as_("oncall")
    body = build_preview(host, plan="custom", seconds=3, collectors=["uprobe"])
    if not where.endswith("preview"):
        body["reason"] = "who calls it"
    lacking = client.post(where, json=body | {"options": {"uprobe": {"binary": "/usr/bin/true"}}})
    assert (lacking.status_code, lacking.json()["key"]) == (422, "capture.option_required")
    assert lacking.json()["params"] == {"collector": "uprobe", "option": "function"}
    supplied = {"uprobe": {"binary": "/usr/bin/true", "function": "main"}}
    assert client.post(where, json=body | {"options": supplied}).status_code in {200, 201}


def test_plans_and_diagnoses_need_no_options():
    asking = {name for name, item in COLLECTORS.items() if any(option.required for option in item.options)}
    planned = {collector.id for plan in PLANS.values() for collector in plan.collectors}
    tested = {name for cause in CAUSES.values() for name in cause.tested_by}
    assert not asking & (planned | tested)


@pytest.mark.usefixtures("with_an_option")
def test_scope_and_options_are_stored_and_audited(db, as_, make_host):
    scope = {"kind": "cgroup", "value": "/app.slice"}
    supplied = {"vmstat": {"port": "7000"}}
    result = (
        as_("oncall")
        .post("/api/v1/captures", json=build_capture(make_host(), scope=scope, options=supplied))
        .json()
    )
    assert (result["scope"], result["options"]) == (scope, supplied)
    with db.sessions() as session:
        capture = session.get_one(Capture, uuid.UUID(result["id"]))
        assert capture.scope == scope
        assert {"id": "vmstat", "seconds": 30, "options": {"port": "7000"}} in capture.collectors
        assert session.scalars(select(AuditEntry.detail)).all()[-1]["scope"] == scope


def test_without_a_scope_it_is_the_whole_host(as_, make_host):
    result = as_("oncall").post("/api/v1/captures", json=build_capture(make_host())).json()
    assert (result["scope"], result["options"]) == ({"kind": "host", "value": ""}, {})


def test_a_capture_is_stored_with_runs_collectors_and_an_audit_entry(db, as_, make_host):
    hosts = [make_host(f"web-{n}") for n in range(3)]
    result = as_("oncall").post("/api/v1/captures", json=build_capture(*hosts, seconds=7)).json()
    assert (result["state"], result["plan"], result["source"], result["tier"]) == (
        "queued",
        "triage",
        "api",
        "light",
    )
    assert [run["host"]["name"] for run in result["runs"]] == ["web-0", "web-1", "web-2"]
    assert {collector["state"] for run in result["runs"] for collector in run["collectors"]} == {"queued"}
    assert as_("viewer").get(f"/api/v1/captures/{result['id']}").json() == result
    listed = as_("viewer").get("/api/v1/captures", params={"host": str(hosts[1])}).json()
    assert [item["id"] for item in listed["items"]] == [result["id"]]
    with db.sessions() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "capture.create")).one()
        assert (entry.detail["plan"], entry.detail["hosts"]) == ("triage", ["web-0", "web-1", "web-2"])


def test_create_capture_is_idempotent(as_, make_host):
    body, key = build_capture(make_host()), {"Idempotency-Key": "k1"}
    first = as_("oncall").post("/api/v1/captures", json=body, headers=key).json()
    assert as_("oncall").post("/api/v1/captures", json=body, headers=key).json()["id"] == first["id"]


def test_what_is_out_of_scope_does_not_exist(as_, make_host):
    feed, other = make_host("feed-1", {"role": "feed"}), make_host("other-1", {"role": "db"})
    mixed = as_("admin").post("/api/v1/captures", json=build_capture(feed, other)).json()
    hidden = as_("admin").post("/api/v1/captures", json=build_capture(other)).json()
    seen = as_("scoped").get("/api/v1/captures").json()["items"]
    assert [item["id"] for item in seen] == [mixed["id"]]
    assert [run["host"]["name"] for run in seen[0]["runs"]] == ["feed-1"]
    assert as_("scoped").get(f"/api/v1/captures/{hidden['id']}").status_code == 404
    assert as_("scoped").get(f"/api/v1/captures/{hidden['id']}/progress").status_code == 404
    assert as_("scoped").post(f"/api/v1/captures/{hidden['id']}/cancel").status_code == 404
    refused = as_("scoped").post(f"/api/v1/captures/{mixed['id']}/cancel")
    assert (refused.status_code, refused.json()["key"]) == (403, "auth.outside_scope")


def test_cancel_ends_queued_run_and_requests_end_of_running_run(db, as_, make_host):
    hosts = [make_host(f"web-{n}") for n in range(2)]
    result = as_("oncall").post("/api/v1/captures", json=build_capture(*hosts)).json()
    running = uuid.UUID(result["runs"][0]["id"])
    with unit_of_work(db.sessions) as session:
        leases.claim_run(session, running, "worker@x:1")
    answer = as_("oncall").post(f"/api/v1/captures/{result['id']}/cancel").json()
    assert [run["state"] for run in answer["runs"]] == ["running", "canceled"]
    assert answer["state"] == "running"
    with db.sessions() as session:
        assert session.get_one(Run, running).cancel_requested_at is not None
    again = as_("oncall").post(f"/api/v1/captures/{result['id']}/cancel")
    assert again.status_code == 200
    assert as_("viewer").post(f"/api/v1/captures/{result['id']}/cancel").status_code == 403


def test_a_full_disk_refuses_new_captures(app, as_, make_host):
    class Full:
        def space(self):
            return StoreSpace(total=100 << 30, free=4 << 30)

    app.state.artifact_store = Full()
    answer = as_("oncall").post("/api/v1/captures", json=build_capture(make_host()))
    assert (answer.status_code, answer.json()["key"]) == (503, "capture.disk_full")


def test_without_a_broker_captures_are_taken_all_the_same(config, as_, make_host, monkeypatch, tmp_path):
    from culprit.infra import task_queue

    monkeypatch.setenv("REDIS_URL", f"unix://{tmp_path}/nothing")
    from culprit.infra.settings import get_settings

    get_settings.cache_clear()
    task_queue.get_celery.cache_clear()
    assert as_("oncall").post("/api/v1/captures", json=build_capture(make_host())).status_code == 201


@pytest.fixture
def served(app):
    """Run the application on a real server: test clients do not stream."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        pass
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


class Watcher:
    """Read the events of one stream in a thread."""

    def __init__(self, base, capture, headers):
        self.events, self.ready = [], threading.Event()
        self.thread = threading.Thread(
            target=self.read, args=(f"{base}/api/v1/captures/{capture}/progress", headers)
        )
        self.thread.start()

    def read(self, url, headers):
        with httpx2.stream("GET", url, headers=headers, timeout=60) as answer:
            event = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    event[name] = value
                elif event.get("event"):
                    self.events.append((event["event"], json.loads(event["data"]), event.get("id")))
                    self.ready.set()
                    event = {}

    def states(self):
        return [(kind, body.get("state")) for kind, body, _ in self.events]


def advance(db, redis_url, run_id):
    with unit_of_work(db.sessions) as session:
        claim = leases.claim_run(session, run_id, "worker@x:1")
    publisher = EventPublisher(redis_url)
    publisher.publish(claim.capture_id, "run", {"run": str(run_id)})
    return claim, publisher


def test_progress_is_streamed_to_the_end_and_can_be_resumed(db, as_, people, served, make_run, redis_url):
    run_id = make_run()
    with db.sessions() as session:
        capture = session.get_one(Run, run_id).capture_id
    watcher = Watcher(served, capture, people["viewer"].headers)
    assert watcher.ready.wait(30)
    claim, publisher = advance(db, redis_url, run_id)
    with unit_of_work(db.sessions) as session:
        leases.finish_run(session, claim, "done")
    publisher.publish(capture, "run", {"run": str(run_id)})
    watcher.thread.join(60)
    assert watcher.states()[0] == ("run", "queued")
    assert watcher.states()[-2:] == [("run", "done"), ("capture", "done")]
    with Redis.from_url(redis_url) as redis:
        first = redis.xrange(get_stream_name(capture), count=1)[0][0].decode()
    publisher.close()
    resumed = Watcher(served, capture, {**people["viewer"].headers, "Last-Event-ID": first})
    resumed.thread.join(60)
    assert resumed.states() == [("run", "done"), ("capture", "done")]
    tail = resumed.events[-1][2]
    nothing_new = Watcher(served, capture, {**people["viewer"].headers, "Last-Event-ID": tail})
    nothing_new.thread.join(60)
    assert nothing_new.states() == [("capture", "done")]
    malformed = Watcher(served, capture, {**people["viewer"].headers, "Last-Event-ID": "'; DROP"})
    malformed.thread.join(60)
    assert malformed.states() == [("run", "done"), ("capture", "done")]


def test_running_collector_has_start_time(db, as_, make_run, redis_url):
    run_id = make_run(collectors=("vmstat", "iostat", "mpstat"))
    claim, publisher = advance(db, redis_url, run_id)
    publisher.close()
    began = 1_790_000_000 * 10**9
    reported = {"elapsed_ms": 10.0, "planned_ms": 5000, "bytes": 0, "started_ns": began, "ended_ns": None}
    progress = {
        "vmstat": {"state": "running", **reported},
        "iostat": {"state": "done", **reported, "ended_ns": began + 5 * 10**9},
    }
    with unit_of_work(db.sessions) as session:
        assert leases.renew_lease(session, claim, progress=progress)
    answer = as_("viewer").get(f"/api/v1/captures/{claim.capture_id}").json()
    results = {collector["id"]: collector for collector in answer["runs"][0]["collectors"]}
    assert {name: (item["started_ns"], item["seconds"]) for name, item in results.items()} == {
        "vmstat": (began, None), "iostat": (began, 5.0), "mpstat": (None, None),
    }  # fmt: skip


def test_without_redis_the_database_is_watched(db, config, app, people, served, make_run, tmp_path):
    app.state.settings = config.model_copy(update={"redis_url": f"unix://{Path(tmp_path)}/nothing"})
    run_id = make_run()
    with db.sessions() as session:
        capture = session.get_one(Run, run_id).capture_id
    watcher = Watcher(served, capture, people["viewer"].headers)
    assert watcher.ready.wait(30)
    with unit_of_work(db.sessions) as session:
        claim = leases.claim_run(session, run_id, "worker@x:1")
    with unit_of_work(db.sessions) as session:
        leases.finish_run(session, claim, "failed", failure={"key": "ssh.refused", "params": {}})
    watcher.thread.join(60)
    assert watcher.states()[-2:] == [("run", "failed"), ("capture", "failed")]
