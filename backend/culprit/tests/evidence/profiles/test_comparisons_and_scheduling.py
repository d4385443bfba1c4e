"""Comparisons and scheduler tables through real builds; B - A has the right sign, and zero is zero."""

from uuid import UUID

import pytest
from culprit.evidence.profiles.file_cache import PROFILES
from culprit.evidence.view_queries import list_schedules
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.jobs.ingest import locks as build_claims
from culprit.jobs.ingest.build_comparison import build_comparison
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from sqlalchemy import select, update

pytestmark = pytest.mark.long(30)

BEFORE = b"web;main;parse.isra.0 50\nweb;main;render 40\nweb;main;gone 10\n"
AFTER = b"web;main;parse 20\nweb;main;render.constprop.1 60\nweb;main;fresh 20\n"

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
        result = as_("investigator").post("/api/v1/imports", files={"file": ("f", data)}).json()
        run_id = UUID(result["runs"][0]["id"])
        assert ingest_run(run_id) == "done"
        profile = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
        if build:
            assert build_profile(profile.id) == "ready"
        return profile.id

    return make


def compare(client, a, b, **more):
    body = {"a": {"profile_id": str(a)}, "b": {"profile_id": str(b)}, **more}
    return client.post("/api/v1/comparisons", json=body)


def nodes(tree):
    waiting, result = [tree], {}
    while waiting:
        node = waiting.pop()
        result[node["name"]] = node
        waiting += node["children"]
    return result


def test_what_grew_is_positive_and_what_shrank_negative(as_, profile):
    client = as_("investigator")
    answer = compare(client, profile(BEFORE), profile(AFTER))
    assert answer.status_code == 202, answer.text
    result = answer.json()
    assert result["state"] == "queued"
    early = client.get(f"/api/v1/comparisons/{result['id']}/tree")
    assert (early.status_code, early.json()["key"]) == (409, "comparison.not_ready")
    assert build_comparison(UUID(result["id"])) == "ready"
    assert client.get(f"/api/v1/comparisons/{result['id']}").json()["state"] == "ready"
    body = client.get(f"/api/v1/comparisons/{result['id']}/tree").json()
    outcome = nodes(body["tree"])
    assert (body["total_a"], body["total_b"]) == (100, 100)
    assert outcome["parse"]["delta"] == pytest.approx(-0.3)
    assert outcome["render"]["delta"] == pytest.approx(0.2)
    assert (outcome["fresh"]["a"], outcome["fresh"]["b"]) == (0, 20)
    assert [(item["path"][-1], item["a"]) for item in body["vanished"]] == [("gone", 10)]
    assert [(item["path"][-1], item["b"]) for item in body["new"]] == [("fresh", 20)]
    assert body["merged"] == {"parse": ["parse", "parse.isra.0"], "render": ["render", "render.constprop.1"]}
    assert {outcome[name]["verdict"] for name in ("parse", "render")} <= {"changed", "noise"}

    gone = body["vanished"][0]["node"]
    rendered = client.get(f"/api/v1/comparisons/{result['id']}/tree?width_of=a&root={gone}").json()
    assert (rendered["tree"]["name"], rendered["tree"]["value"], rendered["tree"]["b"]) == ("gone", 10, 0)

    swapped = client.get(f"/api/v1/comparisons/{result['id']}/tree?swap=true").json()
    assert nodes(swapped["tree"])["render"]["delta"] == pytest.approx(-0.2)
    assert [item["path"][-1] for item in swapped["new"]] == ["gone"]

    functions = client.get(f"/api/v1/comparisons/{result['id']}/functions").json()
    rows = {row["frame"]: row for row in functions["rows"]}
    assert set(rows) == {"web", "main", "parse", "render", "gone", "fresh"}
    assert (rows["render"]["self"]["a"], rows["render"]["self"]["b"]) == (40, 60)
    assert rows["main"]["total"]["delta"] == 0 and rows["main"]["self"]["verdict"] == "few"


def test_the_same_twice_is_zero_everywhere(as_, profile):
    client = as_("investigator")
    item = profile(BEFORE)
    result = compare(client, item, item).json()
    assert build_comparison(UUID(result["id"])) == "ready" and not result["by_base"]
    for query in ("", "?normalize=cpu", "?normalize=work&work_a=7&work_b=7"):
        body = client.get(f"/api/v1/comparisons/{result['id']}/tree{query}").json()
        assert {node["delta"] for node in nodes(body["tree"]).values()} == {0}
        assert "parse.isra.0" in nodes(body["tree"]), "one recording is one build"
        assert (body["normalizations"], body["bursts"]) == (["share", "cpu", "work"], "assumed")


