"""Verifications over a real database: what is captured, what is concluded, and what the incident is told.

Runs come home by hand: each brings /proc/stat of so much CPU and an access log of so many requests.
"""

from __future__ import annotations

import gzip
import hashlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import UUID

import numpy as np
import pytest
from culprit.captures import service as captures
from culprit.captures.schemas import CaptureCreate
from culprit.infra.artifacts import artifact_store
from culprit.infra.progress import publisher
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Artifact,
    Capture,
    Fix,
    Hypothesis,
    Incident,
    IncidentHost,
    IncidentRun,
    JournalEntry,
    Profile,
    ProfileDiff,
    Run,
    RunCollector,
    Verification,
)
from culprit.tests.support import runs
from culprit.workflows import verify_before, verify_fix, verify_flame, verify_state
from culprit.workflows.build_diff import build_diff
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.ingest_run import ingest_run
from culprit.workflows.sweep import doorbells
from culprit.workflows.verify_fix import advance_verification
from culprit.workflows.verify_sides import asked as asked_of
from sqlalchemy import select

from collectors.parse.folded import read as read_folded
from collectors.tests.profiles import source

pytestmark = pytest.mark.long

BOOT = 500 * 10**9
SECONDS = 15
HOUR = 3600.0
PRIMARY = {"read": "cpu.total_busy_pct", "better": "lower"}
LOG = {"app_metrics": {"path": "/var/log/shop/access.log", "format": "lab"}}


@pytest.fixture(autouse=True)
def at_once(config, monkeypatch):
    """Captures follow one another at once, and the fix has settled."""
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(0))
    monkeypatch.setattr(verify_fix, "SETTLED", timedelta(0))
    for cached in (artifact_store, publisher):
        cached.cache_clear()
    yield
    for cached in (artifact_store, publisher):
        cached.cache_clear()


