"""Checks of hosts: real sshd, the real program, in this process and its fork server."""

import pytest
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Host, HostFact, Preflight
from culprit.tests.support.sshd import make_key, public_key
from culprit.workflows.check_host import check_host
from culprit.workflows.crew import crew
from sqlalchemy import select


@pytest.fixture
def check(lab):
    crew.cache_clear()

    def one(host, **values):
        with unit_of_work(lab.db.sessions) as session:
            row = Preflight(host_id=host, **values)
            session.add(row)
            session.flush()
            preflight_id = row.id
        check_host(preflight_id)
        with lab.db.sessions() as session:
            return session.get_one(Preflight, preflight_id)

    yield one
    crew().stop()
    crew.cache_clear()


def test_a_check_says_what_the_host_is_and_what_will_work(lab, check, people):
    host = lab.enrol(lab.sshd())
    found = check(host, requested_by=people["investigator"].id)
    assert (found.state, found.failure) == ("done", None)
    assert found.facts["complete"]
    verdicts = {one["id"]: one for one in found.collectors}
    assert verdicts["vmstat"]["state"] == "works"
    assert verdicts["perf_record"]["state"] in ("works", "degrades")
    assert {one["id"]: one["state"] for one in found.checks}["kernel"] == "ok"
    assert set(found.timings) == {"connect_ms", "login_ms", "fork_ms", "rtt_ms"}
    assert found.clock["offset_ms"] == 0
    assert 0 < found.clock["uncertainty_ms"] < 200
    with lab.db.sessions() as session:
        row = session.get_one(Host, host)
        assert row.facts["kernel"] == found.facts["kernel"]
        assert len(row.boot_id) == 36
        assert row.facts_at is not None
        kept = select(HostFact.name, HostFact.value).where(HostFact.host_id == row.id)
        told = {one.name: one.value for one in session.execute(kept)}
        assert told["arch"] == found.facts["arch"] and len(told) > 5


def test_a_check_that_fails_says_why(lab, check, tmp_path):
    make_key(tmp_path / "other")
    server = lab.sshd()
    assert (
        check(lab.enrol(server, host_key=public_key(tmp_path / "other"))).failure["key"]
        == "ssh.host_key_changed"
    )
    assert "Accepted" not in server.log


def test_a_shell_that_runs_nothing_is_named(lab, check):
    server = lab.sshd(options=("ForceCommand echo This account is not available; exit 1",))
    found = check(lab.enrol(server))
    assert found.failure["key"] == "ssh.no_shell"
    assert "not available" in found.failure["params"]["said"]


def test_who_may_not_check_does_not(lab, check, people):
    server = lab.sshd()
    found = check(lab.enrol(server), requested_by=people["viewer"].id)
    assert found.failure["key"] == "auth.role_too_low"
    assert server.log.count("Connection from") == 1, "only the one that waited for sshd to start"
