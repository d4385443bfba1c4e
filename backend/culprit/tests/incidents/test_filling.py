"""Options of a step's collectors: filled from incident data, and required otherwise."""

from __future__ import annotations

import pytest
from culprit.incidents.chain.step_options import OptionSource, fill_options, fill_scope
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.finding import StoredFinding as FindingRow
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.hosts.service import Service
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.tests.support import runs
from culprit.tests.support.incidents import evaluated, opened
from culprit.web.errors import InvalidRequestError
from sqlalchemy import select

LOSS, REDIS = "intermittent-packet-loss", "redis-slow-command"
PEER = OptionSource("peer", "10.0.0.2:6379", "finding", "F-DEP-SLOW-REPLY")


@pytest.fixture
def host(db):
    return runs.make_host(db, "web1", {"role": "feed"})


def matched(db, host, rule, **subject):
    """A run of the host on which a rule matched about a subject."""
    run = evaluated(db, host, {rule: "matched"})
    with unit_of_work(db.sessions) as session:
        row = session.scalars(select(FindingRow).where(FindingRow.run_id == run.run_id)).one()
        row.subject = subject
    return run


def newest_capture(db):
    with db.sessions() as session:
        return session.scalars(select(Capture).order_by(Capture.number.desc())).first()


def entries(desk, prefix):
    result = desk.client.get(f"{desk.url}/journal").json()
    return [item for item in result if item["kind"].startswith(prefix)]


def test_fill_options_splits_peer_into_both_options():
    requested, filled = fill_options("b/s", ["tcp_probe"], {}, [PEER])
    assert requested == {"tcp_probe": {"address": "10.0.0.2", "port": "6379"}}
    assert {(item.option, item.value, item.hint) for item in filled} == {
        ("address", "10.0.0.2", PEER),
        ("port", "6379", PEER),
    }


def test_fill_options_keeps_supplied_values_without_additions():
    supplied = {"tcp_probe": {"address": "10.0.0.9", "port": "80"}}
    assert fill_options("b/s", ["tcp_probe"], supplied, [PEER]) == (supplied, [])
    with pytest.raises(InvalidRequestError) as requested:
        fill_options("b/s", ["tcp_probe"], {"tcp_probe": {"address": "10.0.0.9"}}, [PEER])
    assert (requested.value.key, requested.value.params["option"]) == ("incident.option_missing_peer", "port")


def test_a_value_that_the_option_does_not_take_is_no_value():
    odd = OptionSource("peer", "10.0.0.2:$(id)", "finding", "F-DEP-SLOW-REPLY")
    assert fill_options("b/s", ["tcp_probe"], {}, [odd, PEER])[0]["tcp_probe"]["port"] == "6379"
    data = OptionSource("log", "/var/lib/mysql/users.ibd", "finding", "F-FD-OSYNC")
    with pytest.raises(InvalidRequestError) as requested:
        fill_options("b/s", ["app_log"], {}, [data])
    assert requested.value.key == "incident.option_missing_log"


@pytest.mark.parametrize(
    ("collector", "key", "option"),
    [
        ("accepts", "incident.option_missing_port", "port"),
        ("http_probe", "incident.option_missing_port", "url"),
        ("tcp_probe", "incident.option_missing_peer", "address"),
        ("app_metrics", "incident.option_missing_access_log", "path"),
        ("app_log", "incident.option_missing_log", "path"),
        ("uprobe", "incident.option_missing_option", "function"),
    ],
)
def test_fill_options_names_missing_option(collector, key, option):
    with pytest.raises(InvalidRequestError) as requested:
        fill_options("book/step", [collector], {}, [])
    assert requested.value.key == key
    assert requested.value.params == {"step": "book/step", "collector": collector, "option": option}


def test_a_declared_log_is_read_in_its_declared_format():
    hints = [
        OptionSource("access_log", "/var/log/nginx/access.log", "service", "feed"),
        OptionSource("access_log_format", "json", "service", "feed"),
    ]
    requested, filled = fill_options("b/s", ["app_metrics", "ss"], {}, hints)
    assert requested == {"app_metrics": {"path": "/var/log/nginx/access.log", "format": "json"}}
    assert [item.option for item in filled] == ["path"]