def test_a_comparison_is_refused_what_it_cannot_be_divided_by(as_, profile):
    client = as_("investigator")
    result = compare(client, profile(BEFORE), profile(AFTER)).json()
    assert build_comparison(UUID(result["id"])) == "ready"
    for query, key in (
        ("normalize=wall", "comparison.no_times"),
        ("normalize=work", "comparison.no_work"),
        ("normalize=work&work_a=5", "comparison.no_work"),
        ("normalize=work&work_a=0&work_b=1", None),
        ("normalize=absolute", None),
    ):
        for part in ("tree", "functions"):
            answer = client.get(f"/api/v1/comparisons/{result['id']}/{part}?{query}")
            assert answer.status_code == 422, query
            assert key is None or answer.json()["key"] == key
    body = client.get(f"/api/v1/comparisons/{result['id']}/tree?normalize=work&work_a=100&work_b=50").json()
    assert nodes(body["tree"])["render"]["delta"] == pytest.approx(60 / 50 - 40 / 100)
    swapped = client.get(
        f"/api/v1/comparisons/{result['id']}/tree?normalize=work&work_a=100&work_b=50&swap=true"
    ).json()
    assert nodes(swapped["tree"])["render"]["delta"] == pytest.approx(40 / 100 - 60 / 50)
    assert (swapped["exposure_a"], swapped["exposure_b"]) == (50, 100)
    assert client.get(f"/api/v1/comparisons/{result['id']}/work").json() == {"a": None, "b": None}


def access_log(first_s: int, last_s: int, per_s: float) -> bytes:
    points = "".join(
        f"point\tt={t}\troute=*\tn={5 * per_s:.0f}\tper_s={per_s:.3f}\terrors=0\terrors_pct=0.000\tp50=9.0\n"
        for t in range(first_s, last_s, 5)
    )
    return f"log\twindow_s={last_s - first_s}\todd=0\troutes=1\tseen=9\n{points}".encode()


def clock_of_recording() -> dict:
    """The clock of a host that started at EPOCH and has not slept since: monotonic time is boot time."""
    from collectors.clock.mapping import ClockMap

    at = 61_700 * 10**9
    record = {
        "seq": "1", "at": "start", "bt0": str(at - 1000), "bt1": str(at + 1000), "m0": str(at), "m1": str(at),
        "real": str(EPOCH * 10**9 + at), "res": "1", "src": "date",
    }  # fmt: skip
    return ClockMap.from_records([record]).with_server_offset(0, 1_000_000).to_json()


EPOCH = 1_790_000_000


def test_requests_of_an_application_are_units_of_work(as_, session, db, config):
    """Two recordings with access logs: per request, `checksum` takes 10 % more."""

    from collectors.tests.recorded_profiles import captured

    ids, host = [], None
    for name, per_s in (("mill_first", 2525.5), ("mill_slower", 2318.4)):
        parts = {
            "perf_record": {
                "script.txt": captured(f"{name}.txt"),
                "status.txt": b"clock -k CLOCK_MONOTONIC\n",
            },
            "app_metrics": {"stdout": access_log(EPOCH + 61_600, EPOCH + 62_000, per_s)},
        }
        waiting = runs.waiting_run(db, artifact_store(), parts, host_id=host, clock=clock_of_recording())
        host = waiting.host_id
        assert ingest_run(waiting.run_id) == "done"
        row = session.scalars(select(Profile).where(Profile.run_id == waiting.run_id)).one()
        assert build_profile(row.id) == "ready"
        ids.append(row.id)
    client = as_("investigator")
    result = compare(client, *ids).json()
    assert build_comparison(UUID(result["id"])) == "ready" and result["by_base"]
    work = client.get(f"/api/v1/comparisons/{result['id']}/work").json()
    assert work["a"] == pytest.approx(84_000, rel=0.01) and work["b"] == pytest.approx(84_000, rel=0.01)
    for way in ("share", "cpu", "wall", f"work&work_a={work['a']}&work_b={work['b']}"):
        body = client.get(f"/api/v1/comparisons/{result['id']}/functions?normalize={way}").json()
        assert (body["bursts"], len(body["normalizations"])) == ("measured", 4)
        row = next(row for row in body["rows"] if row["frame"] == "checksum")["self"]
        if way in {"share", "cpu"}:
            assert row["verdict"] == "changed" and row["delta"] > 0 and body["rows"][0]["frame"] == "checksum"
        elif way != "wall":
            assert row["delta"] / (row["a"] / body["exposure_a"]) == pytest.approx(0.095, abs=0.02)


