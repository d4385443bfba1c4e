"""A compromised parser: it runs in the real sandbox and tries forbidden operations."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def main(request: Mapping[str, Any]) -> None:
    """Try all operations of `request`, and write `result.json`: {attempt: "done" or the error}."""
    if "wait_s" in request:
        time.sleep(request["wait_s"])
        return
    result = {name: _outcome(attempt) for name, attempt in _attempts(request).items()}
    # If it works, it is the last operation of this process.
    for outcome in ("done", ""):
        result["execute a shell"] = outcome or _outcome(lambda: os.execv("/bin/sh", ["sh", "-c", "exit 0"]))
        Path("result.json").write_text(json.dumps(result), encoding="utf-8")


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return f"{type(error).__name__}: {error.strerror}"
    return "done"


def _attempts(request: Mapping[str, Any]) -> dict[str, Callable[[], object]]:
    home, parent, sibling = Path(request["home"]), int(request["parent"]), int(request["sibling"])
    return {
        "read the key file": (home / "secret.key").read_bytes,
        "read another artifact": lambda: Path(request["other"]).read_bytes(),
        "list the home": lambda: list(Path(home).iterdir()),
        "read /etc/shadow": lambda: Path("/etc/shadow").read_bytes(),
        "read /etc/passwd": lambda: Path("/etc/passwd").read_bytes(),
        "read /root/.ssh": lambda: list(Path(request["ssh"]).iterdir()),
        "list the checkout": lambda: list(Path(request["checkout"]).iterdir()),
        "read /proc/PPID/environ": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
        "read /proc/PPID/mem": lambda: _read_memory(parent),
        "read /proc/SIBLING/environ": lambda: Path(f"/proc/{sibling}/environ").read_bytes(),
        "list /proc/PPID/fd": lambda: list(Path(f"/proc/{parent}/fd").iterdir()),
        "write the home": lambda: (home / "planted").write_bytes(b"x"),
        "write /tmp": lambda: Path(request["scratch"], "planted").write_bytes(b"x"),
        "write the input": lambda: Path(request["path"]).write_bytes(b"x"),
        "write the code": lambda: Path(__file__).open("ab").close(),
        "change a mode": lambda: (home / "secret.key").chmod(0o644),
        "make a link": lambda: Path("link.json").symlink_to(home / "secret.key"),
        "make a hard link": lambda: Path("hard.json").hardlink_to(home / "secret.key"),
        "make a pipe": lambda: os.mkfifo("pipe.json"),
        "connect over TCP": lambda: _connect(socket.AF_INET, ("127.0.0.1", int(request["port"]))),
        "send over UDP": lambda: _send(int(request["port"])),
        "listen over TCP": lambda: socket.socket().bind(("127.0.0.1", 0)),
        "connect to a Unix socket": lambda: _connect(socket.AF_UNIX, request["unix"]),
        "connect to an abstract socket": lambda: _connect(socket.AF_UNIX, "\0" + request["abstract"]),
        "trace a sibling": lambda: _trace(sibling),
        "signal a sibling": lambda: os.kill(sibling, signal.SIGCONT),
        "signal the parent": lambda: os.kill(parent, 0),
        "leave the process group": os.setsid,
        "fork": _fork,
        "outlive the parent": lambda: _call("prctl", 1, 0),
        "kill a sibling by a pipe": lambda: _kill_by_pipe(sibling),
    }


def _read_memory(pid: int) -> bytes:
    with Path(f"/proc/{pid}/maps").open(encoding="utf-8") as maps:
        start = int(next(line for line in maps if " rw" in line).partition("-")[0], 16)
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(start)
        return memory.read(16)


def _connect(family: socket.AddressFamily, address: Any) -> None:
    with socket.socket(family) as sock:
        sock.settimeout(2)
        sock.connect(address)


def _send(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("127.0.0.1", port))


def _trace(pid: int) -> None:
    _call("ptrace", 0x4206, pid, 0, 0)  # PTRACE_SEIZE; ends with this process


def _kill_by_pipe(pid: int) -> None:
    """Have the kernel send SIGKILL to a process whenever a pipe has data."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, pid)
    fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(writing, b"x")


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*(ctypes.c_long(argument) for argument in arguments)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
