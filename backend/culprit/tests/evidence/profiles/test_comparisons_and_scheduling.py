"""Comparisons and scheduler tables through real builds; B - A has the right sign, and zero is zero."""

from uuid import UUID

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.models import Profile, ProfileDiff
from culprit.profiles.loaded import PROFILES
from culprit.workflows import builds
from culprit.workflows.build_diff import build_diff
from culprit.workflows.build_profile import build_profile
from culprit.workflows.ingest_run import ingest_run
from sqlalchemy import select, update

pytestmark = pytest.mark.long(30)

BEFORE = b"web;main;parse 50\nweb;main;render 40\nweb;main;gone 10\n"
AFTER = b"web;main;parse 20\nweb;main;render 60\nweb;main;fresh 20\n"

SCHED = b"""swapper 0/0 [000] 100.000000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 \
prev_state=R ==> next_comm=web next_pid=42 next_prio=120
web 42/42 [000] 100.001000000: sched:sched_waking: comm=db pid=7 prio=120 target_cpu=000
web 42/42 [000] 100.004000000: sched:sched_switch: prev_comm=web prev_pid=42 prev_prio=120 \
prev_state=S ==> next_comm=db next_pid=7 next_prio=120
db 7/7 [000] 100.009000000: sched:sched_switch: prev_comm=db prev_pid=7 prev_prio=120 \
prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
"""


@pytest.fixture
def profile(as_, session):
    """`profile(data)`: brings folded stacks and builds them; returns the profile's id."""

    def make(data, build=True):
        made = as_("investigator").post("/api/v1/imports", files={"file": ("f", data)}).json()
        run_id = UUID(made["runs"][0]["id"])
        assert ingest_run(run_id) == "done"
        found = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
        if build:
            assert build_profile(found.id) == "ready"
        return found.id

    return make


def compare(client, a, b, **more):
    body = {"a": {"profile_id": str(a)}, "b": {"profile_id": str(b)}, **more}
    return client.post("/api/v1/diffs", json=body)


def nodes(tree):
    waiting, found = [tree], {}
    while waiting:
        node = waiting.pop()
        found[node["name"]] = node
        waiting += node["children"]
    return found


def test_what_grew_is_positive_and_what_shrank_negative(as_, profile):
    client = as_("investigator")
    answer = compare(client, profile(BEFORE), profile(AFTER))
    assert answer.status_code == 202, answer.text
    made = answer.json()
    assert made["state"] == "queued"
    early = client.get(f"/api/v1/diffs/{made['id']}/tree")
    assert (early.status_code, early.json()["key"]) == (409, "diff.not_ready")
    assert build_diff(UUID(made["id"])) == "ready"
    assert client.get(f"/api/v1/diffs/{made['id']}").json()["state"] == "ready"
    body = client.get(f"/api/v1/diffs/{made['id']}/tree").json()
    found = nodes(body["tree"])
    assert (body["total_a"], body["total_b"]) == (100, 100)
    assert found["parse"]["delta"] == pytest.approx(-0.3)
    assert found["render"]["delta"] == pytest.approx(0.2)
    assert (found["fresh"]["a"], found["fresh"]["b"]) == (0, 20)
    assert [one["path"][-1] for one in body["vanished"]] == ["gone"]
    assert [one["path"][-1] for one in body["new"]] == ["fresh"]


def test_the_same_twice_is_zero_everywhere(as_, profile):
    client = as_("investigator")
    one = profile(BEFORE)
    made = compare(client, one, one, normalise="absolute").json()
    assert build_diff(UUID(made["id"])) == "ready"
    body = client.get(f"/api/v1/diffs/{made['id']}/tree").json()
    assert {node["delta"] for node in nodes(body["tree"]).values()} == {0}
    assert body["normalise"] == "absolute"


def test_who_may_compare_and_what(as_, profile):
    a = profile(BEFORE)
    assert compare(as_("viewer"), a, a).status_code == 403
    assert compare(as_("scoped"), a, a).status_code == 404
    made = compare(as_("investigator"), a, a).json()
    assert as_("scoped").get(f"/api/v1/diffs/{made['id']}").status_code == 404
    assert as_("viewer").get(f"/api/v1/diffs/{made['id']}").status_code == 200


def test_a_role_that_was_taken_away_meanwhile(as_, db, session, profile, people):
    from culprit.models import UserAccount

    a = profile(BEFORE)
    made = compare(as_("investigator"), a, a).json()
    with db.sessions() as other:
        other.execute(update(UserAccount).where(UserAccount.name == "investigator").values(role="viewer"))
        other.commit()
    assert build_diff(UUID(made["id"])) == "failed"
    row = session.get_one(ProfileDiff, UUID(made["id"]))
    assert row.failure["key"] == "auth.role_too_low"


def test_not_built_yet_is_said_and_not_drawn(as_, profile):
    client = as_("viewer")
    one = profile(BEFORE, build=False)
    assert client.get(f"/api/v1/profiles/{one}").json()["state"] == "queued"
    answer = client.get(f"/api/v1/profiles/{one}/tree")
    assert (answer.status_code, answer.json()["key"]) == (409, "profile.not_ready")
    assert answer.json()["params"] == {"state": "queued"}
    assert build_profile(one) == "ready"
    assert build_profile(one) is None
    assert client.get(f"/api/v1/profiles/{one}/tree").status_code == 200


