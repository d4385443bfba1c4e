"""A museum: gunicorn behind nginx, and a PostgreSQL in a container of its own, which an office reads too."""

from __future__ import annotations

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.towns.town import Town

MEGABYTE = 1 << 20
TABLES = """
CREATE TABLE tickets (id bigserial PRIMARY KEY, gallery int NOT NULL, month int NOT NULL, guide text NOT NULL);
INSERT INTO tickets (gallery, month, guide)
    SELECT i % {galleries}, 1 + i % 12, md5(i::text) FROM generate_series(1, {tickets}) i;
CREATE INDEX tickets_gallery_idx ON tickets (gallery, id);
GRANT ALL ON tickets, tickets_id_seq TO web, jobs;
ALTER ROLE jobs SET work_mem = '{work_mem_mb}MB';
"""
REPORT = """
SELECT max(place) FROM (
    SELECT row_number() OVER (ORDER BY repeat(guide, {words}), id) AS place FROM tickets
    WHERE month BETWEEN {first} AND {last}) ranked;
"""
OFFICE = """
while :; do psql -q -h 127.0.0.1 -p {port} -U jobs -f {file} postgres; sleep {pause_s:.1f}; done >/dev/null 2>&1
"""


class Museum:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        port, galleries = town.take_ports(1)[0], rng.randrange(30, 90)
        self.group, limit_mb = (
            town.create_group(rng.choice(("museum-db", "tickets-db"))),
            rng.randrange(190, 230),
        )
        self.words = rng.randrange(11, 15)
        settings: dict[str, object] = {"shared_buffers": "48MB", "max_wal_size": "400MB"}
        self.postgres = PostgresServer(
            self.environment, rng, settings=settings, orders=5_000, group=self.group
        )
        tickets = rng.randrange(500_000, 600_000)
        self.postgres.run(
            TABLES.format(galleries=galleries, tickets=tickets, work_mem_mb=rng.choice((384, 512, 768)))
        )
        self.postgres.run("VACUUM ANALYZE tickets")
        self.group.limit_memory(limit_mb * MEGABYTE)
        self.file = self.environment.directory / "tickets_by_guide.sql"
        first = rng.randrange(1, 12)
        self.write_report(first, first)
        words = OFFICE.format(port=self.postgres.port, file=self.file, pause_s=rng.uniform(2.5, 4))
        self.environment.on_host(["sh", "-c", words])
        self.app = Gunicorn(
            self.environment, port, "guild/visits_app.py", address="127.0.0.1", workers=2,
            threads=rng.choice((6, 8)),
            variables={
                "DATABASE_URL": self.postgres.dsn, "GALLERIES": str(galleries), "ROUNDS": str(rng.randrange(300, 900)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("museum", (f"127.0.0.1:{port}",))
        town.parameters |= {"visits": port, "tickets": tickets, "container_mb": limit_mb}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "museum")

    def write_report(self, first: int, last: int) -> None:
        """Let the office report on these months of a year from now on."""
        temporary = self.file.with_suffix(".new")
        temporary.write_text(REPORT.format(words=self.words, first=first, last=last))
        temporary.replace(self.file)
