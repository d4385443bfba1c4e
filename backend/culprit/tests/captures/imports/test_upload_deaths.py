"""Uploads to a real server process: files after a kill, and addresses in its logs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from culprit.captures.imports.service import EXAMPLE_BUNDLE
from culprit.captures.uploads import locks as claims
from culprit.infra.db.session import Database
from culprit.infra.sandbox import temp_files
from culprit.infra.settings import Settings
from culprit.tests.support.product_process import ProductProcess
from culprit.tests.support.web import free_port
from culprit.tests.test_canaries import dump, forms

API = "/api/v1/uploads"
BUNDLE = EXAMPLE_BUNDLE.read_bytes()


@dataclass
class Server:
    """A web process; `log` is its output."""

    child: ProductProcess
    port: int
    log: Path


@pytest.fixture
def serve(config: Settings, tmp_path: Path) -> Callable[..., Any]:
    """Start a server with the request log of uvicorn at the most verbose level."""
    started = 0

    @contextmanager
    def begin() -> Iterator[Server]:
        nonlocal started
        started += 1
        port, log = free_port(), tmp_path / f"server-{started}.log"
        child = ProductProcess(
            "api", "--port", str(port), "--log-level", "trace",
            environment=os.environ | {"CULPRIT_LOG_LEVEL": "DEBUG"}, stdout=log,
        )  # fmt: skip
        try:
            while child.poll() is None and not answers(port):
                time.sleep(0.05)
            yield Server(child, port, log)
        finally:
            child.stop(signal.SIGKILL)

    return begin


def answers(port: int) -> bool:
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
    except OSError:
        return False
    return True


def begin_upload(port: int, path: str) -> socket.socket:
    """Send the beginning of a PUT."""
    line = socket.create_connection(("127.0.0.1", port))
    head = f"PUT {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BUNDLE)}\r\n\r\n"
    line.sendall(head.encode() + BUNDLE[: len(BUNDLE) // 2])
    return line


def waiting(find: Callable[[], Any]) -> Any:
    for _ in range(3000):
        if result := find():
            return result
        time.sleep(0.02)
    raise AssertionError("it never came")


def test_a_server_that_is_killed_leaves_nothing_behind(
    as_, db: Database, config: Settings, serve: Callable[..., Any]
) -> None:
    result = as_("investigator").post(API, json={"host_name": "console-1"}).json()
    path = result["url"].removeprefix("http://testserver")
    work = config.home / "work"

    def get_status() -> dict[str, Any]:
        [item] = as_("investigator").get(API).json()["items"]
        return item

    with serve() as first, begin_upload(first.port, path):
        [left] = waiting(lambda: [item for item in work.glob("upload-*") if item.stat().st_size])
        assert get_status()["state"] == "receiving"
        assert claims.remove_abandoned(db, work) == 0, "another process holds it"
        first.child.send_signal(signal.SIGKILL)
        first.child.wait()
    assert left.exists() and get_status()["state"] == "receiving", "no sweep has run yet"
    foreign = work / "upload-0123456789abcdef"
    foreign.write_bytes(b"of an earlier release")
    with serve() as second:
        assert list(work.iterdir()) == []
        assert (get_status()["state"], get_status()["failure"]["key"]) == ("open", "upload.receiver_lost")
        answer = httpx2.put(f"http://127.0.0.1:{second.port}{path}", content=BUNDLE, timeout=120)
        assert answer.status_code == 201 and get_status()["state"] == "used"


def test_the_address_is_in_no_log_and_no_row(as_, config: Settings, serve: Callable[..., Any]) -> None:
    result = (
        as_("investigator")
        .post(API, json={"host_name": "console-1"}, headers={"Idempotency-Key": "k"})
        .json()
    )
    path = result["url"].removeprefix("http://testserver")
    token = path.rpartition("/")[2]
    with serve() as server:
        url = f"http://127.0.0.1:{server.port}"
        with httpx2.Client(base_url=url, timeout=120) as client:
            states = [
                client.get(path).status_code,
                client.get(f"{path}?again").status_code,
                client.post(path).status_code,
                client.put(path, content=b"no bundle").status_code,
                client.put(path, content=b"").status_code,
            ]
            (config.home / "work").rmdir()
            (config.home / "work").write_bytes(b"in the way")
            states.append(client.put(path, content=BUNDLE).status_code)
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nbroken header\r\n\r\n".encode())
            assert b" 400 " in line.recv(100)
        server.child.terminate()
        server.child.wait()
    log = server.log.read_text()
    assert states == [200, 200, 405, 422, 422, 500]
    assert "GET /up/…" in log and "Traceback" in log, "its own log of requests and of bugs were on"
    places = {"log": log.encode(), "database": dump(config.database_url)}
    assert [place for place, text in places.items() for form in forms(token) if form in text] == []


def test_what_a_killed_child_was_reading_goes_and_what_is_held_stays(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from culprit.infra.sandbox.process import create_workspace\n"
        "with create_workspace(pathlib.Path(sys.argv[1])) as place:\n"
        "    (place / 'closed').mkdir(mode=0)\n"
        "    print(place, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        places = [Path(child.stdout.readline().strip()) for child in children]  # type: ignore[union-attr]
        children[0].kill()
        children[0].wait()
        assert temp_files.remove_abandoned(tmp_path, "read-") == [places[0]]
        assert not places[0].exists() and places[1].exists()
    finally:
        for child in children:
            child.communicate("")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_clears_away_what_other_processes_left(config: Settings) -> None:
    work = config.home / "work"
    work.mkdir()
    mine = temp_files.create_temp_directory(work, "read-")
    (work / "read-left").mkdir()
    once = "from culprit.server.worker import WorkDirCleanupStep as Step; Step.run_once(object.__new__(Step))"
    subprocess.run([sys.executable, "-c", once], check=True)
    assert list(work.iterdir()) == [mine.path]
    mine.remove()


def test_who_is_robbed_between_making_and_holding_makes_another(tmp_path: Path, monkeypatch) -> None:
    lock, robbed = temp_files._lock, []

    def swept(path: Path, how: int) -> int | None:
        if not robbed:
            robbed.append(path)
            path.unlink()
        return lock(path, how)

    monkeypatch.setattr(temp_files, "_lock", swept)
    result = temp_files.create_temp_file(tmp_path / "one")
    assert robbed == [result.path] and result.path.exists()
    result.remove()
    result.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_has_to_be_known_of_first_stays_until_it_is(tmp_path: Path) -> None:
    (tmp_path / "read-1").write_bytes(b"")

    def away(_: Path) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        temp_files.remove_abandoned(tmp_path, "read-", away)
    assert (tmp_path / "read-1").exists()
    assert temp_files.remove_abandoned(tmp_path, "read-") == [tmp_path / "read-1"]
