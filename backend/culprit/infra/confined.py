"""The inside of a process that reads hostile bytes: `python -m culprit.infra.confined MODULE`.

It limits itself before anything else is imported, then imports MODULE and calls its `main(request)`. What it
was asked comes as JSON on standard input; what it found it leaves in its working directory. It has no secrets
in its environment, no network where the kernel allows to give it up, and dies with whoever started it.

Exit codes: 0 done, 70 out of memory, 71 a file grew above its limit, 72 a bug (the traceback is on stderr).
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import resource
import signal
import sys
import traceback
from typing import Any

OUT_OF_MEMORY = 70
FILE_TOO_LARGE = 71
BUG = 72
OPEN_FILES = 256
_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38


def confine(limits: dict[str, int], parent: int) -> None:
    """Apply `limits` (address_space, cpu_s, file_bytes) to this process and all its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(BUG)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    for kind, value in (
        (resource.RLIMIT_AS, limits["address_space"]),
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # At the soft limit on processor time comes SIGXCPU, which tells more than SIGKILL at the hard one.
        grace = 2 if kind == resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY else 0
        resource.setrlimit(kind, (bound, bound + grace))


def main() -> int:
    """Read the order, confine, import, work."""
    order: dict[str, Any] = json.load(sys.stdin)
    confine(order["limits"], order["parent"])
    try:
        importlib.import_module(sys.argv[1]).main(order["request"])
    except MemoryError:
        return OUT_OF_MEMORY
    except OSError as error:
        traceback.print_exc()
        return FILE_TOO_LARGE if error.errno == errno.EFBIG else BUG
    return 0


if __name__ == "__main__":
    # Without the interpreter's tear-down, which may itself run out of memory.
    code = main()
    sys.stdout.flush()
    os._exit(code)
