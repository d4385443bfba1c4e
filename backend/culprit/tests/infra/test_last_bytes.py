"""Data that was complete when a peer closed is passed on, in every order of closing."""

import contextlib
import socket
import threading
import time
from itertools import permutations

import paramiko
import pytest
from culprit.infra.ssh.connection import SshHop, SshTimeouts, connect_host
from culprit.infra.ssh.errors import SshError
from culprit.infra.ssh.execute import Bounds, run_command, start_command
from culprit.infra.ssh.keys import Login
from culprit.tests.support.hostile_peer import HELLO, HostilePeer, frame
from culprit.tests.support.sshd import LOOPBACK, make_key

from collectors.runner.frames import FrameReader

pytestmark = pytest.mark.long(120)
TIMEOUTS = SshTimeouts(5.0, 20.0)
BOUNDS = Bounds(silence_s=10, total_s=30, stdout_bytes=64 << 20, stderr_bytes=1 << 20)
#: More than one turn reads, so that most of it is unread when the peer closes.
COUNT = 20
FRAMES = [frame("hello", HELLO)]
FRAMES += [frame("part", b"%d" % n * 20_000, name="vmstat", part=f"p{n}") for n in range(1, COUNT)]


class Reader:
    """Read frames, and write a heartbeat whenever possible, like a session."""

    def __init__(self):
        self.reader = FrameReader()
        self.frames = []

    def stdout(self, data):
        self.frames += self.reader.feed(data)

    def stderr(self, data):
        pass

    def take_input(self, now):
        time.sleep(0.02)  # slower than the peer
        return b"hb 1\n"

    def should_close_input(self):
        return False


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("last-bytes") / "key"), paramiko.RSAKey.generate(2048)


def conversation(peer, port=None):
    """Run one session with the peer; return its frames, and its exit status or the kind of its error."""
    hop = SshHop("lab", peer.address, port or peer.port, Login("key", "root", peer.client_key), peer.host_key)
    talk = Reader()
    connection = None
    try:
        connection = connect_host([hop], [LOOPBACK], TIMEOUTS)
        channel = start_command(connection, hop, "true", TIMEOUTS)
        return talk.frames, run_command(connection, channel, talk, BOUNDS)
    except SshError as error:
        return talk.frames, error.kind
    finally:
        if connection is not None:
            connection.close()


def ending(order):
    """Return a script that sends all frames and then closes in this order, without a pause."""

    def script(channel, stop):
        ends = {
            "status": lambda: channel.send_exit_status(0),
            "eof": channel.shutdown_write,
            "close": channel.close,
            "tcp": channel.transport.sock.close,
        }
        channel.sendall(b"".join(FRAMES))
        for step in order:
            with contextlib.suppress(OSError):
                ends[step]()

    return script


ORDERS = [
    *permutations(("status", "eof", "close")),
    ("status", "eof"),
    ("close",),
    ("tcp",),
    ("status", "eof", "close", "tcp"),
]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_every_frame_before_the_end_is_kept(keys, order):
    peer = HostilePeer(ending(order), *keys)
    try:
        frames, ended = conversation(peer)
    finally:
        peer.close()
    assert len(frames) == COUNT
    before_close = order[: order.index("close")] if "close" in order else order
    assert ended == (0 if "status" in before_close else "cut")


class Cut:
    """A proxy that forwards a number of bytes of the server's answer and then closes both sides."""

    def __init__(self, port, after):
        self.port_behind, self.after, self.passed = port, after, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.opened = [self.socket]
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            client, _ = self.socket.accept()
            self.opened.append(client)
            server = socket.create_connection(("127.0.0.1", self.port_behind))
            self.opened.append(server)
            threading.Thread(target=self._copy, args=(client, server), daemon=True).start()
            while data := server.recv(min(16384, self.after - self.passed)):
                client.sendall(data)
                self.passed += len(data)
                if self.passed >= self.after:
                    break
            client.shutdown(socket.SHUT_WR)
            server.shutdown(socket.SHUT_RDWR)

    def close(self):
        for item in self.opened:
            item.close()

    def _copy(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(16384):
                server.sendall(data)


def test_a_cut_at_any_byte_keeps_every_frame_that_was_complete(keys):
    """SSH adds bytes to every packet of the peer, so the bound is a lower bound."""
    peer = HostilePeer(ending(("status", "eof", "close")), *keys)
    whole = sum(len(frame) for frame in FRAMES)
    lost = {}
    try:
        for share in (0.05, 0.13, 0.31, 0.5, 0.72, 0.93, 0.999):
            after = int(whole * share) + 6_000
            proxy = Cut(peer.port, after)
            frames, _ = conversation(peer, proxy.port)
            proxy.close()
            # 6,000 bytes at most for the handshake; less than 1 % for packets; one packet may be incomplete.
            sure = (after - 6_000) * 0.99 - 33_000
            complete = sum(1 for at in range(COUNT) if sum(len(frame) for frame in FRAMES[: at + 1]) <= sure)
            if len(frames) < complete:
                lost[after] = (len(frames), complete)
    finally:
        peer.close()
    assert lost == {}
