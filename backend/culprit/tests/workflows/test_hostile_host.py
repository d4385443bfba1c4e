"""What a hostile host can do to a worker: real SSH peers, real worker processes, real PostgreSQL."""

import threading
from contextlib import suppress
from pathlib import Path

import paramiko
import pytest
from culprit.tests.support.hostile_peer import FLOODS, HELLO, VMSTAT, HostilePeer, clock, frame, outcome
from culprit.tests.support.sshd import make_key

pytestmark = pytest.mark.long(180)
MIB = 1 << 20
#: How much a hostile host may add to the memory of the worker that it shares with others, and of its own child.
SESSION_BYTES = 16 * MIB
FLOOD_S = 150


@pytest.fixture
def peer_of(tmp_path):
    """Makes peers out of scripts, and ends them all."""
    key, host_key = make_key(tmp_path / "peer-key"), paramiko.RSAKey.generate(2048)
    made = []

    def make(script):
        made.append(HostilePeer(script, key, host_key))
        return made[-1]

    yield make
    for peer in made:
        peer.close()


def memory_of(pid):
    """Anonymous memory of a process in bytes."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def children_of(pid):
    with suppress(OSError):
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(one) for one in text.split()]
    return []


class Watch(threading.Thread):
    """Notes the largest size of a worker and of each child of its fork server."""

    def __init__(self, worker):
        super().__init__(daemon=True)
        self.worker, self.largest, self.children = worker, 0, {}
        self.stop = threading.Event()

    def run(self):
        while not self.stop.wait(0.05):
            self.largest = max(self.largest, memory_of(self.worker.pid))
            threads = [t.name for t in Path(f"/proc/{self.worker.pid}/task").glob("*")]
            servers = [c for t in threads for c in _task_children(self.worker.pid, t)]
            for server in servers:
                for child in children_of(server):
                    self.children[child] = max(self.children.get(child, 0), memory_of(child))


def _task_children(pid, thread):
    with suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
    return []


def good(channel, stop):
    """What an honest runner sends for one vmstat."""
    channel.sendall(frame("hello", HELLO) + clock(0, 8_000_000_000))
    channel.sendall_stderr(b"progress vmstat running 1\n")
    channel.sendall(frame("part", VMSTAT, name="vmstat", part="stdout", fields="enc=identity complete=1"))
    channel.sendall(outcome("vmstat") + clock(1, 13_000_000_000) + frame("end", b"state done\ncpu_ms 12"))
    channel.send_exit_status(0)
    channel.shutdown_write()
    channel.close()


def test_eight_floods_at_once_do_not_grow_the_worker_or_its_children(lab, peer_of):
    honest = lab.enrol(peer_of(good))
    hosts = [lab.enrol(peer_of(script)) for script in FLOODS.values()]
    worker = lab.worker(CULPRIT_SSH_CONCURRENCY="12")
    watch = Watch(worker)
    watch.start()
    lab.until_runs(lab.capture(honest, seconds=1), "ingesting", "failed", "partial")
    before, child_before = watch.largest, max(watch.children.values())
    watch.children.clear()
    captures = {name: lab.capture(host, seconds=1) for name, host in zip(FLOODS, hosts, strict=True)}
    lab.until(lambda: all(lab.run(one).state != "running" for one in captures.values()), FLOOD_S)
    growth = watch.largest - before
    child_growth = max(watch.children.values()) - child_before
    watch.stop.set()
    states = {name: ((r := lab.run(c)).failure and r.failure["key"]) or r.state for name, c in captures.items()}
    print(f"worker {before >> 20} MiB, grew {growth >> 20} MiB by {len(captures)} hosts; {states}")
    print(f"child {child_before >> 20} MiB, the largest grew {child_growth >> 20} MiB")
    assert growth <= SESSION_BYTES
    assert child_growth <= SESSION_BYTES


def test_hostile_values_cost_one_login_and_their_own_fields(lab, peer_of):
    """One NUL and one number of nineteen digits used to cost the whole run, four attempts and as many logins."""

    def script(channel, stop):
        channel.sendall(
            frame("hello", HELLO.replace(b"machine_id 0", b"machine_id \0")) + clock(0, 8_000_000_000)
        )
        channel.sendall(frame("part", VMSTAT, name="vmstat", part="stdout", fields="enc=identity complete=1"))
        payload = b"argv vm\0stat\nversion 4.0\nstderr\n"
        channel.sendall(outcome("vmstat", payload, bytes="9999999999999999999") + frame("end", b"state done"))
        channel.send_exit_status(0)
        channel.shutdown_write()
        channel.close()

    peer = peer_of(script)
    lab.worker()
    lab.scheduler()
    capture = lab.capture(lab.enrol(peer), seconds=1)
    [run] = lab.until_runs(capture, "ingesting", "done", "partial", "failed")
    assert (peer.logins, run.attempt, run.worker_losses) == (1, 1, 0)
    assert run.failure["params"]["what"] == "hello.machine_id (control_characters)"
    row = lab.collectors(run.id)["vmstat"]
    assert (row.state, row.argv, row.tool_version, row.bytes) == ("done", "vm\ufffdstat", "4.0", 0)
    named = {(one["key"], one["params"]["field"]) for one in row.warnings}
    assert named == {("run.field_control_characters", "argv"), ("run.field_out_of_range", "bytes")}
    assert [one.part for one in lab.artifacts(run.id)] == ["stdout"]
