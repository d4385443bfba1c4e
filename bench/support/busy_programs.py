"""Busy programs of several runtimes, with and without what names their functions. Their sources are in `busy/`."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collectors.tests.support import find_node

SOURCES = Path(__file__).parent / "busy"
PORT = 27731
#: Until a compiler has compiled what runs all the time.
WARM_UP_S = 8.0
NGINX_CONF = """
daemon off; master_process off; pid {dir}/nginx.pid; error_log /dev/null;
events {{}}
http {{
    access_log {dir}/access.log;
    gzip on; gzip_types text/html; gzip_min_length 100;
    server {{ listen 127.0.0.1:{port}; root {dir}; }}
}}
"""


@dataclass(frozen=True, slots=True)
class BusyProgram:
    """A program to record. In its commands, `{dir}` is a work directory, `{port}` a port, `{python}` a CPython.

    `build` is run before, `client` next to it, `names` after the program has warmed up (`{pid}` is its process).
    `needs` are programs without which it is left out. With `is_host`, the whole machine is recorded.
    """

    title: str
    command: tuple[str, ...]
    build: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    is_host: bool = False


_JAVA = ("java", "-Xmx128m", "-cp", "{dir}")
_JAVAC = ("javac", "-d", "{dir}", str(SOURCES / "Handler.java"))
_JDK = ("java", "javac", "jcmd")
_GO = ("go", "build", "-o", "{dir}/handler", str(SOURCES / "handler.go"))
PROGRAMS = (
    BusyProgram(
        "the demo load of the product, whole machine",
        (sys.executable, "-m", "culprit.hosts.demo_load", "30"),
        is_host=True,
    ),
    BusyProgram(
        "redis-server of Debian (stripped)",
        ("redis-server", "--port", "{port}", "--save", "", "--dir", "{dir}"),
        client=("redis-benchmark", "-p", "{port}", "-q", "-l", "-t", "set,get,lpush,zadd"),
        needs=("redis-server", "redis-benchmark"),
    ),
    BusyProgram(
        "nginx of Debian (stripped)",
        ("nginx", "-c", "{dir}/nginx.conf", "-p", "{dir}"),
        client=("wrk", "-d", "60", "-c", "20", "-H", "Accept-Encoding: gzip", "http://127.0.0.1:{port}/"),
        needs=("nginx", "wrk"),
    ),
    BusyProgram("JVM", (*_JAVA, "Handler"), build=_JAVAC, needs=_JDK),
    BusyProgram(
        "JVM, `-XX:+PreserveFramePointer`, `jcmd PID Compiler.perfmap`",
        (*_JAVA, "-XX:+PreserveFramePointer", "Handler"),
        build=_JAVAC,
        names=("jcmd", "{pid}", "Compiler.perfmap"),
        needs=_JDK,
    ),
    BusyProgram("Node", ("{node}", str(SOURCES / "handler.js")), needs=("node",)),
    BusyProgram(
        "Node, `--perf-basic-prof`",
        ("{node}", "--perf-basic-prof", str(SOURCES / "handler.js")),
        needs=("node",),
    ),
    BusyProgram("CPython {version}", ("{python}", str(SOURCES / "handler.py")), needs=("{python}",)),
    BusyProgram(
        "CPython {version}, `-X perf`",
        ("{python}", "-X", "perf", str(SOURCES / "handler.py")),
        needs=("{python}",),
    ),
    BusyProgram(
        "Go, `-ldflags='-s -w'` (stripped)",
        ("{dir}/handler",),
        build=(*_GO[:2], "-ldflags=-s -w", *_GO[2:]),
        needs=("go",),
    ),
    BusyProgram("Go, not stripped", ("{dir}/handler",), build=_GO, needs=("go",)),
)


@contextlib.contextmanager
def start_program(program: BusyProgram, directory: Path, python: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program with its client, and let it warm up. It is ended with the block, and its map is removed."""
    values = {"dir": str(directory), "port": str(PORT), "python": python}
    if "{node}" in program.command:
        values["node"] = find_node()
    (directory / "nginx.conf").write_text(NGINX_CONF.format(dir=directory, port=PORT))
    (directory / "index.html").write_text("<p>Culprit measures the names of functions.</p>\n" * 400)
    if program.build:
        environment = {**os.environ, "GOTOOLCHAIN": "local", "GOCACHE": str(directory / "cache")}
        subprocess.run([part.format(**values) for part in program.build], env=environment, check=True)
    with contextlib.ExitStack() as stack:
        child = stack.enter_context(_run([part.format(**values) for part in program.command], directory))
        time.sleep(WARM_UP_S if not program.is_host else 0.5)
        if program.client:
            stack.enter_context(_run([part.format(**values) for part in program.client], directory))
            time.sleep(0.5)
        if program.names:
            command = [part.format(pid=child.pid, **values) for part in program.names]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        if child.poll() is not None:
            raise SystemExit(f"{program.title}: {program.command[0]} ended with status {child.returncode}")
        yield child
    Path(f"/tmp/perf-{child.pid}.map").unlink(missing_ok=True)


@contextlib.contextmanager
def _run(command: list[str], directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        command,
        cwd=directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def find_missing(program: BusyProgram, python: str) -> list[str]:
    """Return the programs that are not installed."""
    return [need for need in program.needs if not shutil.which(need.format(python=python))]
