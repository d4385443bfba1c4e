"""Whose process may be stopped with ptrace: every refusal, before the capture is made and before it is sent."""

from __future__ import annotations

from uuid import UUID

import pytest
from culprit.captures import service
from culprit.captures.schemas import CaptureCreate, CapturePreview
from culprit.infra.artifacts import Space
from culprit.kit.errors import CulpritError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Host
from culprit.workflows.orders import Refused, capture_order
from sqlalchemy import func, select

PROCESS = {"kind": "process", "value": "4711"}


class Roomy:
    """A store with room."""

    def space(self) -> Space:
        return Space(total=100 << 30, free=90 << 30)


@pytest.fixture
def create(db, people):
    """Makes a capture with strace as a person would; the id of its run."""

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
            return service.create(session, actor, Roomy(), body, source=source).runs[0].id

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
def test_each_condition_is_asked(db, make_host, create, with_, key):
    with pytest.raises(CulpritError) as refused:
        create(make_host("web-1", allows_ptrace=True), **with_)
    assert refused.value.sentence["key"] == key
    with db.sessions() as session:
        assert session.scalar(select(func.count(Capture.id))) == 0


def test_a_host_allows_nothing_until_an_admin_says_so(make_host, create):
    with pytest.raises(CulpritError) as refused:
        create(make_host("web-1"))
    assert refused.value.sentence["key"] == "capture.ptrace_not_allowed"


def test_one_host_at_a_time(make_host, create):
    hosts = [make_host(name, allows_ptrace=True) for name in ("web-1", "web-2")]
    with pytest.raises(CulpritError) as refused:
        create(*hosts)
    assert refused.value.sentence["key"] == "capture.ptrace_one_host"


def test_a_confirmed_request_becomes_a_run(db, make_host, create):
    assert create(make_host("web-1", allows_ptrace=True))


def test_what_was_allowed_is_asked_again_before_it_is_sent(db, make_host, create):
    host = make_host("web-1", allows_ptrace=True)
    run = create(host)
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, host).allows_ptrace = False
    with db.sessions() as session, pytest.raises(Refused) as refused:
        capture_order(session, run)
    assert refused.value.sentence["key"] == "capture.ptrace_not_allowed"


def test_a_preview_says_so_in_advance(db, people, make_host):
    host = make_host("web-1")
    with db.sessions() as session:
        actor = people["admin"].actor
        body = CapturePreview(host_ids=[host], plan="custom", collectors=["strace"], seconds=3, scope=PROCESS)
        shown = service.preview(session, actor, Roomy(), body)
    assert (shown.tier, shown.allowed, shown.refusal["key"]) == (
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
