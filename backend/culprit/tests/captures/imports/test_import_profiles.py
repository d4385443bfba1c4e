"""Imported files become runs and profiles; errors name the line."""

import gzip
import shutil
import subprocess
from uuid import UUID

import pytest
import zstandard
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile import Profile
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from sqlalchemy import select, update

from collectors.tests.recorded_profiles import captured

FOLDED = b"web;main;parse 30\nweb;main;render 10\nweb;main 2\nkworker;kthread 1\n"
SCRIPT = b"""web 41/42 [001] 100.000000001: 1 cpu-clock:
\tffff1234 do_syscall_64+0x1 ([kernel.kallsyms])
\t    5678 handle+0x10 (/usr/bin/web)
\t    9abc main+0x1 (/usr/bin/web)

web 41/42 [000] 100.500000000: 1 cpu-clock:
\t    5678 handle+0x10 (/usr/bin/web)
\t    9abc main+0x1 (/usr/bin/web)

db 7/7 [000] 101.000000000: 1 cpu-clock:
\t    1111 [unknown] (/usr/bin/db)

"""


def bring(client, data, **form):
    return client.post("/api/v1/imports", files={"file": ("f", data)}, data=form)


def finish(session, result):
    run_id = UUID(result["runs"][0]["id"])
    assert ingest_run(run_id) == "done"
    profile = session.scalars(select(Profile).where(Profile.run_id == run_id)).one()
    state = build_profile(profile.id)
    session.refresh(profile)
    return profile, state


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_folded_stacks(as_, session, pack):
    client = as_("investigator")
    answer = bring(client, pack(FOLDED), name="from the lab")
    assert answer.status_code == 201, answer.text
    result = answer.json()
    assert (result["kind"], result["source"], result["reason"]) == ("folded", "import", "from the lab")
    profile, state = finish(session, result)
    assert state == "ready", profile.failure
    tree = client.get(f"/api/v1/profiles/{profile.id}/tree").json()
    assert tree["total"] == 43
    assert sum(child["value"] for child in tree["tree"]["children"]) == 43
    again = client.get(f"/api/v1/profiles/{profile.id}/tree?width=1201").json()
    assert again["tree"] == tree["tree"], "the stored first tree is the tree"
    rows = client.get(f"/api/v1/profiles/{profile.id}/table").json()["rows"]
    assert {row["frame"]: (row["self"], row["total"]) for row in rows}["main"] == (2, 42)
    outcome = client.get(f"/api/v1/profiles/{profile.id}/search?q=REND").json()
    assert outcome["weight"] == 10
    assert outcome["share"] == pytest.approx(10 / 43)
    capture = client.get(f"/api/v1/captures/{result['id']}").json()
    assert capture["state"] == "done"


def test_perf_script_text_with_filters(as_, session):
    client = as_("investigator")
    result = bring(client, SCRIPT).json()
    assert result["kind"] == "perf_script"
    profile, state = finish(session, result)
    assert state == "ready", profile.failure
    read = client.get(f"/api/v1/profiles/{profile.id}").json()
    assert (read["samples"], read["weight"], read["event"]) == (3, 3, "cpu-clock")
    number = client.get(f"/api/v1/captures/{result['id']}").json()["number"]
    assert read["label"] == f"{result['reason']} #{number} cpu-clock", (
        "an import goes by the name of its file"
    )
    assert read["unknown_share"] == pytest.approx(1 / 3)
    get = lambda query: client.get(f"/api/v1/profiles/{profile.id}/tree?{query}").json()["total"]  # noqa: E731
    assert get("cpu=0") == 2
    assert get("cpu=0,1") == 3
    assert get("pid=41&cpu=1") == 1
    assert get("comm=web") == 2
    assert get("thread=db") == 1
    t0 = read["t0_ns"]
    assert get(f"from_ns={t0}&to_ns={t0 + 400_000_000}") == 1
    facets = client.get(f"/api/v1/profiles/{profile.id}/facets").json()
    assert facets["cpus"] == [{"cpu": 0, "weight": 2}, {"cpu": 1, "weight": 1}]
    heat = client.get(f"/api/v1/profiles/{profile.id}/heat?bins=2&rows=5").json()
    assert sum(map(sum, heat["rows"])) == 3
    inverted = client.get(f"/api/v1/profiles/{profile.id}/tree?inverted=true").json()
    assert inverted["total"] == 3


