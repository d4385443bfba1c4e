"""What pins and verifications draw arrives with an incident: profiles, each by its event, and comparisons of them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from culprit.incidents.transfer.bundle.document import DOCUMENT
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.build_comparison import build_comparison
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.tests.support.carried import changed, import_bundle
from culprit.tests.support.incidents import API, Desk
from culprit.tests.support.runs import make_host, waiting_run
from sqlalchemy import select

RECORDED = Path(__file__).parents[5] / "collectors/tests/fixtures/cpu/perf_record/debian-12-perf6.1-cpuclock"
NOTHING = "00000000-0000-0000-0000-000000000000"
#: Samples of a second event, fewer than of the first.
MISSES = b"".join(
    b"web 7/7 [000]  4875.%d00000000:  1 cache-misses: \n\t 5000 %s (/srv/shop/bin/web)\n\t 6000 main (/srv/shop/bin/web)\n\n"
    % (at, name)
    for at, name in ((6, b"lookup"), (7, b"lookup"), (8, b"insert"))
)


def load_profiles(db, run_id):
    """What workers make of a run; its profiles by event."""
    assert ingest_run(run_id) is not None
    with db.sessions() as session:
        waiting = session.scalars(
            select(Profile.id).where(Profile.run_id == run_id, Profile.state == "queued").order_by(Profile.id)
        ).all()
    for item in waiting:
        assert build_profile(item) == "ready"
    evaluate_run(run_id)
    with db.sessions() as session:
        return {
            item.event: item.id for item in session.scalars(select(Profile).where(Profile.run_id == run_id))
        }


@pytest.fixture
def recorded(db):
    """(host, run, its profiles by event) of a recording of two events."""
    parts = {
        item.name: item.read_bytes()
        for item in RECORDED.iterdir()
        if item.name not in {"expected.json", "how.json"}
    }
    parts["script.txt"] += b"\n" + MISSES
    host = make_host(db, "shop-db7.corp.example.com")
    run = waiting_run(db, artifact_store(), {"perf_record": parts}, host_id=host)
    return host, run.run_id, load_profiles(db, run.run_id)


@pytest.fixture
def desk(as_, recorded):
    host, run, _ = recorded
    body = {"title": "slow", "hosts": [{"host_id": str(host)}], "run_ids": [str(run)]}
    answer = as_("oncall").post(f"{API}/incidents", json=body)
    assert answer.status_code == 201, answer.text
    return Desk(as_("oncall"), answer.json())


def tree(client, profile_id, root=None):
    params = {"width": 1200} | ({"root": root} if root is not None else {})
    answer = client.get(f"{API}/profiles/{profile_id}/tree", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def deepest(result):
    """(node, its stack from the root) along the heaviest children."""
    node, path = result["tree"], [result["tree"]["name"]]
    while node["children"]:
        node = max(node["children"], key=lambda child: child["value"])
        path.append(node["name"])
    return node["id"], path


def pinned(desk, profiles, event):
    """Pins the deepest frame of a profile, in the view that is zoomed to it."""
    profile = str(profiles[event])
    root, frames = deepest(tree(desk.client, profile))
    ref = {"profile_id": profile, "frames": frames}
    desk.post("pins", kind="frame", view=f"/profiles/{profile}?root={root}", ref=ref)
    return frames


def exported(desk, **how):
    return desk.client.get(f"{desk.url}/export", params=how).content


def there(desk, db, people, data):
    """The incident that a bundle becomes, read as workers read it."""
    result = import_bundle(db, people["oncall"].actor, data)
    reported = desk.client.get(f"{API}/incidents/{result}").json()
    for run in reported["runs"]:
        load_profiles(db, UUID(run["run_id"]))
    return reported


def test_a_pinned_frame_is_that_frame_of_that_event(desk, recorded, db, people):
    _, _, profiles = recorded
    assert set(profiles) == {"cpu-clock:ppp", "cache-misses"}
    frames = pinned(desk, profiles, "cache-misses")
    assert frames[-1] == "lookup"
    reported = there(desk, db, people, exported(desk))
    [pin] = reported["pins"]
    profile, root = re.fullmatch(r"/profiles/([0-9a-f-]{36})\?root=(\d+)", pin["view"]).groups()
    assert profile not in map(str, profiles.values()) and pin["ref"]["profile_id"] == profile
    zoomed = tree(desk.client, profile, root)
    assert [*(item["name"] for item in zoomed["path"]), zoomed["tree"]["name"]] == frames
    assert (pin["snapshot"]["share"], pin["snapshot"]["weight"]) == (2 / 3, 2)
    with db.sessions() as session:
        assert session.get_one(Profile, UUID(profile)).event == "cache-misses"
        run = UUID(reported["runs"][0]["run_id"])
        assert len(session.scalars(select(Profile).where(Profile.run_id == run)).all()) == 2
    check = desk.client.get(f"{API}/incidents/{reported['id']}/pins/{pin['id']}").json()
    assert check["state"] == "intact"


def test_import_recomputes_comparison_after_its_profiles(desk, recorded, db, people):
    host, run, profiles = recorded
    item = str(profiles["cpu-clock:ppp"])
    side = {"profile_id": item, "filter": {"hide_idle": True}}
    outcome = desk.client.post(f"{API}/comparisons", json={"a": side, "b": side}).json()
    ref = {"left": item, "right": item, "what": "profiles"}
    desk.post("pins", kind="comparison", view=f"/comparisons/{outcome['id']}?root=1", ref=ref)
    desk.post("pins", kind="range", view=f"/incidents/{desk.now['id']}?host={host}&b=1~2&run={NOTHING}", ref={
        "run_id": str(run), "host_id": str(host), "metric": "", "from_ns": 1, "to_ns": 2,
    })  # fmt: skip
    with unit_of_work(db.sessions) as session:
        fix = Fix(incident_id=UUID(desk.now["id"]), what="less", hosts=[str(host)], state="planned")
        session.add(fix)
        session.flush()
        result = {
            "outcome": "no_effect",
            "differential": {"comparison_id": outcome["id"], "hosts": [], "functions": []},
        }
        session.add(Verification(fix_id=fix.id, state="canceled", result=result))
    data = exported(desk)
    result_there = import_bundle(db, people["oncall"].actor, data)
    client, url = desk.client, f"{API}/incidents/{result_there}"
    reported = client.get(url).json()
    displayed, ranged = reported["pins"]
    diff = re.fullmatch(r"/comparisons/([0-9a-f-]{36})\?root=1", displayed["view"])[1]
    assert ranged["view"] == f"/incidents/{result_there}?host={reported['hosts'][0]['id']}&b=1~2"
    [requested] = reported["fixes"][0]["verifications"]
    assert requested["result"]["differential"]["comparison_id"] == diff != outcome["id"]
    assert (
        build_comparison(UUID(diff)) is None
        and client.get(f"{API}/comparisons/{diff}").json()["state"] == "queued"
    )
    load_profiles(db, UUID(reported["runs"][0]["run_id"]))
    assert build_comparison(UUID(diff)) == "ready"
    with db.sessions() as session:
        row = session.get_one(ProfileComparison, UUID(diff))
        assert row.b["filter"] == {"hide_idle": True}
        runs = session.scalars(
            select(Run).where(Run.id.in_([run, UUID(reported["runs"][0]["run_id"])]))
        ).all()
        assert len({(run.started_at, run.ended_at) for run in runs}) == 1


def test_a_pin_of_a_redacted_bundle_opens_the_frame_of_its_profile(desk, recorded, db, people):
    """The bundle has the profile with redacted names instead of the recording."""
    _, _, profiles = recorded
    frames = pinned(desk, profiles, "cache-misses")
    data = exported(desk, redacted=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        document = json.loads(archive.read(DOCUMENT))
        assert not any(b"/srv/shop" in archive.read(item) for item in archive.namelist())
    left_out = {artifact["part"]: artifact["left_out"] for artifact in document["artifacts"]}
    assert (left_out["script.txt"], left_out["on_cpu.tables"]) == ("as_profile", None)
    reported = there(desk, db, people, data)
    [pin] = reported["pins"]
    assert pin["snapshot"]["frame"] == "lookup"
    profile = desk.client.get(f"{API}/profiles/{pin['ref']['profile_id']}").json()
    assert (profile["state"], profile["event"]) == ("ready", "cache-misses")
    assert deepest(tree(desk.client, profile["id"]))[1] == frames


def test_import_drops_links_to_foreign_rows(desk, recorded, db, people):
    """A forged bundle can neither link to local rows nor present them as its own."""
    host, run, profiles = recorded
    pinned(desk, profiles, "cpu-clock:ppp")
    others = {str(host), str(run), str(profiles["cpu-clock:ppp"]), desk.now["id"], desk.now["pins"][0]["id"]}
    fresh = {item: f"00000000-0000-7000-8000-{n:012x}" for n, item in enumerate(sorted(others), 1)}

    def renamed(document):
        text = json.dumps(document)
        for old, new in fresh.items():
            text = text.replace(old, new)
        document.clear()
        document.update(json.loads(text))
        pin = document["pins"][0]
        pin["view"] = f"/runs/{run}?host={host}"
        pin["ref"] |= {"profile_id": str(profiles["cpu-clock:ppp"]), "run_id": str(run)}
        pin["snapshot"] |= {"run_id": str(run), "hosts": [str(host)], "host_id": str(host)}

    reported = there(desk, db, people, changed(exported(desk), renamed))
    text = json.dumps(reported)
    assert not [other for other in others if other in text]
    assert reported["pins"][0]["view"] == "" and reported["pins"][0]["ref"]["profile_id"] == NOTHING


def test_what_is_still_being_read_does_not_leave_half_judged(desk, recorded, db, session, monkeypatch):
    """Rules that were evaluated before the profiles are evaluated again, even without a notification."""
    _, run, profiles = recorded
    with unit_of_work(db.sessions) as own:
        for profile in profiles.values():
            own.get_one(Profile, profile).state = "queued"
    evaluate_run(run)
    refused = desk.client.get(f"{desk.url}/export")
    assert (refused.status_code, refused.json()["key"]) == (409, "transfer.being_parsed")
    with unit_of_work(db.sessions) as own:
        for profile in profiles.values():
            own.get_one(Profile, profile).state = "ready"
        own.get_one(Run, run).ended_at = utc_now()
    assert desk.client.get(f"{desk.url}/export").status_code == 409
    monkeypatch.setattr("culprit.jobs.analysis.queries.EVALUATE_AFTER", timedelta(seconds=-60))
    assert ("culprit.evaluate_run", run) in list_pending_jobs(session)
    session.rollback()  # ends its locks of pending runs
    evaluate_run(run)
    assert ("culprit.evaluate_run", run) not in list_pending_jobs(session)
    assert desk.client.get(f"{desk.url}/export").status_code == 200
