"""Sessions with servers that violate the protocol, in supervised children."""

import subprocess
import time
from pathlib import Path

import paramiko
import pytest
from culprit.infra.sandbox.fork_server import ForkServer
from culprit.infra.ssh.connection import SshHop
from culprit.infra.ssh.keys import Login, PublicKey
from culprit.jobs.capture.session import pack_hop
from culprit.jobs.capture.session_supervisor import (
    ChildDiedError,
    LeaseLostError,
    SupervisorOptions,
    supervise_session,
)
from culprit.jobs.capture.ssh_pool import SESSION
from culprit.tests.support.rude_server import AFTER_LOGIN, BEFORE_LOGIN, RudeServer
from culprit.tests.support.sshd import LOOPBACK, make_key

pytestmark = pytest.mark.long(50)

SILENCE_S = 3.0
HANG = "culprit.tests.support.programs:hang"
RIGHT_KIND = {
    "silent": "banner_timeout",
    "banner_drip": "banner_timeout",
    "banner_junk": "banner_timeout not_ssh",
    "not_ssh": "not_ssh kex",
    "close_at_once": "cut",
    "kex_hang": "kex_timeout",
    "old_kex": "kex",
    "auth_hang": "auth_timeout",
    "channel_hang": "channel_timeout",
    "channel_refused": "channel",
    "exec_hang": "exec_timeout",
    "exec_refused": "exec",
    "mute": "no_answer silent",
    "no_exit_status": "cut",
    "drip": "no_answer",
    "stdout_flood": "flood no_answer",
    "stderr_flood": "flood",
    "hangs_after_some": "no_answer silent",
    "reset": "cut",
}


@pytest.fixture(scope="module")
def server():
    fork_server = ForkServer([SESSION, HANG])
    fork_server.start()
    yield fork_server
    fork_server.stop()


@pytest.fixture(scope="module")
def host_key():
    return paramiko.RSAKey.generate(2048)


@pytest.fixture(scope="module")
def client_key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("client") / "key")


def build_options(**changes):
    settings = {
        "max_silence_s": SILENCE_S,
        "connect_s": SILENCE_S,
        "host_deadline_s": 5.0,
        "start": lambda limits: {"command": "true", "stdout_bytes": 1 << 20},
        "renew": lambda result, progress: True,
        "is_canceled": lambda: False,
        "is_stopping": lambda: False,
    }
    return SupervisorOptions(**(settings | changes))


def job(hop, spool):
    rules = [[LOOPBACK.cidr, LOOPBACK.port_from, LOOPBACK.port_to]]
    timeouts = {"connect_s": SILENCE_S, "step_s": SILENCE_S}
    return {"hops": [pack_hop(hop)], "rules": rules, "timeouts": timeouts, "spool": str(spool)}


def hop_to(port, host_key, client_key):
    key = PublicKey("ssh-rsa", host_key.asbytes())
    return SshHop("lab", "127.0.0.1", port, Login("key", "root", client_key), key)


@pytest.mark.parametrize("how", BEFORE_LOGIN + AFTER_LOGIN)
def test_supervise_session_raises_error_of_each_misbehavior(server, host_key, client_key, tmp_path, how):
    rude = RudeServer(how, host_key)
    try:
        with server.child(SESSION, job(hop_to(rude.port, host_key, client_key), tmp_path)) as child:
            result = supervise_session(child, build_options())
        assert result.failure.key.removeprefix("ssh.") in RIGHT_KIND[how].split()
        assert not Path(f"/proc/{child.pid}").exists() or "Z" in Path(f"/proc/{child.pid}/stat").read_text()
    finally:
        rude.close()


def test_supervisor_kills_child_that_ignores_its_limits(server):
    """The worker continues, no matter what hangs in the child (a resolver, a bug)."""
    begun = time.monotonic()
    with server.child(HANG, {}) as child:
        result = supervise_session(child, build_options())
    assert result.failure.key == "ssh.dns"
    assert time.monotonic() - begun > SILENCE_S
    assert not result.output.has_output


def test_supervisor_kills_frozen_child(server, host_key, client_key, tmp_path):
    rude = RudeServer("mute", host_key)
    try:
        with server.child(SESSION, job(hop_to(rude.port, host_key, client_key), tmp_path)) as child:
            subprocess.run(["kill", "-STOP", str(child.pid)], check=True)
            assert supervise_session(child, build_options()).failure is not None
    finally:
        rude.close()


def test_a_killed_child_is_no_fault_of_the_host(server):
    with server.child(HANG, {}) as child:
        child.kill()
        with pytest.raises(ChildDiedError):
            supervise_session(child, build_options())


class Script:
    """A child that sends these messages, one every `every_s`."""

    def __init__(self, messages, every_s):
        self.line, self._messages, self._every_s = self, list(messages), every_s

    def receive(self, timeout):
        time.sleep(self._every_s)
        return self._messages.pop(0)

    def send(self, message):
        pass


def test_supervisor_publishes_collector_start_at_once_and_merges_bursts():
    states = [("vmstat", "running"), *((f"c{n}", "running") for n in range(40)), ("vmstat", "done")]
    messages = [
        {"kind": "progress", "collector": name, "state": state, "elapsed_ms": 100} for name, state in states
    ]
    messages += [{"kind": "received", "bytes": n} for n in range(40)]
    messages.append({"kind": "ended", "status": 0, "timings": {}, "round_trips_ms": []})
    stored, begun = [], time.time_ns()

    def keep(result, progress):
        stored.append({name: dict(item) for name, item in progress.items()})
        return True

    supervise_session(Script(messages, 0.02), build_options(renew=keep))
    assert 2 <= len(stored) <= 4, "one for a burst, not one for each collector"
    first, last = stored[0]["vmstat"], stored[-1]["vmstat"]
    assert (first["state"], last["state"]) == ("running", "done")
    assert begun < first["started_ns"] == last["started_ns"] < begun + 200_000_000
    assert first["ended_ns"] is None and last["ended_ns"] > last["started_ns"]


def test_a_lost_lease_ends_the_session(server):
    with server.child(HANG, {}) as child, pytest.raises(LeaseLostError):
        supervise_session(child, build_options(renew=lambda result, progress: False, max_silence_s=30.0))


def test_calling_off_ends_a_session_that_does_not_even_answer(server):
    with server.child(HANG, {}) as child:
        result = supervise_session(child, build_options(is_canceled=lambda: True, max_silence_s=60.0))
    assert result.canceled
