"""Stored files are read again in the background, on a real directory and on an S3 endpoint."""

from __future__ import annotations

import errno
import random
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from culprit.evidence.retention.blob_checks import sync_checks
from culprit.infra.artifacts.blob_files import ReadCallback
from culprit.infra.artifacts.s3 import Bucket
from culprit.infra.artifacts.store import ArtifactStore, BucketStore, DirectoryStore
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.settings import Settings
from culprit.jobs.system import check_files
from culprit.jobs.system.check_files import CheckStoppedError, check_slice
from culprit.server import scheduler
from culprit.tests.support.bucket import s3
from culprit.tests.support.retention import make_old_run
from fastapi.testclient import TestClient
from obstore.exceptions import BaseError
from sqlalchemy import select, update

FAST = 1 << 40
FILES = 100
RANDOM = random.Random(7)


def make_bucket_store(url: str, directory: Path) -> BucketStore:
    bucket = Bucket(
        name="evidence", endpoint=url, region="us-east-1", access_key_id="k", secret_access_key="s"
    )
    return BucketStore(bucket, directory)


@pytest.fixture(scope="module")
def s3_endpoint() -> Iterator[str]:
    with s3("evidence") as url:
        yield url


@pytest.fixture(params=["directory", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    if request.param == "directory":
        return DirectoryStore(tmp_path / "store")
    return make_bucket_store(request.getfixturevalue("s3_endpoint"), tmp_path / "copies")


@pytest.fixture
def directory(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "directory")


def write_stored(store: ArtifactStore, sha256: str, content: bytes, scratch: Path) -> None:
    """Replace the stored bytes of a digest, as a broken disk or a person would."""
    if isinstance(store, DirectoryStore):
        place = store.objects / sha256[:2] / sha256[2:]
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.chmod(0o600)
        place.write_bytes(content)
        return
    assert isinstance(store, BucketStore)
    (scratch / "content").write_bytes(content)
    store.bucket.upload(f"objects/{sha256[:2]}/{sha256[2:]}", scratch / "content")


def store_files(db: Database, store: ArtifactStore, count: int = FILES, size: int = 3000) -> dict[str, bytes]:
    """Store artifacts of one capture, list them for checks, and make them due. Return their bytes by digest."""
    contents = {}
    with unit_of_work(db.sessions) as session:
        capture = Capture(plan="triage", state="done")
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, state="done")
        session.add(run)
        session.flush()
        for _ in range(count):
            content = RANDOM.randbytes(RANDOM.randint(8, size))
            stored = store.put([content], size)
            contents[stored.sha256] = content
            session.add(
                Artifact(
                    run_id=run.id,
                    part="stdout",
                    sha256=stored.sha256,
                    size=stored.size,
                    stored_size=stored.size,
                )
            )
    with unit_of_work(db.sessions) as session:
        sync_checks(session)
    make_due(db)
    return contents


def make_due(db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobCheck).values(checked_at=utc_now() - timedelta(days=2)))


def check_all(db: Database, store: ArtifactStore) -> int:
    total = 0
    while count := check_slice(db, store, 24, threading.Event(), FAST):
        total += count
    return total


def load_checks(db: Database) -> list[BlobCheck]:
    with db.sessions() as session:
        return list(session.scalars(select(BlobCheck)))


def load_reasons(db: Database) -> dict[str, str]:
    return {check.sha256: str(check.reason) for check in load_checks(db) if check.altered_at is not None}


def list_due(db: Database) -> set[str]:
    before = utc_now() - timedelta(days=1)
    return {check.sha256 for check in load_checks(db) if check.checked_at < before}


def test_check_is_silent_about_an_intact_store(db: Database, store: ArtifactStore) -> None:
    store_files(db, store)
    assert check_all(db, store) == FILES
    assert load_reasons(db) == {} and len(list_due(db)) == 0
    assert check_all(db, store) == 0, "each file is read once a day"


