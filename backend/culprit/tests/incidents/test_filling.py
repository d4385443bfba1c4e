"""What a step's collectors are told out of what an incident knows, and what it asks for."""

from __future__ import annotations

import pytest
from culprit.incidents.filling import Hint, options, scope
from culprit.kit.errors import Invalid
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, IncidentHost, ResultTable, Service
from culprit.models import Finding as FindingRow
from culprit.tests.support import runs
from culprit.tests.support.incidents import evaluated, opened
from sqlalchemy import select

LOSS, REDIS = "intermittent-packet-loss", "redis-slow-command"
PEER = Hint("peer", "10.0.0.2:6379", "finding", "F-DEP-SLOW-REPLY")


@pytest.fixture
def host(db):
    return runs.make_host(db, "web1", {"role": "feed"})


def fired(db, host, rule, **subject):
    """A run of the host on which a rule fired about a subject."""
    run = evaluated(db, host, {rule: "fired"})
    with unit_of_work(db.sessions) as session:
        row = session.scalars(select(FindingRow).where(FindingRow.run_id == run.run_id)).one()
        row.subject = subject
    return run


def newest_capture(db):
    with db.sessions() as session:
        return session.scalars(select(Capture).order_by(Capture.number.desc())).first()


def entries(desk, prefix):
    found = desk.client.get(f"{desk.url}/journal").json()
    return [one for one in found if one["kind"].startswith(prefix)]


def test_one_value_fills_both_options_of_a_peer():
    wanted, filled = options("b/s", ["tcp_probe"], {}, [PEER])
    assert wanted == {"tcp_probe": {"address": "10.0.0.2", "port": "6379"}}
    assert {(one.option, one.value, one.hint) for one in filled} == {
        ("address", "10.0.0.2", PEER),
        ("port", "6379", PEER),
    }


def test_what_somebody_gave_stands_and_nothing_is_put_beside_it():
    given = {"tcp_probe": {"address": "10.0.0.9", "port": "80"}}
    assert options("b/s", ["tcp_probe"], given, [PEER]) == (given, [])
    with pytest.raises(Invalid) as asked:
        options("b/s", ["tcp_probe"], {"tcp_probe": {"address": "10.0.0.9"}}, [PEER])
    assert (asked.value.key, asked.value.params["option"]) == ("incident.asks_peer", "port")


def test_a_value_that_the_option_does_not_take_is_no_value():
    odd = Hint("peer", "10.0.0.2:$(id)", "finding", "F-DEP-SLOW-REPLY")
    assert options("b/s", ["tcp_probe"], {}, [odd, PEER])[0]["tcp_probe"]["port"] == "6379"
    data = Hint("log", "/var/lib/mysql/users.ibd", "finding", "F-FD-OSYNC")
    with pytest.raises(Invalid) as asked:
        options("b/s", ["app_log"], {}, [data])
    assert asked.value.key == "incident.asks_log"


@pytest.mark.parametrize(
    ("collector", "key", "option"),
    [
        ("accepts", "incident.asks_port", "port"),
        ("http_probe", "incident.asks_port", "url"),
        ("tcp_probe", "incident.asks_peer", "address"),
        ("app_metrics", "incident.asks_access_log", "path"),
        ("app_log", "incident.asks_log", "path"),
        ("uprobe", "incident.asks_option", "function"),
    ],
)
def test_what_nobody_knows_is_asked_for_exactly(collector, key, option):
    with pytest.raises(Invalid) as asked:
        options("book/step", [collector], {}, [])
    assert asked.value.key == key
    assert asked.value.params == {"step": "book/step", "collector": collector, "option": option}


def test_a_declared_log_is_read_in_its_declared_format():
    hints = [
        Hint("access_log", "/var/log/nginx/access.log", "service", "feed"),
        Hint("access_log_format", "json", "service", "feed"),
    ]
    wanted, filled = options("b/s", ["app_metrics", "ss"], {}, hints)
    assert wanted == {"app_metrics": {"path": "/var/log/nginx/access.log", "format": "json"}}
    assert [one.option for one in filled] == ["path"]


