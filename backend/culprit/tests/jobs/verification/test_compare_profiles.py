"""Code changes between both sides of a verification, as one profile comparison."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.ingest.build_comparison import build_comparison
from culprit.jobs.verification import compare_profiles
from culprit.jobs.verification.advance_verification import advance_verification
from culprit.jobs.verification.measurements import load_verification_spec
from sqlalchemy import select

from collectors.parse.perf.folded import parse_folded as read_folded
from collectors.tests.recorded_profiles import source

pytestmark = pytest.mark.long(15)


SLOW = b"feed;handle;parse.isra.0 30\nfeed;handle;spin 60\n"
QUICK = b"feed;handle;parse 30\nfeed;handle;spin 6\n"


def profiled(case, runs_of, folded):
    """Give these runs a CPU profile each, as if perf had recorded them."""
    table = read_folded(source(folded))
    with unit_of_work(case.db.sessions) as session:
        for run in session.scalars(runs_of).all():
            place = artifact_store().incoming / f"{run.id}"
            table.save(place)
            digest = hashlib.sha256(place.read_bytes()).hexdigest()
            owner = session.scalars(select(RunCollector.id).where(RunCollector.run_id == run.id)).first()
            session.add(
                Profile(
                    run_id=run.id, host_id=run.host_id, run_collector_id=owner, kind="on_cpu", state="ready",
                    store_key=artifact_store().adopt(place, digest).sha256, samples=90, weight=90.0,
                )
            )  # fmt: skip


def test_profiles_of_both_sides_are_laid_over_each_other(case, as_):
    host = case.host("web1")
    case.before(host, busy=40.0)
    profiled(case, select(Run), SLOW)
    fix = case.fix(host)
    requested = case.ask(fix)
    while advance_verification(requested) == "collecting":
        *earlier, new = case.taken(requested)
        case.home(new, 20.0, at=case.applied.timestamp() + 5 + 60 * len(earlier))
        profiled(case, select(Run).where(Run.capture_id == UUID(new)), QUICK)
    advance_verification(requested)
    differential = case.read(Verification, requested).result["differential"]
    assert differential["profiles"] == {"before": 3, "after": 6} and differential["hosts"] == ["web1"]
    shares = {
        function["name"]: (function["before"], function["after"]) for function in differential["functions"]
    }
    assert shares["spin"] == (pytest.approx(2 / 3), pytest.approx(1 / 6))
    assert differential["mapping"] == {"parse": ["parse", "parse.isra.0"]}
    assert build_comparison(UUID(differential["comparison_id"])) == "ready"
    client = as_("viewer")
    result = client.get(f"/api/v1/comparisons/{differential['comparison_id']}").json()
    assert (result["by_base"], result["a"]["profiles"], result["b"]["profiles"]) == (True, 3, 6)
    rendered = client.get(f"/api/v1/comparisons/{differential['comparison_id']}/tree").json()
    assert (rendered["total_a"], rendered["total_b"]) == (3 * 90, 6 * 36), "all of each side"
    assert rendered["merged"] == differential["mapping"] and rendered["new"] == rendered["vanished"] == []
    assert as_("scoped").get(f"/api/v1/comparisons/{differential['comparison_id']}").status_code == 404


def test_comparison_needs_profiles_on_both_sides(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    profiled(case, select(Run), SLOW)
    assert "differential" not in case.play(case.ask(case.fix(host)), 20.0)


def test_comparison_uses_latest_profiles_of_each_host(case, monkeypatch):
    monkeypatch.setattr(compare_profiles, "MAX_PROFILES", 2)
    hosts = [case.host(f"web{at}") for at in range(2)]
    case.before(*hosts, busy=40.0)
    profiled(case, select(Run), SLOW)
    with unit_of_work(case.db.sessions) as session:
        result = load_verification_spec(
            session, session.get_one(Verification, case.ask(case.fix(*hosts), kind="cohort"))
        )
        runs_there = session.scalars(select(Run).order_by(Run.t0_ns)).all()
        reported = compare_profiles.compare_profiles(session, result, runs_there, runs_there)
        row = session.get_one(ProfileComparison, UUID(reported["comparison_id"]))
        profile_ids = [row.a["profile_id"], *row.a["also"]]
        assert {session.get_one(Profile, UUID(profile_id)).run_id for profile_id in profile_ids} == {
            item.id for item in runs_there[-2:]
        }
