"""A hirer of costumes: php-fpm behind nginx, and a MariaDB whose hires a report sums up for each season."""

from __future__ import annotations

import subprocess
import time

from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE hires (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, costume INT NOT NULL,
    day DATE NOT NULL, cents INT NOT NULL, returned TINYINT NOT NULL, KEY customer (customer, id)) ENGINE={engine};
INSERT INTO hires (customer, costume, day, cents, returned)
    SELECT seq * 31 % {customers}, seq % {costumes}, '2024-01-01' + INTERVAL seq % 700 DAY, 900 + seq % 7000, 0
    FROM seq_1_to_{hires};
ANALYZE TABLE hires;
"""
SEASONS = """
SELECT quarter(day), count(*), sum(cents), bit_xor(crc32(repeat(concat_ws('-', id, costume), {effort}))) FROM hires
GROUP BY quarter(day);
"""
REPORT = """
while :; do
mariadb --no-defaults -u shop -pshop -h 127.0.0.1 -P {port} shop <{file} >{file}.out 2>&1; sleep {pause_s:.2f}; done
"""


class CostumeHirer:
    """The services that run. `report_s` is about how long a report takes."""

    def __init__(self, town: Town, engine: str, report_s: float, pause_s: float) -> None:
        """Start them.

        Args:
            engine: of the table of hires.
            report_s: how long a report takes, within a third.
            pause_s: how long it waits between two runs.
        """
        rng, self.environment = town.rng, town.environment
        port, customers, costumes = (
            town.take_ports(1)[0],
            rng.randrange(2_000, 9_000),
            rng.randrange(300, 900),
        )
        hires = rng.randrange(90_000, 140_000)
        self.mariadb = MariaDb(
            self.environment, rng, orders=5_000, note_words=1,
            settings={"innodb_buffer_pool_size": "128M", "innodb_flush_log_at_trx_commit": 2},
        )  # fmt: skip
        self.mariadb.run(TABLES.format(engine=engine, customers=customers, costumes=costumes, hires=hires))
        seconds = [self._measure_report(effort) for effort in (1, 200)]
        effort = max(1, round(200 * (report_s - seconds[0]) / (seconds[1] - seconds[0])))
        file = self.environment.directory / "seasons.sql"
        file.write_text(SEASONS.format(effort=effort))
        words = REPORT.format(port=self.mariadb.port, file=file, pause_s=pause_s)
        self.report: subprocess.Popen[bytes] = self.environment.on_host(["sh", "-c", words])
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "CUSTOMERS": str(customers), "COSTUMES": str(costumes),
            "HIRES": str(hires), "ROUNDS": str(rng.randrange(300, 1_500)),
        }  # fmt: skip
        (self.environment.directory / "srv" / "costumes" / "borough").mkdir(parents=True)
        children = rng.choice((64, 72, 80))
        settings = PhpSettings(pool="costumes", max_children=children, variables=variables)
        self.php = Php(self.environment, port, ("borough/costumes.php",), settings)
        town.parameters |= {"costumes_port": port, "hires": hires, "children": children, "effort": effort}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, f"{self.php.directory}/borough/costumes.php")

    def restore_table(self, engine: str) -> None:
        """Let the table of hires have another engine, as a dump of a former server restores it."""
        self.mariadb.run(f"ALTER TABLE hires ENGINE={engine}")

    @staticmethod
    def draw_paths(town: Town, others: int, location: str) -> list[str]:
        """Return the pages that customers open: two that change hires, a list, and so many others."""
        pages = ["returns", "hires", "bookings"] + [
            town.rng.choice(("hires", "sizes")) for _ in range(others)
        ]
        return [f"{location}?page={page}&n={{n}}" for page in pages]

    def _measure_report(self, effort: int) -> float:
        start = time.monotonic()
        self.mariadb.run(SEASONS.format(effort=effort))
        return time.monotonic() - start
