"""Symbols of stripped programs come from debuginfod servers: a real recording, a real HTTP server, the real sandbox."""

from __future__ import annotations

import subprocess
import time
from datetime import timedelta

import pytest
from culprit.domain.profiles import debug_files
from culprit.evidence.symbols import debuginfod_queries
from culprit.evidence.symbols.debug_search import SearchLimits
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.debug_file import DebugFile
from culprit.infra.models.evidence.debuginfod_server import DebuginfodServer
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.jobs.ingest import fetch_debug_files as job
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import debuginfod
from culprit.tests.support.web import free_port, reply, web
from sqlalchemy import delete, select, update

from collectors.parse.perf import perf_data
from collectors.profiles.samples import SampleTable
from collectors.runner.symbols import name_debug_key

pytestmark = [
    pytest.mark.long(60),
    pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not installed"),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return debuginfod.build_program(tmp_path_factory.mktemp("program"))


@pytest.fixture(scope="module")
def recording(program, tmp_path_factory):
    return debuginfod.record_program(program, tmp_path_factory.mktemp("recording"))


@pytest.fixture
def add_run(db, parsed_here, program, recording):
    """Return a function that adds a run of a new host, and parses it."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    hosts = iter(range(100))

    def add():
        run = debuginfod.add_run(db, artifact_store(), program, recording, f"web{next(hosts)}")
        assert ingest_run(run.run_id) == "done"
        return run

    return add


def allow(db, *urls):
    with unit_of_work(db.sessions) as session:
        for url in urls:
            session.add(DebuginfodServer(url=url))
            session.flush()


def load_collector(db, run):
    with db.sessions() as session:
        query = select(RunCollector).where(
            RunCollector.run_id == run.run_id, RunCollector.collector == debug_files.ID
        )
        return session.scalar(query)


def list_answers(db, run):
    with db.sessions() as session:
        query = select(ResultTable.rows).where(
            ResultTable.run_id == run.run_id, ResultTable.kind == debug_files.TABLE
        )
        return [row for rows in session.scalars(query) for row in rows]


def build(db, run) -> tuple[set[str], dict[str, str]]:
    """Build the profile of a run. Return the names of its functions, and the reason of each module without names."""
    with db.sessions() as session:
        profile_id = session.scalar(select(Profile.id).where(Profile.run_id == run.run_id))
    assert build_profile(profile_id) == "ready"
    with db.sessions() as session:
        profile = session.get_one(Profile, profile_id)
    names = set(SampleTable.load(artifact_store().path(profile.store_key)).frames.strings.all())
    return names, {item["module"]: item["reason"]["key"] for item in profile.naming["unnamed"]}


def test_without_a_server_nothing_is_planned_or_sent(db, add_run, program):
    run = add_run()
    assert load_collector(db, run) is None
    assert job.fetch_debug_files(run.run_id) is None
    names, reasons = build(db, run)
    assert debuginfod.FUNCTION not in names
    assert reasons[str(program.path)] == "naming.stripped"


def test_a_server_names_functions_and_is_requested_once_for_all_hosts(db, add_run, program, recording):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        first = add_run()
        with db.sessions() as session:
            profile_id = session.scalar(select(Profile.id).where(Profile.run_id == first.run_id))
        assert build_profile(profile_id) is None, "the profile waits for its symbols"
        assert job.fetch_debug_files(first.run_id) == "done"
        assert server.requests == [(program.request, None)]
        assert list_answers(db, first) == [[recording.key, program.build_id, "file", server.url]]
        names, reasons = build(db, first)
        assert debuginfod.FUNCTION in names
        assert str(program.path) not in reasons
        second = add_run()
        assert job.fetch_debug_files(second.run_id) == "done"
        assert debuginfod.FUNCTION in build(db, second)[0]
        assert len(server.requests) == 1
    with db.sessions() as session:
        parts = session.scalars(
            select(Artifact).where(Artifact.part == f"{recording.key}-debug.blocks")
        ).all()
        assert {part.run_id for part in parts} == {first.run_id, second.run_id}
        assert len({part.sha256 for part in parts}) == 1
        assert parts[0].size < program.debug.stat().st_size, "debugging information is not kept"
        [stored] = session.scalars(select(DebugFile))
        assert (stored.build_id, stored.state) == (program.build_id, "file")


def test_a_removed_server_is_not_used_any_more(db, add_run, program):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        first = add_run()
        job.fetch_debug_files(first.run_id)
        with unit_of_work(db.sessions) as session:
            session.execute(delete(DebuginfodServer))
        second = add_run()
        assert load_collector(db, second) is None
        assert build(db, second)[1][str(program.path)] == "naming.stripped"
        assert debuginfod.FUNCTION in build(db, first)[0], "the run keeps its own parts"
        assert len(server.requests) == 1


def test_deleted_symbols_are_requested_again(db, add_run, program):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        first = add_run()
        job.fetch_debug_files(first.run_id)
        with unit_of_work(db.sessions) as session:
            session.execute(
                update(Artifact).where(Artifact.run_id == first.run_id).values(removed_at=utc_now())
            )
        second = add_run()
        job.fetch_debug_files(second.run_id)
        assert debuginfod.FUNCTION in build(db, second)[0]
        assert len(server.requests) == 2


def test_a_missing_file_is_requested_again_after_a_day(db, add_run, program):
    with web(reply(404, b"not found")) as server:
        allow(db, server.url)
        for _ in range(2):
            run = add_run()
            assert job.fetch_debug_files(run.run_id) == "done"
            assert build(db, run)[1][str(program.path)] == "naming.debug_absent"
        assert server.requests == [(program.request, None)]
        day = debuginfod_queries.ABSENT_FOR + timedelta(minutes=1)
        with unit_of_work(db.sessions) as session:
            session.execute(update(DebugFile).values(checked_at=utc_now() - day))
        job.fetch_debug_files(add_run().run_id)
        assert len(server.requests) == 2


def drip(handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"\x7f")
        handler.wfile.flush()
        time.sleep(0.2)


def cut(handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"\x7fELF")


def flood(handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(bytes(1 << 16))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (drip, "outgoing.timeout"),
        (cut, "outgoing.garbled"),
        (reply(500, b""), "outgoing.status"),
        (reply(200, b"no program"), "naming.debug_unreadable"),
        (reply(200, b"\x7fELF\x02\x01" + bytes(200)), "naming.debug_unreadable"),
        (reply(200, bytes(3 << 20)), "naming.debug_too_large"),
        (flood, "naming.debug_too_large"),
    ],
    ids=["slow", "cut", "status", "text", "damaged", "large", "endless"],
)
def test_a_bad_answer_costs_the_names_and_not_the_profile(db, add_run, program, monkeypatch, answer, reason):
    monkeypatch.setattr(job, "SEARCH", SearchLimits(request_s=1.5, file_bytes=2 << 20))
    with web(answer) as server:
        allow(db, server.url)
        run = add_run()
        state = job.fetch_debug_files(run.run_id)
        names, reasons = build(db, run)
        assert reasons[str(program.path)] == reason
        assert debuginfod.FUNCTION not in names
        assert state == ("failed" if reason.startswith("outgoing.") else "done")
        assert load_collector(db, run).state == state
        job.fetch_debug_files(add_run().run_id)
        # What a server refused is known for a day. A failure is not: the next run requests it again.
        assert len(server.requests) == (2 if state == "failed" else 1)


def test_symbols_of_another_build_are_not_used(db, add_run, program, tmp_path):
    other = debuginfod.build_program(tmp_path, "other", "-DOTHER", "-O0")
    assert other.build_id != program.build_id
    with web(debuginfod.publish({program.request: other.debug.read_bytes()})) as server:
        allow(db, server.url)
        run = add_run()
        job.fetch_debug_files(run.run_id)
        names, reasons = build(db, run)
    assert reasons[str(program.path)] == "naming.debug_mismatch"
    assert debuginfod.FUNCTION not in names


def test_a_host_that_claims_a_build_id_names_no_functions_of_others(
    db, add_run, program, recording, tmp_path
):
    options = ("-Dcount_busily=forged_name", f"-Wl,--build-id=0x{program.build_id}")
    forged = debuginfod.build_program(tmp_path, "forged", *options)
    assert forged.build_id == program.build_id
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        hostile = debuginfod.add_run(db, artifact_store(), program, recording, "hostile")
        key = name_debug_key(recording.key)
        debuginfod.add_file(db, artifact_store(), hostile, key, forged.debug.read_bytes())
        assert ingest_run(hostile.run_id) == "done"
        assert load_collector(db, hostile) is None, "this host has debugging symbols"
        assert "forged_name" in build(db, hostile)[0]
        run = add_run()
        job.fetch_debug_files(run.run_id)
        names, _ = build(db, run)
    assert debuginfod.FUNCTION in names
    assert "forged_name" not in names


def test_a_debugging_file_without_a_symbol_table_is_not_stored(db, add_run, program, tmp_path):
    bare = tmp_path / "bare.debug"
    subprocess.run(["objcopy", "--strip-all", program.path, bare], check=True)
    with web(debuginfod.publish({program.request: bare.read_bytes()})) as server:
        allow(db, server.url)
        run = add_run()
        job.fetch_debug_files(run.run_id)
        assert list_answers(db, run)[0][2] == "no_symbols"
        assert build(db, run)[1][str(program.path)] == "naming.debug_absent"


def test_a_redirect_to_a_private_address_is_not_followed(db, add_run, program):
    with web(reply(200, program.debug.read_bytes())) as private:
        redirect = reply(302, b"", Location=f"{private.url}{program.request}")
        with web(redirect) as server:
            allow(db, server.url)
            run = add_run()
            assert job.fetch_debug_files(run.run_id) == "failed"
            assert build(db, run)[1][str(program.path)] == "outgoing.redirect"
            assert (len(server.requests), private.requests) == (1, [])


def test_an_address_that_is_no_longer_allowed_is_not_contacted(db, add_run, program):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        run = add_run()
        with unit_of_work(db.sessions) as session:
            session.execute(delete(NetworkRule))
            # A wide rule does not include loopback.
            session.add(NetworkRule(cidr="0.0.0.0/0", port_from=1, port_to=65535))
        assert job.fetch_debug_files(run.run_id) == "failed"
        assert build(db, run)[1][str(program.path)] == "outgoing.not_allowed"
        assert server.requests == []


def test_the_next_server_is_requested_if_the_first_is_down(db, add_run, program):
    with debuginfod.debuginfod(program) as server:
        allow(db, f"http://127.0.0.1:{free_port()}", f"{server.url}/mirror", server.url)
        run = add_run()
        assert job.fetch_debug_files(run.run_id) == "failed"
        assert load_collector(db, run).reason["key"] == "outgoing.unreachable"
        assert debuginfod.FUNCTION in build(db, run)[0]
        assert [path for path, _ in server.requests] == [f"/mirror{program.request}", program.request]


def test_a_lost_worker_does_not_hold_the_profile_back(db, add_run, program):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        run = add_run()
        with unit_of_work(db.sessions) as session:
            session.execute(
                update(RunCollector)
                .where(RunCollector.run_id == run.run_id, RunCollector.collector == debug_files.ID)
                .values(state="running", started_ns=time.time_ns() - 400 * 10**9)
            )
        with db.sessions() as session:
            assert list(session.scalars(job.JOB.pending())) == [run.run_id]
        assert job.fetch_debug_files(run.run_id) == "failed"
        assert build(db, run)[1][str(program.path)] == "ingest.worker_died"
        assert server.requests == []


def test_a_program_with_symbols_is_not_requested(db, add_run, program, recording):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        run = debuginfod.add_run(
            db, artifact_store(), program, recording, "own", file=program.whole.read_bytes()
        )
        assert ingest_run(run.run_id) == "done"
        assert job.fetch_debug_files(run.run_id) == "done"
        assert server.requests == [] and list_answers(db, run) == []
        assert debuginfod.FUNCTION in build(db, run)[0]


def test_a_file_of_a_host_that_is_no_program_is_not_requested(db, add_run, program, recording):
    with debuginfod.debuginfod(program) as server:
        allow(db, server.url)
        run = debuginfod.add_run(db, artifact_store(), program, recording, "own", file=b"\x7fELF" + bytes(99))
        assert ingest_run(run.run_id) == "done"
        assert job.fetch_debug_files(run.run_id) == "done"
        assert server.requests == []
        assert debuginfod.FUNCTION not in build(db, run)[0]
