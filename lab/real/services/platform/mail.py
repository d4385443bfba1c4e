"""Mail of an office: a Dovecot whose mailboxes are those of teams, which all read over the address of a gateway."""

from __future__ import annotations

import time

from lab.load import Load, wait_for
from lab.real.services.daemons.dovecot import Dovecot
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

MAIL_CLIENTS = str(PROGRAMS / "clients" / "mail_clients.py")
SETTING = "mail_max_userip_connections = "


class OfficeMail:
    """The services that run. `dovecot` is the server."""

    def __init__(self, town: Town, sessions: int) -> None:
        """Start Dovecot. sessions: how many a mailbox may have from the same address."""
        rng, self.town, self.environment = town.rng, town, town.environment
        self.mailboxes, port = rng.randrange(6, 10), rng.choice((143, 1143, 10143))
        self.dovecot = Dovecot(self.environment, rng, port, self.mailboxes)
        self.dovecot.write_passwords(4)
        self._write_limit(sessions)
        self.dovecot.start()
        town.parameters |= {"mail": port, "mailboxes": self.mailboxes}

    def limit_sessions(self, sessions: int) -> None:
        """Change how many sessions a mailbox may have from the same address, and start Dovecot again."""
        self._write_limit(sessions)
        self.environment.stop(self._waiting.process)
        self.dovecot.stop()
        self.dovecot.start()
        self.wait_for_mail(self._sessions)

    def start_people(self, rate: float, waiting: int) -> None:
        """Start people who read mail, and measure the healthy phase. waiting: how many wait for mail."""
        self.wait_for_mail(waiting)
        self.town.load = self.start_readers(rate)
        wait_for(lambda: self.town.load.stats()["ok"] > 30, "answers to people", 30.0)
        time.sleep(3.0)
        self.town.parameters |= {"rate": rate, "healthy": self.town.load.baseline(5.0)}

    def wait_for_mail(self, sessions: int) -> None:
        """Start so many sessions that wait for mail, as those of telephones do."""
        self._sessions = sessions
        self._waiting = self._start_clients(0.02, sessions)
        self.town.parameters |= {"waiting": sessions}
        time.sleep(3.0)

    def start_readers(self, rate: float) -> Load:
        """Start people who read mail, so many a second."""
        return self._start_clients(rate, 0)

    def _start_clients(self, rate: float, waiting: int) -> Load:
        return self.environment.load(
            "--to", self.dovecot.address, "--people", self.mailboxes, "--rate", rate, "--waiting", waiting,
            "--timeout-s", 5, "--seed", self.town.rng.randrange(10_000), program=MAIL_CLIENTS,
        )  # fmt: skip

    def _write_limit(self, sessions: int) -> None:
        text = self.dovecot.configuration.read_text()
        lines = [f"{SETTING}{sessions}" if line.startswith(SETTING) else line for line in text.splitlines()]
        self.dovecot.configuration.write_text("\n".join(lines) + "\n")
