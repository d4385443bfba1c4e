"""SSH servers that violate the protocol in one way each, which a real sshd cannot.

A server is that of paramiko, except for the first message of one step: it does not send that message, or sends
something else. A case may be behind a jump host, or be the jump host.
"""

from __future__ import annotations

import contextlib
import logging
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import paramiko
from culprit.infra.ssh.connection import SshHop
from culprit.infra.ssh.keys import Login, PublicKey
from culprit.tests.support.misbehaving_transport import DRIP_S, MisbehavingTransport, SlowSocket
from culprit.tests.support.protocol_violations import VIOLATIONS, Violation
from culprit.tests.support.sshd import make_key


def send_line(data: bytes, pause_s: float = 0.0) -> Callable[[Any], None]:
    """Return a treatment that sends the same bytes until the client closes the connection."""

    def treat(client: Any) -> None:
        while True:
            client.sendall(data)
            time.sleep(pause_s)

    return treat


def send_once(data: bytes) -> Callable[[Any], None]:
    """Return a treatment that sends `data` and then waits until the client closes the connection."""

    def treat(client: Any) -> None:
        client.sendall(data)
        while client.recv(1 << 16):
            pass

    return treat


def reset_connection(client: Any) -> None:
    """End the connection with a TCP reset, once the client has sent its banner."""
    client.recv(1 << 16)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def drip_banner(client: Any) -> None:
    """Send a banner byte by byte."""
    for byte in b"SSH-2.0-" + b"x" * 10_000:
        client.sendall(bytes([byte]))
        time.sleep(DRIP_S)


#: What a server does in place of its banner.
BANNERS: dict[str, Callable[[Any], None]] = {
    "hang": send_once(b""),
    "drip": drip_banner,
    "reset": reset_connection,
    "close": lambda client: None,
    "garbage": send_once(random.Random(1).randbytes(4096) + b"\n"),
    "slow_lines": send_line(b"<html>another service</html>\r\n", 0.1),
    "flood": send_line(b"<html>another service</html>\r\n"),
    "endless_line": send_line(b"y" * 30_000),
    "http": send_once(b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"<p>no</p>\r\n" * 200),
    "version_1": send_once(b"SSH-1.5-ancient\r\n"),
    "no_version": send_once(b"SSH-\r\n"),
}


class MisbehavingInterface(paramiko.ServerInterface):
    """What a server answers to requests."""

    def __init__(
        self, server: MisbehavingServer, violation: Violation | None, behind: Violation | None
    ) -> None:
        self.server, self.behind = server, behind
        self.how = f"{violation.step}-{violation.how}" if violation else ""
        self.transport: paramiko.Transport | None = None

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        """Accept every key."""
        self.server.logins += 1
        return {
            "login-refused": paramiko.AUTH_FAILED,
            "login-partial": paramiko.AUTH_PARTIALLY_SUCCESSFUL,
        }.get(self.how, paramiko.AUTH_SUCCESSFUL)

    def get_allowed_auths(self, username: str) -> str:
        """Return the methods of a login."""
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        """Accept a session."""
        is_refused = self.how == "channel-refused"
        return paramiko.OPEN_FAILED_RESOURCE_SHORTAGE if is_refused else paramiko.OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(self, chanid: int, origin: Any, destination: Any) -> int:
        """Accept the connection to another host, and be that host."""
        if self.how == "channel-refused":
            return paramiko.OPEN_FAILED_CONNECT_FAILED
        start_thread(self._serve_behind)
        return paramiko.OPEN_SUCCEEDED

    def _serve_behind(self) -> None:
        assert self.transport is not None
        channel = self.transport.accept(10)
        if channel is not None:
            self.server.treat(channel, self.behind, None, has_other_key=self.how == "output-other_key")

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        """Start to send output."""
        if self.how == "exec-closed":
            channel.close()
        if self.how != "exec-refused":
            start_thread(self._talk, channel)
        return self.how != "exec-refused"

    def _talk(self, channel: paramiko.Channel) -> None:
        time.sleep(0.1)  # until the request itself was answered
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            while self.how == "output-trickle":
                channel.sendall(b".")
                time.sleep(DRIP_S)
            while self.how == "output-stdout":
                channel.sendall(b"y" * 32768)
            while self.how == "output-stderr":
                channel.sendall_stderr(b"y" * 32768)
            channel.sendall(b"some\n")
            channel.send_exit_status(0)
            channel.shutdown_write()
            channel.close()


