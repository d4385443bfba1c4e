"""Files and directories that are useless once the process that created them has ended.

The creator keeps a lock while it works. The kernel releases the lock when the process ends for any reason: an
unlocked file belongs to no process, at any age, and can be deleted.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TempPath:
    """A locked temporary file or directory."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    def remove(self) -> None:
        """Delete it with its content. Repeating it changes nothing."""
        if self._lock < 0:
            return
        _delete(self.path)
        os.close(self._lock)
        self._lock = -1


def create_temp_file(path: Path) -> TempPath:
    """Create an empty file. Raises FileExistsError."""

    def make() -> Path:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return path

    return _create_locked(path.parent, make)


def create_temp_directory(parent: Path, prefix: str) -> TempPath:
    """Create an empty directory with a unique name."""
    return _create_locked(parent, lambda: Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))


def remove_abandoned(parent: Path, prefix: str, first: Callable[[Path], None] = lambda _: None) -> list[Path]:
    """Delete what no process has locked, each after `first` has processed it; keep it if that raises."""
    gone = []
    for path in sorted(parent.glob(f"{prefix}*")):
        lock = _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if lock is None:
            continue
        try:
            first(path)
            _delete(path)
            gone.append(path)
        finally:
            os.close(lock)
    return gone


def _create_locked(parent: Path, make: Callable[[], Path]) -> TempPath:
    """Create and lock.

    A new file looks abandoned until it is locked: create another one if it was deleted in between.
    """
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        path = make()
        lock = _lock(path, fcntl.LOCK_EX)
        if lock is not None:
            return TempPath(path, lock)


def _lock(path: Path, how: int) -> int | None:
    """Return a descriptor with the lock, or None if another process has it or the file no longer exists."""
    try:
        lock = os.open(path, _OPEN)
    except OSError:
        return None
    try:
        fcntl.flock(lock, how)
        if os.path.samestat(os.fstat(lock), path.stat(follow_symlinks=False)):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _delete(path: Path) -> None:
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():  # an untrusted child may have made its directories inaccessible
        path.chmod(0o700)
        for folder, names, _ in os.walk(path):
            for inner in (Path(folder, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
