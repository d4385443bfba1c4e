"""Sessions with servers that misbehave, in children that are watched over from outside."""

import subprocess
import time
from pathlib import Path

import paramiko
import pytest
from culprit.infra.forkserver import ForkServer
from culprit.infra.ssh import Hop
from culprit.infra.ssh_keys import Login, PublicKey
from culprit.tests.support.rude_server import AFTER_LOGIN, BEFORE_LOGIN, RudeServer
from culprit.tests.support.sshd import LOOPBACK, make_key
from culprit.workflows.crew import SESSION
from culprit.workflows.session import pack_hop
from culprit.workflows.supervise import Died, Lost, Wishes, supervise

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
    made = ForkServer([SESSION, HANG])
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def host_key():
    return paramiko.RSAKey.generate(2048)


@pytest.fixture(scope="module")
def client_key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("client") / "key")


def wishes(**changes):
    settings = {
        "max_silence_s": SILENCE_S,
        "connect_s": SILENCE_S,
        "host_deadline_s": 5.0,
        "start": lambda limits: {"command": "true", "stdout_bytes": 1 << 20},
        "keep": lambda home, progress: True,
        "called_off": lambda: False,
        "given_up": lambda: False,
    }
    return Wishes(**(settings | changes))


def job(hop, spool):
    rules = [[LOOPBACK.cidr, LOOPBACK.port_from, LOOPBACK.port_to]]
    patience = {"connect_s": SILENCE_S, "step_s": SILENCE_S}
    return {"hops": [pack_hop(hop)], "rules": rules, "patience": patience, "spool": str(spool)}


def hop_to(port, host_key, client_key):
    key = PublicKey("ssh-rsa", host_key.asbytes())
    return Hop("lab", "127.0.0.1", port, Login("key", "root", client_key), key)


@pytest.mark.parametrize("how", BEFORE_LOGIN + AFTER_LOGIN)
def test_every_misbehaviour_ends_in_its_own_error(server, host_key, client_key, tmp_path, how):
    rude = RudeServer(how, host_key)
    try:
        with server.child(SESSION, job(hop_to(rude.port, host_key, client_key), tmp_path)) as child:
            home = supervise(child, wishes())
        assert home.kind in RIGHT_KIND[how].split()
        assert home.failure["key"] == f"ssh.{home.kind}"
        assert not Path(f"/proc/{child.pid}").exists() or "Z" in Path(f"/proc/{child.pid}/stat").read_text()
    finally:
        rude.close()


def test_a_child_that_ignores_its_own_limits_is_given_up_from_outside(server):
    """Whatever hangs in the child (a resolver, a bug), the worker goes on."""
    begun = time.monotonic()
    with server.child(HANG, {}) as child:
        home = supervise(child, wishes())
    assert home.kind == "dns"
    assert time.monotonic() - begun > SILENCE_S
    assert not home.brought_something


def test_a_frozen_child_is_given_up_too(server, host_key, client_key, tmp_path):
    rude = RudeServer("mute", host_key)
    try:
        with server.child(SESSION, job(hop_to(rude.port, host_key, client_key), tmp_path)) as child:
            subprocess.run(["kill", "-STOP", str(child.pid)], check=True)
            assert supervise(child, wishes()).failure is not None
    finally:
        rude.close()


def test_a_killed_child_is_no_fault_of_the_host(server):
    with server.child(HANG, {}) as child:
        child.kill()
        with pytest.raises(Died):
            supervise(child, wishes())


class Script:
    """A child that says these messages, one every `every_s`."""

    def __init__(self, messages, every_s):
        self.line, self._messages, self._every_s = self, list(messages), every_s

    def receive(self, timeout):
        time.sleep(self._every_s)
        return self._messages.pop(0)

    def send(self, message):
        pass


def test_the_start_of_a_collector_is_told_at_once_and_bursts_together():
    states = [("vmstat", "running"), *((f"c{n}", "running") for n in range(40)), ("vmstat", "done")]
    messages = [{"progress": [name, state, 100]} for name, state in states]
    messages += [{"heard": n} for n in range(40)] + [{"ended": 0, "timings": {}, "rtt_ms": []}]
    kept, begun = [], time.time_ns()

    def keep(home, progress):
        kept.append({name: dict(one) for name, one in progress.items()})
        return True

    supervise(Script(messages, 0.02), wishes(keep=keep))
    assert 2 <= len(kept) <= 4, "one for a burst, not one for each collector"
    first, last = kept[0]["vmstat"], kept[-1]["vmstat"]
    assert (first["state"], last["state"]) == ("running", "done")
    assert begun < first["started_ns"] == last["started_ns"] < begun + 200_000_000
    assert first["ended_ns"] is None and last["ended_ns"] > last["started_ns"]


def test_a_lost_lease_ends_the_session(server):
    with server.child(HANG, {}) as child, pytest.raises(Lost):
        supervise(child, wishes(keep=lambda home, progress: False, max_silence_s=30.0))


def test_calling_off_ends_a_session_that_does_not_even_answer(server):
    with server.child(HANG, {}) as child:
        home = supervise(child, wishes(called_off=lambda: True, max_silence_s=60.0))
    assert home.cancelled
