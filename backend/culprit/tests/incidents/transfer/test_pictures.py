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
from culprit.carried.form import DOCUMENT
from culprit.infra.artifacts import artifact_store
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Fix, Profile, ProfileDiff, Run, Verification
from culprit.tests.support.carried import brought, changed
from culprit.tests.support.incidents import API, Desk
from culprit.tests.support.runs import make_host, waiting_run
from culprit.workflows.build_diff import build_diff
from culprit.workflows.build_profile import build_profile
from culprit.workflows.doorbells import doorbells
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.ingest_run import ingest_run
from sqlalchemy import select

RECORDED = Path(__file__).parents[4] / "collectors/tests/fixtures/perf_record/debian-12-perf6.1-cpuclock"
NOTHING = "00000000-0000-0000-0000-000000000000"
#: Samples of a second event, fewer than of the first.
MISSES = b"".join(
    b"web 7/7 [000]  4875.%d00000000:  1 cache-misses: \n\t 5000 %s (/srv/shop/bin/web)\n\t 6000 main (/srv/shop/bin/web)\n\n"
    % (at, name)
    for at, name in ((6, b"lookup"), (7, b"lookup"), (8, b"insert"))
)


def read_and_drawn(db, run_id):
    """What workers make of a run; its profiles by event."""
    assert ingest_run(run_id) is not None
    with db.sessions() as session:
        waiting = session.scalars(
            select(Profile.id).where(Profile.run_id == run_id, Profile.state == "queued").order_by(Profile.id)
        ).all()
    for one in waiting:
        assert build_profile(one) == "ready"
    evaluate_run(run_id)
    with db.sessions() as session:
        return {one.event: one.id for one in session.scalars(select(Profile).where(Profile.run_id == run_id))}


@pytest.fixture
def recorded(db):
    """(host, run, its profiles by event) of a recording of two events."""
    parts = {
        one.name: one.read_bytes()
        for one in RECORDED.iterdir()
        if one.name not in {"expected.json", "how.json"}
    }
    parts["script.txt"] += b"\n" + MISSES
    host = make_host(db, "shop-db7.corp.example.com")
    run = waiting_run(db, artifact_store(), {"perf_record": parts}, host_id=host)
    return host, run.run_id, read_and_drawn(db, run.run_id)


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


def deepest(found):
    """(node, its stack from the root) along the heaviest children."""
    node, path = found["tree"], [found["tree"]["name"]]
    while node["children"]:
        node = max(node["children"], key=lambda one: one["value"])
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
    made = brought(db, people["oncall"].actor, data)
    told = desk.client.get(f"{API}/incidents/{made}").json()
    for run in told["runs"]:
        read_and_drawn(db, UUID(run["run_id"]))
    return told


def test_a_pinned_frame_is_that_frame_of_that_event(desk, recorded, db, people):
    _, _, profiles = recorded
    assert set(profiles) == {"cpu-clock:ppp", "cache-misses"}
    frames = pinned(desk, profiles, "cache-misses")
    assert frames[-1] == "lookup"
    told = there(desk, db, people, exported(desk))
    [pin] = told["pins"]
    profile, root = re.fullmatch(r"/profiles/([0-9a-f-]{36})\?root=(\d+)", pin["view"]).groups()
    assert profile not in map(str, profiles.values()) and pin["ref"]["profile_id"] == profile
    zoomed = tree(desk.client, profile, root)
    assert [*(one["name"] for one in zoomed["path"]), zoomed["tree"]["name"]] == frames
    assert (pin["said"]["share"], pin["said"]["weight"]) == (2 / 3, 2)
    with db.sessions() as session:
        assert session.get_one(Profile, UUID(profile)).event == "cache-misses"
        run = UUID(told["runs"][0]["run_id"])
        assert len(session.scalars(select(Profile).where(Profile.run_id == run)).all()) == 2
    check = desk.client.get(f"{API}/incidents/{told['id']}/pins/{pin['id']}").json()
    assert check["state"] == "intact"


