"""A ski resort: gunicorn behind nginx, and a PostgreSQL with the bookings of seasons."""

from __future__ import annotations

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE bookings (id bigserial PRIMARY KEY, season int NOT NULL, kind int NOT NULL, tariff int NOT NULL,
    day int NOT NULL, people int NOT NULL, note text NOT NULL);
CREATE TABLE rates (id bigserial PRIMARY KEY, season int NOT NULL, tariff int NOT NULL, cents int NOT NULL);
CREATE INDEX bookings_season_kind_idx ON bookings (season, kind);
CREATE INDEX rates_season_idx ON rates (season);
GRANT ALL ON bookings, rates TO web, jobs;
"""
SEASON = """
INSERT INTO rates (season, tariff, cents) SELECT {season}, i, 900 + i % 7000 FROM generate_series(1, {rates}) i;
INSERT INTO bookings (season, kind, tariff, day, people, note)
    SELECT {season}, i % {kinds}, 1 + (i::bigint * 7919) % {rates}, i % 150, 1 + i % 5, md5(i::text)
    FROM generate_series(1, {bookings}) i;
"""
ANALYZE = "ANALYZE bookings; ANALYZE rates;"


class SkiResort:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, rates: int, bookings_of_a_kind: int) -> None:
        """Start them, with the bookings of some seasons of this size."""
        rng, environment = town.rng, town.environment
        port = town.take_ports(1)[0]
        kinds = rng.randrange(6, 11)
        self.sizes = {"rates": rates, "bookings": bookings_of_a_kind * kinds, "kinds": kinds}
        # Statistics are collected at night, so that this is not in the way by day.
        self.postgres = PostgresServer(environment, rng, settings={"autovacuum_naptime": "20min"})
        self.postgres.run(TABLES)
        self.season = rng.randrange(2012, 2020)
        self.file = environment.directory / "season"
        for _ in range(rng.randrange(2, 4)):
            self.import_season()
        self.collect_statistics()
        self.sell_season()
        self.app = Gunicorn(
            environment, port, "harbor/passes_app.py", address="127.0.0.1", workers=3, threads=6,
            variables={
                "DATABASE_URL": self.postgres.dsn, "SEASON_FILE": str(self.file), "KINDS": str(kinds),
                "CUSTOMERS": str(self.postgres.sizes["customers"]), "ROUNDS": str(rng.randrange(400, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("resort", (f"127.0.0.1:{port}",))
        town.parameters |= {"resort": port, **self.sizes}

    def import_season(self) -> None:
        """Import the bookings of the next season."""
        self.season += 1
        self.postgres.run(SEASON.format(season=self.season, **self.sizes))

    def collect_statistics(self) -> None:
        """Let PostgreSQL collect statistics of the tables."""
        self.postgres.run(ANALYZE)

    def sell_season(self) -> None:
        """Put the season that was imported last on sale."""
        self.file.with_suffix(".new").write_text(str(self.season))
        self.file.with_suffix(".new").replace(self.file)

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "resort")
