"""Small child processes for work that may hang: a server imports everything once and forks on request.

A pool of Celery cannot have killable children (prefork children are daemons, threads cannot be killed), and a
new interpreter per connection would cost 40 MB and a third of a second. So the worker starts one server
process, which imports the programs once. Children share its pages.

    worker ──control socket──▶ server ──fork──▶ child
       ▲──────────── a socket per child ──────────┘

The requester of a child holds the other end of its socket and may kill it at any time. No process remains:
the server ends with the worker (its control socket closes), children end with the server (the kernel kills
them). Jobs contain secrets; they are sent only through the socket, never in argv, environment or a file.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Message = dict[str, Any]
MAX_MESSAGE = 64 << 20
PR_SET_PDEATHSIG = 1
_HEAD = struct.Struct(">I")


class HangupError(Exception):
    """The other end has closed the socket."""


class Line:
    """Messages over a stream socket: JSON objects with a length prefix. Not thread-safe."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = bytearray()

    def fileno(self) -> int:
        """Return the descriptor of the socket, for `select`."""
        return self.sock.fileno()

    def send(self, message: Mapping[str, object]) -> None:
        """Send one message. Raises HangupError."""
        data = json.dumps(message, separators=(",", ":")).encode()
        try:
            self.sock.sendall(_HEAD.pack(len(data)) + data)
        except OSError as error:
            raise HangupError from error

    def close_writing(self) -> None:
        """Close this direction only, so that the other end notices it and can still answer."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)

    def receive(self, timeout_s: float | None) -> Message | None:
        """Return the next message, or None after `timeout_s`. Raises HangupError."""
        while True:
            message = self._take_message()
            if message is not None:
                return message
            if not select.select([self.sock], [], [], timeout_s)[0]:
                return None
            try:
                data = self.sock.recv(1 << 18)
            except OSError as error:
                raise HangupError from error
            if not data:
                raise HangupError
            self._buffer += data

    def _take_message(self) -> Message | None:
        if len(self._buffer) < _HEAD.size:
            return None
        (size,) = _HEAD.unpack_from(self._buffer)
        if size > MAX_MESSAGE:
            raise HangupError
        end = _HEAD.size + size
        if len(self._buffer) < end:
            return None
        message: Message = json.loads(self._buffer[_HEAD.size : end])
        del self._buffer[:end]
        return message


Program = Callable[[Message, Line], None]


class Child:
    """A running child, for the process that requested it."""

    def __init__(self, line: Line, pid: int) -> None:
        self.line = line
        self.pid = pid
        # Opened while the child waits for its job, so the process ID cannot have been reused.
        self._handle = os.pidfd_open(pid)

    def kill(self) -> None:
        """Kill it immediately."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self) -> None:
        """Kill it if it still runs, and wait until it has ended."""
        self.kill()
        select.select([self._handle], [], [], 10)
        os.close(self._handle)
        self.line.sock.close()


class ForkServer:
    """Handle of the worker on its fork server. Starts the server at the first use, and again if it died."""

    def __init__(
        self,
        programs: Sequence[str],
        *,
        imports: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Set the `programs`: functions as `package.module:function`, called as `function(job, line)`.

        Args:
            imports: further modules that the server imports before it forks.
            environment: environment of the server and its children; without it, that of the worker.
        """
        self.programs = tuple(programs)
        self.imports = tuple(imports)
        self.environment = environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Start the server if it does not run."""
        with self._lock:
            self._ensure_started()

    def _ensure_started(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._close_control()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    # The paths in PYTHONPATH are complete.
                    "-P",
                    "-s",
                    "-m",
                    "culprit.infra.sandbox.fork_server",
                    str(theirs.fileno()),
                    *self.programs,
                    *self.imports,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=self.environment
                or {
                    **os.environ,
                    "OPENBLAS_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        self._control = ours
        return ours

    @property
    def pid(self) -> int | None:
        """Process ID of the server, or None before the first start."""
        return self._process.pid if self._process else None

    @contextlib.contextmanager
    def child(self, program: str, job: Message) -> Iterator[Child]:
        """Yield a child that works on `job`, and kill it at the end of the block.

        Raises HangupError if no child starts.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours, theirs:
            name = str(self.programs.index(program)).encode()
            with self._lock:
                for last in (False, True):
                    try:
                        socket.send_fds(self._ensure_started(), [name], [theirs.fileno()])
                        break
                    except OSError as error:
                        self._close_control()
                        if last:
                            raise HangupError from error
            theirs.close()
            line = Line(ours)
            hello = line.receive(60)
            if hello is None:
                raise HangupError
            child = Child(line, int(hello["pid"]))
            try:
                line.send(job)
                yield child
            finally:
                child.close()

    def stop(self) -> None:
        """Stop the server and all its children."""
        with self._lock:
            self._close_control()

    def _close_control(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            self._process.kill()
            self._process.wait()
            self._process = None


def die_with_parent() -> None:
    """Make the kernel kill this process when its parent ends."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def serve_requests(control: socket.socket, programs: Sequence[Program]) -> None:
    """Fork a child for every request, until the control socket closes."""
    while True:
        if not select.select([control], [], [], 1.0)[0]:
            _reap_children()
            continue
        _reap_children()
        name, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not name:
            return
        with socket.socket(fileno=descriptors[0]) as sock:
            if os.fork() == 0:
                control.close()
                _run_child(sock, programs[int(name)])


def _reap_children() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run_child(sock: socket.socket, program: Program) -> None:
    """Run one program and exit this process in every case."""
    die_with_parent()
    line = Line(sock)
    status = 0
    try:
        line.send({"pid": os.getpid()})
        job = line.receive(60)
        if job is not None:
            program(job, line)
    except HangupError:
        status = 1
    except Exception:  # noqa: BLE001 - the last frame of a process: a bug here is reported and ends it
        status = 70
        with contextlib.suppress(HangupError):
            line.send({"kind": "bug", "trace": traceback.format_exc()[-4000:]})
    finally:
        sys.stderr.flush()
        os._exit(status)


def load_program(name: str) -> Program:
    """Import the function `package.module:function`."""
    module, _, function = name.partition(":")
    program: Program = getattr(importlib.import_module(module), function)
    return program


def main(descriptor: int, names: Sequence[str]) -> None:
    """Import everything, freeze it so that garbage collection does not touch shared pages, and serve.

    Args:
        names: programs as `package.module:function`, and modules to import.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.register(signal.SIGUSR1)  # `kill -USR1` shows where a child hangs
    programs = [load_program(name) for name in names if ":" in name]
    for name in names:
        importlib.import_module(name.partition(":")[0])
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as control:
        serve_requests(control, programs)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