@dataclass
class Case:
    """An incident with a fix that was applied ten minutes ago."""

    db: object
    actor: object
    hosts: list = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def __post_init__(self) -> None:
        with unit_of_work(self.db.sessions) as session:
            self.applied = datetime.now(UTC) - timedelta(minutes=10)
            incident = Incident(title="slow", symptom={}, window_from=self.applied - timedelta(hours=2))
            session.add(incident)
            session.flush()
            self.incident = incident.id
            hypothesis = Hypothesis(
                incident_id=incident.id, key="own/1", says={"en": "x", "zh": "x"}, primary=PRIMARY
            )
            session.add(hypothesis)
            session.flush()
            self.hypothesis = hypothesis.id

    def host(self, name: str, role: str = "suspect"):
        made = runs.make_host(self.db, name)
        with unit_of_work(self.db.sessions) as session:
            session.add(IncidentHost(incident_id=self.incident, host_id=made, role=role))
        return made

    def fix(self, *hosts):
        with unit_of_work(self.db.sessions) as session:
            fix = Fix(
                incident_id=self.incident, hypothesis_id=self.hypothesis, what="fewer workers",
                hosts=[str(one) for one in hosts], state="applied", applied_at=self.applied,
            )  # fmt: skip
            session.add(fix)
            session.flush()
            return fix.id

    def ask(self, fix, **more):
        with unit_of_work(self.db.sessions) as session:
            values = {"primary": PRIMARY, "requested_by": self.actor.id, **more}
            asked = Verification(fix_id=fix, **values)
            session.add(asked)
            session.flush()
            return asked.id

    def capture(self, *hosts, seconds=SECONDS):
        with unit_of_work(self.db.sessions) as session:
            wanted = CaptureCreate(
                host_ids=list(hosts), plan="custom", seconds=seconds, collectors=["cpu_stat", "app_metrics"],
                options=LOG, reason="evidence",
            )  # fmt: skip
            return captures.create(session, self.actor, artifact_store(), wanted).id

    def before(self, *hosts, busy, count=3, rate=100.0, seconds=SECONDS):
        """Captures from an hour ago, a minute apart. `busy`: percent, by host."""
        for at in range(count):
            made = self.capture(*hosts, seconds=seconds)
            self.home(made, busy, rate=rate, at=time.time() - HOUR + 60 * at, seconds=seconds)
            with unit_of_work(self.db.sessions) as session:
                for run in session.scalars(select(Run).where(Run.capture_id == made)):
                    session.add(IncidentRun(incident_id=self.incident, run_id=run.id, role="evidence"))

    def home(self, capture_id, busy, *, rate=100.0, at=None, seconds=SECONDS, fails=False):
        """All runs of a capture come home; `busy` is a number or one by host."""
        at = time.time() - 2 * seconds if at is None else at
        with self.db.sessions() as session:
            found = session.scalars(select(Run).where(Run.capture_id == capture_id)).all()
        for run in found:
            level = busy[run.host_id] if isinstance(busy, dict) else busy
            if fails:
                self._fail(run.id)
                continue
            self._arrive(run.id, self._parts(level, rate, at, seconds), at)
            assert ingest_run(run.id) == "done"
            evaluate_run(run.id)

    def _fail(self, run_id):
        with unit_of_work(self.db.sessions) as session:
            run = session.get_one(Run, run_id)
            run.state, run.ended_at = "failed", datetime.now(UTC)

    def _arrive(self, run_id, parts, at):
        with unit_of_work(self.db.sessions) as session:
            run = session.get_one(Run, run_id)
            run.state, run.attempt, run.fence = "ingesting", 1, 1
            run.clock = runs.clock_now(BOOT, int(at * 1e9))
            for row in session.scalars(select(RunCollector).where(RunCollector.run_id == run_id)):
                row.state, row.way = "done", "sampled" if row.collector == "cpu_stat" else "awk"
                part, data = parts[row.collector]
                packed = gzip.compress(data, mtime=0)
                stored = artifact_store().put([packed], 1 << 30)
                session.add(
                    Artifact(
                        run_id=run_id, run_collector_id=row.id, part=part, sha256=stored.sha256, size=len(data),
                        stored_size=stored.size, encoding="gzip",
                    )
                )  # fmt: skip

    def _parts(self, busy, rate, at, seconds):
        level = busy * (1 + 0.005 * self.rng.normal())
        usr, idle, texts = 0.0, 0.0, []
        for _ in range(seconds + 1):
            texts.append(f"cpu  {usr:.0f} 0 0 {idle:.0f} 0 0 0 0 0 0\n")
            share = min(max(level + 0.5 * self.rng.normal(), 0.0), 100.0)
            usr, idle = usr + 100 * share, idle + 100 * (100 - share)
        first = int(at / 5) * 5 - 60
        points = "".join(
            f"point\tt={t}\troute=*\tn={5 * rate:.0f}\tper_s={rate:.3f}\terrors=0\terrors_pct=0.000\tp50=9.0\n"
            for t in range(first, int(at) + seconds - 4, 5)
        )
        log = f"log\twindow_s={seconds + 60}\todd=0\troutes=1\tseen=9\n{points}"
        return {
            "cpu_stat": ("samples", runs.sampled("/proc/stat", texts, BOOT)),
            "app_metrics": ("stdout", log.encode()),
        }

    def read(self, table, one):
        with self.db.sessions() as session:
            return session.get_one(table, one)

    def taken(self, asked) -> list:
        return self.read(Verification, asked).after

    def play(self, asked, busy, **how):
        """The verification to its end: each capture that it starts comes home."""
        for _ in range(12):
            state = advance_verification(asked)
            if state not in {"collecting", "judging"}:
                break
            made = self.taken(asked)
            with self.db.sessions() as session:
                still = session.scalars(
                    select(Capture.id).where(Capture.id.in_(made), Capture.state.in_(("queued", "running")))
                ).all()
            for one in still:
                self.home(one, busy, **how)
        found = self.read(Verification, asked)
        assert found.state == "done", (found.state, found.failure)
        return found.result

    def journal(self) -> list[JournalEntry]:
        with self.db.sessions() as session:
            rows = select(JournalEntry).where(JournalEntry.incident_id == self.incident)
            return list(session.scalars(rows.order_by(JournalEntry.version)))


