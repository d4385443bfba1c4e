"""Requests that add hosts, and logins with their stored credentials."""

from __future__ import annotations

from culprit.hosts.access import build_hops
from culprit.infra.db.session import Database
from culprit.infra.models.hosts.host import Host
from culprit.infra.network.addresses import AddressRule
from culprit.infra.ssh.connection import SshTimeouts, connect_host
from culprit.tests.support.sshd import Sshd

API = "/api/v1"
TIMEOUTS = SshTimeouts(connect_s=10, step_s=20)


def build_host_body(server: Sshd, **more: object) -> dict[str, object]:
    """Return the request that adds `server` as a host."""
    return {
        "name": "web1",
        "address": server.address,
        "port": server.port,
        "username": server.username,
        "credential": {"kind": "key", "private_key": server.client_key},
        "host_key_fingerprint": server.host_key.fingerprint,
        "labels": {"role": "feed"},
    } | more


def get_login_name(db: Database, host_id: str) -> str:
    """Log in with the stored credential and return the output of `id -un`."""
    with db.sessions() as session:
        hops = build_hops(session, session.get_one(Host, host_id))
    connection = connect_host(hops, (AddressRule("127.0.0.0/8", 1, 65535),), TIMEOUTS)
    try:
        channel = connection.transport.open_session()
        channel.exec_command("id -un")
        return channel.makefile().read().decode().strip()
    finally:
        connection.close()
