"""Import of the recorded example: all collectors become series, profiles and tables."""

from uuid import UUID

import pytest
import zstandard
from culprit.captures.imports.service import EXAMPLE_BUNDLE
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.hosts.host import Host
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from sqlalchemy import select

from collectors.runner.frames import FrameReader

MANDATORY = {"perf_record", "perf_sched", "iostat", "numastat", "vmstat", "softirqs"}


@pytest.fixture
def example(as_, session):
    """Return the response of the opened example and its parsed run."""
    answer = as_("investigator").post("/api/v1/imports/example")
    assert answer.status_code == 201, answer.text
    result = answer.json()
    run_id = UUID(result["runs"][0]["id"])
    assert ingest_run(run_id) == "done"
    for profile in session.scalars(select(Profile).where(Profile.run_id == run_id)):
        assert build_profile(profile.id) == "ready"
    return result, session.get_one(Run, run_id, populate_existing=True)


def test_the_example_opens_with_everything_in_it(example, as_, session):
    _, run = example
    client = as_("viewer")
    states = {
        item.collector: item.state
        for item in session.scalars(select(RunCollector).where(RunCollector.run_id == run.id))
    }
    assert states.keys() >= MANDATORY
    assert {name for name, state in states.items() if state != "done"} == set()
    host = session.get_one(Host, run.host_id)
    assert (host.name, host.state, host.address, host.credential_id) == ("example", "imported", "", None)
    assert host.facts
    read = client.get(f"/api/v1/hosts/{host.id}")
    assert read.status_code == 200, read.text

    timeline = client.get(f"/api/v1/hosts/{host.id}/timeline").json()
    groups = {track["metric"].split(".")[0] for track in timeline["tracks"]}
    assert len(groups) >= 6
    assert any(
        track["axis"] == "cpu" and track["metric"].startswith("softirq") for track in timeline["tracks"]
    )
    assert timeline["to_ns"] - timeline["from_ns"] < 600 * 10**9

    profiles = {item["kind"]: item for item in client.get(f"/api/v1/profiles?run={run.id}").json()["items"]}
    on_cpu = profiles["on_cpu"]
    assert on_cpu["samples"] > 500
    assert on_cpu["unknown_share"] < 0.5
    assert timeline["from_ns"] - 5 * 10**9 < on_cpu["t0_ns"] < timeline["to_ns"] + 5 * 10**9
    tree = client.get(f"/api/v1/profiles/{on_cpu['id']}/tree").json()
    assert tree["total"] == on_cpu["weight"]

    sched = client.get(f"/api/v1/runs/{run.id}/sched").json()
    assert len(sched["tasks"]) > 5
    assert sched["checked_against"]["switches"] == pytest.approx(
        sched["checked_against"]["parsed_switches"], rel=0.05
    )
    series = client.get(f"/api/v1/runs/{run.id}/series").json()
    assert all(series["unit"] for series in series), [
        series["metric"] for series in series if not series["unit"]
    ]


def test_opening_it_twice_is_opening_it_once(example, as_):
    result, _ = example
    assert as_("investigator").post("/api/v1/imports/example").json()["id"] == result["id"]


def test_imported_run_is_visible_to_scoped_importer(as_, session):
    answer = as_("scoped").post("/api/v1/imports", files={"file": ("b", EXAMPLE_BUNDLE.read_bytes())})
    assert answer.status_code == 201, answer.text
    host_id = answer.json()["runs"][0]["host"]["id"]
    assert as_("scoped").get(f"/api/v1/hosts/{host_id}/timeline").status_code == 200
    assert session.get_one(Host, UUID(host_id)).labels == {"role": "feed"}


@pytest.mark.parametrize("share", [0.02, 0.5, 0.97])
def test_a_cut_bundle_keeps_what_is_complete(as_, session, share):
    data = EXAMPLE_BUNDLE.read_bytes()
    answer = as_("investigator").post(
        "/api/v1/imports", files={"file": ("b", data[: int(len(data) * share)])}, data={"kind": "bundle"}
    )
    if answer.status_code == 422:
        assert answer.json()["key"] in {"import.not_bundle", "import.bundle_empty"}
        return
    assert answer.status_code == 201, answer.text
    run = session.get_one(Run, UUID(answer.json()["runs"][0]["id"]))
    assert run.failure["key"] == "import.bundle_cut"
    assert ingest_run(run.id) in {"partial", "failed"}


def test_example_contains_no_data_of_its_source_host():
    data = EXAMPLE_BUNDLE.read_bytes()
    assert len(data) < 3 << 20
    reader = FrameReader()
    frames = reader.feed(data)
    assert reader.close() is None
    for frame in frames:
        assert frame.intact
        plain = frame.payload
        if frame.header.encoding == "zstd":
            plain = zstandard.ZstdDecompressor().decompressobj().decompress(plain)
        for word in (b"/root/", b"/home/", b"/work/"):
            assert word not in plain, (frame.header.id, frame.header.part)
