"""Sessions with servers that violate the protocol, in supervised children."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from culprit.infra.sandbox.fork_server import ForkServer
from culprit.jobs.capture.session import pack_hop
from culprit.jobs.capture.session_supervisor import (
    ChildDiedError,
    LeaseLostError,
    SupervisorOptions,
    supervise_session,
)
from culprit.jobs.capture.ssh_pool import SESSION
from culprit.tests.support.misbehaving_server import run_misbehaving_servers
from culprit.tests.support.protocol_violations import VIOLATIONS
from culprit.tests.support.sshd import LOOPBACK

pytestmark = pytest.mark.long(50)

SILENCE_S = 3.0
HANG = "culprit.tests.support.programs:hang"
#: A command of a capture must answer first. This limit of the child passes before that of its silence.
ANSWER_S = 2.0
KINDS_WITHOUT_ANSWER = {"silent": "no_answer", "deadline": "no_answer", "ended": "no_shell"}
CASES = [name for name, case in VIOLATIONS.items() if case.at == "host"]


@pytest.fixture(scope="module")
def server():
    fork_server = ForkServer([SESSION, HANG])
    fork_server.start()
    yield fork_server
    fork_server.stop()


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with run_misbehaving_servers(tmp_path_factory.mktemp("servers")) as hops:
        yield hops


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
    timeouts = {"connect_s": ANSWER_S, "step_s": ANSWER_S}
    return {"hops": [pack_hop(hop)], "rules": rules, "timeouts": timeouts, "spool": str(spool)}


def is_running(pid):
    """Whether process `pid` runs: its entry in /proc can go between any two looks at it."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("step", sorted({VIOLATIONS[name].step for name in CASES}))
def test_supervise_session_raises_error_of_each_violation(server, tmp_path_factory, servers, step):
    names = [name for name in CASES if VIOLATIONS[name].step == step]

    def supervise(name):
        spool = tmp_path_factory.mktemp(name)
        with server.child(SESSION, job(servers[name][0], spool)) as child:
            result = supervise_session(child, build_options())
        return name, result.failure.key.removeprefix("ssh."), is_running(child.pid)

    with ThreadPoolExecutor(8) as pool:
        endings = list(pool.map(supervise, names))
    kinds = {name: VIOLATIONS[name].kind for name in names}
    assert endings == [(name, KINDS_WITHOUT_ANSWER.get(kind, kind), False) for name, kind in kinds.items()]


def test_supervisor_kills_child_that_ignores_its_limits(server):
    """The worker continues, no matter what hangs in the child (a resolver, a bug)."""
    begun = time.monotonic()
    with server.child(HANG, {}) as child:
        result = supervise_session(child, build_options())
    assert result.failure.key == "ssh.dns"
    assert time.monotonic() - begun > SILENCE_S
    assert not result.output.has_output


def test_supervisor_kills_frozen_child(server, servers, tmp_path):
    with server.child(SESSION, job(servers["host-output-hang"][0], tmp_path)) as child:
        subprocess.run(["kill", "-STOP", str(child.pid)], check=True)
        assert supervise_session(child, build_options()).failure is not None


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