def test_perf_data_is_read_by_perf_in_its_child(as_, session, tmp_path):
    if shutil.which("perf") is None:
        pytest.skip("no perf")
    data = tmp_path / "perf.data"
    record = ["perf", "record", "-q", "-F", "499", "-e", "cpu-clock", "-g", "-o", str(data), "--", "sh", "-c"]
    subprocess.run([*record, "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"], check=True)
    reported = subprocess.run(
        ["perf", "report", "--stdio", "-i", str(data), "-q", "--stats"], capture_output=True, check=True
    ).stdout.decode()
    samples = int(next(line for line in reported.splitlines() if "SAMPLE events" in line).split()[2])
    client = as_("investigator")
    answer = bring(client, gzip.compress(data.read_bytes()))
    assert answer.status_code == 201, answer.text
    profile, state = finish(session, answer.json())
    assert state == "ready", profile.failure
    assert profile.samples == samples
    raw = client.get(f"/api/v1/profiles/{profile.id}/export?format=raw")
    assert gzip.decompress(raw.content) == data.read_bytes()
    assert raw.headers["content-disposition"].startswith("attachment")
    for form in ("folded", "speedscope", "svg"):
        result = client.get(f"/api/v1/profiles/{profile.id}/export?format={form}")
        assert result.status_code == 200
        assert result.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in result.headers["content-security-policy"]
    folded = client.get(f"/api/v1/profiles/{profile.id}/export?format=folded").text
    assert sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()) == samples


@pytest.mark.parametrize(
    ("data", "form", "status", "key"),
    [
        (b"", {}, 422, "import.empty"),
        (b"one line that is nothing\nanother\n", {}, 422, "import.not_perf_script"),
        (b"a;b 1\nthis line has no count\n", {"kind": "folded"}, 422, "import.not_folded"),
        (b"PERFILE2" + b"\1" * 500, {}, 422, "import.not_perf_data"),
        (b"no perf data at all", {"kind": "perf_data"}, 422, "import.not_perf_data"),
        (gzip.compress(b"a;b 1\n", mtime=0)[:-9], {}, 422, "import.not_gzip"),
        (gzip.compress(b"a;b 1\n" * 4_000_000), {}, 413, "import.limit_ratio"),
        (b"x" * (2 << 20) + b" 1\n", {"kind": "folded"}, 413, "import.limit_line_at"),
    ],
)
def test_what_is_wrong_is_named(as_, session, data, form, status, key):
    answer = bring(as_("investigator"), data, **form)
    assert (answer.status_code, answer.json()["key"]) == (status, key), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert session.scalars(select(Run)).all() == []
    assert session.scalars(select(Capture)).all() == []


def test_the_line_is_in_the_answer(as_):
    body = bring(as_("investigator"), b"a;b 1\na;c 2\nno count here\n", kind="folded").json()
    assert body["params"]["line"] == 3
    assert "3" in body["detail"]


def test_viewers_may_not(as_):
    assert bring(as_("viewer"), FOLDED).status_code == 403


def test_an_import_is_its_owners_where_scopes_are_narrow(as_, session):
    result = bring(as_("investigator"), FOLDED).json()
    profile, _ = finish(session, result)
    scoped = as_("scoped")
    for path in (f"profiles/{profile.id}", f"profiles/{profile.id}/tree", f"runs/{profile.run_id}"):
        assert scoped.get(f"/api/v1/{path}").status_code == 404
    assert scoped.get("/api/v1/profiles").json()["items"] == []
    assert len(as_("viewer").get("/api/v1/profiles").json()["items"]) == 1


