"""The code of one function is fetched on demand: a real sshd, perf and workers, and what is refused."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from culprit.evidence.disassembly import service
from culprit.evidence.disassembly.schemas import DisassemblyCreate, DisassemblyResponse
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.kill_switch import KillSwitch
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.web.errors import ConflictError, ForbiddenError
from sqlalchemy import delete, select

from collectors.parse.perf import perf_data
from collectors.profiles.samples import SampleTable

pytestmark = [
    pytest.mark.long(120),
    pytest.mark.skipif(
        not (perf_data.is_available() and shutil.which("gcc") and shutil.which("objdump")),
        reason="the native reader, gcc or objdump is not installed",
    ),
]

BUSY = """
volatile unsigned long steps;
__attribute__((noinline)) void count_busily(void) { for (int i = 0; i < 1000000; i++) steps += i; }
int main(void) { for (;;) count_busily(); }
"""


def build(folder: Path, text: str = BUSY) -> Path:
    source, program = folder / "busy.c", folder / "busy-counter"
    source.write_text(text)
    command = ["gcc", "-g", "-O1", "-fno-omit-frame-pointer", "-Wl,--build-id", "-o", program, source]
    subprocess.run(command, check=True)
    return program


@contextmanager
def process(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        try:
            yield child
        finally:
            child.kill()


class Functions:
    """Requests for functions of one profile, as endpoints make them."""

    def __init__(self, lab, host):
        self.lab = lab
        [self.run] = lab.until_runs(
            lab.capture(host, collectors=("perf_record",), seconds=2), "done", "partial"
        )
        self.profile = lab.until(self._find_profile, 90, "a profile")

    def _find_profile(self) -> Profile | None:
        with self.lab.db.sessions() as session:
            profile = session.scalar(select(Profile).where(Profile.run_id == self.run.id))
            return profile if profile and profile.state in ("ready", "failed") else None

    def open(self, function: str, module: str = "", actor=None) -> DisassemblyResponse:
        """Open a function, and return it once it is built."""
        actor = actor or self.lab.actor
        with unit_of_work(self.lab.db.sessions) as session:
            body = DisassemblyCreate(function=function, module=module)
            row = service.create_disassembly(session, actor, self.profile.id, body)
            row_id = row.id
        return self.until(row_id, lambda item: item.state in ("ready", "failed"))

    def fetch(self, opened: DisassemblyResponse, actor=None) -> DisassemblyResponse:
        """Fetch the code of a function, and return it once it is built again or the fetch failed."""
        with unit_of_work(self.lab.db.sessions) as session:
            service.request_fetch(session, actor or self.lab.actor, opened.id)
        return self.until(
            opened.id,
            lambda item: (
                item.fetch_state == "failed" or (item.fetch_state == "done" and item.state == "ready")
            ),
        )

    def until(self, row_id, condition) -> DisassemblyResponse:
        def is_there():
            with self.lab.db.sessions() as session:
                row = service.get_disassembly(session, self.lab.actor, row_id)
                response = service.build_disassembly_response(session, self.lab.actor, row)
                return response if condition(response) else None

        return self.lab.until(is_there, 60, "a disassembly")

    def forget(self) -> None:
        with unit_of_work(self.lab.db.sessions) as session:
            session.execute(delete(FunctionDisassembly))


def list_lengths(program: Path, function: str) -> list[int]:
    command = ["objdump", "-d", "--wide", f"--disassemble={function}", str(program)]
    text = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    lines = [line.split("\t") for line in text.splitlines() if line.startswith("  ")]
    return [len(line[1].split()) for line in lines]


def count_self_samples(profile: Profile, function: str) -> int:
    table = SampleTable.load(artifact_store().path(profile.store_key))
    names = table.frames.strings.all()
    leaves = table.trie.frame[table.stack]
    return sum(names[table.frames.name[frame]] == function for frame in leaves.tolist())


def test_the_code_of_a_function_is_fetched_once_and_stored(lab, tmp_path, people):
    program = build(tmp_path)
    server = lab.sshd()
    host = lab.add_host(server)
    worker = lab.worker()
    lab.worker("parse")
    with process(program):
        functions = Functions(lab, host)
        opened = functions.open("count_busily", str(program))
        assert opened.listing is not None and opened.listing.code_reason is not None
        assert opened.listing.code_reason["key"] == "disassembly.not_fetched" and opened.can_fetch
        own = count_self_samples(functions.profile, "count_busily")
        assert opened.listing.function_samples == own > 20
        assert opened.listing.samples == functions.profile.samples
        assert sum(item.samples for item in opened.listing.instructions) == own

        kernel = next(name for name in list_kernel_leaves(functions.profile))
        refused = functions.open(kernel)
        assert refused.listing is not None and refused.listing.code_reason["key"] == "disassembly.kernel"
        assert not refused.can_fetch and refused.listing.function_samples > 0

        with pytest.raises(ForbiddenError):
            functions.fetch(opened, people["viewer"].actor)
        with pytest.raises(ConflictError):
            functions.fetch(refused)
        ready = functions.fetch(opened)
    assert (ready.fetch_state, ready.fetch_failure) == ("done", None)
    listing = ready.listing
    assert listing is not None and listing.code_reason is None and not ready.can_fetch
    assert [item.length for item in listing.instructions] == list_lengths(program, "count_busily")
    assert listing.counted_samples == own
    assert listing.lines_reason is None
    assert {listing.files[item.file] for item in listing.instructions} == {str(tmp_path / "busy.c")}
    assert {item.line for item in listing.instructions} == {3}
    loop = [item for item in listing.instructions if item.target is not None]
    assert loop and all(0 <= item.target < listing.size for item in loop)
    [part] = [item.part for item in lab.artifacts(functions.run.id) if item.part.endswith(".code")]

    # The second look needs neither the host nor a worker that could reach it.
    server.process.kill()
    server.process.wait()
    worker.kill()
    functions.forget()
    again = functions.open("count_busily", str(program))
    assert again.listing is not None and again.listing.code_reason is None
    assert again.listing.instructions == listing.instructions
    assert [item.part for item in lab.artifacts(functions.run.id) if item.part.endswith(".code")] == [part]


def list_kernel_leaves(profile: Profile) -> Iterator[str]:
    table = SampleTable.load(artifact_store().path(profile.store_key))
    names = table.frames.strings.all()
    for frame in table.trie.frame[table.stack].tolist():
        if names[table.frames.module[frame]] == "[kernel.kallsyms]":
            yield names[table.frames.name[frame]]


def test_a_file_that_is_gone_or_another_is_refused(lab, tmp_path, people):
    program = build(tmp_path)
    host = lab.add_host(lab.sshd())
    lab.worker()
    lab.worker("parse")
    with process(program):
        functions = Functions(lab, host)
        opened = functions.open("count_busily", str(program))
    with unit_of_work(lab.db.sessions) as session:
        account = session.get_one(UserAccount, people["oncall"].actor.id)
        account.role = "viewer"
    refused = functions.fetch(opened)
    assert (refused.fetch_state, refused.fetch_failure["key"]) == ("failed", "auth.role_too_low")
    with unit_of_work(lab.db.sessions) as session:
        session.get_one(UserAccount, people["oncall"].actor.id).role = "oncall"

    with unit_of_work(lab.db.sessions) as session:
        session.add(KillSwitch(kind="host", host_id=host, place=f"host {host}", reason="test"))
    stopped = functions.fetch(opened)
    assert (stopped.fetch_state, stopped.fetch_failure["key"]) == ("failed", "kill_switch.host")
    with unit_of_work(lab.db.sessions) as session:
        session.execute(delete(KillSwitch))

    original = program.read_bytes()
    moved = program.rename(program.with_name("moved"))
    program.write_bytes(original)
    gone = functions.fetch(opened)
    assert (gone.fetch_state, gone.fetch_failure["key"]) == ("failed", "disassembly.gone")

    moved.replace(program)
    (tmp_path / "other").mkdir()
    other = build(tmp_path / "other", BUSY + "int unused(int x) { return x * 3; }").read_bytes()
    with program.open("r+b") as stream:
        stream.write(other)
    replaced = functions.fetch(opened)
    assert replaced.fetch_state == "done" and replaced.listing is not None
    assert replaced.listing.code_reason["key"] == "disassembly.replaced" and not replaced.can_fetch


def test_profiles_without_addresses_are_refused(lab, db):
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="custom", state="done", requested_by=lab.actor.id)
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, state="done")
        session.add(run)
        session.flush()
        profile = Profile(
            run_id=run.id, kind="on_cpu", state="ready", store_key="00", source={"reader": "folded"}
        )
        session.add(profile)
        session.flush()
        with pytest.raises(ConflictError) as raised:
            service.create_disassembly(session, lab.actor, profile.id, DisassemblyCreate(function="f"))
    assert raised.value.key == "disassembly.no_addresses"
