"""Artifacts become series, events and tables; a bad artifact affects only its collector."""

import json
import textwrap
import time
from datetime import timedelta

import numpy as np
import pytest
from culprit.domain.series import chunks
from culprit.evidence.parsing import parse_run
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.series import StoredSeries
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.evidence.series_day import SeriesDay
from culprit.infra.sandbox import process
from culprit.infra.sandbox.process import SandboxLimits
from culprit.jobs.ingest import ingest_run as workflow
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.jobs.ingest.queries import pending_ingests
from culprit.tests.support import runs
from sqlalchemy import func, select, update

pytestmark = pytest.mark.long(25)

T0 = 1_790_000_000 * 10**9
BOOT = 500 * 10**9


def load_samples(n: int = 30, boot: int = BOOT) -> dict[str, bytes]:
    return {"samples": runs.sampled("/proc/loadavg", [runs.loadavg(i) for i in range(n)], boot)}


def states(session, run_id):
    session.expire_all()
    collectors = session.scalars(select(RunCollector).where(RunCollector.run_id == run_id))
    return {item.collector: (item.state, (item.reason or {}).get("key")) for item in collectors}


def counted(session, run_id):
    return {
        table.__tablename__: session.scalar(
            select(func.count()).select_from(table).where(table.run_id == run_id)
        )
        for table in (SeriesChunk, StoredEvent, Profile)
    }


def test_a_run_becomes_series_and_can_be_parsed_again(db, session, config):
    waiting = runs.waiting_run(
        db, artifact_store(), {"loadavg": load_samples()}, clock=runs.clock_now(BOOT, T0)
    )
    assert ingest_run(waiting.run_id) == "done"
    run = session.get_one(Run, waiting.run_id)
    assert session.get_one(Capture, waiting.capture_id).state == "done"
    series_list = {item.metric: item for item in session.scalars(select(StoredSeries))}
    assert series_list
    chunk = session.scalars(select(SeriesChunk).where(SeriesChunk.level == 0)).first()
    rows = chunks.decode_rows(chunk.data)
    assert (chunk.t0_ns, chunk.n) == (rows.start_ns[0], rows.n)
    assert abs(int(rows.start_ns[0]) - T0) < 2 * 10**9
    assert (run.t0_ns, run.t1_ns) == (chunk.t0_ns, chunk.t1_ns)
    assert chunk.artifact_id == session.scalars(select(Artifact.id)).one()
    assert ingest_run(waiting.run_id) is None, "a second message finds nothing to do"

    before = counted(session, waiting.run_id)
    days = session.scalar(select(func.count()).select_from(SeriesDay))
    assert ingest_run(waiting.run_id, again=True) == "done"
    assert counted(session, waiting.run_id) == before
    assert session.scalar(select(func.count()).select_from(SeriesDay)) == days
    assert len(session.scalars(select(StoredSeries)).all()) == len(series_list)


def test_an_event_is_as_uncertain_as_its_clock_and_its_own_stamp_together(db, session, config):
    """The clock of printk drifts by 50 ppm: 25 ms in the 500 s since boot."""
    parts = {"kmsg": {"stdout": b"<3>[  500.000000] Out of memory: Killed process 4242 (feed)\n"}}
    clock = runs.clock_now(BOOT, T0)
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=clock)
    assert ingest_run(waiting.run_id) == "done"
    event = session.scalars(select(StoredEvent).where(StoredEvent.run_id == waiting.run_id)).one()
    assert event.uncertainty_ns == clock["uncertainty_ns"] + 25_000_000


