"""Read stored files again, one after another, and compare length and SHA-256.

Each file is one transaction that holds the lock of its row while it reads, so that no other process reads it.
After a crash the row is as it was, and the file is read again. A file that fails is marked and never changed.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import structlog

from culprit.evidence.retention.consistency_queries import is_recorded
from culprit.infra.artifacts.blob_files import ArtifactAlteredError, ArtifactMissingError
from culprit.infra.artifacts.s3 import UNUSABLE
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.jobs.system.locks import lock_due_check

#: Maximum bytes per second that one scheduler reads for checks. A bucket ends a request after 120 s, so this must be
#: enough for the largest artifact (2 GiB).
READ_RATE = 20 << 20
#: Each file counts as this many bytes more, which limits small files to 80 per second.
FILE_COST = 256 << 10
#: Bytes of one slice. A file that begins within a slice is read to its end.
SLICE_BYTES = 64 << 20
#: An altered file is read again after this time, so that a restored file is recognized soon.
ALTERED_AGAIN = timedelta(hours=1)
log = structlog.get_logger("culprit.check_files")


class CheckStoppedError(Exception):
    """The process ends; the file was not read to its end."""


class ReadBudget:
    """Bytes that one slice has read. Adding bytes waits until the rate allows them."""

    def __init__(self, rate: int, stop: threading.Event) -> None:
        self.spent = 0
        self._rate = rate
        self._stop = stop
        self._began = time.monotonic()

    def add_bytes(self, size: int) -> None:
        """Count bytes and wait. Raises CheckStoppedError when the process ends."""
        self.spent += size
        if self._stop.wait(max(0.0, self._began + self.spent / self._rate - time.monotonic())):
            raise CheckStoppedError


def check_slice(
    db: Database, store: ArtifactStore, hours: int, stop: threading.Event, rate: int = READ_RATE
) -> int:
    """Check files that were not read within `hours`, oldest first, for one slice. Return their number."""
    if hours == 0:
        return 0
    budget = ReadBudget(rate, stop)
    count = 0
    while budget.spent < SLICE_BYTES and check_next_file(db, store, timedelta(hours=hours), budget):
        budget.add_bytes(FILE_COST)
        count += 1
    return count


def check_next_file(db: Database, store: ArtifactStore, interval: timedelta, budget: ReadBudget) -> bool:
    """Check the file that is due longest and that no other process reads. Return False if there is none."""
    with unit_of_work(db.sessions) as session:
        check = lock_due_check(session, utc_now() - interval, utc_now() - ALTERED_AGAIN)
        if check is None:
            return False
        reason = find_alteration(store, check, budget)
        if reason is not None and not is_recorded(session, check):
            session.delete(check)  # deleted or built again since the last measurement
            return True
        _record_result(check, reason)
        return True


def find_alteration(store: ArtifactStore, check: BlobCheck, budget: ReadBudget) -> str | None:
    """Read a file; return why it does not match, or None. Record its size where no row did.

    Raises an error of the store if it does not answer at all: then nothing is known about the file.
    """
    size = 0

    def count_read(block: int) -> None:
        nonlocal size
        size += block
        budget.add_bytes(block)

    try:
        store.verify(check.sha256, count_read)
    except (ArtifactMissingError, FileNotFoundError):
        return "missing"
    except ArtifactAlteredError:
        return "truncated" if check.size is not None and size < check.size else "altered"
    except (OSError, *UNUSABLE):
        store.exists(check.sha256)
        return "unreadable"
    check.size = size
    return None


def _record_result(check: BlobCheck, reason: str | None) -> None:
    now = utc_now()
    check.checked_at = now
    if reason is not None and check.altered_at is None:
        check.altered_at = now
        log.error("stored_file_altered", sha256=check.sha256, reason=reason)
    elif reason is None and check.altered_at is not None:
        check.altered_at = None
        log.info("stored_file_restored", sha256=check.sha256)
    check.reason = reason
