"""Files and directories that are worth nothing once the process is gone that made them.

Whoever makes one keeps it locked for as long as it is at work. The kernel opens the lock when the process ends, however
that comes about: what can be locked by somebody else belongs to nobody, whatever its age, and may be removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Held:
    """One of them, in our hands."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    def remove(self) -> None:
        """It goes, with all that is in it; a second time does nothing."""
        if self._lock < 0:
            return
        _delete(self.path)
        os.close(self._lock)
        self._lock = -1


def new_file(path: Path) -> Held:
    """An empty file. Raises FileExistsError."""

    def make() -> Path:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return path

    return _made(path.parent, make)


def new_directory(parent: Path, prefix: str) -> Held:
    """An empty directory with a name of its own."""
    return _made(parent, lambda: Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))


def remove_abandoned(parent: Path, prefix: str, first: Callable[[Path], None] = lambda _: None) -> list[Path]:
    """Removes what nobody holds any more, each after `first` was done with it; stays where that raises."""
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


def _made(parent: Path, make: Callable[[], Path]) -> Held:
    """Between being made and being held, what is new looks abandoned: whoever is robbed in between makes another."""
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        path = make()
        lock = _lock(path, fcntl.LOCK_EX)
        if lock is not None:
            return Held(path, lock)


def _lock(path: Path, how: int) -> int | None:
    """A descriptor with the lock; None where somebody else has it, or where it is not there any more."""
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
    if path.exists():  # a child that we do not trust may have closed directories of its own
        path.chmod(0o700)
        for folder, names, _ in os.walk(path):
            for inner in (Path(folder, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
