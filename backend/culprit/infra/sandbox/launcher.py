"""Start the few programs that a sandboxed parser needs (perf): the parser itself cannot start a process.

    parser ──connected socket──▶ launcher ──fork, filter, execve──▶ program
       no fork, no execve         same rights to files              no fork

A request names a program by its number, its arguments, and two descriptors for its output. One program runs
at a time, at most MAX_STARTS per parser. All processes have given up the same rights to files.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from culprit.infra.sandbox import seccomp

MAX_STARTS = 8
MAX_REQUEST = 64 << 10
CANNOT_EXECUTE = 126
_KILL = b"kill"
_control: socket.socket | None = None
_programs: tuple[str, ...] = ()


class Program:
    """A started program, for the parser."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._code: int | None = None

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return its exit code, negative for a signal, or None if it still runs after `timeout_s`."""
        if self._code is None and select.select([self._control], [], [], timeout_s)[0]:
            self._code = int(json.loads(self._control.recv(MAX_REQUEST) or b'{"code": -9}')["code"])
        return self._code

    def kill(self) -> None:
        """Kill it immediately."""
        if self._code is None:
            self._control.send(_KILL)


def find_program(name: str) -> str | None:
    """Return the path of a program that a parser may start, or None if this process has no launcher for it."""
    return next((program for program in _programs if Path(program).name.split("_")[0] == name), None)


def start_program(path: str, arguments: Sequence[str], stdout: int, stderr: int) -> Program:
    """Start one of the programs. Raises OSError if the launcher has ended."""
    if _control is None:
        raise OSError("this process has no launcher: run it in a sandbox with this program")
    request = json.dumps({"program": _programs.index(path), "arguments": list(arguments)}).encode()
    socket.send_fds(_control, [request], [stdout, stderr])
    return Program(_control)


def start_launcher(programs: Sequence[str], *, has_filter: bool) -> None:
    """Fork the launcher of this process.

    Call it after giving up the rights to files and before the filter.
    """
    global _control, _programs
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        try:
            _serve_requests(theirs, programs, has_filter)
        finally:
            os._exit(0)
    theirs.close()
    _control, _programs = ours, tuple(programs)


def _serve_requests(control: socket.socket, programs: Sequence[str], has_filter: bool) -> None:
    for _ in range(MAX_STARTS):
        request = b""
        descriptors: list[int] = []
        while len(descriptors) != 2:
            request, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST, 2)
            if not request:
                return
        order = json.loads(request)
        path, arguments = programs[int(order["program"])], [str(argument) for argument in order["arguments"]]
        pid = os.fork()
        if pid == 0:
            _exec_program(path, arguments, descriptors, has_filter)
        for descriptor in descriptors:
            os.close(descriptor)
        control.send(json.dumps({"code": _wait_exit(control, pid)}).encode())


def _exec_program(path: str, arguments: Sequence[str], descriptors: Sequence[int], has_filter: bool) -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptors[0], 1)
        os.dup2(descriptors[1], 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if has_filter:
            seccomp.install_filter(can_execute=True)
        os.execv(path, [path, *arguments])  # noqa: S606
    finally:
        os._exit(CANNOT_EXECUTE)


def _wait_exit(control: socket.socket, pid: int) -> int:
    handle = os.pidfd_open(pid)
    try:
        ready = select.select([handle, control.fileno()], [], [])[0]
        if handle not in ready:
            control.recv(MAX_REQUEST)
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
