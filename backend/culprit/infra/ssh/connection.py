"""SSH connection to a host with a trusted key, or one typed error within a deadline.

The timeouts of paramiko are incomplete (a started exec, a missing exit status and an unread window wait
indefinitely), so a watchdog closes the connection when a stage is overdue; the blocked call fails and the
stage names the error. Only name resolution cannot be interrupted from inside; the caller supervises it from
another process.

A connection uses zero or more jump hosts. Every hop has its own trusted key and its own login. Every address
was resolved here and is on the allow-list.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import paramiko
from paramiko.ssh_exception import IncompatiblePeer

from culprit.infra.network.addresses import AddressRule, resolve_address
from culprit.infra.ssh.errors import TIMEOUT_KIND, SshError, Stage, to_printable
from culprit.infra.ssh.keys import Login, PublicKey, load_login_key
from culprit.infra.ssh.transport import BoundedPacketizer, BoundedTransport, ProtocolViolationError

# Nothing with SHA-1, MD5, CBC or 3DES. GCM first: half the CPU of CTR with a MAC.
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr")
MACS = (
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
)
HOST_KEYS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)
KEX = (
    "mlkem768x25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group-exchange-sha256",
    "diffie-hellman-group14-sha256",
)
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EACCES, errno.EPERM})
# What paramiko and BoundedPacketizer report of a peer that sends no banner of SSH.
_NO_BANNER = ("protocol version", "SSH protocol banner", "Invalid SSH banner")
THREAD_END_S = 0.2

Report = Callable[[Stage], None]


@dataclass(frozen=True, slots=True)
class SshHop:
    """One SSH server of a connection: address, trusted key and login."""

    name: str
    address: str
    port: int
    login: Login
    host_key: PublicKey | None


@dataclass(frozen=True, slots=True)
class SshTimeouts:
    """Timeouts: `connect_s` for the TCP connection, `step_s` for each later step up to the first answer."""

    connect_s: float = 20.0
    step_s: float = 90.0


class Watchdog:
    """Close guarded objects when a stage takes too long. One thread, ended by `stop`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._until: float | None = None
        self._cuts: list[Callable[[], None]] = []
        self._stopped = False
        self.expired = False
        self._thread = threading.Thread(target=self._watch, name="ssh-watchdog", daemon=True)
        self._thread.start()

    def guard(self, cut: Callable[[], None]) -> None:
        """Register a function that closes something at the deadline."""
        with self._changed:
            self._cuts.append(cut)

    def until(self, moment: float | None) -> None:
        """Set the deadline in `time.monotonic()`; None for no deadline."""
        with self._changed:
            self._until = moment
            self._changed.notify()

    def stop(self) -> None:
        """End the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _watch(self) -> None:
        with self._changed:
            while not self._stopped and not self.expired:
                left = None if self._until is None else self._until - time.monotonic()
                if left is not None and left <= 0:
                    self.expired = True
                else:
                    self._changed.wait(left)
            cuts = self._cuts if self.expired else []
        for cut in cuts:
            cut()


@dataclass(slots=True)
class Connection:
    """An authenticated connection. `timings` are milliseconds per stage of the last hop."""

    transports: list[paramiko.Transport] = field(default_factory=list)
    sockets: list[Any] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    watchdog: Watchdog = field(default_factory=Watchdog)

    @property
    def transport(self) -> paramiko.Transport:
        """Return the transport to the host, the last hop."""
        return self.transports[-1]

    def close(self) -> None:
        """Close everything, from the host back to the first jump host. May be called twice."""
        self.watchdog.stop()
        for transport in reversed(self.transports):
            transport.packetizer.complete_handshake()  # otherwise its timer outlives a failed handshake
            transport.close()
            transport.join(5)
        for sock in reversed(self.sockets):  # a transport that never started does not close its socket
            sock.close()


def ignore_report(stage: Stage) -> None:
    """Discard a progress report."""


def connect_host(
    hops: Sequence[SshHop],
    rules: Sequence[AddressRule],
    timeouts: SshTimeouts,
    report: Report = ignore_report,
) -> Connection:
    """Connect over all hops and log in on each. On failure, close everything and raise SshError."""
    chain = _HopChain(Connection(), tuple(rules), timeouts, report)
    try:
        for hop in hops[:-1]:
            chain.enter(hop)
            connection = chain.connection
            connection.timings = {f"jump_{key}": value for key, value in connection.timings.items()}
        chain.enter(hops[-1])
    except BaseException:
        chain.connection.close()
        raise
    return chain.connection


def read_host_key(hops: Sequence[SshHop], rules: Sequence[AddressRule], timeouts: SshTimeouts) -> PublicKey:
    """Return the host key of the last hop. Logs in on the jump hosts before it, never on the last."""
    chain = _HopChain(Connection(), tuple(rules), timeouts, ignore_report)
    try:
        for hop in hops[:-1]:
            chain.enter(hop)
        return chain.greet(hops[-1])
    finally:
        chain.connection.close()


@dataclass(frozen=True, slots=True)
class _HopChain:
    """A connection while it is established."""

    connection: Connection
    rules: tuple[AddressRule, ...]
    timeouts: SshTimeouts
    report: Report

    def enter(self, hop: SshHop) -> None:
        """Connect to one hop through those before it, check its key, and log in."""
        if hop.host_key is None:
            raise SshError("host_key_missing", host=hop.name)
        displayed = self.greet(hop)
        if displayed != hop.host_key:
            raise SshError(
                "host_key_changed",
                host=hop.name,
                pinned=hop.host_key.fingerprint,
                shown=displayed.fingerprint,
                type=to_printable(displayed.type, 40),
            )
        with self.stage("auth", self.timeouts.step_s, hop):
            _log_in(self.connection.transport, hop)

    def greet(self, hop: SshHop) -> PublicKey:
        """Run all steps up to the host key and add the transport. No login data is sent."""
        step_s = self.timeouts.step_s
        with self.stage("resolve", step_s, hop):
            address = resolve_address(hop.address, hop.port, self.rules)
        with self.stage("connect", self.timeouts.connect_s, hop):
            sock = self._dial(address, hop.port)
        self.connection.sockets.append(sock)
        self.connection.watchdog.guard(sock.close)
        with self.stage("banner", step_s, hop):
            transport = _open_transport(sock, hop.host_key, step_s)
            self.connection.transports.append(transport)
            self.connection.watchdog.guard(transport.close)
            agreed = threading.Event()
            transport.start_client(agreed)
            _await_transport(transport, lambda: transport.remote_version != "")
        with self.stage("kex", step_s, hop):
            _await_transport(transport, agreed.is_set)
            key = transport.get_remote_server_key()
        return PublicKey(key.get_name(), key.asbytes())

    def stage(self, name: Stage, seconds: float, hop: SshHop) -> AbstractContextManager[None]:
        """Run one step of this connection; see `stage`."""
        self.report(name)
        return run_stage(self.connection, name, seconds, hop)

    def _dial(self, address: str, port: int) -> Any:
        """Return a TCP socket to the first hop, or a channel of the previous hop."""
        seconds = self.timeouts.connect_s
        if not self.connection.transports:
            sock = socket.create_connection((address, port), timeout=seconds)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        return self.connection.transport.open_channel(
            "direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=seconds
        )


@contextmanager
def run_stage(connection: Connection, name: Stage, seconds: float, hop: SshHop) -> Iterator[None]:
    """Time one step, interrupt it when it is overdue, and map its errors to a kind."""
    begun = time.monotonic()
    connection.watchdog.until(begun + seconds)
    where: dict[str, str | int | float] = {"host": hop.name, "address": hop.address, "port": hop.port}
    try:
        yield
    except SshError:
        raise
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        # A library may notice that the time is up in the moment in which the watchdog does.
        if connection.watchdog.expired or time.monotonic() >= begun + seconds:
            raise SshError(TIMEOUT_KIND[name], seconds=round(seconds), **where) from error
        raise SshError(
            _classify_error(connection, name, error), reason=_describe_error(error), **where
        ) from error
    finally:
        connection.timings[f"{name}_ms"] = round((time.monotonic() - begun) * 1000, 1)
        connection.watchdog.until(None)


def _classify_error(connection: Connection, name: Stage, error: Exception) -> str:
    """Return the kind of an error in a step that was not overdue."""
    if name == "connect" and not connection.transports:
        if isinstance(error, TimeoutError):
            return "connect_timeout"
        return "unreachable" if getattr(error, "errno", None) in _UNREACHABLE else "refused"
    if isinstance(error, IncompatiblePeer):
        return "not_ssh" if "version" in str(error) else "kex"
    if isinstance(error, ProtocolViolationError):
        is_banner = name in ("banner", "kex") and any(text in str(error) for text in _NO_BANNER)
        return "not_ssh" if is_banner else "protocol"
    if isinstance(error, paramiko.ChannelException):
        return "refused" if name == "connect" else "channel"
    if isinstance(error, paramiko.AuthenticationException) and "shut down" not in str(error):
        return "auth_failed"
    if name == "exec" and isinstance(error, paramiko.SSHException) and _is_open(connection.transport):
        return "exec"
    return "cut"


def _is_open(transport: paramiko.Transport) -> bool:
    """Return whether a connection continues. Its end closes the channels a moment before its thread ends."""
    transport.join(THREAD_END_S)
    return transport.is_alive()


def _describe_error(error: Exception) -> str:
    code = getattr(error, "errno", None)
    return os.strerror(code) if isinstance(code, int) else to_printable(str(error)) or type(error).__name__


def _open_transport(sock: Any, pinned: PublicKey | None, step_s: float) -> paramiko.Transport:
    """Return a transport that offers no weak algorithms and requests the trusted type of key first."""
    try:
        transport = BoundedTransport(sock, packetizer_class=BoundedPacketizer)
    except BaseException:
        sock.close()
        raise
    transport.daemon = True
    options = transport.get_security_options()
    options.ciphers = CIPHERS
    options.digests = MACS
    options.kex = [name for name in KEX if name in options.kex]
    options.compression = ["none"]
    key_type = pinned.type if pinned else ""
    family = "rsa-sha2-" if key_type == "ssh-rsa" else key_type
    first = [name for name in HOST_KEYS if family and name.startswith(family)]
    options.key_types = first + [name for name in HOST_KEYS if name not in first]
    # The watchdog fires earlier than these timeouts.
    transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = step_s * 2
    transport.channel_timeout = step_s * 2
    return transport


def _await_transport(transport: paramiko.Transport, done: Callable[[], bool]) -> None:
    while not done():
        if not transport.is_alive():
            raise transport.get_exception() or EOFError("closed by the peer")
        time.sleep(0.002)
    error = transport.get_exception() if not transport.is_active() else None
    if error is not None:
        raise error


def _log_in(transport: paramiko.Transport, hop: SshHop) -> None:
    """Log in with the configured method only. Raises SshError or AuthenticationException."""
    login = hop.login
    if login.kind == "password":
        left = transport.auth_password(login.username, login.secret)
    elif login.kind == "agent":
        left = _try_agent_keys(transport, login)
    else:
        left = transport.auth_publickey(login.username, load_login_key(login))
    if left or not transport.is_authenticated():
        raise SshError(
            "auth_failed",
            address=hop.address,
            user=login.username,
            reason="more than one method is required",
        )


def _try_agent_keys(transport: paramiko.Transport, login: Login) -> list[str]:
    agent = paramiko.Agent()
    try:
        keys = [
            key for key in agent.get_keys()
            if not login.key_fingerprint or PublicKey("", key.asbytes()).fingerprint == login.key_fingerprint
        ]  # fmt: skip
        if not keys:
            raise SshError("no_agent", fingerprint=login.key_fingerprint or "any")
        refusal: paramiko.AuthenticationException | None = None
        for key in keys[:5]:
            try:
                return transport.auth_publickey(login.username, key)
            except paramiko.AuthenticationException as error:
                refusal = error
        assert refusal is not None
        raise refusal
    finally:
        agent.close()
