"""Sockets in CLOSE_WAIT count as forgotten, except where a request of the peer was not read yet."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from collectors.contract import Parsed, Script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import run_script
from collectors.tests.support import BytesPart, context, read_rows

READ_TO_END, READ_DATA_ONLY, UNREAD, ABANDONED = 4, 3, 5, 2
PROGRAMS = [Path(folder) for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin")]


@pytest.fixture
def port() -> Iterator[int]:
    """Serve connections that all peers have closed; the server has read some to the end and others not at all.

    Further connections are those of a client that has not read the answers: it can only have forgotten them.
    """
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = listener.getsockname()
        for number in range(READ_TO_END + READ_DATA_ONLY + UNREAD):
            with socket.create_connection(address) as client:
                served = stack.enter_context(listener.accept()[0])
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                if number < READ_TO_END + READ_DATA_ONLY:
                    assert served.recv(100)
            if number < READ_TO_END:
                assert served.recv(100) == b""
        for _ in range(ABANDONED):
            stack.enter_context(socket.create_connection(address))
            with listener.accept()[0] as served:
                served.sendall(b"HTTP/1.1 200 OK\r\n\r\nmuch text")
        time.sleep(0.1)
        yield address[1]


def collect(path: str, name: str) -> Parsed:
    """Run a method of the collector here, with the programs of `path`."""
    [method] = [method for method in COLLECTORS["ss"].methods if method.name == name]
    assert isinstance(method, Script)
    left = run_script(COLLECTORS["ss"], method, 1, "dash", {"PATH": path})
    return COLLECTORS["ss"].parse({name: BytesPart(data) for name, data in left.parts.items()}, context())


def test_ss_counts_sockets_that_were_read_to_the_end(port: int) -> None:
    rows = [
        row for row in read_rows(collect(os.environ["PATH"], "ss"), "close_wait") if row["pid"] == os.getpid()
    ]
    assert [row["count_last"] for row in rows] == [READ_TO_END + READ_DATA_ONLY + ABANDONED]


def test_proc_net_tcp_counts_the_same_without_ss(port: int, tmp_path: Path) -> None:
    for folder in PROGRAMS:
        for program in folder.iterdir():
            if program.name != "ss" and not (tmp_path / program.name).exists():
                (tmp_path / program.name).symlink_to(program)
    rows = read_rows(collect(str(tmp_path), "proc"), "close_wait")
    served = [row["count_last"] for row in rows if row["local_port"] == port]
    opened = [row["count_last"] for row in rows if row["peer_port"] == port]
    assert (served, opened) == ([READ_TO_END + READ_DATA_ONLY], [ABANDONED])