def test_a_process_is_named_only_where_a_collector_needs_one():
    pid, whole = Hint("process", "42", "finding", "F-NUMA-OTHER-NODE"), IncidentHost(scope={})
    chosen, told = scope(whole, ["numa_maps", "numastat"], [pid])
    assert (chosen.kind, chosen.value) == ("process", "42") and told.hint == pid
    assert scope(whole, ["numastat"], [pid])[0].kind == "host"
    assert scope(whole, ["numa_maps"], [])[0].kind == "host"
    assert scope(whole, ["strace"], [pid])[1] is None, "what stops a process is pointed at it by a person"
    given = IncidentHost(scope={"kind": "port", "value": "80"})
    assert scope(given, ["numa_maps"], [pid])[0].kind == "port"


def test_a_peer_that_evidence_names_is_probed_and_the_journal_says_so(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[LOSS])
    assert desk.refused("POST", "step", step=f"{LOSS}/probe", host_id=str(host)) == (
        422,
        "incident.asks_peer",
    )
    run = fired(db, host, "F-DEP-SLOW-REPLY", dst="10.0.0.2:6379", pid="9")
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("step", step=f"{LOSS}/probe", host_id=str(host))
    [probe] = [one for one in newest_capture(db).collectors if one["id"] == "tcp_probe"]
    assert probe["options"] == {"address": "10.0.0.2", "port": "6379"}
    told = entries(desk, "filled_")
    assert {one["kind"] for one in told} == {"filled_finding"}
    assert {(one["params"]["option"], one["params"]["value"]) for one in told} == {
        ("address", "10.0.0.2"),
        ("port", "6379"),
    }
    assert {one["params"]["source"] for one in told} == {"F-DEP-SLOW-REPLY"}


def test_a_declaration_comes_before_what_was_seen(as_, db, host):
    with unit_of_work(db.sessions) as session:
        source = {"path": "/var/log/feed/access.log", "format": "common"}
        session.add(Service(name="feed", selector={"role": "feed"}, source_kind="access_log", source=source))
    desk = opened(as_("investigator"), host, playbooks=["java-spring-timeout-chain"])
    desk.post("step", step="java-spring-timeout-chain/slower", host_id=str(host))
    [log] = [one for one in newest_capture(db).collectors if one["id"] == "app_metrics"]
    assert log["options"] == {"path": "/var/log/feed/access.log", "format": "common"}
    [told] = entries(desk, "filled_")
    assert (told["kind"], told["params"]["source"]) == ("filled_service", "feed")


def test_tables_tell_the_port_and_the_peer_that_keeps_waiting(as_, db, host):
    run = fired(db, host, "F-PROC-SERVING-BUSY", pid="9")
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
    desk.post("step", step=f"{LOSS}/probe", host_id=str(host))
    [probe] = [one for one in newest_capture(db).collectors if one["id"] == "tcp_probe"]
    assert probe["options"] == {"address": "10.0.0.2", "port": "6379"}
    desk.post("step", step="response-time-split/good-answers", host_id=str(host))
    [probe] = [one for one in newest_capture(db).collectors if one["id"] == "http_probe"]
    assert probe["options"] == {"url": "http://127.0.0.1:8715/"}
    assert {one["kind"] for one in entries(desk, "filled_")} == {"filled_table"}


def test_the_process_that_evidence_names_is_looked_at(as_, db, host):
    run = fired(db, host, "F-NUMA-OTHER-NODE", pid="42")
    desk = opened(as_("investigator"), host, playbooks=["numa-remote-memory"])
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("step", step="numa-remote-memory/pages", host_id=str(host))
    assert newest_capture(db).scope == {"kind": "process", "value": "42"}
    [told] = entries(desk, "looks_at")
    assert told["params"]["source"] == "F-NUMA-OTHER-NODE"
