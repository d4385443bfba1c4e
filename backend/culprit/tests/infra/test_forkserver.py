"""The fork server with real processes: who ends with whom, and what a child can do to the others."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from culprit.infra.forkserver import ForkServer, Hungup

HERE = "culprit.tests.support.programs"


@pytest.fixture
def server():
    made = ForkServer([f"{HERE}:echo", f"{HERE}:hang", f"{HERE}:crash", f"{HERE}:leave", f"{HERE}:show"])
    yield made
    made.stop()


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
        with pytest.raises(Hungup):
            child.line.receive(20)
    assert gone(child.pid)


def test_large_messages_pass_whole(server):
    with server.child(f"{HERE}:echo", {"text": "x" * 3_000_000}) as child:
        assert len(child.line.receive(20)["text"]) == 3_000_000


def test_a_hanging_child_is_killed_at_the_end_of_the_block(server):
    with server.child(f"{HERE}:hang", {}) as child:
        assert child.line.receive(20) == {"hanging": 1}
        assert child.line.receive(0.05) is None
        assert alive(child.pid)
    assert gone(child.pid)


def test_a_bug_is_told_and_hurts_nobody_else(server):
    with server.child(f"{HERE}:hang", {}) as other, server.child(f"{HERE}:crash", {}) as child:
        assert other.line.receive(20) == {"hanging": 1}
        assert "ZeroDivisionError" in child.line.receive(20)["bug"]
        assert alive(other.pid)


def test_a_child_that_just_leaves_is_noticed(server):
    with server.child(f"{HERE}:leave", {}) as child, pytest.raises(Hungup):
        child.line.receive(20)


def test_many_children_at_once(server):
    def one(number):
        with server.child(f"{HERE}:echo", {"number": number}) as child:
            got.append(child.line.receive(60)["number"])

    got = []
    threads = [threading.Thread(target=one, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(40))


def test_children_inherit_nothing_of_each_other_and_no_standard_input(server):
    with server.child(f"{HERE}:hang", {}) as first:
        first.line.receive(20)
        with server.child(f"{HERE}:show", {}) as second:
            shown = second.line.receive(20)
    sockets = [target for target in shown["descriptors"] if target.startswith("socket")]
    assert len(sockets) == 1
    assert shown["stdin"] == "/dev/null"
    assert shown["threads"] == 1


def test_children_end_with_the_server_and_a_new_one_takes_over(server):
    with server.child(f"{HERE}:hang", {}) as child:
        child.line.receive(20)
        first = server.pid
        os.kill(first, signal.SIGKILL)
        with pytest.raises(Hungup):
            child.line.receive(20)
        assert gone(child.pid)
    with server.child(f"{HERE}:echo", {"again": 1}) as child:
        assert child.line.receive(20)["again"] == 1
    assert server.pid != first


def test_all_end_with_a_killed_worker(tmp_path):
    script = f"""
import sys, time
from culprit.infra.forkserver import ForkServer
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
