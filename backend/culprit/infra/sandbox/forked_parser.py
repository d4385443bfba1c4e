"""Fork sandboxed parsers from a server that has imported them.

    worker ──▶ fork server ──fork──▶ supervisor ──fork──▶ parser

The server has no secrets and no input. The supervisor reports how the parser ended, because the server does not wait
for it. The parser loses its rights exactly as one with an interpreter of its own, see `culprit.infra.sandbox.child`.
It ends with its supervisor, the supervisor with the server, and the server with the worker.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from culprit.infra.sandbox import child
from culprit.infra.sandbox.fork_server import ForkServer, HangupError, Line, Message

PROGRAM = f"{__name__}:supervise_parser"
#: Name of the file in the working directory that has the error output.
ERRORS = "stderr"
_KILL_WAIT_S = 10.0


def run_forked(
    server: ForkServer, module: str, order: Mapping[str, Any], directory: Path, wall_s: float
) -> tuple[int, bool]:
    """Run a parser in a child of the server. Return its exit code, and whether it took longer than `wall_s`.

    The code of a child that was lost with its server is that of SIGKILL: only the out-of-memory killer ends a server.
    """
    job = {"module": module, "directory": str(directory), "order": order}
    timed_out = False
    try:
        with server.child(PROGRAM, job) as supervisor:
            answer = supervisor.line.receive(wall_s)
            if answer is None:
                timed_out = True
                supervisor.line.close_writing()  # it kills the parser and reports
                answer = supervisor.line.receive(_KILL_WAIT_S)
    except HangupError:
        answer = None
    if answer is None:
        return -signal.SIGKILL, timed_out
    return int(answer.get("code", child.BUG)), timed_out


def supervise_parser(job: Message, line: Line) -> None:
    """Fork the parser, wait until it ends or the requester closes the line, and send {"code": exit code}."""
    parser = os.fork()
    if parser == 0:
        _become_parser(job, os.getppid())
    handle = os.pidfd_open(parser)
    if handle not in select.select([handle, line.fileno()], [], [])[0]:
        os.kill(parser, signal.SIGKILL)
    _, status = os.waitpid(parser, 0)
    line.send({"code": os.waitstatus_to_exitcode(status)})


def _become_parser(job: Message, supervisor: int) -> None:
    """Run the parser in this process, with the standard streams and descriptors of a new one, and exit."""
    code = child.BUG
    try:
        os.setsid()
        os.chdir(job["directory"])
        null = os.open(os.devnull, os.O_RDWR)
        errors = os.open(ERRORS, os.O_WRONLY | os.O_NOFOLLOW)
        for number, opened in enumerate((null, null, errors)):
            os.dup2(opened, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        code = child.run_request(job["module"], {**job["order"], "parent": supervisor})
    except BaseException:  # noqa: BLE001 - the last frame of a process: a bug here is reported and ends it
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