OTHER_TOOLS = {
    "go_cpu.pb": ("pprof", [("cpu", "imported", "ns", 1_150_000_000), ("samples", "on_cpu", "samples", 115)]),
    "go_heap.pb": (
        "pprof",
        [
            ("alloc_objects", "imported", "count", 39_515), ("alloc_space", "imported", "bytes", 1_053_144_562),
            ("inuse_objects", "imported", "count", 115), ("inuse_space", "imported", "bytes", 4_096_663),
        ],
    ),
    "node.cpuprofile": ("cpuprofile", [("", "on_cpu", "samples", 66)]),
    "pyspy.speedscope.json": ("speedscope", [("", "imported", "ns", None)]),
    "pyspy.trace.json": ("chrome_trace", [("slices", "imported", "ns", None)]),
    "chromium.trace.json": ("chrome_trace", [("", "on_cpu", "samples", 1523), ("slices", "imported", "ns", None)]),
    "firefox.json": ("firefox", [("", "on_cpu", "samples", 1208)]),
    "gecko.json": ("firefox", [("", "on_cpu", "samples", 1208)]),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_TOOLS)
def test_a_profile_of_another_tool(as_, session, name):
    """Each type of value is a profile with its unit; it is not lost or doubled when the run is parsed again."""
    kind, expected = OTHER_TOOLS[name]
    client = as_("investigator")
    answer = bring(client, gzip.compress(captured(name)))
    assert answer.status_code == 201, answer.text
    assert answer.json()["kind"] == kind
    run_id = UUID(answer.json()["runs"][0]["id"])
    for _ in range(2):
        assert ingest_run(run_id) == "done"
        query = select(Profile).where(Profile.run_id == run_id).order_by(Profile.id)
        assert build_profile(session.scalars(query).first().id) == "ready"
        session.expire_all()
        session.execute(update(Run).where(Run.id == run_id).values(state="ingesting", ingest_attempts=0))
        session.commit()
        rows = client.get(f"/api/v1/profiles?run={run_id}").json()["items"]
        read = sorted((row["event"], row["kind"], row["unit"], row["weight"]) for row in rows)
        assert [row[:3] for row in read] == [row[:3] for row in expected]
        assert all(weight in {None, row[3]} for row, (*_, weight) in zip(read, expected, strict=True))


def test_exports_can_be_imported_again(as_, session):
    client = as_("investigator")
    first, _ = finish(session, bring(client, SCRIPT).json())
    for form in ("pprof", "firefox", "chrome_trace", "speedscope", "folded"):
        exported = client.get(f"/api/v1/profiles/{first.id}/export?format={form}&pid=41")
        assert exported.status_code == 200, exported.text
        assert exported.headers["content-disposition"].startswith("attachment")
        profile, state = finish(session, bring(client, exported.content).json())
        assert (state, profile.samples, profile.unit) == ("ready", 2, "samples"), form
        rows = client.get(f"/api/v1/profiles/{profile.id}/table").json()["rows"]
        assert {row["frame"]: row["total"] for row in rows}["handle"] == 2


def test_a_trace_of_a_profile_without_times_is_refused(as_, session):
    client = as_("investigator")
    profile, _ = finish(session, bring(client, FOLDED).json())
    answer = client.get(f"/api/v1/profiles/{profile.id}/export?format=chrome_trace")
    assert (answer.status_code, answer.json()["key"]) == (422, "profile.export_needs_times")


@pytest.mark.parametrize(
    ("data", "form", "status", "key"),
    [
        (b'{"traceEvents": [{"ph": "X", "ts": "x"}]}', {}, 422, "import.not_format"),
        (b"\x0a\x04\x08\x01\x10\x02\x12\xff", {}, 422, "import.not_format"),
        (b"no profile", {"kind": "pprof"}, 422, "import.not_format"),
        (b"a;b 1\n", {"kind": "firefox"}, 422, "import.not_format"),
        (b'{"shared": {"frames": []}, "profiles": []}', {}, 422, "import.no_samples"),
        (b"@[\n    main+1\n]: 3\nno\n", {}, 422, "import.not_bpftrace"),
        (gzip.compress(b" " * (130 << 20)), {"kind": "speedscope"}, 413, "import.limit_ratio"),
    ],
)  # fmt: skip
def test_a_damaged_profile_of_another_tool_is_refused(as_, session, data, form, status, key):
    answer = bring(as_("investigator"), data, **form)
    assert (answer.status_code, answer.json()["key"]) == (status, key), answer.text
    assert session.scalars(select(Run)).all() == []
