"""What an application needs of its PostgreSQL, and what it keeps of it: a ninth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.hosts.office_host import Office
from lab.real.services.hosts.wholesale_host import Wholesale
from lab.real.services.postgres import POSTGRES, PostgresServer
from lab.scenario import Live, Scenario

TARIFFS = """
CREATE TABLE tariffs (region int PRIMARY KEY, factor numeric(6,3) NOT NULL);
INSERT INTO tariffs SELECT i, 1 + i * 0.01 FROM generate_series(0, {regions} - 1) i;
GRANT ALL ON tariffs TO web, jobs;
"""


@contextmanager
def _tidy_tables(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the lines of baskets are indexed by their basket, which no statement of the shop names."""
    shop = Wholesale(environment, rng, lines=rng.randrange(650_000, 900_000))
    saved, read = rng.randrange(3, 5), rng.randrange(4, 7)
    paths = ["/baskets/{n}"] * saved + ["/prices/{n}"] * read + ["/terms/{n}"]
    shop.start_clients(rng.uniform(46, 64), paths)
    shop.postgres.run("DROP INDEX basket_lines_basket_id_idx")
    time.sleep(5.0)
    yield shop.build_live(rng.choice((shop.postgres.pid, shop.php.pid)))


@contextmanager
def _php_settings(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether a process of PHP keeps its connection to the database after a request."""
    shop = Wholesale(environment, rng, lines=rng.randrange(20_000, 60_000), key_bits=rng.choice((2048, 3072)))
    saved, read = rng.randrange(2, 4), rng.randrange(5, 8)
    paths = ["/baskets/{n}"] * saved + ["/prices/{n}"] * read + ["/terms/{n}"]
    shop.start_clients(rng.uniform(70, 88), paths)
    shop.keep_connections(False)
    time.sleep(6.0)
    yield shop.build_live(rng.choice((shop.postgres.pid, shop.php.pid)))


@contextmanager
def _tariff_of_a_region(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the table of tariffs has a row for each region."""
    regions, pool, rows = rng.randrange(12, 22), rng.randrange(6, 11), rng.randrange(2_000, 9_000)
    postgres = PostgresServer(environment, rng, products=rows, orders=rng.randrange(1_000, 9_000))
    postgres.run(TARIFFS.format(regions=regions))
    school = Office(
        environment, rng, "stores/courses_app.py",
        {
            "DATABASE": postgres.dsn, "ROWS": str(rows), "REGIONS": str(regions), "POOL": str(pool),
            "WAIT_S": str(rng.choice((0.5, 0.7, 0.9))),
        },
        threads=rng.choice((24, 32)),
    )  # fmt: skip
    courses, others = rng.randrange(4, 7), rng.randrange(1, 4)
    paths = ["/courses/{n}"] * courses + ["/teachers/{n}"] * others + ["/plans/{n}"] * rng.randrange(1, 3)
    rate = rng.uniform(45, 65)
    school.start_clients(rate, paths)
    postgres.run(f"DELETE FROM tariffs WHERE region = {rng.randrange(regions)}")
    lost_per_s = rate * courses / len(paths) / regions
    time.sleep(2.4 * pool / lost_per_s + 4.0)
    yield school.build_live(rng.choice((postgres.pid, school.app.pid)), regions=regions, pool=pool)


SHOP = (POSTGRES, "nginx", "php-fpm8.2")
SCENARIOS = (
    Scenario(
        "wholesale-baskets", "development", "tidied-tables", ("missing-index", "database-hot-sql"),
        "A foreign key of PostgreSQL has no index any more; each basket that is saved reads the lines of all baskets.",
        _tidy_tables, needs=SHOP, seconds=10.0, software=("postgresql", "php-fpm", "nginx"),
    ),
    Scenario(
        "wholesale-settings", "development", "connections-of-php", ("connection-churn", "tls-handshakes"),
        "PHP opens a connection to PostgreSQL for each request: a process, a TLS handshake and a password each time.",
        _php_settings, needs=(*SHOP, "openssl"), seconds=10.0, software=("php-fpm", "postgresql", "nginx"),
    ),
    Scenario(
        "school-tariffs", "development", "tariff-of-a-region", ("connection-pool-exhausted",),
        "A service does not give a connection back to its pool after an error; in the end the pool has none.",
        _tariff_of_a_region, needs=(POSTGRES, "nginx", "gunicorn"), seconds=10.0,
        software=("gunicorn", "postgresql", "nginx"),
    ),
)  # fmt: skip