@pytest.fixture
def case(db, people) -> Case:
    return Case(db, people["oncall"].actor)


def test_the_same_capture_is_taken_again_and_the_fix_is_verified(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    asked = case.ask(fix)
    result = case.play(asked, 20.0)
    assert (result["outcome"], result["per_work"]) == ("verified", False)
    assert -0.55 < result["low"] < result["change"] < result["high"] < -0.45
    assert result["p"] < 0.05 and result["primary"]["unit"] == "pct"
    load = result["load"]
    assert (load["kind"], load["before"], load["after"]) == (
        "goodput",
        pytest.approx(100),
        pytest.approx(100),
    )
    sides = [one["side"] for one in result["windows"]]
    assert sides == ["before"] * 3 + ["after"] * 3
    assert all(len(one["values"]) == SECONDS == len(one["t_ns"]) for one in result["windows"])
    assert all(one["citations"][0]["artifact"] for one in result["windows"])
    assert case.read(Fix, fix).state == "verified"
    assert [one.kind for one in case.journal()] == ["fix_verified"] and case.journal()[0].by is None
    assert case.read(Incident, case.incident).version == case.journal()[-1].version > 1


def test_what_is_captured_is_what_was_captured_before(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host))
    assert advance_verification(asked) == "collecting"
    assert advance_verification(asked) == "collecting", "a bell too many"
    [made] = case.taken(asked)
    with case.db.sessions() as session:
        again = session.get_one(Capture, made)
        model = session.scalars(select(Capture).order_by(Capture.number)).first()
        same = ("plan", "seconds", "collectors", "scope")
        assert [getattr(again, one) for one in same] == [getattr(model, one) for one in same]
        assert again.incident_id == case.incident
        link = session.scalars(select(IncidentRun).where(IncidentRun.role == "after")).one()
        assert link.run_id == again.runs[0].id
        assert ("culprit.advance_verification", asked) in doorbells(session)


def test_captures_are_taken_with_a_pause_between(case, monkeypatch):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host))
    advance_verification(asked)
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(hours=1))
    case.home(case.taken(asked)[0], 20.0)
    assert advance_verification(asked) == "collecting" and len(case.taken(asked)) == 1
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(0))
    advance_verification(asked)
    assert len(case.taken(asked)) == 2


@pytest.mark.parametrize(
    ("after", "outcome"), [(40.2, "no_effect"), (60.0, "worse")], ids=["nothing changed", "it got worse"]
)
def test_other_outcomes_stay_in_the_chain(case, after, outcome):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    assert case.play(case.ask(fix), after)["outcome"] == outcome
    assert case.read(Fix, fix).state == outcome
    assert case.journal()[-1].kind == f"fix_{outcome}"


