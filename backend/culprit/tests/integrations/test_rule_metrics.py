"""Rule values for Prometheus: by its conventions, bounded, and gone when they are old; scraped by a real one."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from culprit.domain.integrations.prometheus import UNITS, RuleValue, select_values
from culprit.domain.rules.readings import get_unit
from culprit.domain.rules.registry import RULES
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.service import Service
from culprit.integrations.prometheus import rule_metrics
from culprit.tests.support.fleet import add_evaluated_run, add_hosts
from culprit.tests.support.web import free_port
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

URL = "/api/v1/metrics/rules"
BUSY, WAITS = "F-CPU-BUSY", next(rule.id for rule in RULES.values() if get_unit(rule.measure) == "ms")
needs_prometheus = pytest.mark.skipif(shutil.which("promtool") is None, reason="no prometheus here")


@pytest.fixture
def fleet(db: Database):
    with unit_of_work(db.sessions) as session:
        hosts = add_hosts(
            session, ["web1", 'we"b\\2', "ads1"], [{"role": "feed"}, {"role": "feed"}, {"role": "ads"}]
        )
        session.add(Service(name="feed", selector={"role": "feed"}, source={}))
        add_evaluated_run(session, hosts[0], matched={BUSY: 97.5}, not_matched={WAITS: 12.0})
        add_evaluated_run(session, hosts[1], not_matched={BUSY: 20.0, WAITS: None}, minutes_ago=5)
        add_evaluated_run(session, hosts[2], matched={BUSY: 99.0}, minutes_ago=60)
    return hosts


def samples(text: str) -> dict[tuple[str, ...], float]:
    """(name, values of labels by their names …) → value."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_report_matched_rule_for_each_recent_host(as_, fleet) -> None:
    answer = as_("viewer").get(URL)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=")
    result = samples(answer.text)
    busy = {name[1]: value for name, value in result.items() if name[0] == "culprit_rule_cpu_busy_ratio"}
    assert busy == {"web1": 0.975, 'we"b\\2': 0.2}
    assert (
        result["culprit_rule_matched", "web1", BUSY] == 1
        and result["culprit_rule_matched", 'we"b\\2', BUSY] == 0
    )
    assert ("culprit_rule_matched", "ads1", BUSY) not in result, (
        "an hour old: no value at all, and never the old one"
    )
    assert time.time() - result["culprit_host_measured_timestamp_seconds", "ads1"] == pytest.approx(
        3600, abs=60
    )
    assert result["culprit_host_service_info", "web1", "feed"] == 1
    assert not any(WAITS in name for name in result), "it matched nowhere"
    assert result["culprit_rule_values_left_out",] == result["culprit_rule_hosts_left_out",] == 0


def test_metrics_filter_rules_and_hosts(as_, fleet) -> None:
    name = rule_metrics.NAMED[WAITS].name
    result = samples(as_("viewer").get(URL, params={"rule": [WAITS]}).text)
    assert result[name, "web1"] == pytest.approx(0.012) and name.endswith("_seconds")
    assert (name, 'we"b\\2') not in result, "nothing was there to be measured: no zero"
    result = samples(as_("viewer").get(URL, params={"max_age_s": 7200, "has": ["role:ads"]}).text)
    assert {name[1] for name in result if name[0] == "culprit_rule_matched"} == {"ads1"}
    for params in ({"rule": "F-NO"}, {"has": "x"}, {"max_age_s": 1}, {"rule": [BUSY] * 101}):
        assert as_("viewer").get(URL, params=params).status_code == 422


def test_metrics_contain_visible_hosts_of_token_owner(as_, client, fleet) -> None:
    text = as_("scoped").get(URL, params={"max_age_s": 7200}).text
    assert "web1" in text and "ads1" not in text
    assert client.get(URL).status_code == 401


def test_metric_names_follow_conventions() -> None:
    names = [item.name for item in rule_metrics.NAMED.values()]
    assert len(set(names)) == len(RULES), "no two rules under one name"
    assert {get_unit(rule.measure) for rule in RULES.values()} <= set(UNITS), "every unit has a base unit"
    for name in names:
        assert name == name.lower() and not name.endswith(("_total", "_count", "_sum", "_bucket")), name


