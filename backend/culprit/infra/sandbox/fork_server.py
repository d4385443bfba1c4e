"""Slim children for work that may hang: a small server that has everything imported, and forks.

A pool of Celery cannot have killable children of its own (prefork children are daemons, threads cannot be
killed), and a fresh interpreter per connection would cost 40 MB and a third of a second. So the worker starts
one server process, which imports the programs once and forks on request. Children share its pages.

    worker ──control socket──▶ server ──fork──▶ child
       ▲──────────── a socket of their own ───────┘

Whoever asks for a child holds the other end of its socket and may kill it at any time. Nobody is left behind:
the server ends with the worker (its control socket closes), children end with the server (the kernel kills
them). Jobs hold secrets; they pass through the socket only, never through argv, environment or a file.
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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Message = dict[str, Any]
MAX_MESSAGE = 64 << 20
PR_SET_PDEATHSIG = 1
_HEAD = struct.Struct(">I")


class Hungup(Exception):
    """The other end is gone."""


class Line:
    """Messages over a stream socket: JSON objects behind their length. Not for several threads at once."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._buffer = bytearray()

    def fileno(self) -> int:
        """For select."""
        return self.sock.fileno()

    def send(self, message: Message) -> None:
        """Sends one message; raises Hungup."""
        data = json.dumps(message, separators=(",", ":")).encode()
        try:
            self.sock.sendall(_HEAD.pack(len(data)) + data)
        except OSError as error:
            raise Hungup from error

    def receive(self, timeout_s: float | None) -> Message | None:
        """The next message, or None where none came in time; raises Hungup."""
        while True:
            message = self._take()
            if message is not None:
                return message
            if not select.select([self.sock], [], [], timeout_s)[0]:
                return None
            try:
                data = self.sock.recv(1 << 18)
            except OSError as error:
                raise Hungup from error
            if not data:
                raise Hungup
            self._buffer += data

    def _take(self) -> Message | None:
        if len(self._buffer) < _HEAD.size:
            return None
        (size,) = _HEAD.unpack_from(self._buffer)
        if size > MAX_MESSAGE:
            raise Hungup
        end = _HEAD.size + size
        if len(self._buffer) < end:
            return None
        message: Message = json.loads(self._buffer[_HEAD.size : end])
        del self._buffer[:end]
        return message


Program = Callable[[Message, Line], None]


class Child:
    """A running child, as whoever asked for it sees it."""

    def __init__(self, line: Line, pid: int) -> None:
        self.line = line
        self.pid = pid
        # Opened while the child waits for its job, so the number cannot belong to anybody else yet.
        self._handle = os.pidfd_open(pid)

    def kill(self) -> None:
        """Ends it at once, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)

    def close(self) -> None:
        """Kills it where it still lives, and waits until it is gone."""
        self.kill()
        select.select([self._handle], [], [], 10)
        os.close(self._handle)
        self.line.sock.close()


class ForkServer:
    """The worker's handle on its server. Starts it when first needed, and again where it died."""

    def __init__(self, programs: Sequence[str]) -> None:
        """`programs`: functions as `package.module:function`, which are called as `function(job, line)`."""
        self.programs = tuple(programs)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Starts the server if it does not run."""
        with self._lock:
            self._start()

    def _start(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self._shut()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "culprit.infra.forkserver", str(theirs.fileno()), *self.programs],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={
                    **os.environ,
                    "OPENBLAS_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        self._control = ours
        return ours

    @property
    def pid(self) -> int | None:
        """Of the server, if it was started."""
        return self._process.pid if self._process else None

    @contextlib.contextmanager
    def child(self, program: str, job: Message) -> Iterator[Child]:
        """A child that works on `job`; killed at the end of the block. Raises Hungup where none starts."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with ours, theirs:
            name = str(self.programs.index(program)).encode()
            with self._lock:
                for last in (False, True):
                    try:
                        socket.send_fds(self._start(), [name], [theirs.fileno()])
                        break
                    except OSError as error:
                        self._shut()
                        if last:
                            raise Hungup from error
            theirs.close()
            line = Line(ours)
            hello = line.receive(60)
            if hello is None:
                raise Hungup
            child = Child(line, int(hello["pid"]))
            try:
                line.send(job)
                yield child
            finally:
                child.close()

    def stop(self) -> None:
        """Ends the server and all its children."""
        with self._lock:
            self._shut()

    def _shut(self) -> None:
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
    """Has the kernel kill this process when the one that forked it ends."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def serve(control: socket.socket, programs: Sequence[Program]) -> None:
    """Forks a child for every request, until the control socket closes."""
    while True:
        if not select.select([control], [], [], 1.0)[0]:
            _reap()
            continue
        _reap()
        name, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not name:
            return
        with socket.socket(fileno=descriptors[0]) as sock:
            if os.fork() == 0:
                control.close()
                _child(sock, programs[int(name)])


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _child(sock: socket.socket, program: Program) -> None:
    """Runs one program and ends this process, whatever happens in it."""
    die_with_parent()
    line = Line(sock)
    status = 0
    try:
        line.send({"pid": os.getpid()})
        job = line.receive(60)
        if job is not None:
            program(job, line)
    except Hungup:
        status = 1
    except Exception:  # noqa: BLE001 - the last frame of a process: a bug here is told and ends it
        status = 70
        with contextlib.suppress(Hungup):
            line.send({"bug": traceback.format_exc()[-4000:]})
    finally:
        sys.stderr.flush()
        os._exit(status)


def find(name: str) -> Program:
    """The function that `package.module:function` names."""
    module, _, function = name.partition(":")
    program: Program = getattr(importlib.import_module(module), function)
    return program


def main(descriptor: int, names: Sequence[str]) -> None:
    """Imports everything, freezes it so that the collector does not touch shared pages, and serves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.register(signal.SIGUSR1)  # `kill -USR1` shows where a child hangs
    programs = [find(name) for name in names]
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as control:
        serve(control, programs)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
