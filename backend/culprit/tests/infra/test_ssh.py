"""Connections to a real sshd."""

import dataclasses
import subprocess
import time
from pathlib import Path

import paramiko
import pytest
from culprit.infra.network.addresses import AddressRule
from culprit.infra.ssh import execute
from culprit.infra.ssh.connection import CIPHERS, SshHop, SshTimeouts, connect_host, read_host_key
from culprit.infra.ssh.errors import SshError
from culprit.infra.ssh.execute import Bounds, run_command, start_command
from culprit.infra.ssh.keys import Login, PublicKey
from culprit.tests.support.hostile_peer import HostilePeer
from culprit.tests.support.sshd import LOOPBACK, free_port, make_key, public_key, sshd

SOON = SshTimeouts(connect_s=5, step_s=20)
SHORT = SshTimeouts(connect_s=2, step_s=2)
BOUNDS = Bounds(silence_s=20, total_s=60, stdout_bytes=1 << 20, stderr_bytes=1 << 20)

pytestmark = [pytest.mark.filterwarnings("error")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


class Gather:
    """A session handler that stores all output and writes the configured input."""

    def __init__(self, words: bytes = b"", close_input: bool = True):
        self.out, self.err, self.words, self.closes_input = b"", b"", words, close_input

    def stdout(self, data):
        self.out += data

    def stderr(self, data):
        self.err += data

    def take_input(self, now):
        words, self.words = self.words, b""
        return words

    def should_close_input(self):
        return self.closes_input


def run(hops, command, talk=None, bounds=BOUNDS, timeouts=SOON):
    hops = hops if isinstance(hops, list) else [hops]
    talk = talk or Gather()
    connection = connect_host(hops, [LOOPBACK], timeouts)
    try:
        channel = start_command(connection, hops[-1], command, timeouts)
        return run_command(connection, channel, talk, bounds), talk, connection
    finally:
        connection.close()


def kind_of(action) -> str:
    with pytest.raises(SshError) as caught:
        action()
    return caught.value.kind


def test_a_command_runs_and_both_streams_come_back(server):
    status, talk, connection = run(server.hop(), "cat; echo out; echo err >&2; exit 3", Gather(b"in\n"))
    assert (status, talk.out, talk.err) == (3, b"in\nout\n", b"err\n")
    assert {"resolve_ms", "connect_ms", "banner_ms", "kex_ms", "auth_ms", "channel_ms", "exec_ms"} <= set(
        connection.timings
    )


def test_binary_output_arrives_as_it_was(server):
    _, talk, _ = run(server.hop(), "head -c 700000 /dev/zero | tr '\\0' '\\377'; printf '\\0\\r\\n'")
    assert talk.out == b"\xff" * 700_000 + b"\0\r\n"


def test_the_connection_uses_gcm(server):
    connection = connect_host([server.hop()], [LOOPBACK], SOON)
    try:
        assert connection.transport.remote_cipher == CIPHERS[0]
    finally:
        connection.close()


def test_nothing_weak_is_offered(tmp_path):
    with sshd(tmp_path / "sshd", options=("LogLevel DEBUG2",)) as verbose:
        run(verbose.hop(), "true")
        offered = verbose.log.partition("peer client KEXINIT proposal")[2].partition("reserved")[0]
    assert "aes128-gcm@openssh.com" in offered
    assert [w for w in ("sha1", "md5", "cbc", "3des", "arcfour", "group1-", "ssh-rsa") if w in offered] == []


@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "ed25519"])
def test_login_works_with_every_common_key_type(tmp_path, server, kind):
    key = make_key(tmp_path / "key", kind)
    with (server.directory / "authorized_keys").open("a") as authorized:
        authorized.write((tmp_path / "key.pub").read_text())
    assert run(server.hop(login=Login("key", "root", key)), "true")[0] == 0


def test_a_certificate_logs_in(tmp_path):
    make_key(tmp_path / "ca")
    key = make_key(tmp_path / "user")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", tmp_path / "ca", "-I", "id", "-n", "root", tmp_path / "user.pub"],
        check=True,
    )
    options = (f"TrustedUserCAKeys {tmp_path}/ca.pub", "AuthorizedKeysFile none")
    with sshd(tmp_path / "sshd", options=options) as server:
        certificate = (tmp_path / "user-cert.pub").read_text()
        assert run(server.hop(login=Login("certificate", "root", key, certificate)), "true")[0] == 0
        assert kind_of(lambda: run(server.hop(login=Login("key", "root", key)), "true")) == "auth_failed"


def test_an_agent_logs_in_with_the_key_that_was_named(tmp_path, server, monkeypatch):
    sock = str(tmp_path / "agent")
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", sock], stdout=subprocess.DEVNULL)
    try:
        while not Path(sock).exists():
            time.sleep(0.01)
        monkeypatch.setenv("SSH_AUTH_SOCK", sock)
        make_key(tmp_path / "other")
        for path in (tmp_path / "other", server.directory / "client"):
            subprocess.run(["ssh-add", "-q", path], check=True)
        named = public_key(server.directory / "client").fingerprint
        assert run(server.hop(login=Login("agent", "root", key_fingerprint=named)), "true")[0] == 0
        assert run(server.hop(login=Login("agent", "root")), "true")[0] == 0
        missing = Login("agent", "root", key_fingerprint="SHA256:none")
        assert kind_of(lambda: run(server.hop(login=missing), "true")) == "no_agent"
    finally:
        agent.kill()
        agent.wait()