@given(
    st.lists(
        st.builds(
            RuleValue,
            st.sampled_from("ABC"),
            st.sampled_from("hijk"),
            st.none() | st.floats(),
            st.none() | st.booleans(),
        ),
        max_size=30,
    ),
    st.frozensets(st.sampled_from("ABC")),
    st.integers(0, 20),
)
def test_select_values_limits_values_to_whole_rules(values, rules, most) -> None:
    stored, left_out = select_values(values, rules, most)
    assert len(stored) <= most
    requested_values = [
        value
        for value in values
        if (value.rule in rules if rules else any(o.matched for o in values if o.rule == value.rule))
    ]
    assert len(stored) + left_out == len(requested_values)
    for rule in {item.rule for item in stored}:
        assert sum(item.rule == rule for item in stored) == sum(value.rule == rule for value in values)


@needs_prometheus
def test_promtool_accepts_metrics(as_, db: Database) -> None:
    """All rules at once, under real names of hosts."""
    with unit_of_work(db.sessions) as session:
        [host] = add_hosts(session, ["a\nb"], [{}])
        add_evaluated_run(session, host, matched={rule.id: 1.0 for rule in RULES.values()})
    text = as_("viewer").get(URL).text
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=60
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert sum(line.startswith("# TYPE culprit_rule_") for line in text.splitlines()) >= len(RULES)


@contextmanager
def served(app) -> Iterator[int]:
    """The application on a real port."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(10)


def query_prometheus(url: str, query: str) -> dict[str, float]:
    """Instant values by host, as Prometheus has them now."""
    with urllib.request.urlopen(f"{url}/api/v1/query?query={urllib.parse.quote(query)}", timeout=5) as answer:
        return {
            item["metric"].get("host", ""): float(item["value"][1])
            for item in json.load(answer)["data"]["result"]
        }


def until(url: str, query: str, requested: dict[str, float]) -> None:
    """Waits for Prometheus, which scrapes when it likes."""
    results: dict[str, float] = {}
    for _ in range(100):
        try:
            results = query_prometheus(url, query)
        except OSError:
            pass
        if results == requested:
            return
        time.sleep(0.2)
    assert results == requested


@needs_prometheus
def test_prometheus_scrapes_and_expires_metrics(app, people, fleet, db: Database, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(people["viewer"].token)
    port = free_port()
    with served(app) as own:
        (tmp_path / "prometheus.yml").write_text(f"""
scrape_configs:
- job_name: culprit
  scrape_interval: 1s
  scrape_timeout: 900ms
  metrics_path: {URL}
  params: {{max_age_s: ["600"]}}
  authorization: {{credentials_file: {tmp_path}/token}}
  static_configs: [{{targets: ["127.0.0.1:{own}"]}}]
""")
        arguments = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/tsdb"]
        with subprocess.Popen(
            ["prometheus", *arguments, f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            try:
                url = f"http://127.0.0.1:{port}"
                until(url, "culprit_rule_cpu_busy_ratio", {"web1": 0.975, 'we"b\\2': 0.2})
                joined = 'culprit_rule_cpu_busy_ratio * on (host) group_left culprit_host_service_info{service="feed"}'
                until(url, joined, {"web1": 0.975, 'we"b\\2': 0.2})
                with unit_of_work(
                    db.sessions
                ) as session:  # it recovers; the other one is not measured any more
                    add_evaluated_run(session, fleet[0], not_matched={BUSY: 10.0}, minutes_ago=0)
                    add_evaluated_run(session, fleet[1], matched={BUSY: 99.0}, minutes_ago=0)
                until(url, "culprit_rule_cpu_busy_ratio", {"web1": 0.1, 'we"b\\2': 0.99})
                with unit_of_work(db.sessions) as session:
                    add_evaluated_run(session, fleet[1], not_matched={BUSY: 30.0}, minutes_ago=0)
                until(url, "culprit_rule_cpu_busy_ratio", {})
            finally:
                child.terminate()
                child.wait(10)