def test_fill_scope_selects_process_only_for_collectors_that_need_it():
    pid, whole = OptionSource("process", "42", "finding", "F-NUMA-OTHER-NODE"), IncidentHost(scope={})
    chosen, reported = fill_scope(whole, ["numa_maps", "numastat"], [pid])
    assert (chosen.kind, chosen.value) == ("process", "42") and reported.hint == pid
    assert fill_scope(whole, ["numastat"], [pid])[0].kind == "host"
    assert fill_scope(whole, ["numa_maps"], [])[0].kind == "host"
    assert fill_scope(whole, ["strace"], [pid])[1] is None, (
        "what stops a process is pointed at it by a person"
    )
    incident_host = IncidentHost(scope={"kind": "port", "value": "80"})
    assert fill_scope(incident_host, ["numa_maps"], [pid])[0].kind == "port"


def test_step_run_probes_peer_of_finding_and_writes_journal(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[LOSS])
    assert desk.refused("POST", "step-runs", step=f"{LOSS}/probe", host_id=str(host)) == (
        422,
        "incident.option_missing_peer",
    )
    run = matched(db, host, "F-DEP-SLOW-REPLY", dst="10.0.0.2:6379", pid="9")
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("step-runs", step=f"{LOSS}/probe", host_id=str(host))
    [probe] = [collector for collector in newest_capture(db).collectors if collector["id"] == "tcp_probe"]
    assert probe["options"] == {"address": "10.0.0.2", "port": "6379"}
    reported = entries(desk, "option_from_")
    assert {item["kind"] for item in reported} == {"option_from_finding"}
    assert {(item["params"]["option"], item["params"]["value"]) for item in reported} == {
        ("address", "10.0.0.2"),
        ("port", "6379"),
    }
    assert {item["params"]["source"] for item in reported} == {"F-DEP-SLOW-REPLY"}


def test_a_declaration_comes_before_what_was_seen(as_, db, host):
    with unit_of_work(db.sessions) as session:
        source = {"path": "/var/log/feed/access.log", "format": "common"}
        session.add(Service(name="feed", selector={"role": "feed"}, source_kind="access_log", source=source))
    desk = opened(as_("investigator"), host, playbooks=["java-spring-timeout-chain"])
    desk.post("step-runs", step="java-spring-timeout-chain/slower", host_id=str(host))
    [log] = [collector for collector in newest_capture(db).collectors if collector["id"] == "app_metrics"]
    assert log["options"] == {"path": "/var/log/feed/access.log", "format": "common"}
    [reported] = entries(desk, "option_from_")
    assert (reported["kind"], reported["params"]["source"]) == ("option_from_service", "feed")


def test_step_run_reads_port_and_peer_from_tables(as_, db, host):
    run = matched(db, host, "F-PROC-SERVING-BUSY", pid="9")
    columns = ("pid", "direction", "peer", "waiting", "oldest")
    rows = [
        [9, "in", "8715", 9.0, 900],
        [9, "out", "10.0.0.3:3306", 9.0, 20],
        [9, "out", "10.0.0.2:6379", 4.0, 900],
    ]
    with unit_of_work(db.sessions) as session:
        table = session.scalars(select(ResultTable).where(ResultTable.run_id == run.run_id)).one()
        table.kind, table.rows = "tcp_waits", rows
        table.columns = [{"id": name, "unit": ""} for name in columns]
        listeners = [["0.0.0.0", 22, "sshd", 5], ["0.0.0.0", 8715, "java", 9]]
        names = [{"id": name, "unit": ""} for name in ("address", "port", "process", "pid")]
        session.add(ResultTable(run_id=run.run_id, kind="listeners", columns=names, rows=listeners))
    desk = opened(as_("investigator"), host, playbooks=[LOSS, "response-time-split"])
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("step-runs", step=f"{LOSS}/probe", host_id=str(host))
    [probe] = [collector for collector in newest_capture(db).collectors if collector["id"] == "tcp_probe"]
    assert probe["options"] == {"address": "10.0.0.2", "port": "6379"}
    desk.post("step-runs", step="response-time-split/good-answers", host_id=str(host))
    [probe] = [collector for collector in newest_capture(db).collectors if collector["id"] == "http_probe"]
    assert probe["options"] == {"url": "http://127.0.0.1:8715/"}
    assert {item["kind"] for item in entries(desk, "option_from_")} == {"option_from_table"}


def test_step_run_uses_process_of_finding_as_scope(as_, db, host):
    run = matched(db, host, "F-NUMA-OTHER-NODE", pid="42")
    desk = opened(as_("investigator"), host, playbooks=["numa-remote-memory"])
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("step-runs", step="numa-remote-memory/pages", host_id=str(host))
    assert newest_capture(db).scope == {"kind": "process", "value": "42"}
    [reported] = entries(desk, "scope_changed")
    assert reported["params"]["source"] == "F-NUMA-OTHER-NODE"
