"""A hostile host and its worker: real SSH peers, real worker processes, real PostgreSQL."""

import multiprocessing
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import paramiko
import pytest
from culprit.infra.sandbox.fork_server import ForkServer
from culprit.infra.ssh.connection import SshHop
from culprit.infra.ssh.keys import Login, PublicKey
from culprit.jobs.capture.frame_filter import MAX_CLOCKS
from culprit.jobs.capture.session import pack_hop
from culprit.jobs.capture.session_supervisor import SupervisorOptions, supervise_session
from culprit.jobs.capture.ssh_pool import SESSION
from culprit.tests.support.hostile_peer import HELLO, VMSTAT, HostilePeer, clock, frame, outcome, serve_floods
from culprit.tests.support.sshd import LOOPBACK, make_key

pytestmark = pytest.mark.long(180)
MIB = 1 << 20
#: Maximum growth of memory of the shared worker and of its own child.
SESSION_BYTES = 16 * MIB


@pytest.fixture
def peer_of(tmp_path):
    """Return a function that starts peers from scripts; stop them at the end."""
    key, host_key = make_key(tmp_path / "peer-key"), paramiko.RSAKey.generate(2048)
    results = []

    def make(script):
        results.append(HostilePeer(script, key, host_key))
        return results[-1]

    yield make
    for peer in results:
        peer.close()


def memory_of(pid):
    """Return the anonymous memory of a process in bytes."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


@pytest.fixture
def floods(tmp_path):
    """Return a hop to each flood by name."""
    client_key, host_key = make_key(tmp_path / "key"), paramiko.RSAKey.generate(2048)
    host_key.write_private_key_file(str(tmp_path / "host"))
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    process = context.Process(
        target=serve_floods, args=(client_key, str(tmp_path / "host"), ports), daemon=True
    )
    process.start()
    login, displayed = Login("key", "root", client_key), PublicKey(host_key.get_name(), host_key.asbytes())
    yield {
        name: SshHop(name, "127.0.0.1", port, login, displayed)
        for name, port in ports.get(timeout=120).items()
    }
    process.kill()
    process.join()


class Session(threading.Thread):
    """One session like in a worker: a child of the fork server, supervised in a thread."""

    def __init__(self, server, hop, spool):
        super().__init__(daemon=True)
        self.server, self.hop, self.spool = server, hop, spool
        self.result, self.child_sizes = None, []

    def run(self):
        rules = [[LOOPBACK.cidr, LOOPBACK.port_from, LOOPBACK.port_to]]
        job = {"hops": [pack_hop(self.hop)], "rules": rules, "spool": str(self.spool)}
        with self.server.child(SESSION, job | {"timeouts": {"connect_s": 60, "step_s": 60}}) as child:
            options = SupervisorOptions(
                max_silence_s=60,
                connect_s=60,
                host_deadline_s=60.0,
                start=lambda limits: {
                    "command": "true",
                    "stdout_bytes": 72 * MIB,
                    "collectors": {"vmstat": 64 * MIB},
                },
                renew=lambda result, progress: True,
                is_canceled=lambda: bool(self.child_sizes.append(memory_of(child.pid))),
                is_stopping=lambda: False,
            )
            self.result = supervise_session(child, options)


def test_eight_floods_at_once_grow_neither_the_worker_nor_its_children(floods, tmp_path):
    """A worker without limits grew by 70 MiB in 90 s, and one child by 378 MiB."""
    server = ForkServer([SESSION])
    server.start()
    sessions = {}
    for name, hop in floods.items():
        (tmp_path / name).mkdir()
        sessions[name] = Session(server, hop, tmp_path / name)
    before = largest = memory_of(os.getpid())
    try:
        for session in sessions.values():
            session.start()
        while any(session.is_alive() for session in sessions.values()):
            largest = max(largest, memory_of(os.getpid()))
            time.sleep(0.05)
    finally:
        server.stop()
    grown = {name: max(item.child_sizes) - item.child_sizes[0] for name, item in sessions.items()}
    print(
        f"worker grew {(largest - before) >> 20} MiB; children { ({n: v >> 20 for n, v in grown.items()}) }"
    )
    assert largest - before <= SESSION_BYTES
    assert max(grown.values()) <= SESSION_BYTES
    results = {name: item.result for name, item in sessions.items()}
    assert all(not result.output.parts and not result.output.outcomes for result in results.values())
    assert results["unordered_outcomes"].output.dropped == {"not_ordered": 9999}
    assert results["progress"].output.dropped == {"not_ordered": 12_000}
    assert len(results["empty_frames"].output.clocks) == MAX_CLOCKS
    assert {results[name].failure.key for name in ("endless_header", "endless_stderr", "huge_length")} == {
        "ssh.flood"
    }
    # The window of the channel or the limit of bytes ends it, or the peer does when its own buffers are full.
    assert results["no_window"].failure.key in {"ssh.protocol", "ssh.flood", "ssh.cut"}


def test_hostile_values_affect_only_their_own_fields(lab, peer_of):
    """One NUL and one number of nineteen digits must not cost the whole run and four logins."""

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
    capture = lab.capture(lab.add_host(peer), seconds=1)
    [run] = lab.until_runs(capture, "ingesting", "done", "partial", "failed")
    assert (peer.logins, run.attempt, run.worker_losses) == (1, 1, 0)
    assert run.failure["params"]["what"] == "hello.machine_id (control_characters)"
    row = lab.collectors(run.id)["vmstat"]
    assert (row.state, row.argv, row.tool_version, row.bytes) == ("done", "vm\ufffdstat", "4.0", 0)
    named = {(warning["key"], warning["params"]["field"]) for warning in row.warnings}
    assert named == {("run.field_control_characters", "argv"), ("run.field_out_of_range", "bytes")}
    assert [item.part for item in lab.artifacts(run.id)] == ["stdout"]
