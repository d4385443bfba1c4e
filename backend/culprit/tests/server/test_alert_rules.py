"""The alerts in examples/prometheus: their metrics are exported, and each has a runbook."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.system.process_heartbeat import ProcessHeartbeat
from culprit.infra.settings import REPOSITORY, Settings
from culprit.server.web import create_app
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from redis import Redis

ALERTS = REPOSITORY / "examples" / "prometheus" / "alerts.yaml"
TESTS = ALERTS.with_name("alerts_test.yaml")
RUNBOOKS = REPOSITORY / "docs" / "guide" / "runbooks.md"
SELECTOR = re.compile(r"\b(culprit_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"(\w+)\s*[=!]~?\s*\"([^\"]*)\"")
#: Labels that Prometheus adds to what it scrapes.
TARGET_LABELS = {"job", "instance"}


def load_rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    return list(group["rules"])


def read_samples(text: str) -> dict[str, list[dict[str, str]]]:
    """Return the label sets of each sample name of a real answer."""
    samples: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(sample.labels)
    return samples


@pytest.fixture
def exported(config: Settings) -> dict[str, list[dict[str, str]]]:
    """The metrics of an application of its own after one request: those of requests belong to an application."""
    with TestClient(create_app(config)) as client:
        assert client.get("/api/v1/me").status_code == 401
        answer = client.get("/metrics")
    assert answer.status_code == 200
    return read_samples(answer.text)


def test_metrics_of_alerts_are_exported_with_their_labels(exported: dict[str, list[dict[str, str]]]) -> None:
    #: Series that appear with the first run of a state.
    exported.setdefault("culprit_runs", []).append({"state": "failed"})
    for rule in load_rules():
        used = SELECTOR.findall(rule["expr"])
        assert used or rule["alert"] == "CulpritDown", rule["alert"]
        for name, selector in used:
            assert name in exported, f"{rule['alert']}: /metrics has no {name}"
            for label, pattern in LABEL.findall(selector):
                values = {labels[label] for labels in exported[name] if label in labels}
                assert values or label in TARGET_LABELS, f"{rule['alert']}: {name} has no label {label}"
                if label in {"kind", "queue", "state"}:
                    assert any(re.fullmatch(pattern, value) for value in values), (
                        rule["alert"],
                        pattern,
                        values,
                    )


def test_each_alert_has_a_runbook_and_a_severity() -> None:
    page = RUNBOOKS.read_text("utf-8")
    sections = dict(re.findall(r"^## (Culprit\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    rules = load_rules()
    assert list(sections) == [rule["alert"] for rule in rules]
    for rule in rules:
        section = sections[rule["alert"]]
        assert "\n1. " in section or "Do the same as for" in section, rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["runbook_url"] == f"docs/guide/runbooks.md#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"].endswith(".")


def test_runbooks_list_every_exported_metric(exported: dict[str, list[dict[str, str]]]) -> None:
    page = RUNBOOKS.read_text("utf-8")
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exported}
    families -= {"culprit_http_requests"}  # the time of its creation; the counter ends in _total
    assert families
    assert [name for name in sorted(families) if name not in page] == []
    documented = set(re.findall(r"`(culprit_\w+)", page.split("## CulpritDown")[0]))
    assert documented == families | {"culprit_runs"}


def test_metrics_report_the_state_of_each_part(client: TestClient, config: Settings, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(ProcessHeartbeat(name="worker@a:1", detail={"queues": ["ssh"]}))
        session.add(ProcessHeartbeat(name="worker@b:1", detail={"queues": ["ssh"]}))
        session.add(ProcessHeartbeat(name="scheduler@a:2"))
    with Redis.from_url(config.redis_url) as queue:
        queue.rpush("parse", "one", "two", "three")
    lines = client.get("/metrics").text.splitlines()
    for line in (
        'culprit_processes_alive{kind="worker-ssh"} 2.0',
        'culprit_processes_alive{kind="worker-parse"} 0.0',
        'culprit_processes_alive{kind="scheduler"} 1.0',
        'culprit_queue_jobs{queue="parse"} 3.0',
        "culprit_queue_up 1.0",
        "culprit_database_up 1.0",
        "culprit_migrations_current 1.0",
        "culprit_home_low 0.0",
        "culprit_last_backup_timestamp_seconds 0.0",
        "culprit_clock_difference_seconds 0.0",
    ):
        assert line in lines, line


def test_without_database_and_queue_the_rest_is_reported(config: Settings, tmp_path: Path) -> None:
    away = {
        "database_url": f"postgresql://nobody@/none?host={tmp_path}",
        "redis_url": f"unix://{tmp_path}/none",
    }
    with TestClient(create_app(config.model_copy(update=away))) as client:
        text = client.get("/metrics").text
    samples = read_samples(text)
    assert "culprit_home_free_bytes" in samples and "culprit_runs" not in samples
    assert "culprit_database_up 0.0" in text and "culprit_queue_up 0.0" in text


@pytest.mark.skipif(shutil.which("promtool") is None, reason="apt-get install prometheus")
@pytest.mark.parametrize(("command", "file"), [("check", ALERTS), ("test", TESTS)])
def test_promtool_accepts_the_alerts(command: str, file: Path) -> None:
    done = subprocess.run(
        ["promtool", command, "rules", file.name], cwd=file.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
