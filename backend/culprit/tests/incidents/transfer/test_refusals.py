"""Forged, changed or hostile bundles: each is refused with one sentence, and nothing is stored."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from culprit.evidence.retention import check
from culprit.incidents.records import playbook_versions
from culprit.incidents.transfer import verdicts
from culprit.incidents.transfer.bundle.document import DOCUMENT, FORMAT, FORMAT_VERSION, MANIFEST
from culprit.incidents.transfer.imports import read_in_sandbox
from culprit.incidents.transfer.imports.write_rows import RowWriter
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.settings import get_settings as config
from culprit.tests.support.carried import changed, import_bundle, packed
from culprit.tests.support.incidents import API, BOOK
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from collectors.profiles.limits import ImportRefusedError

AT = datetime(2026, 1, 2, tzinfo=UTC).isoformat()
TEXT = b"cpu  1 2 3\n"
SHA = hashlib.sha256(TEXT).hexdigest()
NOWHERE = "00000000-0000-7000-8000-00000000dead"


def _id(n):
    return f"00000000-0000-7000-8000-{n:012x}"


def document():
    """A small one that is sound: a step that a rule refutes, a verdict with its pin, one artifact."""
    _, content, digest = playbook_versions.get_catalog_version(BOOK)
    messages = {"by": "ann", "at": AT}
    return {
        "origin": {"culprit": "0.1.0", "number": 7, "written_at": AT, "redacted": False,
                   "rules": verdicts.compute_rules_digest()},
        "incident": {"id": _id(8), "title": "slow", "symptom": {}, "severity": 2, "state": "open", "window_from": AT,
                     "window_to": None, "created_at": AT, "resolved_at": None},
        "hosts": [{"id": _id(1), "name": "web1", "scope": {}, "role": "suspect"}],
        "playbooks": [{"id": BOOK, "digest": digest, "content": content, "dismissed_reason": None, "dismissed_by": None,
                       "dismissed_at": None}],
        "hypotheses": [],
        "steps": [
            {"step": f"{BOOK}/time-wait", "host": _id(1), "run": _id(3), "verdict": "supports", "by": "rule",
             "rule": "supports", "muted": False},
            {"step": f"{BOOK}/refused", "host": _id(1), "run": None, "verdict": "supports", "by": "person",
             "rule": "not_collected", "muted": False},
        ],
        "verdicts": [{"id": _id(6), "step": f"{BOOK}/refused", "about": f"{BOOK}/exhausted", "host": None,
                      "verdict": "supports", "note": "", "pins": [_id(7)], **messages}],
        "pins": [{"id": _id(7), "kind": "line", "ref": {"artifact_id": _id(5), "lines": [1]}, "view": f"/runs/{_id(3)}",
                  "snapshot": {"collected": True, "run_id": _id(3)}, "runs": [_id(3)], "step": None, **messages}],
        "waivers": [], "outcomes": [], "fixes": [], "verifications": [], "profiles": [], "comparisons": [],
        "comments": [],
        "captures": [{"id": _id(2), "plan": "triage", "collectors": [{"id": "cpu_stat"}], "seconds": 10.0, "scope": {},
                      "reason": "", "state": "done", "created_at": AT}],
        "runs": [{"id": _id(3), "capture": _id(2), "host": _id(1), "role": "evidence", "fix": None, "step": None,
                  "state": "done", "failure": None, "failure_side": None, "boot_id": None, "clock": None,
                  "host_cpu_ms": None, "t0_ns": None, "t1_ns": None, "target": None, "started_at": AT,
                  "ended_at": AT,
                  "rule_verdicts": [{"rule": "F-NET-TIMEWAIT-PRESSURE", "state": "matched", "subjects": 1}]}],
        "collectors": [{"id": _id(4), "run": _id(3), "collector": "cpu_stat", "state": "done", "reason": None,
                        "method": "sampled", "argv": None, "exit_code": 0, "tool_version": None, "started_ns": None,
                        "ended_ns": None, "cpu_ms": None, "bytes": 11, "stderr_tail": None, "parser_version": 1}],
        "artifacts": [{"id": _id(5), "run": _id(3), "collector": _id(4), "part": "samples", "sha256": SHA,
                       "size": len(TEXT), "encoding": "identity", "media_type": "text/plain", "complete": True,
                       "attempt": 1, "left_out": None}],
    }  # fmt: skip


def bundle(change=None, **members):
    """The bundle of `document`, changed."""
    files = {DOCUMENT: json.dumps(document()).encode(), f"artifacts/{SHA}": TEXT}
    manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, "culprit": "0.1.0", "members": []}
    return changed(packed({**files, MANIFEST: json.dumps(manifest).encode()}), change, **members)


def key_of(tmp_path, data):
    """The key of the refusal, None where it is read."""
    path = tmp_path / "bundle"
    path.write_bytes(data)
    try:
        read_in_sandbox.read_bundle(path, tmp_path)
    except ImportRefusedError as refused:
        return refused.sentence.key
    return None


def put(path, value):
    """A change of the document at a path."""

    def change(result):
        for name in path[:-1]:
            result = result[name]
        result[path[-1]] = value

    return change


def twice(group):
    return lambda result: result[group].append(result[group][0])


def rounds(result):
    """The playbook branches from its first step to its first step for every verdict, with a matching digest."""
    playbook = result["playbooks"][0]
    first = playbook["content"]["steps"][0]
    first["branches"] = {"otherwise": first["id"]}
    playbook["digest"] = playbook_versions.compute_digest(playbook["content"])


def test_valid_bundle_is_accepted(tmp_path):
    assert key_of(tmp_path, bundle()) is None


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (put(["runs", 0, "capture"], NOWHERE), "dangling"),
        (put(["verdicts", 0, "pins"], [NOWHERE]), "dangling"),
        (put(["steps", 0, "step"], f"{BOOK}/nothing"), "dangling"),
        (put(["artifacts", 0, "sha256"], "ab" * 32), "dangling"),
        (put(["artifacts", 0, "left_out"], "gone"), "unused"),
        (twice("runs"), "twice"),
        (twice("steps"), "twice"),
        (put(["hosts", 0, "id"], _id(3)), "twice"),
        (put(["verdicts", 0, "pins"], []), "no_evidence"),
        (put(["pins", 0, "runs"], []), "no_evidence"),
        (put(["verdicts"], []), "no_evidence"),
        (put(["steps", 0, "run"], None), "no_evidence"),
        (put(["runs", 0, "rule_verdicts"], None), "no_evidence"),
        (put(["runs", 0, "rule_verdicts", 0, "rule"], "F-CPU-BUSY"), "no_evidence"),
        (put(["playbooks", 0, "content", "id"], "other"), "playbook"),
        (rounds, "playbook"),
        (put(["runs", 0, "clock"], {"records": 3, "server_offset_ns": {}}), None),
        (put(["incident", "title"], "a\0b"), "field"),
        (put(["incident", "title"], "\ud800"), "field"),
        (put(["runs", 0, "host_cpu_ms"], float("nan")), "field"),
        (put(["incident", "owner"], "admin"), "field"),
        (put(["pins", 0, "view"], "//evil.example/x"), "field"),
        (put(["collectors", 0, "bytes"], 1 << 80), "field"),
        (put(["artifacts", 0, "size"], 5), "altered"),
        (put(["artifacts", 0, "encoding"], "gzip"), "bomb"),
    ],
)  # fmt: skip
def test_what_does_not_hang_together_is_refused(tmp_path, change, key):
    assert key_of(tmp_path, bundle(change)) == (key and f"transfer.{key}")


@pytest.mark.parametrize(
    "name",
    [
        "../escape",
        "/etc/passwd",
        "artifacts/../../x",
        f"artifacts/{SHA}/x",
        "artifacts/x",
        "incident.json/",
        "a\\b",
    ],
)
def test_no_member_has_a_name_of_its_own_choice(tmp_path, name):
    assert key_of(tmp_path, bundle(None, **{name: b"x"})) == "transfer.member"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["bundle"]


def test_a_changed_member_is_noticed(tmp_path):
    with zipfile.ZipFile(io.BytesIO(bundle())) as archive:
        files = {item: archive.read(item) for item in archive.namelist()}
    assert key_of(tmp_path, packed({**files, f"artifacts/{SHA}": b"cpu  9 9 9\n"})) == "transfer.altered"
    assert key_of(tmp_path, packed({**files, f"artifacts/{'ab' * 32}": b"more"})) == "transfer.altered"
    less = {name: text for name, text in files.items() if not name.startswith("artifacts/")}
    assert key_of(tmp_path, packed(less)) == "transfer.altered"
    renamed = bundle(None, **{f"artifacts/{'ab' * 32}": TEXT})
    assert key_of(tmp_path, renamed) == "transfer.altered"


def test_bundle_with_oversized_member_is_refused(tmp_path, monkeypatch):
    import zlib

    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed_bomb = bomb.compress(b"\0" * (64 << 20)) + bomb.flush()
    digest = hashlib.sha256(packed_bomb).hexdigest()

    def name_it(result):
        result["artifacts"][0] |= {"sha256": digest, "encoding": "gzip", "size": 64 << 20}

    data = bundle(name_it, **{f"artifacts/{SHA}": None, f"artifacts/{digest}": packed_bomb})
    assert len(data) < 1 << 20 and key_of(tmp_path, data) == "transfer.bomb"
    monkeypatch.setattr(read_in_sandbox, "MAX_BYTES", 1000)
    assert key_of(tmp_path, bundle(None, **{f"artifacts/{'ab' * 32}": b"\0" * 5000})) == "transfer.too_large"
    monkeypatch.setattr(read_in_sandbox, "MAX_MEMBERS", 2)
    assert key_of(tmp_path, bundle()) == "transfer.too_many"


def test_unsupported_file_is_refused_with_reason(tmp_path):
    regression = packed({MANIFEST: json.dumps({"format": FORMAT, "format_version": 1}).encode()})
    newer = packed({MANIFEST: json.dumps({"format": FORMAT, "format_version": 3}).encode()})
    other = packed({MANIFEST: b"[]"})
    deep = packed({MANIFEST: b"[" * 200_000})
    for data, key in [(b"PK\3\4", "damaged"), (b"\x7fELF", "not_incident"), (b"", "not_incident"), (regression, "regression"),
                      (newer, "version"), (other, "not_incident"), (deep, "field")]:  # fmt: skip
        assert key_of(tmp_path, data) == f"transfer.{key}"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_bundle_with_changed_byte_is_refused_or_equal(tmp_path, at, byte):
    data = bytearray(bundle())
    data[int(at * len(data))] = byte
    result = key_of(tmp_path, bytes(data))
    assert result is None or result.startswith("transfer.")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True))
def test_a_file_that_was_cut_short_is_refused(tmp_path, at):
    data = bundle()
    cut = data[: int(at * len(data))]
    assert key_of(tmp_path, cut) == ("transfer.damaged" if len(cut) >= 4 else "transfer.not_incident")


def test_member_larger_than_declared_size_is_refused(tmp_path):
    """Its sizes made small in both headers: what comes out beyond them is no member."""
    data = bundle(None, **{f"artifacts/{'ab' * 32}": b"\0" * (4 << 20)})
    size = struct.pack("<I", 4 << 20)
    assert data.count(size) == 2
    assert key_of(tmp_path, data.replace(size, struct.pack("<I", 10))) == "transfer.damaged"
    assert sum(item.stat().st_size for item in tmp_path.iterdir()) < 1 << 20


def _nothing_is_there(session):
    for table in (Incident, Host, Capture):
        assert session.scalar(select(func.count()).select_from(table)) == 0
    work = config().home / "work"
    assert not work.exists() or list(work.iterdir()) == []


def test_an_import_that_is_cut_in_the_middle_leaves_no_row_and_can_be_done_again(as_, session, monkeypatch):
    """Its bytes are in the store by then, and no row names them: the next check of the store finds them."""
    client, whole = as_("investigator"), RowWriter._add_evidence

    def dies(self, incident):
        whole(self, incident)
        raise ConnectionError("the server went away")

    monkeypatch.setattr(RowWriter, "_add_evidence", dies)
    with pytest.raises(ConnectionError):
        client.post(f"{API}/incidents/import", files={"file": ("x.zip", bundle())})
    monkeypatch.setattr(RowWriter, "_add_evidence", whole)
    _nothing_is_there(session)
    assert [item.sha256 for item in artifact_store().walk()] == [SHA]
    monkeypatch.setattr(check, "MIN_AGE", timedelta(seconds=-1))
    orphans = check.check_consistency(session, artifact_store())["orphans"]
    assert [item["sha256"] for item in orphans["examples"]] == [SHA]
    assert client.post(f"{API}/incidents/import", files={"file": ("x.zip", bundle())}).status_code == 201


def test_concurrent_imports_of_same_file_create_single_incident(db, people):
    data, at_once = bundle(), Barrier(2)

    def bring_it(name):
        at_once.wait(timeout=60)
        return import_bundle(db, people[name].actor, data)

    with ThreadPoolExecutor(2) as both:
        result = list(both.map(bring_it, ("investigator", "oncall")))
    assert result[0] == result[1]


def test_a_refused_file_leaves_nothing_behind(as_, session):
    client = as_("investigator")
    data = bundle(put(["verdicts", 0, "pins"], []))
    answer = client.post(f"{API}/incidents/import", files={"file": ("x.zip", data)})
    assert (answer.status_code, answer.json()["key"]) == (422, "transfer.no_evidence")
    assert BOOK in answer.json()["params"]["step"]
    _nothing_is_there(session)
    assert list(artifact_store().walk()) == []
    assert client.post(f"{API}/incidents/import", files={"file": ("x.zip", bundle())}).status_code == 201


def test_imported_incident_is_visible_to_scoped_importer(as_):
    result = as_("scoped").post(f"{API}/incidents/import", files={"file": ("x.zip", bundle())}).json()
    reported = as_("scoped").get(f"{API}/incidents/{result['id']}").json()
    assert [host["name"] for host in reported["hosts"]] == ["web1"] and not reported["hosts"][0][
        "can_capture"
    ]
    assert [item["id"] for item in as_("scoped").get(f"{API}/incidents").json()["items"]] == [result["id"]]


def test_bundle_with_foreign_digest_reads_no_artifact(as_, session):
    """A user must not read an artifact of another host by naming its digest in a bundle."""
    secret = artifact_store().put([b"bytes of another host\n"], 1000).sha256

    def name_it(result):
        result["artifacts"][0] |= {"sha256": secret, "left_out": "gone"}
        result["pins"][0]["snapshot"]["artifacts"] = [secret]

    data = bundle(name_it, **{f"artifacts/{SHA}": None})
    result = as_("investigator").post(f"{API}/incidents/import", files={"file": ("x.zip", data)}).json()
    assert secret not in as_("investigator").get(f"{API}/incidents/{result['id']}").text
