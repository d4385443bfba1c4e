"""A Dovecot on the host with mailboxes of its own, and passwords that are stored in one of its schemes."""

from __future__ import annotations

import os
import random
import resource
import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

CONFIGURATION = """
base_dir = /run/dovecot
state_dir = /run/dovecot-state
log_path = /run/dovecot-state/dovecot.log
protocols = imap
listen = {address}
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain
mail_location = maildir:{directory}/%n
first_valid_uid = 1
mail_max_userip_connections = 60
passdb {{
  driver = passwd-file
  args = username_format=%n {directory}/users
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={directory}/%n
}}
service imap-login {{
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
  service_count = 0
  process_min_avail = 2
}}
service imap {{
  process_limit = 1024
  service_count = 200
}}
"""
WORDS = (
    "offer",
    "invoice",
    "meeting",
    "monday",
    "plan",
    "draft",
    "budget",
    "travel",
    "review",
    "station",
    "garden",
)


class Dovecot:
    """A Dovecot that runs. Mailboxes are called person0, person1, ...; the password of each is its name reversed."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, port: int, people: int) -> None:
        """Write the mailboxes, start Dovecot and wait until it listens."""
        self.environment, self.port, self.people = environment, port, people
        self.directory = environment.directory / "mail"
        self.directory.mkdir(mode=0o755)
        for number in range(people):
            self._write_mailbox(rng, number)
        environment.host_sh(f"chown -R mail:mail {self.directory}; mkdir -p /run/dovecot /run/dovecot-state")
        self.configuration = environment.directory / "dovecot.conf"
        self.configuration.write_text(
            CONFIGURATION.format(address=environment.host_address, directory=self.directory, port=port)
        )

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The first process."""
        return self.server.pid

    def start(self) -> None:
        """Start Dovecot, and wait until it listens."""
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["dovecot", "-F", "-c", str(self.configuration)]
        )
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), "Dovecot")
        if self.server.poll() is not None:
            text = (self.environment.directory / "programs.log").read_text()[-800:]
            raise RuntimeError(f"Dovecot ended: {text}")

    def stop(self) -> None:
        """End Dovecot and its sessions."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "Dovecot to end")

    def write_passwords(self, rounds: int) -> None:
        """Store the passwords as BLF-CRYPT with 2^rounds rounds; a Dovecot that runs reads them at the next login."""
        lines = []
        for number in range(self.people):
            name = f"person{number}"
            words = ["doveadm", "-c", str(self.configuration), "pw", "-s", "BLF-CRYPT", "-r", str(rounds)]
            done = subprocess.run([*words, "-p", name[::-1]], check=True, capture_output=True, text=True)
            lines.append(f"{name}:{done.stdout.strip()}\n")
        temporary = self.directory / "users.new"
        temporary.write_text("".join(lines))
        temporary.replace(self.directory / "users")

    def measure_check_s(self, rounds: int) -> float:
        """Return the CPU time that it takes to compute one such password here, in seconds."""
        times = []
        for number in (4, rounds) * 3:
            words = ["doveadm", "-c", str(self.configuration), "pw", "-s", "BLF-CRYPT", "-r", str(number)]
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run([*words, "-p", "measure"], check=True, capture_output=True)
            times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        return min(times[1::2]) - min(times[::2])

    def _write_mailbox(self, rng: random.Random, number: int) -> None:
        box = self.directory / f"person{number}"
        for part in ("cur", "new", "tmp"):
            (box / part).mkdir(parents=True)
        for index in range(rng.randrange(10, 40)):
            text = " ".join(rng.choices(WORDS, k=rng.randrange(60, 900)))
            head = f"From: a{index}@example.net\nTo: person{number}@example.org\nSubject: {text[:40]}\n"
            name = (
                f"{1_795_000_000 + index * 977}.M{index}P{os.getpid()}.mail:2,{rng.choice(('', 'S', 'RS'))}"
            )
            (box / "cur" / name).write_text(f"{head}Date: Thu, 26 Nov 2026 08:00:00 +0000\n\n{text}\n")

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
