"""The artifact store on a real directory and on an S3 endpoint."""

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest
from culprit.infra.artifacts.blob_files import (
    ArtifactAlteredError,
    ArtifactMissingError,
    ArtifactTooLargeError,
    read_blocks,
)
from culprit.infra.artifacts.s3 import Bucket
from culprit.infra.artifacts.store import ArtifactStore, BucketStore, DirectoryStore, StoreSpace
from culprit.infra.db.clock import utc_now
from culprit.tests.support.bucket import s3

GIB = 1 << 30


@pytest.fixture(scope="module")
def s3_endpoint():
    with s3("evidence") as url:
        yield url


@pytest.fixture(params=["directory", "bucket"])
def store(request, tmp_path) -> ArtifactStore:
    if request.param == "directory":
        return DirectoryStore(tmp_path / "store")
    bucket = Bucket(
        name="evidence",
        endpoint=request.getfixturevalue("s3_endpoint"),
        region="us-east-1",
        access_key_id="key",
        secret_access_key="secret",
    )
    return BucketStore(bucket, tmp_path / "copies", cache_bytes=100_000)


def incoming(store: ArtifactStore) -> list[Path]:
    directory = store if isinstance(store, DirectoryStore) else store.cache
    return list(directory.incoming.iterdir())


def test_bytes_come_back_under_their_own_digest(store):
    data = bytes(range(256)) * 300
    stored = store.put(iter([data[:100], b"", data[100:]]), limit=len(data))
    assert stored.sha256 == hashlib.sha256(data).hexdigest()
    assert stored.size == len(data)
    assert store.exists(stored.sha256)
    with store.open(stored.sha256) as stream:
        assert b"".join(read_blocks(stream, 1000)) == data
        stream.seek(5)
        assert stream.read(3) == data[5:8]
    assert store.path(stored.sha256).read_bytes() == data
    store.verify(stored.sha256)
    assert store.put([data], limit=len(data)) == stored
    assert incoming(store) == []


def test_too_many_bytes_leave_nothing(store):
    with pytest.raises(ArtifactTooLargeError):
        store.put(iter([b"x" * 600, b"x" * 600]), limit=1000)
    assert not store.exists(hashlib.sha256(b"x" * 600).hexdigest())
    assert incoming(store) == []


def test_a_source_that_breaks_leaves_nothing(store):
    def breaking():
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        store.put(breaking(), limit=1000)
    assert incoming(store) == []
    assert not store.exists(hashlib.sha256(b"half").hexdigest())


def test_adopting_a_file_moves_it(store, tmp_path):
    spooled = tmp_path / "spooled"
    spooled.write_bytes(b"evidence")
    digest = hashlib.sha256(b"evidence").hexdigest()
    assert store.adopt(spooled, digest).size == 8
    assert not spooled.exists()
    with store.open(digest) as stream:
        assert stream.read() == b"evidence"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n", "0" * 64])
def test_what_is_no_digest_or_not_there_is_missing(store, name):
    for check in (store.open, store.path, store.verify):
        with pytest.raises(ArtifactMissingError):
            check(name)
    assert not store.exists(name)


def test_deleting_is_final_and_repeatable(store):
    digest = store.put([b"gone"], limit=10).sha256
    store.delete(digest)
    store.delete(digest)
    assert not store.exists(digest)
    with pytest.raises(ArtifactMissingError):
        store.open(digest)


def test_what_was_stored_again_lately_is_not_deleted(store):
    stored = store.put([b"again and again"], limit=100)
    assert store.size(stored.sha256) == stored.size and store.size("0" * 64) is None
    assert stored.sha256 in {item.sha256 for item in store.walk()}
    hour = timedelta(hours=1)
    assert not store.delete_settled(stored.sha256, utc_now() - hour)
    assert store.exists(stored.sha256) and incoming(store) == []
    assert store.delete_settled(stored.sha256, utc_now() + hour)
    assert not store.exists(stored.sha256)
    assert store.delete_settled(stored.sha256, utc_now() + hour), "gone is gone"


def test_sweep_restores_blob_moved_by_dead_process(tmp_path, monkeypatch):
    store = DirectoryStore(tmp_path)
    digest = store.put([b"nearly gone"], limit=100).sha256
    store.path(digest).rename(store.incoming / f"going-{digest}")
    assert not DirectoryStore(tmp_path).exists(digest), "another process may be writing it"
    monkeypatch.setattr("culprit.infra.artifacts.store.RENAMED_S", -60.0)
    assert DirectoryStore(tmp_path).exists(digest)


def test_verify_detects_a_flipped_bit(tmp_path):
    store = DirectoryStore(tmp_path)
    digest = store.put([b"the truth, the whole truth"], limit=100).sha256
    place = store.path(digest)
    place.chmod(0o600)
    altered = bytearray(place.read_bytes())
    altered[3] ^= 1
    place.write_bytes(altered)
    with pytest.raises(ArtifactAlteredError):
        store.verify(digest)


def test_stored_files_are_read_only_and_private(tmp_path):
    store = DirectoryStore(tmp_path)
    place = store.path(store.put([b"x"], limit=1).sha256)
    assert place.stat().st_mode & 0o777 == 0o400
    assert store.objects.stat().st_mode & 0o077 == 0


def test_copies_of_a_bucket_stay_within_their_bound(s3_endpoint, tmp_path):
    bucket = Bucket(
        name="evidence", endpoint=s3_endpoint, region="us-east-1", access_key_id="k", secret_access_key="s"
    )
    store = BucketStore(bucket, tmp_path, cache_bytes=2500)
    digests = [store.put([bytes([i]) * 1000], limit=1000).sha256 for i in range(5)]
    for digest in digests:
        assert store.path(digest).stat().st_size == 1000
    copies = list(store.cache.objects.glob("*/*"))
    assert len(copies) == 2
    assert store.path(digests[0]).read_bytes() == bytes(1000)


@pytest.mark.parametrize(
    ("total", "free", "low"),
    [
        (1000 * GIB, 101 * GIB, False),
        (1000 * GIB, 99 * GIB, True),
        (40 * GIB, 6 * GIB, False),
        (40 * GIB, int(4.9 * GIB), True),
        (8 * GIB, 3 * GIB, False),
        (8 * GIB, GIB, True),
    ],
)
def test_when_the_disk_counts_as_nearly_full(total, free, low):
    assert StoreSpace(total, free).is_low is low