def test_unlike_load_is_told_per_unit_of_work_or_not_at_all(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    per_work = case.play(case.ask(fix), 20.0, rate=50.0)
    assert (per_work["per_work"], per_work["outcome"]) == (True, "no_effect"), "half the work, half the CPU"
    latency = case.play(case.ask(fix, primary={"read": "app.p50_ms", "better": "lower"}), 20.0, rate=50.0)
    assert latency["outcome"] == "no_conclusion"
    assert latency["reasons"][0]["key"] == "verify.unlike_load"


def test_too_few_captures_from_before_are_said_before_anything_is_captured(case):
    host = case.host("web1")
    case.before(host, busy=40.0, count=2)
    case.before(host, busy=40.0, count=2, seconds=25)
    fix = case.fix(host)
    result = case.play(case.ask(fix), 20.0)
    assert result["outcome"] == "no_conclusion" and case.read(Fix, fix).state == "no_conclusion"
    assert [one["key"] for one in result["reasons"]] == ["verify.few_windows", "verify.collect_before"]
    assert result["reasons"][1]["params"]["runs"] == 2, "captures of another length are another measurement"
    assert not case.taken(case.ask(fix))


def test_what_was_captured_after_the_fix_is_not_before_it(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    case.applied = datetime.now(UTC) - timedelta(hours=3)
    result = case.play(case.ask(case.fix(host)), 20.0)
    assert result["reasons"][1]["params"]["runs"] == 0


def test_what_changed_on_the_control_host_too_is_not_the_fix(case):
    host, peer = case.host("web1"), case.host("web2", "control")
    case.before(host, peer, busy={host: 40.0, peer: 41.0})
    fix = case.fix(host)
    both = case.play(case.ask(fix, kind="control", control_host_id=peer), {host: 20.0, peer: 20.5})
    assert both["outcome"] in {"no_effect", "no_conclusion"} and abs(both["change"]) < 0.05
    assert {one["side"] for one in both["windows"]} == {"before", "after", "control_before", "control_after"}
    alone = case.play(case.ask(fix, kind="control", control_host_id=peer), {host: 20.0, peer: 41.0})
    assert alone["outcome"] == "verified" and case.read(Fix, fix).state == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).join(Run).where(Run.host_id == peer)).all()
    assert roles.count("control") == 6


def test_a_control_that_nobody_watched_before_is_none(case):
    host, peer = case.host("web1"), case.host("web2", "control")
    case.before(host, busy=40.0)
    result = case.play(case.ask(case.fix(host), kind="control", control_host_id=peer), 20.0)
    assert result["reasons"][-1]["key"] == "verify.collect_before_control"


def test_a_cohort_is_judged_by_hosts_and_names_the_odd_one(case):
    hosts = [case.host(f"web{at}") for at in range(6)]
    dark = case.host("dark")
    levels = {host: 30.0 + 5 * at for at, host in enumerate(hosts)}
    case.before(*hosts, busy=levels, count=1)
    fix = case.fix(*hosts, dark)
    after = {host: 0.7 * level for host, level in levels.items()} | {
        hosts[5]: levels[hosts[5]] * 1.05,
        dark: 1.0,
    }
    result = case.play(case.ask(fix, kind="cohort"), after)
    told = {one["host"]: one for one in result["hosts"]}
    assert [name for name, one in told.items() if one["outlier"]] == ["web5"]
    assert told["dark"]["left_out"]["key"] == "verify.host_no_data"
    assert told["web1"]["change"] == pytest.approx(-0.3, abs=0.03)
    assert result["outcome"] in {"verified", "no_conclusion"} and result["change"] < -0.2


def test_captures_that_come_to_nothing_are_taken_again_but_not_for_ever(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host))
    result = case.play(asked, 20.0, fails=True)
    assert len(case.taken(asked)) == 3 + verify_fix.SPARE
    assert result["reasons"][0]["key"] == "verify.few_windows"


def test_calling_a_capture_off_calls_the_verification_off(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    asked = case.ask(fix)
    advance_verification(asked)
    with unit_of_work(case.db.sessions) as session:
        made = session.get_one(Verification, asked).after
        captures.cancel(session, case.actor, publisher(), made[0])
    assert advance_verification(asked) == "cancelled"
    assert case.read(Fix, fix).state == "applied"
    assert case.journal()[-1].kind == "verification_cancelled"


def test_taking_the_fix_back_ends_the_capture_that_runs(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    asked = case.ask(fix)
    advance_verification(asked)
    with unit_of_work(case.db.sessions) as session:
        session.get_one(Fix, fix).state = "reverted"
    assert advance_verification(asked) == "cancelled"
    assert case.read(Capture, case.taken(asked)[0]).state == "cancelled"
    assert case.read(Fix, fix).state == "reverted"


def test_without_a_number_fixed_beforehand_nothing_is_judged(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host), primary=None)
    assert advance_verification(asked) == "failed"
    assert case.read(Verification, asked).failure["key"] == "verify.no_primary"
    assert advance_verification(asked) == "failed", "and nothing more happens"


def test_who_may_no_longer_capture_does_not(case, people):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host), requested_by=people["viewer"].id)
    assert advance_verification(asked) == "failed"
    assert not case.taken(asked)


