"""The fork server with real processes: lifetimes, and isolation of children."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from culprit.infra.sandbox.fork_server import ForkServer, HangupError

HERE = "culprit.tests.support.programs"


@pytest.fixture
def server():
    fork_server = ForkServer(
        [f"{HERE}:echo", f"{HERE}:hang", f"{HERE}:crash", f"{HERE}:leave", f"{HERE}:show"]
    )
    yield fork_server
    fork_server.stop()


def alive(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def gone(pid):
    end = time.monotonic() + 20
    while alive(pid):
        assert time.monotonic() < end, f"{pid} is still there"
        time.sleep(0.02)
    return True


def test_a_child_gets_its_job_and_answers(server):
    with server.child(f"{HERE}:echo", {"text": "ü" * 1000}) as child:
        assert child.line.receive(20) == {"text": "ü" * 1000, "pid": child.pid}
        with pytest.raises(HangupError):
            child.line.receive(20)
    assert gone(child.pid)


def test_large_messages_pass_whole(server):
    with server.child(f"{HERE}:echo", {"text": "x" * 3_000_000}) as child:
        assert len(child.line.receive(20)["text"]) == 3_000_000


def test_a_hanging_child_is_killed_at_the_end_of_the_block(server):
    with server.child(f"{HERE}:hang", {}) as child:
        assert child.line.receive(20) == {"kind": "hanging"}
        assert child.line.receive(0.05) is None
        assert alive(child.pid)
    assert gone(child.pid)


def test_fork_server_reports_bug_without_affecting_other_children(server):
    with server.child(f"{HERE}:hang", {}) as other, server.child(f"{HERE}:crash", {}) as child:
        assert other.line.receive(20) == {"kind": "hanging"}
        assert "ZeroDivisionError" in child.line.receive(20)["trace"]
        assert alive(other.pid)


def test_a_child_that_just_leaves_is_noticed(server):
    with server.child(f"{HERE}:leave", {}) as child, pytest.raises(HangupError):
        child.line.receive(20)


def test_many_children_at_once(server):
    def run_child(number):
        with server.child(f"{HERE}:echo", {"number": number}) as child:
            got.append(child.line.receive(60)["number"])

    got = []
    threads = [threading.Thread(target=run_child, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(40))


def test_children_inherit_nothing_of_each_other_and_no_standard_input(server):
    with server.child(f"{HERE}:hang", {}) as first:
        first.line.receive(20)
        with server.child(f"{HERE}:show", {}) as second:
            displayed = second.line.receive(20)
    sockets = [target for target in displayed["descriptors"] if target.startswith("socket")]
    assert len(sockets) == 1
    assert displayed["stdin"] == "/dev/null"
    assert displayed["threads"] == 1


def test_children_end_with_server_and_new_server_starts(server):
    with server.child(f"{HERE}:hang", {}) as child:
        child.line.receive(20)
        first = server.pid
        os.kill(first, signal.SIGKILL)
        with pytest.raises(HangupError):
            child.line.receive(20)
        assert gone(child.pid)
    with server.child(f"{HERE}:echo", {"again": 1}) as child:
        assert child.line.receive(20)["again"] == 1
    assert server.pid != first


def test_all_end_with_a_killed_worker(tmp_path):
    script = f"""
import sys, time
from culprit.infra.sandbox.fork_server import ForkServer
server = ForkServer(["{HERE}:hang"])
with server.child("{HERE}:hang", {{}}) as child:
    child.line.receive(20)
    print(server.pid, child.pid, flush=True)
    time.sleep(60)
"""
    worker = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "backend:."},
    )
    pids = [int(pid) for pid in worker.stdout.readline().split()]
    assert all(alive(pid) for pid in pids)
    worker.kill()
    worker.wait()
    worker.stdout.close()
    assert all(gone(pid) for pid in pids)
