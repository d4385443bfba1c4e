"""Real sshd instances on loopback, each with its own host key, authorized key and directory."""

import base64
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from culprit.infra.network.addresses import AddressRule
from culprit.infra.ssh.connection import SshHop
from culprit.infra.ssh.keys import Login, PublicKey

SSHD = "/usr/sbin/sshd"
LOOPBACK = AddressRule("127.0.0.0/8", 1, 65535)


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def make_key(path: Path, kind: str = "ed25519") -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)
    return path.read_text()


def public_key(path: Path) -> PublicKey:
    kind, blob, *_ = path.with_suffix(".pub").read_text().split()
    return PublicKey(kind, base64.b64decode(blob))


def children(pid: int) -> list[int]:
    result = subprocess.run(["pgrep", "-P", str(pid)], check=False, capture_output=True, text=True)
    return [int(child) for child in result.stdout.split()]


@dataclass
class Sshd:
    address: str
    port: int
    directory: Path
    process: subprocess.Popen
    client_key: str
    host_key: PublicKey
    username: str = "root"

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def login(self) -> Login:
        return Login("key", self.username, self.client_key)

    def hop(self, **changes) -> SshHop:
        settings = {
            "name": "lab",
            "address": self.address,
            "port": self.port,
            "login": self.login(),
            "host_key": self.host_key,
        }
        return SshHop(**(settings | changes))

    def sessions(self) -> list[int]:
        """Return the processes of this sshd that have a connection."""
        return [item for child in children(self.process.pid) for item in (child, *children(child))]


@contextmanager
def sshd(
    directory: Path,
    *,
    address: str = "127.0.0.1",
    options: tuple[str, ...] = (),
    setup: str = "",
    username: str = "root",
) -> Iterator[Sshd]:
    """Run an sshd. `setup` is shell code that runs before it in its mount namespace."""
    directory.mkdir(parents=True, exist_ok=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    client_key = make_key(directory / "client")
    make_key(directory / "host")
    authorized = directory / "authorized_keys"
    authorized.write_text((directory / "client.pub").read_text())
    port = free_port(address)
    lines = [
        *options,
        f"ListenAddress {address}:{port}",
        f"HostKey {directory}/host",
        f"AuthorizedKeysFile {authorized}",
        "PidFile none",
        "UsePAM no",
        "StrictModes no",
        "PasswordAuthentication no",
        "MaxStartups 500",
        "LogLevel VERBOSE",
    ]
    (directory / "config").write_text("\n".join(lines) + "\n")
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            # in its own mount namespace, it is another host for the lease of the runner
            [
                "unshare",
                "--mount",
                "sh",
                "-ec",
                f'{setup}\nexec {SSHD} -D -e -f "$1"',
                "sh",
                str(directory / "config"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        for _ in range(400):
            assert process.poll() is None, (directory / "log").read_text()
            with socket.socket() as probe:
                if probe.connect_ex((address, port)) == 0:
                    break
            time.sleep(0.05)
        host_key = public_key(directory / "host")
        yield Sshd(address, port, directory, process, client_key, host_key, username)
    finally:
        for pid in [*children(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