def test_check_reports_each_of_100_flipped_bits(db: Database, store: ArtifactStore, tmp_path: Path) -> None:
    for sha256, content in store_files(db, store).items():
        altered = bytearray(content)
        bit = RANDOM.randrange(8 * len(altered))
        altered[bit // 8] ^= 1 << bit % 8
        write_stored(store, sha256, altered, tmp_path)
    check_all(db, store)
    assert list(load_reasons(db).values()) == ["altered"] * FILES
    assert len(list(store.walk())) >= FILES, "nothing is deleted"


def test_check_reports_missing_and_truncated_files(
    db: Database, store: ArtifactStore, tmp_path: Path
) -> None:
    contents = store_files(db, store, 30, size=500)
    digests = list(contents)
    for sha256 in digests[:10]:
        store.delete(sha256)
    for sha256 in digests[10:20]:
        content = contents[sha256]
        write_stored(store, sha256, content[: RANDOM.randrange(len(content))], tmp_path)
    check_all(db, store)
    assert load_reasons(db) == {
        sha: "missing" if n < 10 else "truncated" for n, sha in enumerate(digests[:20])
    }


def test_check_clears_a_restored_file_within_an_hour(
    db: Database, store: ArtifactStore, tmp_path: Path
) -> None:
    contents = store_files(db, store, 3)
    first, second, _ = contents
    store.delete(first)
    write_stored(store, second, b"other", tmp_path)
    check_all(db, store)
    with db.sessions() as session:
        since = session.get_one(BlobCheck, second).altered_at
    write_stored(store, first, contents[first], tmp_path)
    assert check_all(db, store) == 0
    with unit_of_work(db.sessions) as session:
        session.execute(update(BlobCheck).values(checked_at=utc_now() - timedelta(minutes=61)))
    assert check_all(db, store) == 2, "only the marked files"
    assert list(load_reasons(db)) == [second]
    with db.sessions() as session:
        assert session.get_one(BlobCheck, second).altered_at == since, "the time of the first failure stays"
        assert session.get_one(BlobCheck, first).reason is None


class ObservedStore(DirectoryStore):
    """Record what is read, and fail after a number of files."""

    def __init__(self, root: Path, fail_after: int = 1 << 30) -> None:
        super().__init__(root)
        self.digests: list[str] = []
        self.fail_after = fail_after

    def verify(self, sha256: str, on_read: ReadCallback = lambda size: None) -> None:
        if len(self.digests) == self.fail_after:
            raise KeyboardInterrupt
        self.digests.append(sha256)
        time.sleep(0.002)
        super().verify(sha256, on_read)


def test_check_resumes_where_a_process_ended(db: Database, tmp_path: Path) -> None:
    ending = ObservedStore(tmp_path / "store", fail_after=37)
    contents = store_files(db, ending)
    with pytest.raises(KeyboardInterrupt):
        check_all(db, ending)
    assert len(list_due(db)) == FILES - 37
    following = ObservedStore(tmp_path / "store")
    assert check_all(db, following) == FILES - 37
    assert sorted([*ending.digests, *following.digests]) == sorted(contents)


def test_two_processes_share_the_files(db: Database, tmp_path: Path) -> None:
    stores = [ObservedStore(tmp_path / "store") for _ in range(2)]
    contents = store_files(db, stores[0])
    start = threading.Barrier(2)

    def run_checks(store: ObservedStore) -> None:
        start.wait()
        check_all(db, store)

    threads = [threading.Thread(target=run_checks, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.digests for store in stores)
    assert sorted(sha for store in stores for sha in store.digests) == sorted(contents), "each file once"
    assert load_reasons(db) == {}


def test_check_skips_a_file_that_another_process_reads(db: Database, directory: DirectoryStore) -> None:
    store_files(db, directory, 2)
    with db.sessions() as session:
        session.scalars(select(BlobCheck).order_by(BlobCheck.sha256).limit(1).with_for_update()).one()
        assert check_all(db, directory) == 1
    assert check_all(db, directory) == 1


def test_slice_has_a_bounded_size_and_rate(
    db: Database, directory: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = store_files(db, directory, 20, size=100_000)
    monkeypatch.setattr(check_files, "FILE_COST", 0)
    monkeypatch.setattr(check_files, "SLICE_BYTES", 200_000)
    before = list_due(db)
    began = time.monotonic()
    check_slice(db, directory, 24, threading.Event(), 1_000_000)
    seconds = time.monotonic() - began
    size = sum(len(contents[sha]) for sha in before - list_due(db))
    assert 200_000 <= size < 300_000
    assert seconds >= size / 1_000_000


def test_small_files_count_with_a_minimum_size(db: Database, directory: DirectoryStore) -> None:
    store_files(db, directory, 10, size=10)
    began = time.monotonic()
    assert check_slice(db, directory, 24, threading.Event(), 10 * check_files.FILE_COST) == 10
    assert time.monotonic() - began > 0.9


def test_check_ends_within_a_file_when_the_process_stops(db: Database, directory: DirectoryStore) -> None:
    store_files(db, directory, 3)
    stop = threading.Event()
    stop.set()
    with pytest.raises(CheckStoppedError):
        check_slice(db, directory, 24, stop, FAST)
    assert len(list_due(db)) == 3 and load_reasons(db) == {}


def test_zero_hours_switch_checks_off(db: Database, directory: DirectoryStore) -> None:
    store_files(db, directory, 1)
    assert check_slice(db, directory, 0, threading.Event(), FAST) == 0
    assert len(list_due(db)) == 1


def test_new_files_are_due_a_day_after_they_were_stored(db: Database, directory: DirectoryStore) -> None:
    store_files(db, directory, 1)
    with unit_of_work(db.sessions) as session:
        session.delete(session.scalars(select(BlobCheck)).one())
        session.flush()
        sync_checks(session)
    assert len(list_due(db)) == 0


def test_files_of_profiles_and_imports_are_checked_too(db: Database, directory: DirectoryStore) -> None:
    upload = directory.put([b"an uploaded bundle"], 100).sha256
    with unit_of_work(db.sessions) as session:
        make_old_run(session, directory, None)
        run = make_old_run(session, directory, None, source="import")
        run.spec = {"kind": "bundle", "sha256": upload}
        session.flush()
        sync_checks(session)
    make_due(db)
    assert check_all(db, directory) == 9 == len(list(directory.walk()))
    directory.delete(upload)
    make_due(db)
    check_all(db, directory)
    assert load_reasons(db) == {upload: "missing"}


def test_files_that_retention_deleted_are_not_missing(db: Database, directory: DirectoryStore) -> None:
    with unit_of_work(db.sessions) as session:
        make_old_run(session, directory, None)
        sync_checks(session)
    with unit_of_work(db.sessions) as session:
        for model in (Artifact, Profile):
            session.execute(update(model).values(removed_at=utc_now()))
    for item in list(directory.walk()):
        directory.delete(item.sha256)
    make_due(db)
    assert check_all(db, directory) == 4 and load_checks(db) == []


def test_sync_deletes_checks_of_files_that_no_row_records(db: Database, directory: DirectoryStore) -> None:
    store_files(db, directory, 2)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Artifact).values(removed_at=utc_now()))
        sync_checks(session)
    assert load_checks(db) == []


def test_store_that_does_not_answer_marks_nothing(
    db: Database, directory: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_files(db, directory, 1)

    def fail(*_: Any) -> None:
        raise BaseError("no answer")

    monkeypatch.setattr(directory, "verify", fail)
    monkeypatch.setattr(directory, "exists", fail)
    with pytest.raises(BaseError):
        check_slice(db, directory, 24, threading.Event(), FAST)
    assert load_reasons(db) == {} and len(list_due(db)) == 1


def test_file_that_cannot_be_read_is_marked(
    db: Database, directory: DirectoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sha256,) = store_files(db, directory, 1)

    def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(directory, "verify", fail)
    check_all(db, directory)
    assert load_reasons(db) == {sha256: "unreadable"}


def test_storage_and_metrics_report_altered_files_with_their_captures(
    as_: Callable[[str], TestClient], db: Database, directory: DirectoryStore
) -> None:
    admin = as_("admin")
    assert "culprit_stored_files_altered 0.0" in admin.get("/metrics").text
    sha256, *_ = store_files(db, directory, 3)
    directory.delete(sha256)
    check_all(db, directory)
    reported = admin.get("/api/v1/storage").json()["file_checks"]
    (file,) = reported.pop("altered")
    assert (reported["every_hours"], reported["files"], reported["altered_count"]) == (24, 3, 1)
    with db.sessions() as session:
        capture = session.scalars(select(Capture)).one()
    assert file["captures"] == [{"id": str(capture.id), "number": capture.number, "plan": "triage"}]
    assert (file["sha256"], file["reason"]) == (sha256, "missing") and file["altered_at"]
    requested = admin.post("/api/v1/storage/checks", json={"kind": "check"}).json()
    assert requested["file_checks"]["altered"] == [file]
    make_due(db)
    figures = admin.get("/metrics").text
    assert "culprit_stored_files_altered 1.0" in figures
    (age,) = (
        line for line in figures.splitlines() if line.startswith("culprit_stored_files_oldest_check_seconds")
    )
    assert 172_800 <= float(age.split()[1]) < 172_900


def test_scheduler_continues_after_a_failed_slice_and_stops(
    db: Database, config: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "FILE_CHECK_PAUSE_S", 0.01)
    monkeypatch.setattr(scheduler, "artifact_store", lambda: None)
    called = threading.Semaphore(0)

    def fail(*_: Any) -> int:
        called.release()
        raise ValueError("a bug")

    monkeypatch.setattr(scheduler, "check_slice", fail)
    stop = threading.Event()
    thread = threading.Thread(target=scheduler.repeat_file_checks, args=(db, stop))
    thread.start()
    assert called.acquire(timeout=10) and called.acquire(timeout=10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
