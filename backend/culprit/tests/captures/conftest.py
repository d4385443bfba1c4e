"""Hosts and runs in the database, without reachable hosts."""

import pytest
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host


@pytest.fixture
def make_host(db):
    def make(name="web-1", labels=None, **values):
        with unit_of_work(db.sessions) as session:
            credential = Credential(name=f"key of {name}", kind="agent", public={})
            session.add(credential)
            session.flush()
            host = Host(
                name=name,
                address="127.0.0.1",
                username="root",
                credential_id=credential.id,
                labels=labels or {},
                **values,
            )
            session.add(host)
            session.flush()
            return host.id

    return make


@pytest.fixture
def make_run(db, make_host, people):
    def make(host_id=None, collectors=("vmstat",), by="oncall", **values):
        with unit_of_work(db.sessions) as session:
            capture = Capture(
                plan="custom",
                collectors=[{"id": name, "seconds": 5} for name in collectors],
                seconds=5,
                requested_by=people[by].id,
            )
            session.add(capture)
            session.flush()
            run = Run(capture_id=capture.id, host_id=host_id or make_host(f"host-{capture.number}"), **values)
            run.collectors = [RunCollector(collector=name) for name in collectors]
            session.add(run)
            session.flush()
            return run.id

    return make
