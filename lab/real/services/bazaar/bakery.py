"""A bakery: gunicorn behind nginx and a PostgreSQL, with screens next to the ovens that listen for orders."""

from __future__ import annotations

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE loaves (id bigserial PRIMARY KEY, branch int NOT NULL, kind int NOT NULL, pieces int NOT NULL);
CREATE INDEX loaves_branch_idx ON loaves (branch, id);
INSERT INTO loaves (branch, kind, pieces) SELECT i % {branches}, i % 90, 1 + i % 40 FROM generate_series(1, {loaves}) i;
CREATE TABLE batches (id bigserial PRIMARY KEY, oven int NOT NULL, loaves int NOT NULL);
GRANT ALL ON loaves, loaves_id_seq, batches, batches_id_seq TO web, jobs;
CREATE FUNCTION pass_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_notify('ovens', TG_TABLE_NAME || ' ' || NEW.id); RETURN NULL; END $$;
CREATE TRIGGER pass_on AFTER INSERT ON batches FOR EACH ROW EXECUTE FUNCTION pass_on();
"""
TRIGGER = "CREATE TRIGGER pass_on AFTER INSERT ON loaves FOR EACH ROW EXECUTE FUNCTION pass_on()"
SCREEN = r"""
echo '\o /dev/null'; echo 'LISTEN ovens;'; while :; do echo 'SELECT max(id) FROM batches;'; sleep {pause_s:.1f}; done
"""
OVEN = """
while :; do echo "INSERT INTO batches (oven, loaves) VALUES ({oven}, 30);"; sleep {pause_s:.1f}; done
"""


class Bakery:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, delay_ms: float) -> None:
        """Start them. delay_ms: how long PostgreSQL collects commits before it writes them through."""
        rng, self.environment = town.rng, town.environment
        port, branches = town.take_ports(1)[0], rng.randrange(60, 140)
        settings: dict[str, object] = {
            "commit_delay": round(delay_ms * 1000), "commit_siblings": 0, "checkpoint_timeout": "15min",
            "max_wal_size": "400MB", "log_lock_waits": "on",
        }  # fmt: skip
        self.postgres = PostgresServer(self.environment, rng, settings=settings, orders=5_000)
        self.postgres.run(TABLES.format(branches=branches, loaves=rng.randrange(20_000, 50_000)))
        self.postgres.run("VACUUM ANALYZE loaves")
        screens = rng.randrange(3, 8)
        for number in range(screens):
            self.postgres.start_session(SCREEN.format(pause_s=rng.uniform(0.6, 2)))
            if number < 2:
                self.postgres.start_session(OVEN.format(oven=number, pause_s=rng.uniform(1, 3)))
        self.app = Gunicorn(
            self.environment, port, "bazaar/loaves_app.py", address="127.0.0.1", workers=3,
            threads=rng.choice((10, 12)),
            variables={
                "DATABASE_URL": self.postgres.dsn, "BRANCHES": str(branches), "ROUNDS": str(rng.randrange(300, 1_000)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("bakery", (f"127.0.0.1:{port}",))
        town.parameters |= {
            "loaves": port,
            "branches": branches,
            "screens": screens,
            "delay_ms": round(delay_ms, 1),
        }

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "bakery")

    def pass_on_loaves(self) -> None:
        """Let the screens get each order, as they get each batch."""
        self.postgres.run(TRIGGER)
