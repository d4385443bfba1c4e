"""A caterer: gunicorn behind nginx, and a PostgreSQL whose data are on a volume."""

from __future__ import annotations

from lab.application import DATA
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.quarter.marina_host import Volume
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE events (id bigserial PRIMARY KEY, guests int NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE dishes (id bigserial PRIMARY KEY, event bigint NOT NULL, dish int NOT NULL, portions int NOT NULL);
CREATE INDEX dishes_event_idx ON dishes (event);
INSERT INTO events (guests) SELECT i % 200 FROM generate_series(1, {events}) i;
INSERT INTO dishes (event, dish, portions)
    SELECT 1 + i % {events}, i % 300, i % 200 FROM generate_series(1, {events} * 8) i;
GRANT ALL ON events, events_id_seq, dishes, dishes_id_seq TO web, jobs;
"""


class Caterer:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, iops: int, dishes: int, release: int) -> None:
        """Start them.

        Args:
            iops: what the volume does in a second.
            dishes: how many a menu has.
        """
        rng, self.environment = town.rng, town.environment
        port, events = town.take_ports(1)[0], rng.randrange(4_000, 9_000)
        self.volume = Volume(self.environment, rng, 20_000, 1_200)
        settings: dict[str, object] = {
            "checkpoint_timeout": "20min",
            "max_wal_size": "400MB",
            "shared_buffers": "96MB",
        }
        self.postgres = PostgresServer(
            self.environment, rng, settings=settings, directory=f"{DATA}/main", orders=2_000
        )
        self.postgres.run(TABLES.format(events=events))
        self.postgres.run("VACUUM ANALYZE")
        self.postgres.run("CHECKPOINT")
        self.volume.change_speed(iops)
        self.app = Gunicorn(
            self.environment, port, "square/menus_app.py", address="127.0.0.1", workers=3, threads=rng.choice((8, 10)),
            variables={
                "DATABASE_URL": self.postgres.dsn, "DISHES": str(dishes), "EVENTS": str(events),
                "ROUNDS": str(rng.randrange(400, 1_500)), "RELEASE": str(release),
            },
        )  # fmt: skip
        self.upstream = build_upstream("caterer", (f"127.0.0.1:{port}",))
        town.parameters |= {"menus": port, "iops": iops, "dishes": dishes, "events": events}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "caterer")

    def replace(self, release: int) -> None:
        """Start another release of the service in place of the one that runs."""
        self.app.restart(RELEASE=str(release))
