"""Preflight checks with a real sshd and the real program, in this process and its fork server."""

import pytest
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.jobs.capture.check_host import check_host
from culprit.jobs.capture.ssh_pool import get_ssh_pool
from culprit.tests.support.sshd import make_key, public_key
from sqlalchemy import select


@pytest.fixture
def check(lab):
    get_ssh_pool.cache_clear()

    def run_check(host, **values):
        with unit_of_work(lab.db.sessions) as session:
            row = Preflight(host_id=host, **values)
            session.add(row)
            session.flush()
            preflight_id = row.id
        check_host(preflight_id)
        with lab.db.sessions() as session:
            return session.get_one(Preflight, preflight_id)

    yield run_check
    get_ssh_pool().stop()
    get_ssh_pool.cache_clear()


def test_preflight_check_stores_facts_and_readiness(lab, check, people):
    host = lab.add_host(lab.sshd())
    result = check(host, requested_by=people["investigator"].id)
    assert (result.state, result.failure) == ("done", None)
    assert result.facts["complete"]
    verdicts = {collector["id"]: collector for collector in result.collectors}
    assert verdicts["vmstat"]["state"] == "works"
    assert verdicts["perf_record"]["state"] in ("works", "degrades")
    assert {check["id"]: check["state"] for check in result.checks}["kernel"] == "ok"
    assert set(result.timings) == {"connect_ms", "login_ms", "fork_ms", "rtt_ms"}
    assert result.clock["offset_ms"] == 0
    assert 0 < result.clock["uncertainty_ms"] < 200
    with lab.db.sessions() as session:
        row = session.get_one(Host, host)
        assert row.facts["kernel"] == result.facts["kernel"]
        assert len(row.boot_id) == 36
        assert row.facts_at is not None
        stored = select(HostFact.name, HostFact.value).where(HostFact.host_id == row.id)
        reported = {item.name: item.value for item in session.execute(stored)}
        assert reported["arch"] == result.facts["arch"] and len(reported) > 5


def test_failed_preflight_check_stores_reason(lab, check, tmp_path):
    make_key(tmp_path / "other")
    server = lab.sshd()
    assert (
        check(lab.add_host(server, host_key=public_key(tmp_path / "other"))).failure["key"]
        == "ssh.host_key_changed"
    )
    assert "Accepted" not in server.log


def test_a_shell_that_runs_nothing_is_named(lab, check):
    server = lab.sshd(options=("ForceCommand echo This account is not available; exit 1",))
    result = check(lab.add_host(server))
    assert result.failure["key"] == "ssh.no_shell"
    assert "not available" in result.failure["params"]["message"]


def test_who_may_not_check_does_not(lab, check, people):
    server = lab.sshd()
    result = check(lab.add_host(server), requested_by=people["viewer"].id)
    assert result.failure["key"] == "auth.role_too_low"
    assert server.log.count("Connection from") == 1, "only the one that waited for sshd to start"
