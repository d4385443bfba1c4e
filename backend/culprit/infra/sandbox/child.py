"""Child process that parses untrusted bytes: `python -P -s -m culprit.infra.sandbox.child MODULE`.

It limits itself before other imports, then imports MODULE and calls its `main(request)`. The request is JSON
on standard input; results are files in its working directory. Before MODULE is imported the process gives up
its rights: it can read the code and the named inputs and write its working directory. It has no network, no
capability, no access to other processes and only the system calls that parsers need. See
`culprit.infra.sandbox.confinement` for the mechanisms. It dies with its parent.

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
import stat
import struct
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from culprit.infra.sandbox import confinement, inputs, landlock, launcher, seccomp

OUT_OF_MEMORY = 70
FILE_TOO_LARGE = 71
BUG = 72
OPEN_FILES = 256
_CLONE_NEWNET = 0x40000000
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES_VERSION = 0x20080522
#: Root may have its checkout in a directory that other accounts cannot enter; Landlock limits what is read.
_CAP_DAC_READ_SEARCH = 2
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/os-release", "/usr/share/zoneinfo")
_LOADERS = ("lib*/ld-linux*", "lib/*/ld-linux*", "lib/ld-musl*")


def apply_limits(limits: dict[str, int], parent: int, files: int = 0) -> None:
    """Apply `limits` (address_space, cpu_s, file_bytes) to this process and all its children.

    Args:
        files: number of files opened early, in addition to OPEN_FILES.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(BUG)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for kind, value in (
        (resource.RLIMIT_AS, limits["address_space"]),
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_FSIZE, limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, OPEN_FILES + files),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # The soft limit on processor time sends SIGXCPU, which is easier to recognize than SIGKILL at the
        # hard limit.
        grace = 2 if kind == resource.RLIMIT_CPU and hard == resource.RLIM_INFINITY else 0
        resource.setrlimit(kind, (bound, bound + grace))


def drop_rights(mode: confinement.Mode, abi: int, has_filter: bool, programs: Sequence[str]) -> None:
    """Give up all rights that a parser does not need, permanently; `programs` can still be started.

    Raises:
        OSError: the kernel refuses a step. The process must end then.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not has_filter and libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    if mode == "uid":
        _drop_user(confinement.FIRST_UID + os.getpid())
        # The kernel clears this with every change of the account.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.geteuid() == 0:
        _drop_capabilities(libc, keep=1 << _CAP_DAC_READ_SEARCH if mode == "landlock" else 0)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    importlib.import_module("collectors")  # its parent directory cannot be listed afterwards
    if mode == "landlock":
        landlock.restrict_process(abi, _list_rules(programs))
    if programs:
        launcher.start_launcher(programs, has_filter=has_filter)
    if has_filter:
        seccomp.install_filter(has_launcher=bool(programs))


def _list_rules(programs: Sequence[str]) -> Iterator[tuple[Path, int]]:
    for path in (*confinement.list_code(), *map(Path, _SYSTEM_LIBRARIES), *map(Path, _SYSTEM_FILES)):
        yield path, landlock.READ
    yield Path(os.devnull), landlock.READ_FILE | landlock.WRITE_FILE
    yield Path(), landlock.WRITE
    if programs:
        loaders = (path for pattern in _LOADERS for path in Path("/").glob(pattern))
        for path in (*map(Path, programs), *loaders):
            yield path, landlock.READ_FILE | landlock.EXECUTE


def _drop_user(uid: int) -> None:
    """Switch to an account that nothing else uses, and make it the owner of the working directory."""
    os.chown(".", uid, uid)
    with os.scandir(".") as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                os.chown(entry.path, uid, uid, follow_symlinks=False)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _drop_capabilities(libc: ctypes.CDLL, keep: int) -> None:
    for number in range(64):
        if not keep >> number & 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    head = struct.pack("Ii", _CAPABILITIES_VERSION, 0)
    sets = struct.pack("6I", keep, keep, 0, 0, 0, 0)
    if libc.capset(head, sets) != 0:
        raise OSError(ctypes.get_errno(), "cannot drop capabilities")


def run_request(module: str, order: Mapping[str, Any]) -> int:
    """Drop the rights of this process, import the module and run it; return the exit code."""
    apply_limits(order["limits"], order["parent"], len(order["inputs"]))
    inputs.open_early(order["inputs"])
    drop_rights(order["mode"], order["abi"], order["has_filter"], order["programs"])
    try:
        importlib.import_module(module).main(order["request"])
    except MemoryError:
        return OUT_OF_MEMORY
    except OSError as error:
        traceback.print_exc()
        return FILE_TOO_LARGE if error.errno == errno.EFBIG else BUG
    return 0


if __name__ == "__main__":
    # Skip the shutdown of the interpreter, which may itself run out of memory.
    code = run_request(sys.argv[1], json.load(sys.stdin))
    sys.stdout.flush()
    os._exit(code)