def test_a_build_is_not_tried_for_ever(db, session, profile):
    one = profile(BEFORE, build=False)
    with db.sessions() as other:
        other.execute(update(Profile).values(attempts=builds.MAX_ATTEMPTS))
        other.commit()
    assert build_profile(one) is None
    row = session.get_one(Profile, one, populate_existing=True)
    assert (row.state, row.failure["key"]) == ("failed", "profile.gave_up")


def test_lost_columns_are_a_conflict_and_not_a_crash(as_, session, profile):
    one = profile(BEFORE)
    row = session.get_one(Profile, one, populate_existing=True)
    PROFILES.clear()
    artifact_store().delete(row.store_key)
    answer = as_("viewer").get(f"/api/v1/profiles/{one}/table")
    assert (answer.status_code, answer.json()["key"]) == (409, "profile.lost")
    assert as_("viewer").get(f"/api/v1/profiles/{one}/tree").status_code == 200, "the first tree is stored"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("tree?root=999999", 404),
        ("tree?width=0", 422),
        ("tree?nonsense=1", 422),
        ("tree?cpu=x", 422),
        ("search?q=" + "x" * 300, 422),
        ("search?q=(&regex=true", 422),
        ("heat?rows=0", 422),
        ("export?format=exe", 422),
    ],
)
def test_silly_questions_are_refused(as_, profile, query, status):
    assert as_("viewer").get(f"/api/v1/profiles/{profile(BEFORE)}/{query}").status_code == status


def test_hostile_names_stay_text(as_, profile):
    name = "</script><img src=x onerror=alert(1)>\x1b[2J‮"
    client = as_("viewer")
    one = profile(f"web;{name} 5\n".encode())
    answer = client.get(f"/api/v1/profiles/{one}/tree")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["total"] == 5
    svg = client.get(f"/api/v1/profiles/{one}/export?format=svg")
    assert "<img" not in svg.text
    assert svg.headers["content-disposition"].startswith("attachment")


def test_scheduler_events(as_, session, db, config):
    from culprit.kit.unit_of_work import unit_of_work
    from culprit.models import RunCollector
    from culprit.tests.support import runs

    waiting = runs.waiting_run(
        db,
        artifact_store(),
        {"perf_sched": {"script.txt": SCHED, "status.txt": b"clock -k CLOCK_MONOTONIC\n"}},
    )
    with unit_of_work(db.sessions) as other:
        other.execute(update(RunCollector).values(way="perf"))
    assert ingest_run(waiting.run_id) == "done"
    profile = session.scalars(select(Profile)).one()
    assert profile.kind == "sched"
    client = as_("viewer")
    assert client.get(f"/api/v1/runs/{waiting.run_id}/sched").status_code == 409
    assert build_profile(profile.id) == "ready"
    body = client.get(f"/api/v1/runs/{waiting.run_id}/sched").json()
    tasks = {row["task"]: row for row in body["tasks"]}
    assert tasks["db"]["delay_max_ms"] == pytest.approx(3.0)
    assert tasks["web"]["runtime_ms"] == pytest.approx(4.0)
    lanes = client.get(f"/api/v1/runs/{waiting.run_id}/sched/lanes?width=100").json()
    assert [cpu["cpu"] for cpu in lanes["cpus"]] == [0]
    assert {task["task"] for task in lanes["tasks"]} == {"web", "db"}
    answer = client.get(f"/api/v1/profiles/{profile.id}/tree")
    assert (answer.status_code, answer.json()["key"]) == (409, "profile.no_stacks")


def test_runs_say_everything(as_, profile, session):
    one = session.get_one(Profile, profile(BEFORE))
    client = as_("investigator")
    run = client.get(f"/api/v1/runs/{one.run_id}").json()
    assert run["capture"]["source"] == "import"
    assert [p["state"] for p in run["profiles"]] == ["ready"]
    (artifact,) = run["artifacts"]
    content = client.get(f"/api/v1/artifacts/{artifact['id']}/content")
    assert content.content == BEFORE
    assert content.headers["content-disposition"].startswith("attachment")
    assert content.headers["content-security-policy"].startswith("sandbox")
    assert content.headers["x-content-type-options"] == "nosniff"
    lines = client.get(f"/api/v1/artifacts/{artifact['id']}/lines?from=2&count=5").json()
    assert lines == {"from": 2, "total": 3, "lines": BEFORE.decode().splitlines()[1:]}
    assert client.get(f"/api/v1/runs/{one.run_id}/series").json() == []
    assert client.get(f"/api/v1/runs/{one.run_id}/events").json() == []
    assert as_("viewer").get(f"/api/v1/artifacts/{artifact['id']}/content").status_code == 403


def test_catalogues(as_):
    client = as_("viewer")
    assert {one["id"] for one in client.get("/api/v1/collectors").json()} >= {"perf_record", "vmstat"}
    assert all(one["title"]["zh"] for one in client.get("/api/v1/metric-catalogue").json())
    assert {one["id"] for one in client.get("/api/v1/plans").json()} >= {"triage", "cpu", "sched"}
