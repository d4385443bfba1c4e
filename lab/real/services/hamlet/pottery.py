"""A pottery: gunicorn behind nginx, and a PostgreSQL in a container, from which an office lists orders by month."""

from __future__ import annotations

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.postgres import PostgresServer
from lab.real.services.quarter.practice_host import count_kept_bytes
from lab.real.services.towns.town import Town

LISTING = """
while :; do psql -q -h 127.0.0.1 -p {port} -U jobs postgres -c "SELECT length(array_agg(o.note || ' ' || m)::text)
FROM orders o, generate_series(1, $(cat {months})) m" >/dev/null 2>&1; sleep {pause_s:.1f}; done
"""


class Pottery:
    """The services that run. `pod` is the container of the database, `upstream` what nginx needs."""

    def __init__(self, town: Town, months: int, spare_mb: int) -> None:
        """Start them.

        Args:
            months: how many months the office lists at first.
            spare_mb: how much memory the container has for sessions and for files.
        """
        rng, self.environment = town.rng, town.environment
        environment, port = self.environment, town.take_ports(1)[0]
        self.pod = town.create_group(rng.choice(("database", "postgres", "orders-db")))
        settings: dict[str, object] = {"shared_buffers": "32MB"}
        self.postgres = PostgresServer(
            environment,
            rng,
            settings=settings,
            group=self.pod,
            orders=rng.randrange(24_000, 34_000),
            note_words=3,
        )
        self.megabytes = (count_kept_bytes(self.pod) >> 20) + 40 + spare_mb
        self.pod.limit_memory(self.megabytes << 20)
        sizes = self.postgres.sizes
        self.app = Gunicorn(
            environment, port, "hamlet/pots_app.py", address="127.0.0.1", workers=2, threads=rng.choice((4, 6, 8)),
            variables={
                "DATABASE_URL": self.postgres.dsn, "CUSTOMERS": str(sizes["customers"]),
                "PRODUCTS": str(sizes["products"]), "ROUNDS": str(rng.randrange(400, 1_500)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("pottery", (f"127.0.0.1:{port}",))
        self.months = environment.directory / "months"
        self.list_months(months)
        words = LISTING.format(port=self.postgres.port, months=self.months, pause_s=rng.uniform(2.0, 3.5))
        environment.on_host(["sh", "-c", words])
        town.parameters |= {
            "pottery": port,
            "months": months,
            "megabytes": self.megabytes,
            "orders": sizes["orders"],
        }

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "pottery")

    def list_months(self, months: int) -> None:
        """Let the office list the orders of so many months from now on."""
        self.months.with_suffix(".new").write_text(str(months))
        self.months.with_suffix(".new").replace(self.months)

    def count_kills(self) -> int:
        """Return how many processes of the container the kernel has ended for want of memory."""
        lines = self.pod.file("memory", "memory.oom_control", "memory.events").read_text().splitlines()
        return int(dict(line.split() for line in lines).get("oom_kill", 0))
