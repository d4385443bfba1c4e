"""Functions are named by the server: a real sshd, perf and workers; what the host sends is its perf.data and symbols."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.evidence.debuginfod_server import DebuginfodServer
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.symbol_file import SymbolFile
from culprit.tests.support import debuginfod
from sqlalchemy import select

from collectors.parse.perf import perf_data
from collectors.profiles.samples import SampleTable
from collectors.tests.support import find_node

pytestmark = [
    pytest.mark.long(240),
    pytest.mark.skipif(not perf_data.is_available(), reason="the native reader is not installed"),
]

BUSY = """
volatile unsigned long steps;
__attribute__((noinline)) void count_busily(void) { for (int i = 0; i < 1000000; i++) steps += i; }
int main(void) { for (;;) count_busily(); }
"""


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    source, program = tmp_path / "busy.c", tmp_path / "busy-counter"
    source.write_text(BUSY)
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, source], check=True)
    return program


@contextmanager
def process(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            yield child
        finally:
            child.kill()


def record(lab, host, collector="perf_record", scope=None):
    """Capture stacks of the host, and return the run and its profile once it is built."""
    capture = lab.capture(host, collectors=(collector,), seconds=2, scope=scope)
    [run] = lab.until_runs(capture, "done", "failed", "partial")

    def built():
        with lab.db.sessions() as session:
            # A recording of context switches also has a profile with the scheduler events.
            query = select(Profile).where(Profile.run_id == run.id, Profile.kind != "sched")
            profile = session.scalar(query)
            return profile if profile and profile.state in ("ready", "failed") else None

    return run, lab.until(built, 90, "a profile")


def load_table(profile: Profile) -> SampleTable:
    assert profile.store_key is not None, profile.failure
    return SampleTable.load(artifact_store().path(profile.store_key))


def list_frames(table: SampleTable) -> set[tuple[str, str]]:
    """Return the functions and their modules."""
    text = table.frames.strings.all()
    return {
        (text[name], text[module])
        for name, module in zip(table.frames.name, table.frames.module, strict=True)
    }


def symbols_of(lab, run):
    return lab.collectors(run.id)["symbols"].id


def unnamed(profile: Profile) -> dict[str, str]:
    return {item["module"]: item["reason"]["key"] for item in profile.naming["unnamed"]}


def list_symbol_files(lab) -> dict[str, SymbolFile]:
    with lab.db.sessions() as session:
        return {file.key: file for file in session.scalars(select(SymbolFile))}


def test_the_server_names_functions_and_fetches_each_file_once(lab, busy):
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    with process(busy):
        run, profile = record(lab, host)
        assert run.state == "done"
        functions = list_frames(load_table(profile))
        assert ("count_busily", str(busy)) in functions
        assert "[kernel.kallsyms]" in {module for _, module in functions}
        parts = {artifact.part for artifact in lab.artifacts(run.id)}
        assert {"perf.data", "kallsyms", "index"} <= parts and "script.txt" not in parts
        fetch = lab.collectors(run.id)["symbols"]
        assert (fetch.state, fetch.reason) == ("done", None)
        first = list_symbol_files(lab)
        assert any(key.startswith("kernel ") for key in first)
        again, profile = record(lab, host)
        assert ("count_busily", str(busy)) in list_frames(load_table(profile))
        # The second run has the same symbols as parts of its own, of which the host sent none.
        sent = {
            artifact.part
            for artifact in lab.artifacts(again.id)
            if artifact.run_collector_id != symbols_of(lab, again)
        }
        assert not {"kallsyms", "script.txt"} & sent
        assert {"known", "kallsyms"} <= {artifact.part for artifact in lab.artifacts(again.id)}
        assert {key: file.artifact_id for key, file in first.items()}.items() <= {
            key: file.artifact_id for key, file in list_symbol_files(lab).items()
        }.items()


def test_a_stripped_program_has_modules_and_offsets_with_the_reason(lab, busy):
    subprocess.run(["strip", busy], check=True)
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    with process(busy):
        _, profile = record(lab, host)
    own = {name for name, module in list_frames(load_table(profile)) if module == str(busy)}
    assert own and all(name.startswith(f"{busy.name}+0x") for name in own)
    assert unnamed(profile)[str(busy)] == "naming.stripped"


def test_a_stripped_program_is_named_by_a_debuginfod_server(lab, tmp_path):
    program = debuginfod.build_program(tmp_path)
    host = lab.add_host(lab.sshd())
    with debuginfod.debuginfod(program) as server:
        with unit_of_work(lab.db.sessions) as session:
            session.add(DebuginfodServer(url=server.url))
        lab.worker()
        lab.worker("parse")
        with process(program.path):
            run, profile = record(lab, host)
            assert (debuginfod.FUNCTION, str(program.path)) in list_frames(load_table(profile))
            assert str(program.path) not in unnamed(profile)
            fetch = lab.collectors(run.id)["debug_files"]
            assert (fetch.state, fetch.method, fetch.reason) == ("done", "debuginfod", None)
            requests = [path for path, _ in server.requests]
            assert requests.count(program.request) == 1
            assert all(re.fullmatch("/buildid/[0-9a-f]{40}/debuginfo", path) for path in requests)
            _, profile = record(lab, host)
            assert (debuginfod.FUNCTION, str(program.path)) in list_frames(load_table(profile))
            paths = [path for path, _ in server.requests]
            assert len(set(paths)) == len(paths), "each build ID is requested once"


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_generated_code_is_named_by_the_map_of_its_compiler(lab, tmp_path):
    script = "function countBusily() { let s = 0; for (let i = 0; i < 1e6; i++) s += i % 7; return s } for (;;) countBusily()"
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    node = find_node()
    writes_map = (node, "--perf-basic-prof", f"--logfile={tmp_path / 'v8.log'}", "-e", script)
    with process(*writes_map) as mapped, process(node, "-e", script) as plain:
        compiled = Path(f"/tmp/perf-{mapped.pid}.map")
        deadline = time.monotonic() + 60
        while not (compiled.exists() and "*countBusily" in compiled.read_text(errors="replace")):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        run, profile = record(lab, host)
    frames = list_frames(load_table(profile))
    fetch = lab.collectors(run.id)["symbols"]
    of_map = {name for name, module in frames if str(mapped.pid) in module}
    assert any("countBusily" in name for name in of_map), (
        fetch.state,
        fetch.reason,
        unnamed(profile),
        of_map,
    )
    assert unnamed(profile)[f"/tmp/perf-{plain.pid}.map"] == "naming.generated"
    compiled.unlink()


def test_a_host_that_cannot_be_reached_again_does_not_lose_its_profile(lab, busy):
    server = lab.sshd()
    host = lab.add_host(server)
    lab.worker()
    with process(busy):
        [run] = lab.until_runs(lab.capture(host, collectors=("perf_record",), seconds=2), "ingesting")
        server.process.kill()
        server.process.wait()
        lab.worker("parse")

        def built():
            with lab.db.sessions() as session:
                profile = session.scalar(select(Profile).where(Profile.run_id == run.id))
                return profile if profile and profile.state == "ready" else None

        profile = lab.until(built, 90, "a profile")
    assert lab.collectors(run.id)["symbols"].state == "failed"
    assert unnamed(profile)[str(busy)] == "ssh.refused"
    assert "[kernel.kallsyms]" in {module for _, module in list_frames(load_table(profile))}


def test_waits_of_a_process_are_named_with_who_ended_them(lab):
    """A shell that waits for its children, which sleep: it is blocked, and the end of each child wakes it."""
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    with process("sh", "-c", "while :; do sleep 0.05; done") as waiting:
        run, profile = record(lab, host, "offcpu", {"kind": "process", "value": str(waiting.pid)})
    assert lab.collectors(run.id)["offcpu"].method == "perf"
    table = load_table(profile)
    assert (profile.unit, set(table.pid)) == ("ns", {waiting.pid})
    names = set(table.frames.strings.all())
    assert {"blocked", "woken by", "do_wait", "sleep"} <= names


def test_a_process_that_slept_all_along_has_no_waits(lab):
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    with process("sleep", "60") as asleep:
        run, profile = record(lab, host, "offcpu", {"kind": "process", "value": str(asleep.pid)})
    assert lab.collectors(run.id)["offcpu"].state == "done"
    assert (profile.state, profile.failure["key"]) == ("failed", "profile.no_waits")
