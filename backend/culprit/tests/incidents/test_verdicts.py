"""Verdicts and what they rest on: pins of every kind, refusals, disagreements, mutes."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest
from culprit.domain.series.chunks import encode_raw
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.finding_mute import FindingMute
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, evaluated, opened
from sqlalchemy import select

UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"
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
    return next(pin for pin in now["pins"] if pin["id"] == now["created_id"])


def test_a_line_is_read_by_the_server(db, desk, host):
    run = evaluated(db, host, {})
    view = f"/runs/{run.run_id}?artifact={run.artifact_id}&line=2"
    pin = pinned(desk, "line", {"artifact_id": str(run.artifact_id), "lines": [3, 1]}, view)
    assert pin["snapshot"]["lines"] == [
        {"number": 1, "text": "first line"},
        {"number": 3, "text": "third line"},
    ]
    assert (pin["view"], pin["snapshot"]["collector"]) == (view, "ss") and len(pin["artifact"]) == 64
    assert desk.refused("POST", "pins", kind="line", view="/", ref={"artifact_id": UNKNOWN_ID, "lines": [1]}) == (
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
        assert pin["snapshot"]["cells"][1] == {"id": "time_wait", "unit": "count", "value": 28000}
        assert pin["snapshot"]["line"] == 2 and pin["artifact"]
    beyond = {"run_id": str(run.run_id), "row": 9, "table_id": str(run.table_id)}
    assert desk.refused("POST", "pins", kind="row", view="/", ref=beyond) == (422, "incident.pin_not_there")


def test_a_range_has_the_numbers_of_its_time(db, desk, host):
    run = evaluated(db, host, {})
    series(db, run, [float(n) for n in range(10)])
    ref = {"run_id": str(run.run_id), "host_id": str(host), "metric": "cpu.busy", "from_ns": 2 * 10**9,
           "to_ns": 4 * 10**9}  # fmt: skip
    [pinned_series] = pinned(desk, "range", ref)["snapshot"]["series"]
    assert tuple(pinned_series[name] for name in ("sample_count", "min", "mean", "max")) == (3, 2.0, 3.0, 4.0)
    empty = pinned(desk, "range", {**ref, "from_ns": 20 * 10**9, "to_ns": 21 * 10**9})
    assert empty["snapshot"]["collected"] is False
    assert desk.refused("POST", "pins", kind="range", view="/", ref={**ref, "host_id": UNKNOWN_ID})[0] == 422


def test_a_frame_has_the_share_of_its_stack(as_, session, desk):
    folded = b"web;main;parse 60\nweb;main;render 30\nother;parse 10\n"
    result = as_("investigator").post(f"{API}/imports", files={"file": ("f", folded)}).json()
    run_id = UUID(result["runs"][0]["id"])
    ingest_run(run_id)
    profile = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
    ref = {"profile_id": str(profile.id), "frames": ["web", "main", "parse"], "share": 0.99}
    assert desk.refused("POST", "pins", kind="frame", view="/", ref=ref) == (409, "profile.not_ready")
    assert build_profile(profile.id) == "ready"
    message = pinned(desk, "frame", ref)["snapshot"]
    assert (message["share"], message["weight"], message["total"], message["frame"]) == (
        0.6,
        60,
        100,
        "parse",
    )
    other = pinned(desk, "frame", {**ref, "filter": {"comm": "nobody"}})["snapshot"]
    assert (other["weight"], other["total"], other["collected"]) == (0, 0, False), (
        "of the samples that are shown"
    )
    wrong = {**ref, "frames": ["main", "parse"]}
    assert desk.refused("POST", "pins", kind="frame", view="/", ref=wrong) == (422, "incident.pin_not_there")


def test_comparison_pin_stores_both_runs(db, desk, host):
    left, right = evaluated(db, host, {}), evaluated(db, host, {})
    ref = {"left": str(left.run_id), "right": str(right.run_id), "what": "runs"}
    assert pinned(desk, "comparison", ref)["snapshot"]["left"]["plan"] == "triage"
    assert (
        desk.refused("POST", "pins", kind="comparison", view="/", ref={**ref, "right": UNKNOWN_ID})[0] == 422
    )


def test_what_is_of_another_host_or_out_of_sight_is_not_pinned(as_, db, host):
    other = runs.make_host(db, "ads1", {"role": "ads"})
    run = evaluated(db, other, {})
    ref = {"artifact_id": str(run.artifact_id), "lines": [1]}
    mine = opened(as_("investigator"), host)
    assert mine.refused("POST", "pins", kind="line", view="/", ref=ref) == (422, "incident.pin_of_other_host")
    mine.client = as_("scoped")
    assert mine.refused("POST", "pins", kind="line", view="/", ref=ref) == (422, "incident.pin_not_there")


def test_pin_reports_altered_or_missing_bytes(db, desk, host):
    run = evaluated(db, host, {})
    pin = desk.pin(run, 1)
    requested = f"{desk.url}/pins/{pin}"
    assert desk.client.get(requested).json()["state"] == "intact"
    stored = artifact_store().path(desk.now["pins"][0]["artifact"])
    stored_bytes = stored.read_bytes()
    stored.chmod(0o600)
    stored.write_bytes(stored_bytes.replace(b"first", b"worst"))
    reported = desk.client.get(requested).json()
    assert reported["state"] == "altered" and reported["snapshot"]["lines"][0]["text"] == "first line"
    stored.unlink()
    assert desk.client.get(requested).json()["state"] == "gone"
    assert desk.client.get(f"{desk.url}/pins/{UNKNOWN_ID}").status_code == 404


def test_pin_on_several_artifacts_reports_worst_state(db, desk, host):
    left, right = evaluated(db, host, {}), evaluated(db, host, {}, lines=b"other bytes\n")
    series(db, left, [1.0, 2.0, 3.0])
    time = {"run_id": str(left.run_id), "host_id": str(host), "from_ns": 0, "to_ns": 10**10}
    both = {"left": str(left.run_id), "right": str(right.run_id), "what": "runs"}
    pins = {kind: pinned(desk, kind, ref) for kind, ref in (("range", time), ("comparison", both))}
    assert pins["range"]["snapshot"]["metrics"] == 1 and pins["range"]["artifact"]
    assert pins["comparison"]["artifact"] is None and len(pins["comparison"]["snapshot"]["artifacts"]) == 2

    def states() -> dict[str, str]:
        return {
            kind: desk.client.get(f"{desk.url}/pins/{item['id']}").json()["state"]
            for kind, item in pins.items()
        }

    assert states() == {"range": "intact", "comparison": "intact"}
    with db.sessions() as session:
        digests = {item.run_id: item.sha256 for item in session.scalars(select(Artifact))}
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
    for item in (foreign, UNKNOWN_ID):
        assert desk.refused("POST", "verdicts", step=STEP, verdict="supports", pins=[item]) == (
            422, "incident.pin_of_other",
        )  # fmt: skip
    pin = desk.pin(run)
    assert desk.refused("POST", "verdicts", step=f"{BOOK}/nothing", verdict="supports", pins=[pin]) == (
        422, "incident.no_step",
    )  # fmt: skip
    assert desk.refused("POST", "verdicts", step=STEP, host_id=UNKNOWN_ID, verdict="supports", pins=[pin]) == (
        422, "incident.no_host",
    )  # fmt: skip
    empty = {"run_id": str(run.run_id), "host_id": str(host), "metric": "cpu.busy", "from_ns": 1, "to_ns": 2}
    hole = pinned(desk, "range", empty)["id"]
    assert desk.refused("POST", "verdicts", step=STEP, verdict="refutes", pins=[hole]) == (
        422, "incident.refutes_needs_data",
    )  # fmt: skip
    desk.post("verdicts", step=STEP, verdict="refutes", pins=[hole, pin])


def test_verdict_of_person_overrides_rule_until_withdrawn(as_, db, desk, host):
    run = evaluated(db, host, {"port-search": "matched"})
    desk.post("runs", run_ids=[str(run.run_id)])
    pin = desk.pin(run)
    result = desk.post("verdicts", step=STEP, verdict="refutes", pins=[pin], note="idle threads")[
        "created_id"
    ]
    item = desk.answer("port-search")
    assert (item["verdict"], item["by"], item["rule_verdict"], item["disagrees"]) == (
        "refutes",
        "person",
        "supports",
        True,
    )
    assert item["person"]["note"] == "idle threads" and item["pins"] == [pin] and item["findings"]
    desk.client = as_("viewer")
    assert desk.refused("POST", f"verdicts/{result}/withdraw")[0] == 403
    desk.client = as_("oncall")
    desk.post(f"verdicts/{result}/withdraw", note="they were busy")
    item = desk.answer("port-search")
    assert (item["verdict"], item["by"], item["person"]) == ("supports", "rule", None)
    assert desk.refused("POST", f"verdicts/{result}/withdraw") == (404, "incident.no_verdict")
    kinds = [item["kind"] for item in desk.client.get(f"{desk.url}/journal").json()]
    assert kinds[-2:] == ["verdict_added", "verdict_withdrawn"]


def test_withdraw_verdict_refuses_other_users(as_, db, desk, host):
    desk.client = as_("oncall")
    pin = desk.pin(evaluated(db, host, {}))
    result = desk.post("verdicts", step=STEP, verdict="supports", pins=[pin])["created_id"]
    desk.client = as_("investigator")
    assert desk.refused("POST", f"verdicts/{result}/withdraw") == (403, "incident.verdict_of_other")
    desk.post("verdicts", step=STEP, verdict="inconclusive", pins=[pin])
    assert desk.answer("port-search")["disagrees"]


def test_muted_finding_is_listed_and_does_not_count(as_, db, desk, host):
    run = evaluated(db, host, {"port-search": "matched"})
    desk.post("runs", run_ids=[str(run.run_id)])
    requested = {"host_id": str(host), "rule": "F-FLAME-INET-HASH-CONNECT", "reason": "load test",
              "expires_at": (utc_now() + timedelta(hours=1)).isoformat()}  # fmt: skip
    oncall = as_("oncall")
    assert as_("investigator").post(f"{API}/mutes", json=requested).status_code == 403
    for change, key in (
        ({"rule": "F-NO-SUCH"}, "playbook.no_rule"),
        ({"reason": " x"}, "mute.needs_reason"),
        ({"expires_at": (utc_now() - timedelta(hours=1)).isoformat()}, "mute.expires_within"),
        ({"expires_at": (utc_now() + timedelta(days=400)).isoformat()}, "mute.expires_within"),
    ):
        answer = oncall.post(f"{API}/mutes", json={**requested, **change})
        assert (answer.status_code, answer.json()["key"]) == (422, key)
    result = oncall.post(f"{API}/mutes", json=requested).json()
    assert result["active"] and result["host"] == "web1" and result["by"]["name"] == "oncall"
    again = oncall.post(f"{API}/mutes", json={**requested, "reason": "load test, on Fridays"}).json()
    assert [item["id"] for item in oncall.get(f"{API}/mutes?include_expired=true").json()] == [again["id"]], (
        "not twice"
    )
    desk.look()
    item = desk.answer("port-search")
    assert (item["verdict"], item["reason"]["key"], len(item["muted"])) == (
        "inconclusive",
        "playbook.muted",
        1,
    )
    assert item["findings"] == [] and STEP in desk.now["gaps"]
    with unit_of_work(db.sessions) as session:
        session.query(FindingMute).one().expires_at = utc_now() - timedelta(seconds=1)
    desk.look()
    assert desk.answer("port-search")["verdict"] == "supports"
    assert (
        oncall.get(f"{API}/mutes").json() == []
        and len(oncall.get(f"{API}/mutes?include_expired=true").json()) == 1
    )
    assert oncall.delete(f"{API}/mutes/{again['id']}").status_code == 204, (
        "the end of an expired mute sends no update"
    )
    assert oncall.delete(f"{API}/mutes/{again['id']}").status_code == 404
    last = oncall.post(f"{API}/mutes", json=requested).json()
    assert oncall.delete(f"{API}/mutes/{last['id']}").status_code == 204
    reported = [item for item in oncall.get(f"{desk.url}/journal").json() if item["kind"].endswith("muted")]
    assert [(item["kind"], item["note"]) for item in reported] == [
        ("finding_muted", "load test"),
        ("finding_muted", "load test, on Fridays"),
        ("finding_muted", "load test"),
        ("finding_unmuted", ""),
    ]


def test_the_newest_run_that_answers_counts_and_a_fixes_runs_do_not(db, desk, host):
    old = evaluated(db, host, {"port-search": "matched", "ports-left": "not_matched"}, t0_ns=10**9)
    new = evaluated(db, host, {"port-search": "not_matched"}, t0_ns=10**10)
    after = evaluated(db, host, {"port-search": "matched"}, t0_ns=10**11)
    desk.post("runs", run_ids=[str(old.run_id), str(new.run_id)])
    desk.post("runs", run_ids=[str(after.run_id)], role="after")
    assert desk.answer("port-search")["run_id"] == str(new.run_id)
    assert desk.answer("ports-left")["run_id"] == str(old.run_id)
    assert {run["role"] for run in desk.now["runs"]} == {"evidence", "after"}


def test_verdict_of_control_host_does_not_affect_others(db, as_, host):
    control = runs.make_host(db, "web2", {"role": "feed"})
    desk = opened(as_("investigator"), host)
    desk.post("hosts", hosts=[{"host_id": str(control), "role": "control"}])
    run = evaluated(db, control, {"port-search": "matched"})
    desk.post("runs", run_ids=[str(run.run_id)])
    assert desk.answer("port-search", control)["verdict"] == "supports"
    assert desk.step("port-search")["verdict"] == "not_collected"
    assert desk.hypothesis("search")["status"] == "open"
