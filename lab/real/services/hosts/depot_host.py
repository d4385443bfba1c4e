"""Parcels of a depot in a file of SQLite, and a job that archives the old ones."""

from __future__ import annotations

import random
import subprocess

from lab.environment import LabEnvironment
from lab.real.services.hosts.office_host import Office
from lab.scenario import Live

SCHEMA = """
PRAGMA journal_mode = {journal};
CREATE TABLE parcels (id INTEGER PRIMARY KEY, state TEXT NOT NULL, depot INTEGER NOT NULL, note TEXT NOT NULL);
CREATE TABLE scans (id INTEGER PRIMARY KEY, parcel INTEGER NOT NULL, at REAL NOT NULL);
CREATE INDEX scans_parcel ON scans (parcel);
CREATE TABLE archive (id INTEGER PRIMARY KEY, note TEXT NOT NULL);
INSERT INTO parcels
    SELECT value, 'known', value % 40, hex(randomblob({note_bytes})) FROM generate_series(0, {parcels} - 1);
INSERT INTO scans (parcel, at) SELECT value % {parcels}, 1.7e9 + value FROM generate_series(1, {parcels} * 2);
"""
# Old parcels go to the archive, some at a time. A job that has no more to do starts at the first parcel again.
ARCHIVE = """
{begin} n=0
while :; do
echo "INSERT OR REPLACE INTO archive SELECT id, note FROM parcels WHERE id BETWEEN $n AND $n + {batch};"
n=$(((n + {batch}) % {parcels})); sleep {pause_s:.2f}
done
"""


class Depot:
    """The depot that runs."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Create the file and start the application."""
        self.environment, self.rng = environment, rng
        self.parcels, self.journal = rng.randrange(8_000, 20_000), rng.choice(("wal", "wal", "delete"))
        directory = environment.directory / "srv" / "depot"
        self.file = directory / "parcels.db"
        schema = SCHEMA.format(journal=self.journal, parcels=self.parcels, note_bytes=rng.randrange(40, 160))
        environment.host_sh(
            f"install -d -o www-data {directory}; sqlite3 {self.file} <<'E' >/dev/null\n{schema}\nE\n"
            f"chown www-data {directory}/*"
        )
        self.busy_s = rng.choice((1.0, 1.5, 2.0))
        self.office = Office(
            environment, rng, "stores/parcels_app.py",
            {"PARCELS_FILE": str(self.file), "PARCELS": str(self.parcels), "BUSY_S": str(self.busy_s)},
            threads=rng.choice((24, 32)),
        )  # fmt: skip
        self.office.parameters |= {"parcels": self.parcels, "journal": self.journal, "busy_s": self.busy_s}
        self.batch, self.pause_s = rng.randrange(20, 80), rng.uniform(0.4, 0.9)

    def start_archiving(self, begin: str = "") -> subprocess.Popen[bytes]:
        """Start the job. begin: a statement before all others; without it each batch is committed."""
        script = ARCHIVE.format(
            begin=f"echo '{begin};'" if begin else "",
            batch=self.batch,
            parcels=self.parcels,
            pause_s=self.pause_s,
        )
        client = f"exec setpriv --reuid=www-data --clear-groups sqlite3 -cmd '.timeout 5000' {self.file}"
        return self.environment.on_host(["sh", "-c", f"{{ {script.strip()}; }} | {client}"])

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        scans, reads = self.rng.randrange(2, 4), self.rng.randrange(4, 7)
        paths = ["/scans/{n}"] * scans + ["/parcels/{n}"] * reads + ["/labels/{n}"]
        self.office.start_clients(rate, paths)

    def build_live(self, pid: int = 0, **parameters: object) -> Live:
        """Return what the scenario hands out, and count from here on."""
        return self.office.build_live(pid or self.office.app.pid, **parameters)
