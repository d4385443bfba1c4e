"""Beekeepers: gunicorn behind nginx, and a PostgreSQL with a part of a table for each month."""

from __future__ import annotations

import time

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE hives (id int PRIMARY KEY, place text NOT NULL, queens int NOT NULL);
INSERT INTO hives SELECT i, 'meadow ' || i % 60, i % 7 FROM generate_series(0, 399) i;
CREATE TABLE weighings (id bigserial, hive int NOT NULL, keeper int NOT NULL, day date NOT NULL, grams int NOT NULL,
    moisture real NOT NULL, kind text NOT NULL) PARTITION BY RANGE (day);
DO $$ BEGIN FOR month IN 0 .. {months} - 1 LOOP
    EXECUTE format('CREATE TABLE weighings_%s PARTITION OF weighings FOR VALUES FROM (%L) TO (%L)', month,
        date '2024-01-01' + month * 30, date '2024-01-01' + month * 30 + 30);
END LOOP; END $$;
INSERT INTO weighings (hive, keeper, day, grams, moisture, kind)
    SELECT i % 400, i % {keepers}, date '2024-01-01' + (i::bigint * 7919 % ({months} * 30))::int, 20000 + i % 9000,
           15 + i % 60 / 10.0, (ARRAY['lime', 'heather', 'clover'])[1 + i % 3] FROM generate_series(1, {rows}) i;
CREATE INDEX weighings_keeper_idx ON weighings (keeper);
CREATE FUNCTION grade(grams int, moisture real) RETURNS numeric LANGUAGE plpgsql IMMUTABLE COST {cost}
    AS $$ BEGIN RETURN grams * (100 - moisture) / 82; END $$;
GRANT ALL ON hives, weighings TO web, jobs;
ANALYZE hives; ANALYZE weighings;
"""
KEEPER = """
SELECT kind, date_trunc('month', day) AS month, count(*), sum(grade(grams, moisture)), avg(moisture),
    max(grams) FILTER (WHERE moisture < 18) FROM weighings WHERE keeper = 3 GROUP BY kind, month ORDER BY month, kind
"""
# Once in a while, for the county: all keepers and months.
REPORT = """while :; do sleep {pause_s:.2f}; echo "SELECT hive, kind, sum(grade(grams, moisture)), avg(moisture)
FROM weighings GROUP BY hive, kind ORDER BY 3 DESC LIMIT 20;"; done"""
COST = 100_000


class Beekeepers:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, **settings: object) -> None:
        """Start them. settings: lines of postgresql.conf."""
        rng, environment = town.rng, town.environment
        self.town, port = town, town.take_ports(1)[0]
        keepers, months = rng.randrange(30, 50), rng.randrange(18, 30)
        self.postgres = PostgresServer(environment, rng, settings=settings, orders=5_000)
        rows = keepers * rng.randrange(600, 900)
        self.postgres.run(TABLES.format(keepers=keepers, months=months, rows=rows, cost=COST))
        self.app = Gunicorn(
            environment, port, "county/harvests_app.py", address="127.0.0.1", workers=3, threads=8,
            variables={
                "DATABASE_URL": self.postgres.dsn, "KEEPERS": str(keepers), "ROUNDS": str(rng.randrange(400, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("harvests", (f"127.0.0.1:{port}",))
        town.parameters |= {"harvests": port, "keepers": keepers, "months": months, "weighings": rows}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "harvests")

    def measure_page(self) -> float:
        """Return how long the statement of a keeper takes at best when PostgreSQL compiles it."""
        seconds = []
        with self.postgres.connect() as database:
            database.execute("SET jit = on")
            for _ in range(4):
                start = time.monotonic()
                database.execute(KEEPER)
                seconds.append(time.monotonic() - start)
        return min(seconds)

    def start_report(self) -> None:
        """Start the report of the county."""
        self.postgres.start_session(REPORT.format(pause_s=self.town.rng.uniform(7, 11)))

    def hold_sessions(self, count: int) -> None:
        """Open sessions that do nothing."""
        for _ in range(count):
            self.postgres.start_session("sleep 600")