def start_thread(function: Callable[..., None], *arguments: object) -> None:
    """Run a function in a thread that does not keep this process alive."""
    threading.Thread(target=function, args=arguments, daemon=True).start()


class MisbehavingServer:
    """Listen on loopback and treat every client in the same way."""

    def __init__(self, violation: Violation, host_key: paramiko.PKey, other_key: paramiko.PKey) -> None:
        self.violation, self.host_key, self.other_key = violation, host_key, other_key
        self.logins = 0
        self.fillers: list[socket.socket] = []
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        if violation.name == "host-connect-refused":
            return  # bound, so that no other process gets the port
        if violation.name == "host-connect-hang":
            self._fill_backlog()
        else:
            self.socket.listen(100)
            start_thread(self._accept)

    def _fill_backlog(self) -> None:
        self.socket.listen(0)
        for _ in range(3):
            self.fillers.append(socket.socket())
            self.fillers[-1].setblocking(False)
            self.fillers[-1].connect_ex(("127.0.0.1", self.port))

    def _accept(self) -> None:
        case = self.violation
        while True:
            client, _ = self.socket.accept()
            if case.at == "behind":
                start_thread(self.treat, client, None, case)
            else:
                start_thread(self.treat, client, case, None)

    def treat(
        self,
        client: Any,
        violation: Violation | None,
        behind: Violation | None,
        *,
        has_other_key: bool = False,
    ) -> None:
        """Serve one connection: a TCP socket, or a channel of a jump host."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            if violation is not None and violation.step == "banner":
                BANNERS[violation.how](client)
                client.close()
                return
            transport = MisbehavingTransport(SlowSocket(client), violation)
            how = violation.how if violation else ""
            changes_key = has_other_key or (how == "other_key" and violation.step == "kex_reply")
            transport.add_server_key(self.other_key if changes_key else self.host_key)
            if how == "old_cipher":
                transport.get_security_options().ciphers = ["aes128-cbc"]
            interface = MisbehavingInterface(self, violation, behind)
            interface.transport = transport
            transport.start_server(threading.Event(), interface)


def serve_violations(host_key_path: str, ports: Any) -> None:
    """Serve every case, and put the ports by name into the queue `ports`."""
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    host_key, other_key = paramiko.RSAKey.from_private_key_file(host_key_path), paramiko.RSAKey.generate(2048)
    servers = {name: MisbehavingServer(case, host_key, other_key) for name, case in VIOLATIONS.items()}
    ports.put({name: server.port for name, server in servers.items()})
    threading.Event().wait()


@contextmanager
def run_misbehaving_servers(directory: Path) -> Iterator[dict[str, list[SshHop]]]:
    """Serve every case in another process, so that its threads and memory are not those of the client.

    Yields the hops to the server of each case.
    """
    host_key = paramiko.RSAKey.generate(2048)
    host_key.write_private_key_file(str(directory / "host"))
    login = Login("key", "root", make_key(directory / "client"))
    context = get_context("spawn")
    ports = context.Queue()
    process = context.Process(target=serve_violations, args=(str(directory / "host"), ports), daemon=True)
    process.start()
    try:
        trusted = PublicKey("ssh-rsa", host_key.asbytes())
        results = {}
        for name, port in ports.get(timeout=120).items():
            hop = SshHop("lab", "127.0.0.1", port, login, trusted)
            results[name] = [hop] if VIOLATIONS[name].at == "host" else [hop, hop]
        yield results
    finally:
        process.kill()
        process.join()
