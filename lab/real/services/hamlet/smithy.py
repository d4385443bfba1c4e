"""A smithy: gunicorn behind nginx that writes a book, and a job that copies the book to another site."""

from __future__ import annotations

import sys

from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

SITE = "10.80.0.72"
JOB = """
while :; do sleep {pause_s:.1f}
flock {lock} curl -s -m 120 --limit-rate {rate}k -H Expect: -o /dev/null -T {file} http://{address}/books/{number}
done
"""


class Smithy:
    """The services that run. `upstream` is what nginx needs."""

    def __init__(self, town: Town) -> None:
        """Start them, with no job yet."""
        rng, self.environment = town.rng, town.environment
        environment, self.town = self.environment, town
        port, site_port = town.take_ports(2)
        self.directory = f"/run/{rng.choice(('smithy', 'book', 'ledger'))}"
        environment.host_sh(f"install -d -o www-data {self.directory}")
        self.lock = f"{self.directory}/{rng.choice(('.lock', 'book.lock'))}"
        environment.host_sh(f"install -m 644 -o www-data /dev/null {self.lock}")
        variables = {
            "BOOK": f"{self.directory}/book.txt",
            "LOCK": self.lock,
            "ROUNDS": str(rng.randrange(400, 1_500)),
        }
        self.app = Gunicorn(
            environment, port, "hamlet/entries_app.py", address="127.0.0.1", workers=2, threads=rng.choice((6, 8, 10)),
            variables=variables,
        )  # fmt: skip
        self.upstream = build_upstream("smithy", (f"127.0.0.1:{port}",))
        environment.client_net.sh(f"ip addr add {SITE}/24 dev eth0")
        self.address = f"{SITE}:{site_port}"
        program = str(PROGRAMS / "towns" / "scan_store.py")
        environment.on_client([sys.executable, "-B", program, "--listen", self.address])
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{site_port}")), "the other site")
        self.copied = environment.directory / "books.tar"
        town.parameters |= {"smithy": port, "lock": self.lock}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "smithy")

    def start_job(self, kilobytes_per_s: int, pause_s: float) -> None:
        """Copy the books at this rate, again and again."""
        words = JOB.format(
            pause_s=pause_s, lock=self.lock, rate=kilobytes_per_s, file=self.copied, address=self.address,
            number=self.town.rng.randrange(100),
        )  # fmt: skip
        group = self.town.create_group(self.town.rng.choice(("backup", "jobs", "cron")))
        self.environment.on_host(["sh", "-c", words], group)

    def keep_books(self, kilobytes: int) -> None:
        """Let the books that the job copies be of this size."""
        temporary = self.copied.with_suffix(".new")
        temporary.write_bytes(self.town.rng.randbytes(kilobytes << 10))
        temporary.replace(self.copied)
