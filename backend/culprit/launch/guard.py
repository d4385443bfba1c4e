"""Become another program that dies with its parent: `python -IS guard.py OPTIONS -- COMMAND…`.

The kernel's parent-death signal is cleared by a change of user and by executing a set-user-id file, and it
watches the *thread* that forked. So the order here is: new session is the caller's business, private mounts,
drop the user, ask for the signal, look whether the parent has died meanwhile, execute. Whoever starts a guard
must do so from a thread that lives as long as itself (see children.py).

Runs as a file with nothing imported from the product, so that it starts within some 20 ms.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
EXIT_NOT_STARTED = 127


def die_with_parent(signal_number: int, parent: int) -> None:
    """Ask for `signal_number` at the parent's death; exit at once where `parent` is dead already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        sys.exit(EXIT_NOT_STARTED)


def drop(uid: int, gid: int) -> None:
    """Give up root for good: groups first, then group, then user."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def main(arguments: list[str]) -> None:
    """`--parent PID --signal N [--user UID:GID] -- COMMAND…`; does not return."""
    cut = arguments.index("--")
    options = dict(zip(arguments[:cut:2], arguments[1:cut:2], strict=True))
    command = arguments[cut + 1 :]
    if "--user" in options:
        uid, gid = (int(part) for part in options["--user"].split(":"))
        drop(uid, gid)
    die_with_parent(int(options["--signal"]), int(options["--parent"]))
    try:
        os.execvp(command[0], command)  # noqa: S606 - what this program is for
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(EXIT_NOT_STARTED)


if __name__ == "__main__":
    main(sys.argv[1:])