def test_a_comparison_is_drawn_again_once_its_profiles_are(desk, recorded, db, people):
    host, run, profiles = recorded
    one = str(profiles["cpu-clock:ppp"])
    side = {"profile_id": one, "filter": {"hide_idle": True}}
    made = desk.client.post(f"{API}/diffs", json={"a": side, "b": side, "normalise": "share"}).json()
    ref = {"left": one, "right": one, "what": "profiles"}
    desk.post("pins", kind="comparison", view=f"/diffs/{made['id']}?root=1", ref=ref)
    desk.post("pins", kind="range", view=f"/incidents/{desk.now['id']}?host={host}&b=1~2&run={NOTHING}", ref={
        "run_id": str(run), "host_id": str(host), "metric": "", "from_ns": 1, "to_ns": 2,
    })  # fmt: skip
    with unit_of_work(db.sessions) as session:
        fix = Fix(incident_id=UUID(desk.now["id"]), what="less", hosts=[str(host)], state="planned")
        session.add(fix)
        session.flush()
        result = {
            "outcome": "no_effect",
            "differential": {"diff_id": made["id"], "hosts": [], "functions": []},
        }
        session.add(Verification(fix_id=fix.id, state="cancelled", result=result))
    data = exported(desk)
    made_there = brought(db, people["oncall"].actor, data)
    client, url = desk.client, f"{API}/incidents/{made_there}"
    told = client.get(url).json()
    shown, ranged = told["pins"]
    diff = re.fullmatch(r"/diffs/([0-9a-f-]{36})\?root=1", shown["view"])[1]
    assert ranged["view"] == f"/incidents/{made_there}?host={told['hosts'][0]['id']}&b=1~2"
    [asked] = told["fixes"][0]["verifications"]
    assert asked["result"]["differential"]["diff_id"] == diff != made["id"]
    assert build_diff(UUID(diff)) is None and client.get(f"{API}/diffs/{diff}").json()["state"] == "queued"
    read_and_drawn(db, UUID(told["runs"][0]["run_id"]))
    assert build_diff(UUID(diff)) == "ready"
    with db.sessions() as session:
        row = session.get_one(ProfileDiff, UUID(diff))
        assert row.b["filter"] == {"hide_idle": True} and row.normalise
        runs = session.scalars(select(Run).where(Run.id.in_([run, UUID(told["runs"][0]["run_id"])]))).all()
        assert len({(one.started_at, one.ended_at) for one in runs}) == 1


def test_a_redacted_bundle_has_no_recordings_and_says_so_where_they_would_be(desk, recorded, db, people):
    """Frames of changed bytes would be another recording, which nobody made: `reads_otherwise`."""
    _, _, profiles = recorded
    pinned(desk, profiles, "cache-misses")
    data = exported(desk, redacted=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        document = json.loads(archive.read(DOCUMENT))
        assert not any(b"lookup" in archive.read(one) for one in archive.namelist() if one != DOCUMENT)
    assert {one["part"]: one["left_out"] for one in document["artifacts"]}["script.txt"] == "reads_otherwise"
    told = there(desk, db, people, data)
    [pin] = told["pins"]
    assert pin["said"]["frame"] == "lookup"
    profile = desk.client.get(f"{API}{pin['view']}").json()
    assert (profile["state"], profile["failure"]["key"]) == ("failed", "carried.profile_not_built")


def test_an_address_of_somebody_elses_row_is_forgotten(desk, recorded, db, people):
    """Whoever makes up a bundle cannot lead its readers to what is here, nor show it as theirs."""
    host, run, profiles = recorded
    pinned(desk, profiles, "cpu-clock:ppp")
    others = {str(host), str(run), str(profiles["cpu-clock:ppp"]), desk.now["id"], desk.now["pins"][0]["id"]}
    fresh = {one: f"00000000-0000-7000-8000-{n:012x}" for n, one in enumerate(sorted(others), 1)}

    def renamed(document):
        text = json.dumps(document)
        for old, new in fresh.items():
            text = text.replace(old, new)
        document.clear()
        document.update(json.loads(text))
        pin = document["pins"][0]
        pin["view"] = f"/runs/{run}?host={host}"
        pin["ref"] |= {"profile_id": str(profiles["cpu-clock:ppp"]), "run_id": str(run)}
        pin["said"] |= {"run_id": str(run), "hosts": [str(host)], "host_id": str(host)}

    told = there(desk, db, people, changed(exported(desk), renamed))
    text = json.dumps(told)
    assert not [one for one in others if one in text]
    assert told["pins"][0]["view"] == "" and told["pins"][0]["ref"]["profile_id"] == NOTHING


def test_what_is_still_being_read_does_not_leave_half_judged(desk, recorded, db, session, monkeypatch):
    """Rules that were asked before the profiles came are asked again, also where nobody is told of it."""
    _, run, profiles = recorded
    with unit_of_work(db.sessions) as own:
        for one in profiles.values():
            own.get_one(Profile, one).state = "queued"
    evaluate_run(run)
    refused = desk.client.get(f"{desk.url}/export")
    assert (refused.status_code, refused.json()["key"]) == (409, "carried.being_read")
    with unit_of_work(db.sessions) as own:
        for one in profiles.values():
            own.get_one(Profile, one).state = "ready"
        own.get_one(Run, run).ended_at = now()
    assert desk.client.get(f"{desk.url}/export").status_code == 409
    monkeypatch.setattr("culprit.workflows.doorbells.EVALUATE_AFTER", timedelta(seconds=-60))
    assert ("culprit.evaluate_run", run) in doorbells(session)
    evaluate_run(run)
    session.rollback()
    assert ("culprit.evaluate_run", run) not in doorbells(session)
    assert desk.client.get(f"{desk.url}/export").status_code == 200