def test_who_may_compare_and_what(as_, profile):
    a = profile(BEFORE)
    assert compare(as_("viewer"), a, a).status_code == 403
    assert compare(as_("scoped"), a, a).status_code == 404
    result = compare(as_("investigator"), a, a).json()
    assert as_("scoped").get(f"/api/v1/comparisons/{result['id']}").status_code == 404
    assert as_("viewer").get(f"/api/v1/comparisons/{result['id']}").status_code == 200


def test_a_role_that_was_taken_away_meanwhile(as_, db, session, profile, people):
    from culprit.infra.models.accounts.user_account import UserAccount

    a = profile(BEFORE)
    result = compare(as_("investigator"), a, a).json()
    with db.sessions() as other:
        other.execute(update(UserAccount).where(UserAccount.name == "investigator").values(role="viewer"))
        other.commit()
    assert build_comparison(UUID(result["id"])) == "failed"
    row = session.get_one(ProfileComparison, UUID(result["id"]))
    assert row.failure["key"] == "auth.role_too_low"


def test_unbuilt_profile_has_no_tree(as_, profile):
    client = as_("viewer")
    item = profile(BEFORE, build=False)
    assert client.get(f"/api/v1/profiles/{item}").json()["state"] == "queued"
    answer = client.get(f"/api/v1/profiles/{item}/tree")
    assert (answer.status_code, answer.json()["key"]) == (409, "profile.not_ready")
    assert answer.json()["params"] == {"state": "queued"}
    assert build_profile(item) == "ready"
    assert build_profile(item) is None
    assert client.get(f"/api/v1/profiles/{item}/tree").status_code == 200


def test_a_build_is_not_tried_for_ever(db, session, profile):
    item = profile(BEFORE, build=False)
    with db.sessions() as other:
        other.execute(update(Profile).values(attempts=build_claims.MAX_ATTEMPTS))
        other.commit()
    assert build_profile(item) is None
    row = session.get_one(Profile, item, populate_existing=True)
    assert (row.state, row.failure["key"]) == ("failed", "profile.gave_up")


def test_lost_columns_are_a_conflict_and_not_a_crash(as_, session, profile):
    item = profile(BEFORE)
    row = session.get_one(Profile, item, populate_existing=True)
    PROFILES.clear()
    artifact_store().delete(row.store_key)
    answer = as_("viewer").get(f"/api/v1/profiles/{item}/table")
    assert (answer.status_code, answer.json()["key"]) == (409, "profile.lost")
    assert as_("viewer").get(f"/api/v1/profiles/{item}/tree").status_code == 200, "the first tree is stored"


def test_invalid_queries_are_refused(as_, profile):
    item = profile(BEFORE)
    for query, status in (
        ("tree?root=999999", 404),
        ("tree?width=0", 422),
        ("tree?nonsense=1", 422),
        ("tree?cpu=x", 422),
        ("search?q=" + "x" * 300, 422),
        ("search?q=(&regex=true", 422),
        ("heat?rows=0", 422),
        ("export?format=exe", 422),
    ):
        assert as_("viewer").get(f"/api/v1/profiles/{item}/{query}").status_code == status, query


def test_hostile_names_stay_text(as_, profile):
    name = "</script><img src=x onerror=alert(1)>\x1b[2J‮"
    client = as_("viewer")
    item = profile(f"web;{name} 5\n".encode())
    answer = client.get(f"/api/v1/profiles/{item}/tree")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["total"] == 5
    svg = client.get(f"/api/v1/profiles/{item}/export?format=svg")
    assert "<img" not in svg.text
    assert svg.headers["content-disposition"].startswith("attachment")