def test_hours_of_a_host_add_up_over_its_runs(db, session, config):
    host = runs.make_host(db)
    for minute in (0, 10):
        boot = BOOT + minute * 60 * 10**9
        parts = {"loadavg": load_samples(10, boot)}
        waiting = runs.waiting_run(
            db, artifact_store(), parts, host_id=host, clock=runs.clock_now(boot, T0 + boot - BOOT)
        )
        assert ingest_run(waiting.run_id) == "done"
    day, series = session.execute(select(SeriesDay, StoredSeries).join(StoredSeries)).first()
    count = np.frombuffer(day.count, "<f4").reshape(24, -1)
    per_chunk = session.scalars(
        select(SeriesChunk).where(SeriesChunk.series_id == series.id, SeriesChunk.level == 0)
    ).all()
    assert count.sum() == sum(item.n for item in per_chunk)
    assert len({item.run_id for item in per_chunk}) == 2


def test_damaged_artifact_affects_only_its_collector(db, session, config):
    store = artifact_store()
    parts = {
        "loadavg": load_samples(),
        "meminfo": {"samples": b"\xff\x00 nothing of the kind"},
        "psi": {"samples": b"@ 0 1 /proc/pressure/cpu\n"},
    }
    waiting = runs.waiting_run(db, store, parts, clock=runs.clock_now(BOOT, T0))
    damaged = session.scalars(
        select(Artifact)
        .join(RunCollector, RunCollector.id == Artifact.run_collector_id)
        .where(RunCollector.collector == "psi")
    ).one()
    path = store.path(damaged.sha256)
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")
    assert ingest_run(waiting.run_id) == "partial"
    result = states(session, waiting.run_id)
    assert result["loadavg"] == ("done", None)
    assert result["meminfo"][0] == "unreadable"
    assert result["psi"] == ("unreadable", "artifact.altered")
    assert counted(session, waiting.run_id)["series_chunk"] > 0


def test_missing_bytes_are_reported(db, session, config):
    store = artifact_store()
    waiting = runs.waiting_run(db, store, {"loadavg": load_samples()})
    store.delete(session.scalars(select(Artifact.sha256)).one())
    assert ingest_run(waiting.run_id) == "failed"
    assert states(session, waiting.run_id)["loadavg"] == ("unreadable", "artifact.missing")


@pytest.fixture
def bombs(monkeypatch, tmp_path):
    """Replace parsers in the child by ones that use all memory, never end, or have a bug."""
    module = tmp_path / "bombs.py"
    module.write_text(
        textwrap.dedent("""
        import time
        from culprit.evidence.parsing import parse_collectors
        from collectors.contract import Parsed

        def bomb(parts, context):
            what = parts["samples"].read(100).decode().split()[0]
            if what == "memory":
                kept = [bytearray(1 << 20) for _ in range(100_000)]
            if what == "time":
                time.sleep(60)
            if what == "bug":
                return Parsed(series=1 / 0)
            return Parsed()

        def main(request):
            real = parse_collectors.find_parser
            parse_collectors.find_parser = lambda name: bomb if name == "meminfo" else real(name)
            parse_collectors.main(request)
        """)
    )
    monkeypatch.setattr(parse_run, "MODULE", "bombs")
    monkeypatch.setattr(workflow, "LIMITS", SandboxLimits(address_space=700 << 20, cpu_s=20, wall_s=60))
    environment = process._build_environment
    monkeypatch.setattr(
        process,
        "_build_environment",
        lambda: environment() | {"PYTHONPATH": f"{environment()['PYTHONPATH']}:{tmp_path}"},
    )
    server = process.make_parser_server(["bombs"])
    monkeypatch.setattr(parse_run, "_get_parser_server", lambda _: server)
    yield
    server.stop()


@pytest.mark.parametrize(
    ("what", "key"),
    [("memory", "ingest.out_of_memory"), ("time", "ingest.too_slow"), ("bug", "ingest.crashed")],
)
def test_a_parser_that_takes_the_child_with_it(db, session, config, bombs, monkeypatch, what, key):
    if what == "time":
        monkeypatch.setattr(workflow, "LIMITS", SandboxLimits(wall_s=8))
    parts = {"meminfo": {"samples": what.encode() + b" x\n"}, "loadavg": load_samples()}
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT, T0))
    assert ingest_run(waiting.run_id) == "partial"
    result = states(session, waiting.run_id)
    assert result["meminfo"] == ("unreadable", key)
    assert result["loadavg"] == ("done", None)
    reason = session.scalars(select(RunCollector).where(RunCollector.collector == "meminfo")).one().reason
    assert reason["params"]["attempts"] == parse_run.MAX_CRASHES <= 3


