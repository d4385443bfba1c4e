"""A help desk in PHP behind Apache, its tables in MariaDB, and its clients."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.apache import ACCESS_LOG, Apache, ApacheSettings, build_php
from lab.real.services.mariadb import MariaDb
from lab.real.services.php import Php, PhpSettings
from lab.real.services.unrelated import choose_scope, start_unrelated
from lab.scenario import Live

SCHEMA = """
CREATE TABLE contacts (id INT PRIMARY KEY, phone VARCHAR(20) NOT NULL, name VARCHAR(64) NOT NULL, KEY phone (phone));
CREATE TABLE queues (id INT PRIMARY KEY, name VARCHAR(32) NOT NULL, waiting INT NOT NULL);
CREATE TABLE tickets (
    id INT PRIMARY KEY, queue_id INT NOT NULL, contact_id INT NOT NULL, subject VARCHAR(120) NOT NULL,
    state VARCHAR(12) NOT NULL, updated_at DATETIME NOT NULL, KEY updated_at (updated_at), KEY queue_id (queue_id));
CREATE TABLE replies (
    id BIGINT AUTO_INCREMENT PRIMARY KEY, ticket_id INT NOT NULL, body TEXT NOT NULL,
    created_at DATETIME NOT NULL DEFAULT now(), KEY ticket_id (ticket_id));
INSERT INTO contacts SELECT seq, 4930000000 + seq * 7, md5(seq) FROM seq_0_to_{contacts};
INSERT INTO queues SELECT seq, concat('team ', seq), 100000 FROM seq_1_to_{queues};
INSERT INTO tickets SELECT seq, seq % {queues} + 1, seq % {contacts}, concat('Order ', md5(seq), ' ', md5(-seq)),
    elt(seq % 3 + 1, 'open', 'waiting', 'closed'), '2026-01-01' + INTERVAL (seq * 97) % 430000 MINUTE
    FROM seq_1_to_{tickets};
ANALYZE TABLE contacts, tickets;
"""


class Helpdesk:
    """The help desk that runs. `parameters` collects what was chosen."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, children: int, release: int = 41,
        settings: dict[str, object] | None = None, workers: int = 128, **sizes: int,
    ) -> None:  # fmt: skip
        """Start MariaDB, php-fpm and Apache. settings: lines of my.cnf."""
        self.environment, self.rng = environment, rng
        self.port = rng.randrange(7000, 9900)
        self.mariadb = MariaDb(environment, rng, settings=settings, products=100, orders=100)
        self.sizes = {
            "contacts": rng.randrange(20_000, 40_000), "tickets": rng.randrange(20_000, 50_000),
            "queues": rng.randrange(5, 9),
        } | sizes  # fmt: skip
        self.mariadb.run(SCHEMA.format(**self.sizes))
        variables = {"DATABASE_DSN": f'"{self.mariadb.dsn}"', "RELEASE": str(release)}
        variables |= {name.upper(): str(number) for name, number in self.sizes.items()}
        pool = PhpSettings(pool="helpdesk", max_children=children, variables=variables)
        self.php = Php(environment, self.port + 1, ("helpdesk.php",), pool)
        web = ApacheSettings(
            workers=workers, name="help.example.org", directory_lines="FallbackResource /helpdesk.php",
            server_lines=build_php(self.php.address),
        )  # fmt: skip
        self.apache = Apache(environment, self.port, web, self.php.directory)
        self.healthy: dict[str, float] = {}
        self.parameters: dict[str, object] = {"port": self.port, "children": children, **self.sizes}

    def install_release(self, number: int) -> None:
        """Let PHP run another release."""
        variables = {**self.php.settings.variables, "RELEASE": str(number)}
        self.php.restart(variables=variables)

    def start_clients(
        self, rate: float, paths: list[str], *, timeout_s: float = 3.0, warm_s: float = 3.0
    ) -> None:
        """Start unrelated services, then clients; measure the healthy phase after a warm-up."""
        self.parameters |= {
            "background": start_unrelated(self.environment, self.rng), "rate": rate, "paths": paths,
        }  # fmt: skip
        self.load: Load = self.environment.load(
            "--to", self.apache.address, "--rate", rate, "--timeout-s", timeout_s, "--range", 400_000,
            *(word for path in paths for word in ("--path", path)), "--seed", self.rng.randrange(10_000),
            program="web/web_clients.py",
        )  # fmt: skip
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.healthy = self.load.baseline(4.0)

    def build_live(self, pid: int, repair: Callable[[], None] | None = None, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.rng, pid, self.environment.app),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, ACCESS_LOG, repair,
            self.load.mark,
        )  # fmt: skip
