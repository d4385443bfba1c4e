"""Start processes that parse untrusted bytes, and kill them at their deadline.

See `culprit.infra.sandbox.child` for the other side, and `culprit.infra.sandbox.confinement` for the
restrictions. Limits apply to one child: address space and file sizes in bytes, processor and wall time in
seconds.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from culprit.infra.sandbox import child as confined
from culprit.infra.sandbox import forked_parser, temp_files
from culprit.infra.sandbox.confinement import get_sandbox
from culprit.infra.sandbox.fork_server import ForkServer

STDERR_TAIL = 4000
#: Prefix of workspaces; an unlocked workspace belongs to a process that died.
WORKSPACE = "read-"
SOURCES = Path(__file__).resolve().parents[3]
Verdict = Literal["ok", "out_of_memory", "too_slow", "too_large", "crashed"]


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of one child."""

    address_space: int = 1 << 30
    cpu_s: int = 60
    file_bytes: int = 1 << 30
    wall_s: float = 120.0


@dataclass(frozen=True, slots=True)
class SandboxExit:
    """How a child ended.

    `code` is its exit code, negative for a signal; `stderr` the end of its error output.
    """

    verdict: Verdict
    code: int
    stderr: str


@contextlib.contextmanager
def create_workspace(parent: Path) -> Iterator[Path]:
    """Yield an empty directory below `parent` for one child; delete it with its content at the end."""
    workspace = temp_files.create_temp_directory(parent, WORKSPACE)
    try:
        yield workspace.path
    finally:
        workspace.remove()


def run_in_sandbox(
    module: str,
    request: Mapping[str, Any],
    directory: Path,
    limits: SandboxLimits,
    *,
    inputs: Iterable[str] = (),
    programs: Iterable[str] = (),
    server: ForkServer | None = None,
) -> SandboxExit:
    """Run `module.main(request)` in a sandbox with `directory` as its working directory.

    Args:
        inputs: the only files that it can read besides code and `directory`; see
            `culprit.infra.sandbox.inputs`.
        programs: paths of the only programs that it can start; see `culprit.infra.sandbox.launcher`.
        server: forks the child, see `make_parser_server`; without it, a new interpreter imports `module`.
    """
    own = asdict(limits)
    own.pop("wall_s")
    sandbox = get_sandbox()
    order = {
        "limits": own,
        "parent": os.getpid(),
        "mode": sandbox.mode,
        "abi": sandbox.abi,
        "has_filter": sandbox.has_filter,
        "inputs": list(inputs),
        "programs": list(programs),
        "request": request,
    }
    errors = directory / forked_parser.ERRORS
    if server is None:
        code, timed_out = _run_interpreter(module, order, errors, limits.wall_s)
    else:
        errors.write_bytes(b"")
        code, timed_out = forked_parser.run_forked(server, module, order, directory, limits.wall_s)
    if sandbox.mode == "uid":
        _take_over(directory)
    return SandboxExit(_judge_exit(code, timed_out), code, _read_tail(errors))


def make_parser_server(modules: Iterable[str]) -> ForkServer:
    """Return a server that imports `modules` once, without secrets, and forks a child for each request.

    A new interpreter needs 0.4 s of CPU time for these imports, which is more than most parsers need.
    """
    return ForkServer([forked_parser.PROGRAM], imports=tuple(modules), environment=_build_environment())


def _run_interpreter(module: str, order: Mapping[str, Any], errors: Path, wall_s: float) -> tuple[int, bool]:
    """Run a child with an interpreter of its own. Return its exit code, and whether it took too long."""
    with errors.open("wb") as stderr:
        child = subprocess.Popen(
            # Do not import modules from the working directory: another child may have written there.
            [sys.executable, "-P", "-s", "-m", confined.__name__, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=errors.parent,
            env=_build_environment(),
            start_new_session=True,
        )
        try:
            child.communicate(json.dumps(order).encode(), timeout=wall_s)
            timed_out = False
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    return child.returncode, timed_out


def _take_over(directory: Path) -> None:
    """Take ownership of files that a child under another account wrote."""
    for folder, _, names in os.walk(directory):
        for path in (Path(folder), *(Path(folder, name) for name in names)):
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


def open_output(path: Path) -> io.BufferedReader:
    """Open a file that a sandboxed process wrote.

    Raises:
        OSError: it is a link or no regular file; opening it would use the rights of the server.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise OSError(
            errno.EINVAL, "a sandboxed process wrote something that is not a regular file", str(path)
        )
    return os.fdopen(descriptor, "rb")


def is_output(path: Path) -> bool:
    """Return whether a sandboxed process wrote this as a regular file without other links."""
    try:
        open_output(path).close()
    except OSError:
        return False
    return True


def _build_environment() -> dict[str, str]:
    """Return an environment without secrets, symbol servers, or threads that reserve address space."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"),
        "PYTHONPATH": os.pathsep.join((str(SOURCES), str(SOURCES.parent))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "TMPDIR": ".",
        "DEBUGINFOD_URLS": "",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def _judge_exit(code: int, timed_out: bool) -> Verdict:
    if timed_out or code == -signal.SIGXCPU:
        return "too_slow"
    if code == 0:
        return "ok"
    # Only the kernel's out-of-memory killer sends SIGKILL.
    if code in {confined.OUT_OF_MEMORY, -signal.SIGKILL}:
        return "out_of_memory"
    if code in {confined.FILE_TOO_LARGE, -signal.SIGXFSZ}:
        return "too_large"
    return "crashed"


def _read_tail(path: Path) -> str:
    try:
        with open_output(path) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - STDERR_TAIL))
            return stream.read(STDERR_TAIL).decode("utf-8", "replace").replace("\0", "\ufffd")
    except OSError:
        return ""
