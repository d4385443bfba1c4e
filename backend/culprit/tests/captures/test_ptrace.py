"""Captures of tier ptrace: every refusal, at creation and before anything is sent."""

from __future__ import annotations

from uuid import UUID

import pytest
from culprit.captures import service
from culprit.captures.schemas import CaptureCreate, CapturePreviewRequest
from culprit.infra.artifacts.store import StoreSpace
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host
from culprit.jobs.capture.session_spec import RunRefusedError, build_session_spec
from culprit.web.errors import CulpritError
from sqlalchemy import func, select

PROCESS = {"kind": "process", "value": "4711"}


class Roomy:
    """A store with free space."""

    def space(self) -> StoreSpace:
        return StoreSpace(total=100 << 30, free=90 << 30)


@pytest.fixture
def create(db, people):
    """Return a function that creates a capture with strace as a user and returns the ID of its run."""

    def make(
        *hosts: UUID,
        by: str = "admin",
        source: str = "manual",
        confirm: str | None = "web-1",
        scope: object = None,
    ) -> UUID:
        with unit_of_work(db.sessions) as session:
            actor = people[by].actor
            body = CaptureCreate(
                host_ids=list(hosts),
                plan="custom",
                collectors=["strace"],
                seconds=3,
                confirm=confirm,
                scope=scope or PROCESS,
            )
            return service.create_capture(session, actor, Roomy(), body, source=source).runs[0].id

    return make


@pytest.mark.parametrize(
    ("with_", "key"),
    [
        ({"by": "oncall"}, "auth.role_too_low"),
        ({"source": "api"}, "capture.ptrace_not_by_hand"),
        ({"source": "schedule"}, "capture.ptrace_not_by_hand"),
        ({"scope": {"kind": "port", "value": "80"}}, "capture.ptrace_one_process"),
        ({"scope": {"kind": "host"}}, "capture.ptrace_one_process"),
        ({"confirm": None}, "capture.ptrace_unconfirmed"),
        ({"confirm": "web-2"}, "capture.ptrace_unconfirmed"),
    ],
)
def test_ptrace_requires_each_condition(db, make_host, create, with_, key):
    with pytest.raises(CulpritError) as refused:
        create(make_host("web-1", allows_ptrace=True), **with_)
    assert refused.value.sentence["key"] == key
    with db.sessions() as session:
        assert session.scalar(select(func.count(Capture.id))) == 0


def test_ptrace_is_refused_until_admin_allows_it(make_host, create):
    with pytest.raises(CulpritError) as refused:
        create(make_host("web-1"))
    assert refused.value.sentence["key"] == "capture.ptrace_not_allowed"


def test_ptrace_is_limited_to_a_single_host(make_host, create):
    hosts = [make_host(name, allows_ptrace=True) for name in ("web-1", "web-2")]
    with pytest.raises(CulpritError) as refused:
        create(*hosts)
    assert refused.value.sentence["key"] == "capture.ptrace_one_host"


def test_a_confirmed_request_becomes_a_run(db, make_host, create):
    assert create(make_host("web-1", allows_ptrace=True))


def test_ptrace_permission_is_checked_again_before_start(db, make_host, create):
    host = make_host("web-1", allows_ptrace=True)
    run = create(host)
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, host).allows_ptrace = False
    with db.sessions() as session, pytest.raises(RunRefusedError) as refused:
        build_session_spec(session, run)
    assert refused.value.sentence["key"] == "capture.ptrace_not_allowed"


def test_preview_reports_refused_ptrace(db, people, make_host):
    host = make_host("web-1")
    with db.sessions() as session:
        actor = people["admin"].actor
        body = CapturePreviewRequest(
            host_ids=[host], plan="custom", collectors=["strace"], seconds=3, scope=PROCESS
        )
        displayed = service.preview_capture(session, actor, Roomy(), body)
    assert (displayed.tier, displayed.allowed, displayed.refusal["key"]) == (
        "ptrace",
        False,
        "capture.ptrace_not_allowed",
    )


def test_only_an_admin_allows_it_and_the_host_shows_it(as_, make_host):
    host = make_host("web-1")
    url = f"/api/v1/hosts/{host}"
    assert as_("oncall").patch(url, json={"allows_ptrace": True}).status_code == 403
    assert as_("admin").get(url).json()["allows_ptrace"] is False
    assert as_("admin").patch(url, json={"allows_ptrace": True}).json()["allows_ptrace"] is True
    answer = as_("admin").post(
        "/api/v1/captures",
        json={"host_ids": [str(host)], "plan": "custom", "collectors": ["strace"], "confirm": "web-1"},
    )
    assert (answer.status_code, answer.json()["key"]) == (403, "capture.ptrace_not_by_hand")
