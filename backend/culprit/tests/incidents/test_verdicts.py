"""Verdicts and what they rest on: pins of every kind, refusals, disagreements, mutes."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest
from culprit.core.chunks import encode_raw
from culprit.infra.artifacts import artifact_store
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Artifact, FindingMute, Profile, SeriesChunk
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, evaluated, opened
from culprit.workflows.build_profile import build_profile
from culprit.workflows.ingest_run import ingest_run
from sqlalchemy import select

NOBODY = "00000000-0000-0000-0000-000000000000"
STEP = f"{BOOK}/port-search"


@pytest.fixture
def host(db):
    return runs.make_host(db, "web1", {"role": "feed"})


@pytest.fixture
def desk(as_, host):
    return opened(as_("investigator"), host)


def series(db, run, values):
    """Ten readings of a metric, a second apart."""
    t_ns = np.arange(len(values), dtype=np.int64) * 10**9
    with unit_of_work(db.sessions) as session:
        session.add(
            SeriesChunk(
                host_id=run.host_id, run_id=run.run_id, metric="cpu.busy", n=len(values), t0_ns=0,
                t1_ns=int(t_ns[-1]), data=encode_raw(t_ns, np.array(values).reshape(-1, 1)),
                artifact_id=run.artifact_id,
            )
        )  # fmt: skip


def pinned(desk, kind, ref, view="/somewhere"):
    now = desk.post("pins", kind=kind, view=view, ref=ref)
    return next(one for one in now["pins"] if one["id"] == now["made"])


def test_a_line_is_read_by_the_server(db, desk, host):
    run = evaluated(db, host, {})
    view = f"/runs/{run.run_id}?artifact={run.artifact_id}&line=2"
    pin = pinned(desk, "line", {"artifact_id": str(run.artifact_id), "lines": [3, 1]}, view)
    assert pin["said"]["lines"] == [{"n": 1, "text": "first line"}, {"n": 3, "text": "third line"}]
    assert (pin["view"], pin["said"]["collector"]) == (view, "ss") and len(pin["artifact"]) == 64
    assert desk.refused("POST", "pins", kind="line", view="/", ref={"artifact_id": NOBODY, "lines": [1]}) == (
        422, "incident.pin_not_there",
    )  # fmt: skip
    beyond = {"artifact_id": str(run.artifact_id), "lines": [1, 400]}
    assert desk.refused("POST", "pins", kind="line", view="/", ref=beyond) == (422, "incident.pin_not_there")


@pytest.mark.parametrize("view", ["https://elsewhere", "//elsewhere/x", "/\\elsewhere", "x"])
def test_a_view_is_of_this_site(db, desk, host, view):
    run = evaluated(db, host, {})
    ref = {"artifact_id": str(run.artifact_id), "lines": [1]}
    assert desk.refused("POST", "pins", kind="line", view=view, ref=ref)[0] == 422


def test_a_row_is_named_by_its_table_or_by_its_kind(db, desk, host):
    run = evaluated(db, host, {})
    for place in ({"table_id": str(run.table_id)}, {"collector": "ss", "kind": "connections"}):
        pin = pinned(desk, "row", {"run_id": str(run.run_id), "row": 0, **place})
        assert pin["said"]["cells"][1] == {"id": "time_wait", "unit": "count", "value": 28000}
        assert pin["said"]["line"] == 2 and pin["artifact"]
    beyond = {"run_id": str(run.run_id), "row": 9, "table_id": str(run.table_id)}
    assert desk.refused("POST", "pins", kind="row", view="/", ref=beyond) == (422, "incident.pin_not_there")


def test_a_range_has_the_numbers_of_its_time(db, desk, host):
    run = evaluated(db, host, {})
    series(db, run, [float(n) for n in range(10)])
    ref = {"run_id": str(run.run_id), "host_id": str(host), "metric": "cpu.busy", "from_ns": 2 * 10**9,
           "to_ns": 4 * 10**9}  # fmt: skip
    [lane] = pinned(desk, "range", ref)["said"]["lanes"]
    assert (lane["n"], lane["min"], lane["mean"], lane["max"]) == (3, 2.0, 3.0, 4.0)
    empty = pinned(desk, "range", {**ref, "from_ns": 20 * 10**9, "to_ns": 21 * 10**9})
    assert empty["said"]["collected"] is False
    assert desk.refused("POST", "pins", kind="range", view="/", ref={**ref, "host_id": NOBODY})[0] == 422


def test_a_frame_has_the_share_of_its_stack(as_, session, desk):
    folded = b"web;main;parse 60\nweb;main;render 30\nother;parse 10\n"
    made = as_("investigator").post(f"{API}/imports", files={"file": ("f", folded)}).json()
    run_id = UUID(made["runs"][0]["id"])
    ingest_run(run_id)
    profile = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
    ref = {"profile_id": str(profile.id), "frames": ["web", "main", "parse"], "share": 0.99}
    assert desk.refused("POST", "pins", kind="frame", view="/", ref=ref) == (409, "profile.not_ready")
    assert build_profile(profile.id) == "ready"
    said = pinned(desk, "frame", ref)["said"]
    assert (said["share"], said["weight"], said["total"], said["frame"]) == (0.6, 60, 100, "parse")
    other = pinned(desk, "frame", {**ref, "filter": {"comm": "nobody"}})["said"]
    assert (other["weight"], other["total"], other["collected"]) == (0, 0, False), (
        "of the samples that are shown"
    )
    wrong = {**ref, "frames": ["main", "parse"]}
    assert desk.refused("POST", "pins", kind="frame", view="/", ref=wrong) == (422, "incident.pin_not_there")


def test_two_runs_beside_each_other(db, desk, host):
    left, right = evaluated(db, host, {}), evaluated(db, host, {})
    ref = {"left": str(left.run_id), "right": str(right.run_id), "what": "runs"}
    assert pinned(desk, "comparison", ref)["said"]["left"]["plan"] == "triage"
    assert desk.refused("POST", "pins", kind="comparison", view="/", ref={**ref, "right": NOBODY})[0] == 422


def test_what_is_of_another_host_or_out_of_sight_is_not_pinned(as_, db, host):
    other = runs.make_host(db, "ads1", {"role": "ads"})
    run = evaluated(db, other, {})
    ref = {"artifact_id": str(run.artifact_id), "lines": [1]}
    mine = opened(as_("investigator"), host)
    assert mine.refused("POST", "pins", kind="line", view="/", ref=ref) == (422, "incident.pin_of_other_host")
    mine.client = as_("scoped")
    assert mine.refused("POST", "pins", kind="line", view="/", ref=ref) == (422, "incident.pin_not_there")


def test_bytes_that_were_altered_or_are_gone_are_told(db, desk, host):
    run = evaluated(db, host, {})
    pin = desk.pin(run, 1)
    asked = f"{desk.url}/pins/{pin}"
    assert desk.client.get(asked).json()["state"] == "intact"
    stored = artifact_store().path(desk.now["pins"][0]["artifact"])
    kept = stored.read_bytes()
    stored.chmod(0o600)
    stored.write_bytes(kept.replace(b"first", b"worst"))
    told = desk.client.get(asked).json()
    assert told["state"] == "altered" and told["said"]["lines"][0]["text"] == "first line"
    stored.unlink()
    assert desk.client.get(asked).json()["state"] == "gone"
    assert desk.client.get(f"{desk.url}/pins/{NOBODY}").status_code == 404


def test_what_rests_on_several_artifacts_is_as_good_as_the_worst(db, desk, host):
    left, right = evaluated(db, host, {}), evaluated(db, host, {}, lines=b"other bytes\n")
    series(db, left, [1.0, 2.0, 3.0])
    time = {"run_id": str(left.run_id), "host_id": str(host), "from_ns": 0, "to_ns": 10**10}
    both = {"left": str(left.run_id), "right": str(right.run_id), "what": "runs"}
    pins = {kind: pinned(desk, kind, ref) for kind, ref in (("range", time), ("comparison", both))}
    assert pins["range"]["said"]["metrics"] == 1 and pins["range"]["artifact"]
    assert pins["comparison"]["artifact"] is None and len(pins["comparison"]["said"]["artifacts"]) == 2

    def states() -> dict[str, str]:
        return {
            kind: desk.client.get(f"{desk.url}/pins/{one['id']}").json()["state"]
            for kind, one in pins.items()
        }

    assert states() == {"range": "intact", "comparison": "intact"}
    with db.sessions() as session:
        digests = {one.run_id: one.sha256 for one in session.scalars(select(Artifact))}
    artifact_store().path(digests[right.run_id]).unlink()
    assert states() == {"range": "intact", "comparison": "gone"}
    stored = artifact_store().path(digests[left.run_id])
    stored.chmod(0o600)
    stored.write_bytes(b"other")
    assert states() == {"range": "altered", "comparison": "altered"}


def test_a_verdict_without_evidence_does_not_exist(as_, db, desk, host):
    assert desk.refused("POST", "verdicts", step=STEP, verdict="supports") == (
        422,
        "incident.verdict_needs_pin",
    )
    elsewhere = opened(as_("investigator"), host)
    run = evaluated(db, host, {})
    foreign = elsewhere.pin(run)
    for one in (foreign, NOBODY):
        assert desk.refused("POST", "verdicts", step=STEP, verdict="supports", pins=[one]) == (
            422, "incident.pin_of_other",
        )  # fmt: skip
    pin = desk.pin(run)
    assert desk.refused("POST", "verdicts", step=f"{BOOK}/nothing", verdict="supports", pins=[pin]) == (
        422, "incident.no_step",
    )  # fmt: skip
    assert desk.refused("POST", "verdicts", step=STEP, host_id=NOBODY, verdict="supports", pins=[pin]) == (
        422, "incident.no_host",
    )  # fmt: skip
    empty = {"run_id": str(run.run_id), "host_id": str(host), "metric": "cpu.busy", "from_ns": 1, "to_ns": 2}
    hole = pinned(desk, "range", empty)["id"]
    assert desk.refused("POST", "verdicts", step=STEP, verdict="refutes", pins=[hole]) == (
        422, "incident.refutes_needs_data",
    )  # fmt: skip
    desk.post("verdicts", step=STEP, verdict="refutes", pins=[hole, pin])


def test_a_person_stands_above_the_rule_until_the_verdict_is_withdrawn(as_, db, desk, host):
    run = evaluated(db, host, {"port-search": "fired"})
    desk.post("runs", run_ids=[str(run.run_id)])
    pin = desk.pin(run)
    made = desk.post("verdicts", step=STEP, verdict="refutes", pins=[pin], note="idle threads")["made"]
    one = desk.answer("port-search")
    assert (one["verdict"], one["by"], one["rule_verdict"], one["disagrees"]) == (
        "refutes",
        "person",
        "supports",
        True,
    )
    assert one["person"]["note"] == "idle threads" and one["pins"] == [pin] and one["findings"]
    desk.client = as_("viewer")
    assert desk.refused("POST", f"verdicts/{made}/withdraw")[0] == 403
    desk.client = as_("oncall")
    desk.post(f"verdicts/{made}/withdraw", note="they were busy")
    one = desk.answer("port-search")
    assert (one["verdict"], one["by"], one["person"]) == ("supports", "rule", None)
    assert desk.refused("POST", f"verdicts/{made}/withdraw") == (404, "incident.no_verdict")
    kinds = [one["kind"] for one in desk.client.get(f"{desk.url}/journal").json()]
    assert kinds[-2:] == ["verdict", "withdrawn"]


def test_nobody_withdraws_what_somebody_else_said(as_, db, desk, host):
    desk.client = as_("oncall")
    pin = desk.pin(evaluated(db, host, {}))
    made = desk.post("verdicts", step=STEP, verdict="supports", pins=[pin])["made"]
    desk.client = as_("investigator")
    assert desk.refused("POST", f"verdicts/{made}/withdraw") == (403, "incident.verdict_of_other")
    desk.post("verdicts", step=STEP, verdict="inconclusive", pins=[pin])
    assert desk.answer("port-search")["disagrees"]


def test_a_muted_finding_is_shown_and_does_not_count(as_, db, desk, host):
    run = evaluated(db, host, {"port-search": "fired"})
    desk.post("runs", run_ids=[str(run.run_id)])
    wanted = {"host_id": str(host), "rule": "F-FLAME-INET-HASH-CONNECT", "reason": "load test",
              "expires_at": (now() + timedelta(hours=1)).isoformat()}  # fmt: skip
    oncall = as_("oncall")
    assert as_("investigator").post(f"{API}/mutes", json=wanted).status_code == 403
    for change, key in (
        ({"rule": "F-NO-SUCH"}, "playbook.no_rule"),
        ({"reason": " x"}, "mute.needs_reason"),
        ({"expires_at": (now() - timedelta(hours=1)).isoformat()}, "mute.expires_within"),
        ({"expires_at": (now() + timedelta(days=400)).isoformat()}, "mute.expires_within"),
    ):
        answer = oncall.post(f"{API}/mutes", json={**wanted, **change})
        assert (answer.status_code, answer.json()["key"]) == (422, key)
    made = oncall.post(f"{API}/mutes", json=wanted).json()
    assert made["active"] and made["host"] == "web1" and made["by"]["name"] == "oncall"
    again = oncall.post(f"{API}/mutes", json={**wanted, "reason": "load test, on Fridays"}).json()
    assert [one["id"] for one in oncall.get(f"{API}/mutes?over=true").json()] == [again["id"]], "not twice"
    desk.look()
    one = desk.answer("port-search")
    assert (one["verdict"], one["reason"]["key"], len(one["muted"])) == ("inconclusive", "playbook.muted", 1)
    assert one["findings"] == [] and STEP in desk.now["gaps"]
    with unit_of_work(db.sessions) as session:
        session.query(FindingMute).one().expires_at = now() - timedelta(seconds=1)
    desk.look()
    assert desk.answer("port-search")["verdict"] == "supports"
    assert oncall.get(f"{API}/mutes").json() == [] and len(oncall.get(f"{API}/mutes?over=true").json()) == 1
    assert oncall.delete(f"{API}/mutes/{again['id']}").status_code == 204, (
        "of one that is over, nobody is told"
    )
    assert oncall.delete(f"{API}/mutes/{again['id']}").status_code == 404
    last = oncall.post(f"{API}/mutes", json=wanted).json()
    assert oncall.delete(f"{API}/mutes/{last['id']}").status_code == 204
    told = [one for one in oncall.get(f"{desk.url}/journal").json() if one["kind"].endswith("muted")]
    assert [(one["kind"], one["note"]) for one in told] == [
        ("muted", "load test"),
        ("muted", "load test, on Fridays"),
        ("muted", "load test"),
        ("unmuted", ""),
    ]


def test_the_newest_run_that_answers_counts_and_a_fixes_runs_do_not(db, desk, host):
    old = evaluated(db, host, {"port-search": "fired", "ports-left": "quiet"}, t0_ns=10**9)
    new = evaluated(db, host, {"port-search": "quiet"}, t0_ns=10**10)
    after = evaluated(db, host, {"port-search": "fired"}, t0_ns=10**11)
    desk.post("runs", run_ids=[str(old.run_id), str(new.run_id)])
    desk.post("runs", run_ids=[str(after.run_id)], role="after")
    assert desk.answer("port-search")["run_id"] == str(new.run_id)
    assert desk.answer("ports-left")["run_id"] == str(old.run_id)
    assert {one["role"] for one in desk.now["runs"]} == {"evidence", "after"}


def test_a_control_says_nothing_about_the_others(db, as_, host):
    control = runs.make_host(db, "web2", {"role": "feed"})
    desk = opened(as_("investigator"), host)
    desk.post("hosts", hosts=[{"host_id": str(control), "role": "control"}])
    run = evaluated(db, control, {"port-search": "fired"})
    desk.post("runs", run_ids=[str(run.run_id)])
    assert desk.answer("port-search", control)["verdict"] == "supports"
    assert desk.step("port-search")["verdict"] == "not_collected"
    assert desk.hypothesis("search")["standing"] == "open"
