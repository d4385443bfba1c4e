"""An SSH server that accepts every login and then sends frames or raw bytes of the test."""

import contextlib
import hashlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import paramiko
from culprit.infra.ssh.keys import PublicKey

Script = Callable[[paramiko.Channel, threading.Event], None]


def frame(kind: str, payload: bytes = b"", *, name: str = "-", part: str = "-", fields: str = "") -> bytes:
    """Return one valid frame."""
    digest = hashlib.sha256(payload).hexdigest()
    head = f"CULPRIT1 kind={kind} id={name} part={part} len={len(payload)} sha256={digest} {fields}".strip()
    return head.encode() + b"\n" + payload + b"\n"


def outcome(name: str, payload: bytes = b"", **changes: str) -> bytes:
    """Return the outcome of a successful collector, with `changes` of its fields."""
    fields = {"state": "done", "method": "vmstat", "exit": "0", "signal": "-", "start": "9000000000"}
    fields |= {
        "end": "12000000000",
        "cpu_ms": "10",
        "bytes": "100",
        "parts": "1",
        "limiter": "nice",
    } | changes
    return frame("outcome", payload, name=name, fields=" ".join(f"{k}={v}" for k, v in fields.items()))


def clock(seq: int, boot_ns: int) -> bytes:
    """Return a clock reading of a host that booted ten seconds ago."""
    real = time.time_ns()
    fields = (
        f"seq={seq} at=tick bt0={boot_ns} bt1={boot_ns + 10_000_000} m0=- m1=- real={real} res=1 src=date"
    )
    return frame("clock", fields=fields)


HELLO = b"run x\nprotocol 1\nboot_id 5d0a1c9e-0000-4000-8000-000000000001\nmachine_id 0123456789abcdef0123456789abcdef"
VMSTAT = (
    b"procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    b" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    b" 1  0      0 100000   1000  10000    0    0     1     1    1    1  1  1 98  0  0\n"
)


class _Interface(paramiko.ServerInterface):
    def __init__(self, peer: "HostilePeer") -> None:
        self.peer = peer

    def check_auth_publickey(self, username, key):
        self.peer.logins += 1
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username):
        return "publickey"

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        threading.Thread(target=self.peer.serve, args=(channel,), daemon=True).start()
        return True


@dataclass
class HostilePeer:
    """Listen on loopback and answer every command with `script(channel, stop)`, in place of an `Sshd`."""

    script: Script
    client_key: str
    key: paramiko.PKey
    address: str = "127.0.0.1"
    username: str = "root"
    logins: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    transports: list = field(default_factory=list)

    def __post_init__(self) -> None:
        self.socket = socket.create_server((self.address, 0), backlog=50)
        self.port = self.socket.getsockname()[1]
        self.host_key = PublicKey(self.key.get_name(), self.key.asbytes())
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self.stop.is_set():
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            transport = paramiko.Transport(client)
            self.transports.append(transport)
            transport.add_server_key(self.key)
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                transport.start_server(threading.Event(), _Interface(self))

    def serve(self, channel: paramiko.Channel) -> None:
        time.sleep(0.1)  # until the request itself was answered
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self.script(channel, self.stop)

    def close(self) -> None:
        self.stop.set()
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for transport in self.transports:
            transport.close()


def repeat(data: bytes, *, stderr: bool = False) -> Script:
    """Return a script that starts like a runner and then sends the same bytes indefinitely."""

    def send(channel: paramiko.Channel, stop: threading.Event) -> None:
        channel.sendall(frame("hello", HELLO))
        while not stop.is_set():
            (channel.sendall_stderr if stderr else channel.sendall)(data)

    return send


def ignore_window(channel: paramiko.Channel, stop: threading.Event) -> None:
    """Send one endless part without waiting for the window of the channel."""
    channel.sendall(frame("hello", HELLO))
    head = b"CULPRIT1 kind=part id=vmstat part=stdout len=60000000 sha256=- enc=identity raw=-\n"
    data = head
    while not stop.is_set():
        message = paramiko.Message()
        message.add_byte(paramiko.common.cMSG_CHANNEL_DATA)
        message.add_int(channel.remote_chanid)
        message.add_string(data)
        channel.transport._send_user_message(message)
        data = b"y" * 32_000


def numbered(make: Callable[[int], bytes], *, stderr: bool = False) -> Script:
    """Return a script that sends more different messages than a stream may have frames, and ends."""

    def send(channel: paramiko.Channel, stop: threading.Event) -> None:
        channel.sendall(frame("hello", HELLO))
        for at in range(0, 12_000, 300):
            data = b"".join(make(n) for n in range(at, at + 300))
            (channel.sendall_stderr if stderr else channel.sendall)(data)
        channel.send_exit_status(0)
        channel.close()

    return send


#: Attempts of a host to grow a worker; each continues until it is stopped.
FLOODS: dict[str, Script] = {
    "endless_header": repeat(b"CULPRIT1 kind=part " + b"x" * 32_000),
    "endless_stderr": repeat(b"y" * 32_000, stderr=True),
    "empty_frames": repeat(frame("clock") * 300),
    "unordered_parts": numbered(lambda n: frame("part", b"x", name=f"other{n}", part="stdout")),
    "unordered_outcomes": numbered(
        lambda n: outcome(f"other{n}", b"argv " + b"a" * 1000 + b"\nstderr\n" + b"e" * 4000)
    ),
    "huge_length": repeat(
        b"CULPRIT1 kind=part id=vmstat part=stdout len=9999999999999999999\n" + b"z" * 30_000
    ),
    "progress": numbered(lambda n: f"progress other{n} running 1\n".encode(), stderr=True),
    "no_window": ignore_window,
}


def serve_floods(client_key, host_key_path, ports):
    """Serve in a separate process, so that the memory of the peers does not count for the worker."""
    host_key = paramiko.RSAKey.from_private_key_file(host_key_path)
    peers = {name: HostilePeer(script, client_key, host_key) for name, script in FLOODS.items()}
    ports.put({name: peer.port for name, peer in peers.items()})
    time.sleep(600)