def test_unreadable_key_is_reported(server):
    for text in (
        "",
        "rubbish",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
    ):
        assert kind_of(lambda t=text: run(server.hop(login=Login("key", "root", t)), "true")) == "bad_key"


def test_a_changed_host_key_is_a_hard_stop_without_any_login(tmp_path, server):
    make_key(tmp_path / "other")
    before = server.log.count("Accepted") + server.log.count("Failed")
    with pytest.raises(SshError) as caught:
        run(server.hop(host_key=public_key(tmp_path / "other")), "true")
    assert caught.value.kind == "host_key_changed"
    assert caught.value.params["shown"] == server.host_key.fingerprint
    assert caught.value.final
    rsa = PublicKey("ssh-rsa", b"\0\0\0\7ssh-rsa")
    assert kind_of(lambda: run(server.hop(host_key=rsa), "true")) == "host_key_changed"
    assert kind_of(lambda: run(server.hop(host_key=None), "true")) == "host_key_missing"
    assert server.log.count("Accepted") + server.log.count("Failed") == before


def test_no_login_is_tried_on_a_wrong_key(tmp_path):
    key = make_key(tmp_path / "client")
    make_key(tmp_path / "pinned")
    peer = HostilePeer(lambda channel, stop: None, key, paramiko.RSAKey.generate(2048))
    hop = SshHop("lab", "127.0.0.1", peer.port, Login("key", "root", key), public_key(tmp_path / "pinned"))
    try:
        for _ in range(5):
            assert kind_of(lambda: run(hop, "true")) == "host_key_changed"
        assert (peer.logins, len(peer.transports)) == (0, 5)
    finally:
        peer.close()


def test_scanning_shows_the_key_and_logs_in_nowhere(server):
    before = server.log.count("Accepted")
    hop = dataclasses.replace(server.hop(), login=Login("key", "root", "none"), host_key=None)
    assert read_host_key([hop], [LOOPBACK], SOON) == server.host_key
    assert server.log.count("Accepted") == before


def test_refused_login_has_its_own_error(tmp_path, server):
    stranger = Login("key", "root", make_key(tmp_path / "stranger"))
    assert kind_of(lambda: run(server.hop(login=stranger), "true")) == "auth_failed"
    assert kind_of(lambda: run(server.hop(login=Login("password", "root", "guess")), "true")) == "auth_failed"


def test_through_a_jump_host_both_keys_are_checked(tmp_path, server):
    make_key(tmp_path / "other")
    with sshd(tmp_path / "behind") as behind:
        jump = server.hop(name="jump")
        status, talk, connection = run([jump, behind.hop()], "echo $SSH_CONNECTION")
        assert status == 0
        assert talk.out.split()[3] == str(behind.port).encode()
        assert "jump_auth_ms" in connection.timings
        wrong = dataclasses.replace(jump, host_key=public_key(tmp_path / "other"))
        with pytest.raises(SshError) as caught:
            run([wrong, behind.hop()], "true")
        assert (caught.value.kind, caught.value.params["host"]) == ("host_key_changed", "jump")
        logins = behind.log.count("Accepted")
        hop = behind.hop(host_key=public_key(tmp_path / "other"))
        assert kind_of(lambda: run([jump, hop], "true")) == "host_key_changed"
        assert behind.log.count("Accepted") == logins
        only_jump = [AddressRule("127.0.0.1/32", server.port, server.port)]
        assert kind_of(lambda: connect_host([jump, behind.hop()], only_jump, SOON)) == "not_allowed"


@pytest.mark.parametrize(
    ("address", "rules"),
    [
        ("127.0.0.1", []),
        ("127.0.0.1", [AddressRule("10.0.0.0/8", 1, 65535)]),
        ("127.0.0.1", [AddressRule("127.0.0.0/8", 1, 21)]),
        ("localhost", [AddressRule("10.0.0.0/8", 1, 65535)]),
        ("::ffff:127.0.0.1", [AddressRule("::/0", 1, 65535)]),
        ("0x7f000001", [AddressRule("10.0.0.0/8", 1, 65535)]),
        ("2130706433", [AddressRule("10.0.0.0/8", 1, 65535)]),
        ("0.0.0.0", [AddressRule("0.0.0.0/0", 1, 65535)]),
        ("::", [AddressRule("::/0", 1, 65535)]),
    ],
)
def test_what_no_rule_names_is_not_dialled(server, address, rules):
    hop = server.hop(address=address)
    assert kind_of(lambda: connect_host([hop], rules, SHORT)) in ("not_allowed", "dns")


def test_a_name_that_leads_nowhere(server):
    assert (
        kind_of(lambda: connect_host([server.hop(address="no.such.host.invalid")], [LOOPBACK], SHORT))
        == "dns"
    )


def test_a_closed_port_is_refused(server):
    assert kind_of(lambda: connect_host([server.hop(port=free_port())], [LOOPBACK], SHORT)) == "refused"


def test_a_port_that_never_answers_times_out(server):
    import socket

    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        hop = server.hop(port=port)
        assert kind_of(lambda: connect_host([hop], [LOOPBACK], SHORT)) == "connect_timeout"
        for filler in fillers:
            filler.close()


def test_connection_that_closes_while_a_chunk_is_acknowledged_is_cut():
    """paramiko raises EOFError where it cannot send the message that opens the window again."""

    def read(size):
        raise EOFError

    with pytest.raises(SshError) as raised:
        execute._receive(read)
    assert raised.value.kind == "cut"
