"""Hostile values in every field of a frame affect only that field."""

import json
from types import SimpleNamespace

import pytest
from culprit.captures import locks as leases
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.settings import get_settings
from culprit.jobs.capture import recover_spool, run_capture
from culprit.jobs.capture.frame_filter import DroppedPart, FrameFilter
from culprit.jobs.capture.session_result import RunnerOutput, SessionResult
from culprit.jobs.capture.spool import Spool
from culprit.tests.support.hostile_peer import HELLO, VMSTAT, clock, frame, outcome
from culprit.tests.support.lab import laboratory
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import update

from collectors.runner.frames import FrameReader

pytestmark = pytest.mark.long(120)

NUMBERS = (
    "9999999999999999999",
    "9223372036854775808",
    "2147483648",
    "-1",
    "nan",
    "inf",
    "1e999",
    "0x10",
    "-",
    "1" * 60,
)
TEXTS = (b"a\0b", b"\xff\xfe", b"\xed\xa0\x80", "\u202e²٣".encode(), b"\x1b[31m", b"", b"x" * 5000, b"\0")
text = st.one_of(st.sampled_from(TEXTS), st.binary(max_size=40)).map(lambda raw: raw.replace(b"\n", b" "))
number = st.one_of(st.sampled_from(NUMBERS), st.integers(0, 10**18).map(str))
word = st.one_of(number, st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
FACTS = (
    "boot_id",
    "machine_id",
    "fork_ms",
    "target_kind",
    "target_pid",
    "target_cgroup",
    "target_lost",
    "dir",
    "run",
)
NUMERIC = ("exit", "start", "end", "cpu_ms", "bytes", "parts")


@pytest.fixture
def lab(db, config, people, tmp_path):
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()
    with laboratory(db, people["oncall"].actor, tmp_path) as result:
        yield result
    for cached in (artifact_store, get_event_publisher):
        cached.cache_clear()


@pytest.fixture
def host(lab):
    """Create a host without connecting to it."""
    key = SimpleNamespace(type="ssh-ed25519", blob=b"k", fingerprint="SHA256:x")
    server = SimpleNamespace(address="127.0.0.1", port=1, username="root", client_key="none", host_key=key)
    return lab.add_host(server)


def received(stream: bytes, spool: Spool) -> SessionResult:
    """Return the session result of a stream, as a session would send it to the worker."""
    checked = FrameFilter(dict.fromkeys(("vmstat", "softirqs"), 64 << 20))
    reader = FrameReader(sink=lambda head: spool.open(head) if checked.accept_part(head) else DroppedPart())
    result = SessionResult(began=True)
    for item in reader.iterate(stream):
        if checked.accept(item):
            result.output.add_frame(json.loads(json.dumps(spool.describe(item))))
    result.output.dropped = dict(checked.dropped)
    return result


def settled(lab, host, stream: bytes):
    """Commit the stream as one run and return the run."""
    capture = lab.capture(host, collectors=("vmstat", "softirqs"), seconds=1)
    run_id = lab.run(capture).id
    with unit_of_work(lab.db.sessions) as session:
        claim = leases.claim_run(session, run_id, "worker@test:1")
    spool = Spool.create(get_settings().home, run_id, claim.fence)
    order = SimpleNamespace(tier="light")
    state = run_capture._store_and_commit(claim, order, received(stream, spool), spool)
    spool.discard()
    assert state == "ingesting"
    run = lab.run(capture)
    with unit_of_work(lab.db.sessions) as session:  # the host is free for the next run
        session.execute(update(Run).where(Run.id == run_id).values(state="done"))
    return run


PART = frame("part", VMSTAT, name="vmstat", part="stdout", fields="enc=identity complete=1")
GOOD = outcome("softirqs", b"argv cat /proc/softirqs\nversion 1\nstderr\n", method="samples")


@st.composite
def streams(draw):
    facts = b"".join(b"%s %s\n" % (name.encode(), draw(text)) for name in FACTS)
    stream = frame("hello", facts) + clock(0, 8_000_000_000)
    fields = " ".join(
        f"{name}={draw(word)}" for name in ("seq", "bt0", "bt1", "m0", "m1", "real", "res", "src")
    )
    stream += frame("clock", fields=fields) + PART
    lines = b"argv %s\nversion %s\nreason reason.exit code=%s\ntried %s reason.exit code=1\nstderr\n%s"
    payload = lines % tuple(draw(text) for _ in range(5))
    changes = {name: draw(number) for name in NUMERIC} | {
        name: draw(word) or "-" for name in ("method", "signal", "limiter")
    }
    stream += outcome("vmstat", payload, **changes) + GOOD
    return stream + frame("end", b"state done\ncpu_ms %s\n" % draw(text))


def test_each_field_that_was_dropped_is_named(lab, host):
    stream = frame("hello", HELLO.replace(b"machine_id 0", b"machine_id \0")) + clock(0, 8_000_000_000) + PART
    stream += outcome(
        "vmstat", b"argv vm\0stat\nversion 4\nstderr\nbad\0", bytes="9999999999999999999", exit="2147483648"
    )
    run = settled(lab, host, stream + GOOD + frame("end", b"cpu_ms inf"))
    row = lab.collectors(run.id)["vmstat"]
    assert (row.argv, row.stderr_tail, row.bytes, row.exit_code) == ("vm\ufffdstat", "bad\ufffd", 0, None)
    assert (row.tool_version, row.cpu_ms) == ("4", 10)
    assert {(warning["key"], warning["params"]["field"]) for warning in row.warnings} == {
        ("run.field_control_characters", "argv"),
        ("run.field_control_characters", "stderr"),
        ("run.field_out_of_range", "bytes"),
        ("run.field_out_of_range", "exit"),
    }
    assert run.boot_id == "5d0a1c9e-0000-4000-8000-000000000001"
    assert run.failure["key"] == "run.host_data_rejected"
    what = run.failure["params"]["what"]
    assert what == "hello.machine_id (control_characters), end.cpu_ms (not_a_number)"
    with lab.db.sessions() as session:
        assert session.get_one(Host, host).machine_id is None


def test_what_cannot_be_stored_all_the_same_is_stored_without_its_details(lab, host, monkeypatch):
    """A value that all checks missed: one attempt, the files are kept, and the worker is not the cause."""
    add_frame = RunnerOutput.add_frame

    def careless(output, reported):
        add_frame(output, reported)
        if reported["kind"] == "outcome":
            output.outcomes[reported["id"]]["version"] = "a\0b"

    monkeypatch.setattr(RunnerOutput, "add_frame", careless)
    run = settled(lab, host, frame("hello", HELLO) + PART + outcome("vmstat") + frame("end", b"state done"))
    assert (run.failure["key"], run.failure_side) == ("run.host_data_unstorable", "host")
    assert lab.collectors(run.id)["vmstat"].state == "done"
    assert [item.part for item in lab.artifacts(run.id)] == ["stdout"]


def test_recovered_evidence_that_cannot_be_stored_does_not_stop_the_next(lab, host):
    runs = []
    for version in ("a\0b", "4.0"):
        capture = lab.capture(host, collectors=("vmstat",), seconds=1)
        run_id = lab.run(capture).id
        with unit_of_work(lab.db.sessions) as session:
            claim = leases.claim_run(session, run_id, "worker@gone:1")
        spool = Spool.create(get_settings().home, run_id, claim.fence)
        result = received(frame("hello", HELLO) + PART + outcome("vmstat"), spool)
        result.output.outcomes["vmstat"]["version"] = version
        plan = {"do": "ingest"}
        spool.write_outcome(
            {
                "result": result.as_json(),
                "clock": None,
                "plan": plan,
                "claim": run_capture._lease_to_json(claim),
            }
        )
        runs.append(capture)
        if version == "a\0b":
            assert recover_spool.commit_spooled_results() == 1
        else:
            assert recover_spool.commit_spooled_results() == 1
        with unit_of_work(lab.db.sessions) as session:
            assert session.get_one(Run, run_id).state == "ingesting"
            session.execute(update(Run).where(Run.id == run_id).values(state="done"))
    assert not list((get_settings().home / "spool").iterdir())


@examples(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(stream=streams())
def test_no_value_of_a_host_costs_more_than_its_field(lab, host, stream):
    run = settled(lab, host, stream)
    collectors = lab.collectors(run.id)
    assert (collectors["softirqs"].state, collectors["softirqs"].argv) == ("done", "cat /proc/softirqs")
    assert collectors["softirqs"].warnings == []
    assert collectors["vmstat"].state == "done"
    [artifact] = lab.artifacts(run.id)
    assert (artifact.part, artifact.size, artifact.complete) == ("stdout", len(VMSTAT), True)
    assert (run.failure or {}).get("key") in (None, "run.host_data_rejected")
    assert (run.worker_losses, run.attempt) == (0, 1)
