"""Services with a database: cards that jobs render, and passes of the next season: an eighteenth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.harbor.ski_resort import SkiResort
from lab.real.services.harbor.stationer import Stationer
from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _cards_of_a_stationer(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release of the programs that render cards, in which they pass over jobs of others or not."""
    town = Town(environment, rng)
    before, after = rng.randrange(5, 12), rng.randrange(12, 20)
    render_ms = rng.uniform(110, 160)
    stationer = Stationer(town, rng.randrange(8, 13), render_ms, before)
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=stationer.upstream, server_lines=stationer.build_location("/")),
    )  # fmt: skip
    cards, others = rng.randrange(2, 4), rng.randrange(4, 7)
    paths = ["/cards/{n}"] * cards + [rng.choice(("/papers/{n}", "/orders/{n}")) for _ in range(others)]
    # Several times what a single program renders, and a part of what all of them render.
    rate = rng.uniform(1.5, 2.0) * 1_000 / render_ms * len(paths) / cards
    town.start_clients(nginx.address, rate, paths, warm_s=4.0)
    stationer.replace(after)
    time.sleep(8.0)
    pid = rng.choice((stationer.mariadb.pid, stationer.app.pid, stationer.programs[0].pid))
    yield town.build_live(pid, releases=[before, after])


@contextmanager
def _seasons_of_a_resort(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the season on sale, which PostgreSQL has statistics of or not."""
    town = Town(environment, rng)
    resort = SkiResort(town, rng.randrange(1_700, 2_100), rng.randrange(1_700, 2_100))
    # Imported in good time; the statistics of the tables are older.
    resort.import_season()
    nginx = Nginx(
        environment, town.take_ports(1)[0],
        NginxSettings(http_lines=resort.upstream, server_lines=resort.build_location("/")),
    )  # fmt: skip
    passes, others = rng.randrange(2, 4), rng.randrange(6, 10)
    paths = ["/passes/{n}"] * passes + [rng.choice(("/guests/{n}", "/lifts/{n}")) for _ in range(others)]
    town.start_clients(nginx.address, rng.uniform(2.2, 2.7) * len(paths) / passes, paths, warm_s=5.0)
    resort.sell_season()
    time.sleep(8.0)
    yield town.build_live(rng.choice((resort.postgres.pid, resort.app.pid)))


SCENARIOS = (
    Scenario(
        "stationer-cards", "development", "cards-of-a-stationer", ("database-lock-wait", "idle-in-transaction"),
        "Programs that take jobs from a table of MariaDB all wait for the row of the first, which one of them renders.",
        _cards_of_a_stationer, needs=("mariadbd", "mariadb-install-db", "gunicorn", "nginx"), seconds=10.0,
        software=("mariadb", "gunicorn", "nginx"),
    ),
    Scenario(
        "resort-passes", "development", "seasons-of-a-resort", ("database-hot-sql", "missing-index"),
        "PostgreSQL has no statistics of the season on sale, expects a single row, and compares all with all.",
        _seasons_of_a_resort, needs=(POSTGRES, "gunicorn", "nginx"), seconds=10.0,
        software=("postgresql", "gunicorn", "nginx"), global_effect=("cpu",),
    ),
)  # fmt: skip
