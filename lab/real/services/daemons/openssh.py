"""An sshd for partners on the host's own address: they send files and take lists, as one unprivileged account."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import Load, wait_for

CLIENTS = Path(__file__).parents[2] / "programs" / "clients"
CONFIGURATION = """
Port {port}
ListenAddress {address}
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/partners
PidFile {directory}/sshd.pid
UsePAM no
UseDNS no
StrictModes no
PasswordAuthentication no
AllowUsers {account}
Subsystem sftp internal-sftp
ForceCommand internal-sftp
MaxStartups {startups}
LoginGraceTime {grace_s}
LogLevel ERROR
"""


class PartnerSshd:
    """An sshd that runs. `server` is its first process, `startups` its MaxStartups."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Create keys and lists, start sshd and wait until it listens."""
        self.environment, self.rng = environment, rng
        self.port, self.account = rng.choice((22, 2222, 2022)), rng.choice(("backup", "games", "uucp"))
        self.startups = rng.choice(("10:30:100", "10:30:60", "8:40:80"))
        self.grace_s = rng.choice((90, 120))
        self.directory = environment.directory / "partners"
        self.exchange = self.directory / "exchange"
        self.exchange.mkdir(parents=True)
        self.exchange.chmod(0o777)
        for key in ("host_key", "partner_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.directory / key)], check=True
            )
        shutil.copy(self.directory / "partner_key.pub", self.directory / "partners")
        (self.exchange / "prices.csv").write_bytes(rng.randbytes(rng.randrange(40, 200) * 1024))
        file = self.directory / "sshd_config"
        file.write_text(
            CONFIGURATION.format(
                port=self.port, address=environment.host_address, directory=self.directory, account=self.account,
                startups=self.startups, grace_s=self.grace_s,
            )
        )  # fmt: skip
        environment.host_sh("mkdir -p /run/sshd")
        self.server: subprocess.Popen[bytes] = environment.on_host(["/usr/sbin/sshd", "-D", "-f", str(file)])
        wait_for(
            lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{self.port}").strip()),
            "sshd of partners",
        )

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The first process."""
        return self.server.pid

    def start_partners(self, rate: float) -> Load:
        """Start partners that send and take files."""
        return self.environment.load(
            "--to", self.address, "--account", self.account, "--key", self.directory / "partner_key",
            "--exchange", self.exchange, "--rate", rate, "--seed", self.rng.randrange(10_000),
            program=str(CLIENTS / "sftp_partners.py"),
        )  # fmt: skip

    def start_inventory(self, connections: int, pause_s: float) -> None:
        """Start a program of another host that looks which version the sshd has, over so many connections at a time."""
        self.environment.on_client(
            [sys.executable, "-B", str(CLIENTS / "inventory.py"), "--to", self.address,
             "--connections", str(connections), "--pause-s", f"{pause_s:.2f}"]
        )  # fmt: skip