def test_scheduler_events(as_, session, db, config):
    waiting = runs.waiting_run(
        db,
        artifact_store(),
        {"perf_sched": {"script.txt": SCHED, "status.txt": b"clock -k CLOCK_MONOTONIC\n"}},
    )
    with unit_of_work(db.sessions) as other:
        other.execute(update(RunCollector).values(method="perf"))
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
    tracks = client.get(f"/api/v1/runs/{waiting.run_id}/sched/tracks?width=100").json()
    assert [cpu["cpu"] for cpu in tracks["cpus"]] == [0]
    assert {task["task"] for task in tracks["tasks"]} == {"web", "db"}
    first = body["t0_ns"]
    part = client.get(f"/api/v1/runs/{waiting.run_id}/sched?from_ns={first}&to_ns={first + 1_500_000}").json()
    assert [(row["task"], row["runtime_ms"], row["waits"]) for row in part["tasks"]] == [("web", 1.5, 0)]
    assert client.get(f"/api/v1/runs/{waiting.run_id}/sched?from_ns=9&to_ns=9").status_code == 409
    (wakeup,) = tracks["wakeups"]
    tasks = [task["task"] for task in tracks["tasks"]]
    assert (tasks[wakeup["waker"]], tasks[wakeup["task"]]) == ("web", "db")
    assert (wakeup["delay_ns"], wakeup["context"]) == (3_000_000, "unknown")
    threads = client.get(f"/api/v1/runs/{waiting.run_id}/sched/tracks?by=thread&tid=7").json()
    assert [threads["tasks"][track["task"]]["task"] for track in threads["threads"]] == ["db", "web"]
    assert threads["cpus"] == [] and threads["threads_total"] == 2
    assert [wait[1] for wait in threads["threads"][0]["waits"]] == [3_000_000]
    assert client.get(f"/api/v1/runs/{waiting.run_id}/sched/tracks?tid=99").json()["wakeups_total"] == 0
    answer = client.get(f"/api/v1/profiles/{profile.id}/tree")
    assert (answer.status_code, answer.json()["key"]) == (409, "profile.no_stacks")
    check_second_recording(client, session, db, waiting.run_id, profile)


def check_second_recording(client, session, db, run_id, recorded):
    """Check that a recording with stacks is selected only by its ID, and that no rule reads it."""
    session.refresh(recorded)
    with unit_of_work(db.sessions) as other:
        collector = RunCollector(id=UUID(int=1), run_id=run_id, collector="wall_time", state="done")
        other.add(collector)
        other.flush()
        columns = {name: getattr(recorded, name) for name in ("event", "unit", "state", "store_key")}
        source = {"reader": "perf_data"}
        # Its ID precedes the other, so the order of IDs does not decide.
        other.add(
            Profile(
                id=UUID(int=2),
                run_id=run_id,
                run_collector_id=collector.id,
                kind="sched",
                source=source,
                **columns,
            )
        )
    url = f"/api/v1/runs/{run_id}/sched"
    assert client.get(url).json()["profile_id"] == str(recorded.id)
    assert client.get(f"{url}?profile={UUID(int=2)}").json()["profile_id"] == str(UUID(int=2))
    assert client.get(f"{url}/tracks?profile={UUID(int=2)}").json()["cpus"]
    missing = client.get(f"{url}?profile={UUID(int=3)}")
    assert (missing.status_code, missing.json()["key"]) == (404, "run.no_sched")
    collectors = session.scalars(select(RunCollector.id).where(RunCollector.run_id == run_id)).all()
    assert UUID(int=1) in collectors
    assert [item.id for item in list_schedules(session, collectors)] == [recorded.id]


def test_run_lists_profiles_and_artifacts(as_, profile, session):
    item = session.get_one(Profile, profile(BEFORE))
    client = as_("investigator")
    run = client.get(f"/api/v1/runs/{item.run_id}").json()
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
    assert client.get(f"/api/v1/runs/{item.run_id}/series").json() == []
    assert client.get(f"/api/v1/runs/{item.run_id}/events").json() == []
    assert as_("viewer").get(f"/api/v1/artifacts/{artifact['id']}/content").status_code == 403


def test_comparison_catalogs_list_all_choices(as_):
    client = as_("viewer")
    assert {item["id"] for item in client.get("/api/v1/catalog/collectors").json()} >= {
        "perf_record",
        "vmstat",
    }
    assert all(item["title"]["zh"] for item in client.get("/api/v1/catalog/metrics").json())
    assert {item["id"] for item in client.get("/api/v1/catalog/plans").json()} >= {"triage", "cpu", "sched"}
