"""What changed in the code between both sides of a verification, as one drawing."""

from __future__ import annotations

import hashlib
from uuid import UUID

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Profile,
    ProfileDiff,
    Run,
    RunCollector,
    Verification,
)
from culprit.workflows import verify_flame
from culprit.workflows.build_diff import build_diff
from culprit.workflows.verify_fix import advance_verification
from culprit.workflows.verify_sides import asked as asked_of
from sqlalchemy import select

from collectors.parse.folded import read as read_folded
from collectors.tests.profiles import source

pytestmark = pytest.mark.long(15)


SLOW = b"feed;handle;parse.isra.0 30\nfeed;handle;spin 60\n"
QUICK = b"feed;handle;parse 30\nfeed;handle;spin 6\n"


def profiled(case, runs_of, folded):
    """These runs have a CPU profile each, as if perf had been taken with them."""
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
    asked = case.ask(fix)
    while advance_verification(asked) == "collecting":
        [new] = case.taken(asked)[-1:]
        case.home(new, 20.0)
        profiled(case, select(Run).where(Run.capture_id == UUID(new)), QUICK)
    advance_verification(asked)
    told = case.read(Verification, asked).result["differential"]
    assert told["profiles"] == {"before": 3, "after": 3} and told["hosts"] == ["web1"]
    shares = {one["name"]: (one["before"], one["after"]) for one in told["functions"]}
    assert shares["spin"] == (pytest.approx(2 / 3), pytest.approx(1 / 6))
    assert told["mapping"] == {"parse": ["parse", "parse.isra.0"]}
    assert build_diff(UUID(told["diff_id"])) == "ready"
    client = as_("viewer")
    made = client.get(f"/api/v1/diffs/{told['diff_id']}").json()
    assert (made["by_base"], made["a"]["profiles"], made["b"]["profiles"]) == (True, 3, 3)
    drawn = client.get(f"/api/v1/diffs/{told['diff_id']}/tree").json()
    assert (drawn["total_a"], drawn["total_b"]) == (270, 108), "three of each"
    assert drawn["merged"] == told["mapping"] and drawn["new"] == drawn["vanished"] == []
    assert as_("scoped").get(f"/api/v1/diffs/{told['diff_id']}").status_code == 404


def test_without_profiles_on_both_sides_nothing_is_drawn(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    profiled(case, select(Run), SLOW)
    assert "differential" not in case.play(case.ask(case.fix(host)), 20.0)


def test_of_many_profiles_the_latest_of_each_host_are_drawn(case, monkeypatch):
    monkeypatch.setattr(verify_flame, "MOST", 2)
    hosts = [case.host(f"web{at}") for at in range(2)]
    case.before(*hosts, busy=40.0)
    profiled(case, select(Run), SLOW)
    with unit_of_work(case.db.sessions) as session:
        found = asked_of(session, session.get_one(Verification, case.ask(case.fix(*hosts), kind="cohort")))
        runs_there = session.scalars(select(Run).order_by(Run.t0_ns)).all()
        told = verify_flame.compare(session, found, runs_there, runs_there)
        row = session.get_one(ProfileDiff, UUID(told["diff_id"]))
        drawn = [row.a["profile_id"], *row.a["also"]]
        assert {session.get_one(Profile, UUID(one)).run_id for one in drawn} == {
            one.id for one in runs_there[-2:]
        }
