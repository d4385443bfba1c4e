"""Classify the waits of system calls, for the thread timeline and for the end of wait chains."""

from __future__ import annotations

import re
from typing import Literal

from collectors.contract import Text

SyscallClass = Literal["futex", "network", "ipc", "file", "sleep", "other"]

SYSCALL_CLASSES: tuple[tuple[SyscallClass, Text], ...] = (
    ("futex", Text("lock (futex)", "锁（futex）")),
    ("network", Text("network", "网络")),
    ("ipc", Text("pipe or local socket", "管道或本地套接字")),
    ("file", Text("file or device", "文件或设备")),
    ("sleep", Text("sleep", "睡眠")),
    ("other", Text("other", "其他")),
)
_SLEEP = re.compile(r"(clock_)?nanosleep\Z|pause\Z")
_NETWORK = re.compile(
    r"(accept4?|connect|bind|listen|shutdown)\Z|(recv|send)(m?msg|from|to)?\Z|recvmmsg\Z|sendmmsg\Z"
)
_WAITS = re.compile(r"(e?poll(_c?p?wait2?)?|ppoll|p?select6?)\Z")
_FILE = re.compile(
    r"p?(read|write)(v2?|64)?\Z|(fsync|fdatasync|sync_file_range|openat?2?|creat|close|l?stat|fstat|newfstatat|statx"
    r"|lseek|rename(at2?)?|unlink(at)?|getdents64|sendfile|fallocate|ftruncate|io_submit|io_getevents)\Z"
)
_LOCAL = re.compile(r"UNIX|pipe:", re.IGNORECASE)
_REMOTE = re.compile(r"(TCP|UDP|RAW)(v6)?\b", re.IGNORECASE)


def classify_syscall(call: str, what: str = "") -> SyscallClass:
    """Return the class of a system call. `what` is its file descriptor in strace's notation, and takes precedence.

    Futex and sleep calls have no descriptor and are classified by name.
    """
    if call.startswith("futex"):
        return "futex"
    if _SLEEP.match(call):
        return "sleep"
    if _REMOTE.match(what):
        return "network"
    if _LOCAL.match(what):
        return "ipc"
    if what.startswith("/"):
        return "file"
    if _NETWORK.match(call) or _WAITS.match(call):
        return "network"
    return "file" if _FILE.match(call) else "other"
