"""Select the user and the directories of an engine.

A database server refuses to run as root, and the user it drops to cannot enter a checkout below a 700
directory such as /root. Modes of existing directories never change; required files are copied elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path

from culprit.launcher.progress import LauncherError

STATE_ROOT = Path("/var/lib/culprit")  # only used as root, and only if the home is unreachable
SOCKET_PATH_MAX = 107  # usable bytes of sun_path, unix(7)
UNPRIVILEGED = ("postgres", "nobody")


def find_server_user() -> pwd.struct_passwd | None:
    """Return the user that a server drops to, or None if this process is not root.

    initdb needs an entry in passwd.
    """
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LauncherError(
        "running as root needs an unprivileged user: neither postgres nor nobody is in passwd"
    )


def is_reachable(path: Path, user: pwd.struct_passwd) -> bool:
    """Return whether `user` (with its own group only) can enter every directory from / down to `path`."""
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


def substitute_directory(path: Path, *, durable: bool) -> Path:
    """Return a reachable directory that replaces `path`, the same one each time."""
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    if durable:
        return STATE_ROOT / digest
    return Path(tempfile.gettempdir()) / f"culprit-{os.geteuid()}-{digest}"


def create_directory(path: Path, mode: int, user: pwd.struct_passwd | None = None) -> Path:
    """Create `path` with `mode`, owned by `user` or this user.

    Raises PermissionError if another user owns it.
    """
    path.mkdir(parents=True, exist_ok=True)
    # Use descriptors: another user could replace the path between the check and the change of owner.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise PermissionError(f"{path} belongs to another user") from error
    try:
        info = os.fstat(handle)
        if info.st_uid not in {os.geteuid()} | ({user.pw_uid} if user else set()):
            raise PermissionError(f"{path} belongs to another user")
        if user is not None:
            os.fchown(handle, user.pw_uid, user.pw_gid)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)
    return path


def create_socket_directory(user: pwd.struct_passwd | None = None) -> Path:
    """Create a short, private directory for a socket, below XDG_RUNTIME_DIR or the temporary directory."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    roots = [tempfile.gettempdir(), "/tmp", "/run"]  # noqa: S108 - mkdtemp makes it private
    if runtime and user is None:
        roots.insert(0, runtime)
    for root in roots:
        if len(os.fsencode(root)) <= 64 and os.access(root, os.W_OK | os.X_OK):
            return create_directory(Path(tempfile.mkdtemp(prefix="culprit-", dir=root)), 0o700, user)
    raise LauncherError("no short directory for sockets: set XDG_RUNTIME_DIR to a path of at most 64 bytes")


def copy_tree(source: Path, target: Path) -> None:
    """Copy a tree once, readable by all. An incomplete copy is never used."""
    if target.exists():
        return
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, symlinks=True)
    for place, _, files in os.walk(partial):
        for path in (Path(place), *(Path(place) / file for file in files)):
            mode = path.lstat().st_mode
            if not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode) | (0o555 if mode & stat.S_IXUSR else 0o444))
    partial.rename(target)
