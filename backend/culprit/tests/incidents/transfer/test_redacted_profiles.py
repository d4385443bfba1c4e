"""A redacted bundle has the profiles of its runs: the same numbers and stacks, without names of hosts, users and paths."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from culprit.domain.redaction.redactor import RedactionRules, Redactor
from culprit.incidents.transfer.bundle.document import DOCUMENT
from culprit.incidents.transfer.export.redact_profiles import _redact_table
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.jobs.analysis.evaluate_run import evaluate_run
from culprit.jobs.ingest.build_profile import build_profile
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support.carried import changed, import_bundle
from culprit.tests.support.incidents import API
from culprit.tests.support.runs import make_host, waiting_run
from sqlalchemy import select

from collectors.parse.perf import folded, perf_data
from collectors.profiles.samples import ControlGroups, SampleTable
from collectors.profiles.scheduling import SchedTable
from collectors.tests.recorded_profiles import source

pytestmark = pytest.mark.long(60)
HOST = "shop-db7.corp.example.com"
FIXTURES = Path(__file__).parents[5] / "collectors/tests/fixtures"
RECORDINGS = {
    "perf_record": "cpu/perf_record/debian-12-perf6.1-cpuclock",
    "perf_sched": "cpu/perf_sched/debian-12-perf6.1",
    "offcpu": "cpu/offcpu/debian-12-locks-perf",
    "pagefault_stacks": "memory/pagefault_stacks/debian-12-faults",
}
#: Bytes that no redacted bundle holds.
SECRETS = (b"shop-db7", b"corp.example", b"alice", b"/srv/acme")
#: A second event: fewer samples, a function with the name of the host, a program in a folder of a user.
SECOND = b"".join(
    b"web 7/7 [000]  4875.%d00000000:  1 cache-misses: \n\t 5000 %s (/home/alice/web)\n\t 6000 main (/srv/acme/web)\n\n"
    % (at, name)
    for at, name in ((6, b"ask_shop-db7"), (7, b"ask_shop-db7"), (8, b"insert"))
)
BUSY = """
volatile unsigned long steps;
__attribute__((noinline)) void count_busily(void) { for (int i = 0; i < 1000000; i++) steps += i; }
int main(void) { for (int i = 0; i < 400; i++) count_busily(); }
"""


def read_fixture(collector: str) -> dict[str, bytes]:
    folder = FIXTURES / RECORDINGS[collector]
    parts = {
        item.name: item.read_bytes()
        for item in folder.iterdir()
        if item.name not in {"expected.json", "how.json"}
    }
    if collector == "perf_record":
        parts["script.txt"] += b"\n" + SECOND
    if collector == "offcpu":
        parts["offcpu.folded"] += b"web;main /srv/acme/web;ask_shop-db7 1000\n"
    return parts


def record_program(tmp_path: Path) -> dict[str, dict[str, bytes]]:
    """Return perf.data of a program in a folder of a user, with its symbols as fetched."""
    folder = tmp_path / "alice"
    folder.mkdir()
    (folder / "busy.c").write_text(BUSY)
    program = folder / "shop-db7"
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, folder / "busy.c"], check=True)
    data = tmp_path / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "-g", "-N", "-B", "-o", data, program]
    subprocess.run(command, check=True, capture_output=True)
    content = data.read_bytes()
    [module] = [item for item in perf_data.list_modules(content).modules if item.path == str(program)]
    symbols = program.read_bytes()
    symbols += bytes(-len(symbols) % 4096)
    index = f"file {module.key} -\nblocks {module.key} 0 {len(symbols) // 4096}\n"
    status = b"kernel 00000000-0000-4000-8000-000000000000 1 1\n"
    return {
        "perf_record": {"perf.data": content, "status.txt": status},
        "symbols": {"index": index.encode(), f"{module.key}.blocks": symbols},
    }


def build_run(db, run_id: UUID) -> None:
    assert ingest_run(run_id) is not None
    for profile in list_profiles(db, run_id):
        if profile.state == "queued":
            assert build_profile(profile.id) == "ready"
    evaluate_run(run_id)


def list_profiles(db, run_id: UUID) -> list[Profile]:
    with db.sessions() as session:
        return list(session.scalars(select(Profile).where(Profile.run_id == run_id).order_by(Profile.id)))


def load_tables(db, run_id: UUID) -> dict[tuple[str, str], SampleTable | SchedTable]:
    load = {True: SchedTable.load, False: SampleTable.load}
    return {
        (profile.kind, profile.event): load[profile.kind == "sched"](artifact_store().path(profile.store_key))
        for profile in list_profiles(db, run_id)
    }


def export_redacted(db, client, parts) -> tuple[UUID, bytes]:
    host = make_host(db, HOST)
    run = waiting_run(db, artifact_store(), parts, host_id=host).run_id
    build_run(db, run)
    body = {"title": "slow", "hosts": [{"host_id": str(host)}], "run_ids": [str(run)]}
    incident = client.post(f"{API}/incidents", json=body).json()
    answer = client.get(f"{API}/incidents/{incident['id']}/export", params={"redacted": True})
    assert answer.status_code == 200, answer.text
    return run, answer.content


def import_run(db, actor, data: bytes) -> UUID:
    incident = import_bundle(db, actor, data)
    with db.sessions() as session:
        return session.scalars(select(IncidentRun.run_id).where(IncidentRun.incident_id == incident)).one()


def assert_no_secret(data: bytes, secrets=SECRETS) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            for secret in secrets:
                assert secret not in archive.read(name), (name, secret)


def assert_same_table(before: SampleTable | SchedTable, after: SampleTable | SchedTable) -> None:
    """All numbers are the same, and each name has one pseudonym."""
    if isinstance(before, SchedTable):
        columns = ("t_ns", "len_ns", "cpu", "task", "state", "delay_ns", "tid", "pid", "open_wait_ns")
        assert all(np.array_equal(getattr(before, name), getattr(after, name)) for name in columns)
        assert (before.events, before.lost, len(before.comm)) == (after.events, after.lost, len(after.comm))
        return
    for name in ("t_ns", "cpu", "pid", "tid", "weight", "stack", "comm"):
        assert np.array_equal(getattr(before, name), getattr(after, name)), name
    for name in ("parent", "frame", "end", "depth"):
        assert np.array_equal(getattr(before.trie, name), getattr(after.trie, name)), name
    assert np.array_equal(before.frames.name, after.frames.name)
    assert np.array_equal(before.frames.kind, after.frames.kind)
    assert (before.unit, before.total, before.has_time) == (after.unit, after.total, after.has_time)
    names = dict(zip(before.frames.strings.all(), after.frames.strings.all(), strict=True))
    changes = {old: new for old, new in names.items() if old != new}
    assert all(any(secret.decode() in old for secret in SECRETS) or "/" in old for old in changes), changes
    assert len(set(changes.values())) == len(changes)


@pytest.mark.parametrize("collector", RECORDINGS)
def test_redacted_profiles_are_the_same_elsewhere(collector, db, people, as_):
    before, data = export_redacted(db, as_("oncall"), {collector: read_fixture(collector)})
    assert_no_secret(data)
    after = import_run(db, people["oncall"].actor, data)
    build_run(db, after)
    original, imported = load_tables(db, before), load_tables(db, after)
    assert imported.keys() == original.keys() and original
    for key, table in original.items():
        assert_same_table(table, imported[key])
    if collector == "perf_record":
        [second] = [table for (_, event), table in imported.items() if event == "cache-misses"]
        assert {"ask_host-1", "insert", "main"} <= set(second.frames.strings.all())


@pytest.mark.skipif(
    not (perf_data.is_available() and shutil.which("perf") and shutil.which("gcc")),
    reason="perf, gcc or the native reader is not installed",
)
def test_a_redacted_recording_keeps_the_names_of_its_functions(db, people, as_, tmp_path):
    before, data = export_redacted(db, as_("oncall"), record_program(tmp_path))
    assert_no_secret(data, (b"shop-db7", b"alice", b"PERFILE2"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        document = json.loads(archive.read(DOCUMENT))
    left_out = {item["part"]: item["left_out"] for item in document["artifacts"]}
    assert left_out["perf.data"] == left_out["index"] == "as_profile"
    assert (left_out["on_cpu.tables"], left_out["status.txt"]) == (None, None)
    after = import_run(db, people["oncall"].actor, data)
    build_run(db, after)
    [(key, original)] = load_tables(db, before).items()
    imported = load_tables(db, after)[key]
    assert_same_table(original, imported)
    names = set(imported.frames.strings.all())
    assert "count_busily" in names and not any("alice" in name for name in names)
    [profile] = list_profiles(db, after)
    assert (profile.state, profile.weight, profile.source["reader"]) == ("ready", original.total, "tables")


@pytest.mark.parametrize("damage", ["truncated", "weights", "member"])
def test_a_forged_profile_is_refused_with_the_reason(damage, db, people, as_, tmp_path):
    _, data = export_redacted(db, as_("oncall"), {"perf_record": read_fixture("perf_record")})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        [row] = [
            item
            for item in json.loads(archive.read(DOCUMENT))["artifacts"]
            if item["part"] == "on_cpu.tables"
        ]
        tables = archive.read(f"artifacts/{row['sha256']}")
    forged = forge_tables(damage, tables, tmp_path)
    bundle = replace_artifact(data, row["sha256"], forged)
    run = import_run(db, people["oncall"].actor, bundle)
    assert ingest_run(run) is not None
    [profile] = list_profiles(db, run)
    assert build_profile(profile.id) == "failed"
    [profile] = list_profiles(db, run)
    assert profile.failure["key"] == "profile.tables_damaged"


def forge_tables(damage: str, tables: bytes, tmp_path: Path) -> bytes:
    if damage == "truncated":
        return tables[: len(tables) // 2]
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(tables)) as archive, zipfile.ZipFile(out, "w") as forged:
        if damage == "member":
            forged.writestr("../samples-0", archive.read("samples-0"))
        else:
            file = tmp_path / "samples"
            file.write_bytes(archive.read("samples-0"))
            table = SampleTable.load(file)
            object.__setattr__(table, "weight", np.full(len(table), (1 << 62) - 1, np.int64))
            table.save(file)
            forged.writestr("samples-0", file.read_bytes())
    return out.getvalue()


def replace_artifact(data: bytes, sha256: str, content: bytes) -> bytes:
    digest = hashlib.sha256(content).hexdigest()

    def rename(document):
        for artifact in document["artifacts"]:
            if artifact["sha256"] == sha256:
                artifact |= {"sha256": digest, "size": len(content)}

    return changed(data, rename, **{f"artifacts/{sha256}": None, f"artifacts/{digest}": content})


def test_control_groups_are_redacted_like_all_names():
    table = folded.parse_folded(source(b"web;main 3\n"))
    groups = ControlGroups.of({7: "/system.slice/shop-db7.service"})
    redactor = Redactor(RedactionRules(hosts=frozenset({"shop-db7"})))
    changed_table = _redact_table(redactor, replace(table, cgroups=groups))
    [name] = changed_table.cgroups.names.all()
    assert name and "shop-db7" not in name
    assert changed_table.cgroups.pid.tolist() == [7]
