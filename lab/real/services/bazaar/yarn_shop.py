"""A yarn shop: php-fpm behind Apache, and a MariaDB from which an office reads lists too."""

from __future__ import annotations

from lab.real.services.apache import ACCESS_LOG, Apache, ApacheSettings, build_php
from lab.real.services.mariadb import MariaDb
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE dyes (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL);
CREATE TABLE yarns (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, cents INT NOT NULL, dye INT NOT NULL);
CREATE TABLE order_lines (id INT PRIMARY KEY, order_id BIGINT NOT NULL, yarn INT NOT NULL, skeins INT NOT NULL,
    KEY order_id (order_id));
INSERT INTO dyes SELECT seq, concat('dye ', md5(seq)) FROM seq_0_to_399;
INSERT INTO yarns SELECT seq, concat('yarn ', md5(seq)), 300 + seq % 2000, (seq * 31) % 400 FROM seq_0_to_{yarns};
INSERT INTO order_lines SELECT seq, 1 + seq DIV {lines}, (seq * 7919) % {yarns}, 1 + seq % 12 FROM seq_0_to_{rows};
ANALYZE TABLE dyes, yarns, order_lines, orders;
"""
OFFICE = """
while :; do for n in 1 2 3 4; do echo "SELECT count(*), sum(amount) FROM orders WHERE customer_id = $n * {step};"; done
sleep {pause_s:.2f}; done
"""


class YarnShop:
    """The services that run. `access_log` is that of Apache."""

    access_log = ACCESS_LOG

    def __init__(self, town: Town, release: int) -> None:
        """Start them."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, php_port = town.take_ports(2)
        listed, lines = rng.randrange(28, 40), rng.randrange(6, 9)
        customers = rng.randrange(500, 800)
        orders, yarns = customers * (listed + 2), rng.randrange(2_000, 6_000)
        self.mariadb = MariaDb(
            self.environment, rng, orders=orders, customers=customers, note_words=1,
            settings={"innodb_buffer_pool_size": "128M", "slow_query_log": 1, "long_query_time": 1},
        )  # fmt: skip
        self.mariadb.run(TABLES.format(yarns=yarns, lines=lines, rows=orders * lines))
        self.mariadb.start_session(OFFICE.format(step=rng.randrange(9, 90), pause_s=rng.uniform(0.2, 0.5)))
        self.variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "CUSTOMERS": str(customers), "YARNS": str(yarns),
            "ORDERS": str(listed), "RELEASE": str(release),
        }  # fmt: skip
        (self.environment.directory / "srv" / "yarns" / "bazaar").mkdir(parents=True)
        children = rng.choice((12, 16, 20))
        settings = PhpSettings(pool="yarns", max_children=children, variables=self.variables)
        self.php = Php(self.environment, php_port, ("bazaar/yarns.php",), settings)
        self.apache = Apache(
            self.environment, port, ApacheSettings(directory_lines=build_php(self.php.address)),
            self.php.directory / "bazaar",
        )  # fmt: skip
        town.parameters |= {"yarns": port, "listed": listed, "lines": lines, "yarn_children": children}

    def draw_paths(self, others: int) -> list[str]:
        """Return the pages that visitors open: the list twice as often as each of so many others."""
        pages = ["orders"] * 2 + [self.town.rng.choice(("yarns", "yarns", "terms")) for _ in range(others)]
        return [f"/yarns.php?page={page}&n={{n}}" for page in pages]

    def replace(self, release: int) -> None:
        """Start another release of the shop in place of the one that runs."""
        self.php.restart(variables={**self.variables, "RELEASE": str(release)})
