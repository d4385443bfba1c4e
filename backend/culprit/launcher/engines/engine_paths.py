"""Where an engine may live: who it runs as, and directories that this user can reach.

A database server refuses to run as root, and a checkout below a 700 directory (such as /root) is closed to
whoever it drops to. Modes of existing directories are never changed; what is needed is copied elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

STATE_ROOT = Path("/var/lib/culprit")  # only ever used as root, and only where the home is unreachable
SOCKET_PATH_MAX = 107  # bytes of sun_path that are usable, unix(7)
UNPRIVILEGED = ("postgres", "nobody")


def dropped_user() -> pwd.struct_passwd | None:
    """The user that a server drops to, None where we are not root. initdb needs an entry in passwd."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("running as root needs an unprivileged user: neither postgres nor nobody is in passwd")


def reachable(path: Path, user: pwd.struct_passwd) -> bool:
    """Whether `user` (in its own group only) may pass every directory from / down to `path`."""
    resolved = path.resolve()
    for place in (resolved, *resolved.parents):
        if not place.exists():
            continue
        info = place.stat()
        if info.st_uid == user.pw_uid:
            allowed = info.st_mode & stat.S_IXUSR
        elif info.st_gid == user.pw_gid:
            allowed = info.st_mode & stat.S_IXGRP
        else:
            allowed = info.st_mode & stat.S_IXOTH
        if not allowed:
            return False
    return True


def elsewhere(path: Path, *, durable: bool) -> Path:
    """A directory outside `path`'s closed parents that stands for it; the same one each time."""
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    if durable:
        return STATE_ROOT / digest
    return Path(tempfile.gettempdir()) / f"culprit-{os.geteuid()}-{digest}"


def own_directory(path: Path, mode: int, user: pwd.struct_passwd | None = None) -> Path:
    """Make `path` with `mode`, owned by `user` or us. Raises PermissionError where it is someone else's."""
    path.mkdir(parents=True, exist_ok=True)
    # By descriptor: another user may replace the path between a check and a change of owner.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise PermissionError(f"{path} belongs to someone else") from error
    try:
        info = os.fstat(handle)
        if info.st_uid not in {os.geteuid()} | ({user.pw_uid} if user else set()):
            raise PermissionError(f"{path} belongs to someone else")
        if user is not None:
            os.fchown(handle, user.pw_uid, user.pw_gid)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)
    return path


def socket_directory(user: pwd.struct_passwd | None = None) -> Path:
    """A fresh, short, private directory for a socket, under XDG_RUNTIME_DIR or the temporary directory."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    roots = [tempfile.gettempdir(), "/tmp", "/run"]  # noqa: S108 - mkdtemp makes it private
    if runtime and user is None:
        roots.insert(0, runtime)
    for root in roots:
        if len(os.fsencode(root)) <= 64 and os.access(root, os.W_OK | os.X_OK):
            return own_directory(Path(tempfile.mkdtemp(prefix="culprit-", dir=root)), 0o700, user)
    raise RuntimeError("no short directory for sockets: set XDG_RUNTIME_DIR to one of at most 64 bytes")


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree once, readable by all; an unfinished copy is never taken for a whole one."""
    if target.exists():
        return
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, symlinks=True)
    for place, _, files in os.walk(partial):
        for found in (Path(place), *(Path(place) / file for file in files)):
            mode = found.lstat().st_mode
            if not stat.S_ISLNK(mode):
                found.chmod(stat.S_IMODE(mode) | (0o555 if mode & stat.S_IXUSR else 0o444))
    partial.rename(target)