# -- what changed in the code ------------------------------------------------------------------------------------------

SLOW = b"feed;handle;parse.isra.0 30\nfeed;handle;spin 60\nswapper;do_idle 900\n"
QUICK = b"feed;handle;parse 30\nfeed;handle;spin 6\nswapper;do_idle 900\n"


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
    assert shares["spin"] == (pytest.approx(2 / 3), pytest.approx(1 / 6)) and "do_idle" not in shares
    assert told["mapping"] == {"parse": ["parse", "parse.isra.0"]}
    assert build_diff(UUID(told["diff_id"])) == "ready"
    client = as_("viewer")
    made = client.get(f"/api/v1/diffs/{told['diff_id']}").json()
    assert (made["by_base"], made["a"]["profiles"], made["b"]["profiles"]) == (True, 3, 3)
    drawn = client.get(f"/api/v1/diffs/{told['diff_id']}/tree").json()
    assert (drawn["total_a"], drawn["total_b"]) == (270, 108), "three of each, without idle CPUs"
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


# -- asked for before the fix is applied ------------------------------------------------------------------------------


@pytest.fixture
def planned(case, monkeypatch):
    """A fix that is only planned, on a host whose plan and measurements are the ones that come home by hand."""
    only = SimpleNamespace(collectors=[SimpleNamespace(id="cpu_stat")])
    monkeypatch.setattr(verify_before, "PLANS", {verify_before.PLAN: only})
    monkeypatch.setattr(verify_before, "measuring", lambda session, host: LOG)
    monkeypatch.setattr(verify_before, "_profile", lambda actor: [])
    host = case.host("web1")
    fix = case.fix(host)
    with unit_of_work(case.db.sessions) as session:
        row = session.get_one(Fix, fix)
        row.state, row.applied_at = "planned", None
    return case, fix, case.ask(fix, state="before")


def measured(case, asked, busy=40.0, **how) -> str:
    """The side before to its end: each capture that it starts comes home."""
    for _ in range(8):
        state = advance_verification(asked)
        if state != "before":
            return state
        case.home(case.read(Verification, asked).made_before[-1], busy, **how)
    return state


def test_the_side_before_is_measured_while_the_fix_is_planned(planned):
    case, fix, asked = planned
    assert ("culprit.advance_verification", asked) in listed(case.db)
    assert measured(case, asked) == "waiting"
    row = case.read(Verification, asked)
    assert len(row.made_before) == len(row.before) == 3 and row.after == []
    assert ("culprit.advance_verification", asked) not in listed(case.db), "it waits for a person"
    with unit_of_work(case.db.sessions) as session:
        found = session.get_one(Fix, fix)
        found.state, found.applied_at = "applied", datetime.now(UTC)
        session.get_one(Verification, asked).state = "collecting"
    assert case.play(asked, 20.0, at=time.time() + 60)["outcome"] == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).where(IncidentRun.fix_id == fix)).all()
    assert sorted(roles) == ["after"] * 3 + ["before"] * 3


def test_captures_before_that_come_to_nothing_are_not_taken_for_ever(planned):
    case, _, asked = planned
    assert measured(case, asked, fails=True) == "failed"
    row = case.read(Verification, asked)
    assert row.failure["key"] == "verify.before_failed" and len(row.made_before) == 3


def test_calling_a_capture_before_off_calls_the_verification_off(planned, people):
    case, _, asked = planned
    assert advance_verification(asked) == "before"
    with unit_of_work(case.db.sessions) as session:
        made = UUID(case.read(Verification, asked).made_before[0])
        captures.cancel(session, people["oncall"].actor, publisher(), made)
    assert advance_verification(asked) == "cancelled"


def listed(db):
    with db.sessions() as session:
        return doorbells(session)
