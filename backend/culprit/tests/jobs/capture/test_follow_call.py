"""Test of the call graph with a call between two real hosts that are captured at once over SSH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from culprit.evidence.context import calls
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.tests.support import sshd

NEAR, FAR, PORT, SSH_PORT = "10.79.0.1", "10.79.0.2", 8080, 22022
COLLECTORS = ("calls", "tcp_waits", "ss_listen", "loadavg")
#: Answers each byte after 100 ms, in a thread for each connection.
SERVER = """
import socketserver, time
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1):
            time.sleep(0.1)
            self.request.sendall(b"y")
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True
Server(("{address}", {port}), Handler).serve_forever()
"""
CLIENT = """
import socket, threading
def ask():
    one = socket.create_connection(("{address}", {port}))
    while one.sendall(b"x") is None and one.recv(1): pass
for _ in range(4): threading.Thread(target=ask).start()
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def second_host() -> Iterator[str]:
    """Create a network namespace reached over a pair of devices and return its name."""
    name = f"c{uuid.uuid4().hex[:8]}"
    ip("netns", "add", name)
    try:
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        ip("addr", "add", f"{NEAR}/24", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        for words in (("addr", "add", f"{FAR}/24", "dev", f"{name}b"), ("link", "set", f"{name}b", "up"),
                      ("link", "set", "lo", "up")):  # fmt: skip
            ip("-n", name, *words)
        yield name
    finally:
        ip("netns", "del", name)


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and ip")
def test_call_graph_resolves_both_ends_of_call(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        name = stack.enter_context(second_host())
        python = (sys.executable, "-c")
        within = ("ip", "netns", "exec", name)
        server = SERVER.replace("{address}", FAR).replace("{port}", str(PORT))
        served = stack.enter_context(running(*within, *python, server))
        lab.until(lambda: not subprocess.run([*within, "sh", "-c", f"ss -Hltn | grep -q {FAR}:{PORT}"],
                                             check=False).returncode)  # fmt: skip
        client = CLIENT.replace("{address}", FAR).replace("{port}", str(PORT))
        asking = stack.enter_context(running(*python, client))
        web = lab.add_host(lab.sshd(), "web")
        monkeypatch.setattr(sshd, "free_port", lambda _: SSH_PORT)
        enter = f"exec nsenter --net=/run/netns/{name} {sshd.SSHD} -D -e -f $1"
        api = lab.add_host(lab.sshd(address=FAR, setup=enter), "api")
        with unit_of_work(lab.db.sessions) as session:
            session.add(NetworkRule(cidr=f"{FAR}/32", port_from=SSH_PORT, port_to=SSH_PORT))
        lab.worker()
        lab.worker("parse")
        capture = lab.capture(web, api, seconds=6, collectors=COLLECTORS)
        by_host = {run.host_id: run for run in lab.until_runs(capture, "done", "partial")}

        with lab.db.sessions() as session:
            near = calls.build_call_graph_response(session, lab.actor, by_host[web].id, asking.pid, None)
            [call] = near.outgoing
            assert (call.endpoint.kind, call.endpoint.source, call.endpoint.same_capture) == (
                "host",
                "connection",
                True,
            )
            assert (call.endpoint.host.id, call.endpoint.run_id) == (api, by_host[api].id)
            assert call.endpoint.pid == served.pid
            assert (call.connections, call.endpoint_times_reason) == (4, None)
            assert call.endpoint_times is not None
            assert call.endpoint_times.callee == pytest.approx(call.endpoint_times.caller, abs=1.5)
            far = calls.build_call_graph_response(
                session, lab.actor, by_host[api].id, call.endpoint.pid, None
            )
            [back] = far.incoming
            assert (back.endpoint.host.id, back.endpoint.pid) == (web, asking.pid)
