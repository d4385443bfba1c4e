"""Links to reports: approved by a second person, opened without an account, closed at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.models.reports.report_visit import ReportVisit
from culprit.tests.support.incidents import API
from culprit.tests.support.reports import frozen
from culprit.web.errors import TooManyRequestsError
from culprit.web.http.rate_limit import RateLimiter
from sqlalchemy import select, update

HEADERS = {
    "cache-control": "no-store",
    "x-robots-tag": "noindex, nofollow, noarchive",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@pytest.fixture
def version(db, people):
    """A version that the investigator froze."""
    with unit_of_work(db.sessions) as session:
        incident = Incident(title="i", window_from=utc_now(), created_by=people["admin"].id)
        session.add(incident)
        session.flush()
        report = Report(incident_id=incident.id, title="r", kinds=[], words=[], follow_ups=[])
        session.add(report)
        session.flush()
        item = frozen(report.id, [], created_by=people["oncall"].id)
        session.add(item)
        session.flush()
        return str(item.id)


@pytest.fixture
def shared(as_, version):
    """(the answer about a new link, its path)"""
    assert as_("admin").post(f"{API}/report-versions/{version}/approve").status_code == 200
    result = as_("oncall").post(f"{API}/report-versions/{version}/shares", json={"note": "acme"}).json()
    return result, "/r/" + result["url"].rsplit("/r/", 1)[1]


def test_a_second_person_approves(as_, version):
    url = f"{API}/report-versions/{version}"
    early = as_("oncall").post(f"{url}/shares", json={})
    assert (early.status_code, early.json()["key"]) == (409, "report.not_approved")
    own = as_("oncall").post(f"{url}/approve")
    assert (own.status_code, own.json()["key"]) == (403, "report.approve_other")
    assert as_("investigator").post(f"{url}/approve").status_code == 403
    assert as_("admin").post(f"{url}/approve").json()["approved_by"]["name"] == "admin"
    assert as_("admin").post(f"{url}/approve").json()["key"] == "report.approved_already"
    assert as_("oncall").post(f"{url}/shares", json={}).status_code == 201


def test_the_approval_can_be_switched_off(app, as_, version):
    app.state.settings = app.state.settings.model_copy(update={"report_approval": False})
    assert as_("oncall").post(f"{API}/report-versions/{version}/shares", json={}).status_code == 201


def test_a_link_opens_without_an_account(client, shared, db, as_):
    result, path = shared
    answer = client.get(path, headers={"User-Agent": "Reader/1"})
    assert answer.status_code == 200 and "<title>x</title>" in answer.text
    assert HEADERS.items() <= dict(answer.headers).items() and "set-cookie" not in answer.headers
    policy = answer.headers["content-security-policy"]
    assert (
        "default-src 'none'" in policy
        and "sandbox" in policy
        and "script" not in policy.replace("sandbox", "")
    )
    assert "unsafe-inline" not in policy
    for form, kind in (("html", "text/html"), ("markdown", "text/markdown"), ("json", "application/json")):
        stored = client.get(f"{path}/{form}")
        assert stored.status_code == 200 and stored.headers["content-type"].startswith(kind)
        assert (
            stored.headers["content-disposition"].startswith("attachment")
            and HEADERS.items() <= dict(stored.headers).items()
        )
    visits = as_("oncall").get(f"{API}/report-shares/{result['id']}/visits").json()
    assert [visit["form"] for visit in visits] == ["json", "markdown", "html", "page"]
    assert visits[-1]["agent"] == "Reader/1" and visits[-1]["address"]


def test_only_a_hash_is_stored(shared, db):
    token = shared[1].removeprefix("/r/")
    assert len(token) == 43
    with unit_of_work(db.sessions) as session:
        row = session.scalars(select(ReportShare)).one()
        assert token not in repr(vars(row)) and len(row.token_hash) == 32


def test_a_revoked_link_opens_nothing(client, as_, shared):
    result, path = shared
    assert as_("oncall").delete(f"{API}/report-shares/{result['id']}").status_code == 204
    answer = client.get(path)
    assert (
        answer.status_code == 404
        and "<" not in answer.text
        and HEADERS.items() <= dict(answer.headers).items()
    )
    assert client.get(f"{path}/json").status_code == 404
    assert as_("oncall").delete(f"{API}/report-shares/{result['id']}").status_code == 204


def test_an_expired_link_opens_nothing(client, shared, db):
    with unit_of_work(db.sessions) as session:
        session.execute(update(ReportShare).values(expires_at=utc_now() - timedelta(seconds=1)))
    assert client.get(shared[1]).status_code == 404
    with unit_of_work(db.sessions) as session:
        assert session.scalars(select(ReportVisit)).all() == []


@pytest.mark.parametrize(
    "path",
    ["/r", "/r/", "/r/:token", "/r/null", "/r/undefined", "/r/%00", "/r/..%2f..%2fetc%2fpasswd", "/r/" + "A" * 43,
     "/r/" + "A" * 5000, "/r/x/html", "/r/x/y/z", "/r/%F0%9F%98%80"],
)  # fmt: skip
def test_nothing_else_opens(client, shared, path):
    answer = client.get(path)
    assert answer.status_code == 404 and HEADERS.items() <= dict(answer.headers).items()
    assert "<title>" not in answer.text


def test_an_unknown_form_is_nothing(client, shared):
    assert client.get(f"{shared[1]}/exe").status_code == 404


def test_report_link_refuses_altered_version(client, shared, db):
    with db.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE report_version DISABLE TRIGGER report_version_frozen")
        connection.exec_driver_sql("UPDATE report_version SET content = replace(content, '\"x\"', '\"y\"')")
    answer = client.get(shared[1])
    assert answer.status_code == 409 and answer.json()["key"] == "report.altered"


def test_report_link_limits_requests_per_address(client, app, shared):
    app.state.report_rate_limiter = RateLimiter(2, "report.too_often")
    states = [client.get(shared[1]).status_code for _ in range(3)]
    assert states == [200, 200, 429]
    late = client.get(shared[1])
    assert int(late.headers["retry-after"]) > 0 and HEADERS.items() <= dict(late.headers).items()


def test_rate_limiter_allows_a_name_again_after_a_minute(monkeypatch):
    limiter = RateLimiter(1, "report.too_often")
    now = [6000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    limiter.check("a")
    now[0] += 59
    with pytest.raises(TooManyRequestsError) as refusal:
        limiter.check("a")
    assert refusal.value.retry_after_s == 1
    limiter.check("b")
    now[0] += 2
    limiter.check("a")


def test_rate_limiter_counts_in_valkey_for_all_processes(redis_url):
    first, second = (RateLimiter(1, "report.too_often", redis_url) for _ in range(2))
    first.check("a")
    with pytest.raises(TooManyRequestsError):
        second.check("a")


def test_rate_limiter_counts_alone_without_valkey(tmp_path):
    limiter = RateLimiter(1, "report.too_often", f"unix://{tmp_path}/none")
    limiter.check("a")
    with pytest.raises(TooManyRequestsError):
        limiter.check("a")
