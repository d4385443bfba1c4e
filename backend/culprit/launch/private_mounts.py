"""Run a command that sees a few files of its own: `python -IS private_mounts.py [OPTIONS] -- COMMAND…`.

    --file SOURCE TARGET     SOURCE is seen at TARGET
    --run DIRECTORY NAME     /run as it is, plus an empty directory NAME, made in DIRECTORY

All mounts are in a mount namespace of the command alone: the machine keeps its files, and later mounts of the
machine still come through. Made for an sshd that was unpacked and not installed: it wants a user `sshd` in
passwd and a directory /run/sshd.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
RUN = Path("/run")
DEEPEST = 64  # directories that a chroot may lie deep

libc = ctypes.CDLL(None, use_errno=True)


def call(result: int, what: str) -> None:
    """Raise OSError where a system call failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: Path | str, target: Path | str, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2)."""
    kind_bytes = kind.encode() if kind else None
    arguments = os.fsencode(source), os.fsencode(target), kind_bytes, ctypes.c_ulong(flags), data.encode()
    call(libc.mount(*arguments), f"mount {target}")


def own_namespace() -> None:
    """From here on mounts are ours alone; those of the machine are still passed on to us."""
    call(libc.unshare(CLONE_NEWNS), "unshare")
    try:
        mount("none", "/", None, MS_REC | MS_SLAVE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        slave_from_chroot()


def slave_from_chroot() -> None:
    """The same from within a chroot, whose / is no mount: step out to the root of our namespace and back.

    A directory above the root stays above it: `..` of a working directory outside of the root goes all the
    way up. Without this, our mounts would show on the machine wherever it shares its mounts.
    """
    inside = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.chdir("/")
    os.chroot("etc")
    for _ in range(DEEPEST):
        os.chdir("..")
    os.chroot(".")
    mount("none", "/", None, MS_REC | MS_SLAVE)
    os.fchdir(inside)
    os.chroot(".")
    os.close(inside)


def run_with(directory: Path, name: str) -> None:
    """/run becomes a file system of ours that shows each entry of the machine's /run, and `name`."""
    mount("tmpfs", directory, "tmpfs", 0, "mode=755,size=1m")
    for entry in RUN.iterdir():
        place = directory / entry.name
        if entry.is_symlink():
            place.symlink_to(entry.readlink())
            continue
        if entry.is_dir():
            place.mkdir()
        else:
            place.touch()
        mount(entry, place, None, MS_BIND | MS_REC)
    (directory / name).mkdir(mode=0o755, exist_ok=True)
    mount(directory, RUN, None, MS_BIND | MS_REC)


def main(arguments: list[str]) -> None:
    """Does not return."""
    cut = arguments.index("--")
    options, command = arguments[:cut], arguments[cut + 1 :]
    try:
        own_namespace()
        for position in range(0, len(options), 3):
            kind, first, second = options[position : position + 3]
            if kind == "--file":
                mount(first, second, None, MS_BIND)
            else:
                run_with(Path(first), second)
        os.execvp(command[0], command)  # noqa: S606 - what this program is for
    except OSError as error:
        sys.exit(f"{error.strerror or error}")


if __name__ == "__main__":
    main(sys.argv[1:])