def test_run_that_kills_workers_becomes_unreadable(db, session, config):
    waiting = runs.waiting_run(db, artifact_store(), {"loadavg": load_samples()})
    with db.sessions() as other:
        long_ago = func.now() - timedelta(hours=1)
        other.execute(update(Run).values(ingest_attempts=workflow.MAX_ATTEMPTS, heartbeat_at=long_ago))
        other.commit()
    assert ingest_run(waiting.run_id) == "failed"
    assert states(session, waiting.run_id)["loadavg"] == ("unreadable", "ingest.worker_died")


def test_second_message_changes_nothing_until_the_lease_of_the_first_worker_ends(
    db, session, config, monkeypatch
):
    waiting = runs.waiting_run(db, artifact_store(), {"loadavg": load_samples()})
    read, others, heartbeats = workflow.parse_all, [], []
    monkeypatch.setattr(workflow, "get_lease_duration", lambda: timedelta(seconds=0.3))

    def count_pending():
        with db.sessions() as other:
            return len(other.scalars(pending_ingests()).all())

    def meanwhile(work, directory, limits):
        monkeypatch.setattr(workflow, "parse_all", read)
        for _ in range(2):
            others.append(ingest_run(waiting.run_id))
            with db.sessions() as other:
                run = other.get_one(Run, waiting.run_id)
                heartbeats.append(run.heartbeat_at)
                assert run.ingest_attempts == 1
            time.sleep(0.5)
        assert count_pending() == 0
        with db.sessions() as other:  # the worker is lost
            other.execute(update(Run).values(heartbeat_at=func.now() - timedelta(minutes=5)))
            other.commit()
            assert count_pending() == 1
        others.append(ingest_run(waiting.run_id))
        read(work, directory, limits)

    monkeypatch.setattr(workflow, "parse_all", meanwhile)
    assert ingest_run(waiting.run_id) is None
    assert others == [None, None, "done"]
    assert heartbeats[0] < heartbeats[1]
    assert session.get_one(Run, waiting.run_id).ingest_attempts == 2


def test_a_stale_fence_writes_nothing(db, session, config, monkeypatch):
    waiting = runs.waiting_run(db, artifact_store(), {"loadavg": load_samples()})
    read = workflow.parse_all

    def meanwhile(work, directory, limits):
        read(work, directory, limits)
        with db.sessions() as other:
            other.execute(update(Run).values(fence=2))
            other.commit()

    monkeypatch.setattr(workflow, "parse_all", meanwhile)
    assert ingest_run(waiting.run_id) is None
    assert counted(session, waiting.run_id)["series_chunk"] == 0
    assert session.get_one(Run, waiting.run_id).state == "ingesting"


def test_hostile_texts_are_kept_but_storable(db, session, config):
    name = "e\x00vil\x1b[31m<script>" + "x" * 9000
    meminfo = f"MemTotal: 100 kB\nMemFree: 50 kB\nMemAvailable: 60 kB\n{name}: 1 kB\n"
    parts = {"meminfo": {"samples": runs.sampled("/proc/meminfo", [meminfo] * 3, BOOT)}}
    waiting = runs.waiting_run(db, artifact_store(), parts, clock=runs.clock_now(BOOT, T0))
    assert ingest_run(waiting.run_id) in {"done", "partial", "failed"}
    for item in session.scalars(select(SeriesChunk)):
        assert len(json.dumps(item.labels)) < 20_000
