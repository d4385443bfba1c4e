"""A wholesale shop in PHP behind nginx, its tables in PostgreSQL, and its clients."""

from __future__ import annotations

import random
import time

from lab.environment import LabEnvironment
from lab.load import Load, wait_for
from lab.real.services.nginx import ACCESS_LOG, Nginx, NginxSettings, build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.postgres import UNPRIVILEGED_UID, PostgresServer
from lab.real.services.web_neighbours import choose_scope, draw_ports, start_neighbours, start_requests
from lab.scenario import Live

SCHEMA = """
CREATE TABLE baskets (id int PRIMARY KEY, customer int NOT NULL, saved_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE basket_lines (
    id bigserial PRIMARY KEY, basket_id int NOT NULL, product_id int NOT NULL, amount int NOT NULL, note text NOT NULL);
INSERT INTO baskets (id, customer) SELECT i, i % 991 FROM generate_series(0, {baskets} - 1) i;
INSERT INTO basket_lines (basket_id, product_id, amount, note)
    SELECT i % {baskets}, i % {products}, i % 7, md5(i::text) FROM generate_series(1, {lines}) i;
CREATE INDEX basket_lines_basket_id_idx ON basket_lines (basket_id);
CREATE INDEX basket_lines_product_id_idx ON basket_lines (product_id);
ALTER TABLE basket_lines ADD FOREIGN KEY (basket_id) REFERENCES baskets ON DELETE CASCADE;
GRANT ALL ON baskets, basket_lines, basket_lines_id_seq TO web, jobs;
"""
# The database has a certificate of its own, and asks for the password of the shop.
CERTIFICATE = """
cd {directory}
openssl req -x509 -newkey rsa:{bits} -nodes -days 365 -subj /CN=db.example.org -keyout server.key -out server.crt 2>&1
chown {uid}:{uid} server.key server.crt; chmod 600 server.key
sed -i '1i hostssl all web 127.0.0.1/32 scram-sha-256' pg_hba.conf
"""


class Wholesale:
    """The shop that runs. `parameters` collects what was chosen."""

    def __init__(
        self, environment: LabEnvironment, rng: random.Random, *, lines: int, key_bits: int = 0, kept: bool = True
    ) -> None:  # fmt: skip
        """Start PostgreSQL, php-fpm, nginx and neighbors.

        Args:
            lines: rows of the baskets.
            key_bits: size of the key of the database's certificate; 0 for a database that asks for no password.
            kept: whether a PHP process keeps its connection to the database.
        """
        self.environment, self.rng = environment, rng
        self.port, php_port = draw_ports(rng, 2)
        children = rng.choice((16, 24, 32))
        settings = {"max_connections": children + 60, "shared_buffers": "192MB", "synchronous_commit": "off"}
        self.postgres = PostgresServer(environment, rng, settings=settings, orders=rng.randrange(1000, 5000))
        baskets = lines // rng.randrange(4, 9)
        self.postgres.run(
            SCHEMA.format(baskets=baskets, lines=lines, products=self.postgres.sizes["products"])
        )
        self.postgres.run("VACUUM ANALYZE")
        dsn = f"pgsql:host=127.0.0.1;port={self.postgres.port};dbname=postgres"
        variables = {
            "BASKETS": str(baskets), "PRODUCTS": str(self.postgres.sizes["products"]), "KEPT": str(int(kept)),
            "DATABASE_DSN": f'"{dsn}"',
        }  # fmt: skip
        if key_bits:
            word = f"w{rng.randrange(10**12)}"
            self._ask_for_password(word, key_bits)
            variables |= {"DATABASE_WORD": word, "DATABASE_DSN": f'"{dsn};sslmode=require"'}
        pool = PhpSettings(pool="wholesale", max_children=children, variables=variables)
        self.php = Php(environment, php_port, ("wholesale.php",), pool)
        location = build_fastcgi("/", self.php.address, str(self.php.directory / "wholesale.php"))
        self.nginx = Nginx(environment, self.port, NginxSettings(server_lines=location))
        self.healthy: dict[str, float] = {}
        self.parameters: dict[str, object] = {
            "port": self.port, "children": children, "baskets": baskets, "lines": lines, "key_bits": key_bits,
            "neighbours": start_neighbours(environment, rng),
        }  # fmt: skip

    def _ask_for_password(self, word: str, key_bits: int) -> None:
        """Let the database encrypt connections of the shop and ask for its password."""
        self.postgres.run(f"SET password_encryption = 'scram-sha-256'; ALTER ROLE web PASSWORD '{word}'")
        self.environment.host_sh(
            CERTIFICATE.format(directory=self.postgres.directory, bits=key_bits, uid=UNPRIVILEGED_UID)
        )
        self.postgres.change_settings(ssl="on")
        time.sleep(1.0)

    def keep_connections(self, kept: bool) -> None:
        """Start PHP again, with or without connections that outlast a request."""
        self.php.restart(variables={**self.php.settings.variables, "KEPT": str(int(kept))})

    def start_clients(self, rate: float, paths: list[str], *, warm_s: float = 3.0) -> None:
        """Start clients, and measure the healthy phase after a warm-up."""
        self.parameters |= {"rate": rate, "paths": paths}
        self.load: Load = start_requests(
            self.environment, self.rng, self.nginx.address, rate, *paths,
            options=("--timeout-s", 4, "--range", 1_000_000),
        )  # fmt: skip
        wait_for(lambda: self.load.stats()["ok"] > 50, "answers to clients")
        time.sleep(warm_s)
        self.healthy = self.load.baseline(4.0)

    def build_live(self, pid: int, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        self.load.mark()
        return Live(
            self.environment.host, choose_scope(self.environment, self.rng, pid),
            {**self.parameters, **parameters, "healthy": self.healthy}, self.load.stats, ACCESS_LOG,
            mark=self.load.mark,
        )  # fmt: skip
