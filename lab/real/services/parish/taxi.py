"""A taxi company: php-fpm behind nginx, and a MariaDB whose rides a job sums up for each customer."""

from __future__ import annotations

import subprocess

from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.towns.town import Town

TABLES = """
CREATE TABLE rides (id BIGINT AUTO_INCREMENT PRIMARY KEY, driver INT NOT NULL, customer INT NOT NULL,
    meters INT NOT NULL, cents INT NOT NULL, ended TINYINT NOT NULL, KEY driver (driver, id));
CREATE TABLE invoices (customer INT PRIMARY KEY, rides INT NOT NULL, cents BIGINT NOT NULL, digest BIGINT NOT NULL);
INSERT INTO rides (driver, customer, meters, cents, ended)
    SELECT seq % {drivers}, (seq * 31) % {customers}, 400 + seq % 9000, 390 + seq % 4000, 1 FROM seq_1_to_{rides};
ANALYZE TABLE rides;
"""
SUMS = """
SELECT customer, count(*), sum(cents), bit_xor(crc32(repeat(concat_ws('-', id, meters), {effort})))
FROM rides GROUP BY customer;
"""
JOB = """
while :; do
mariadb --no-defaults -u shop -pshop -h 127.0.0.1 -P {port} shop <{file} >{file}.out 2>&1; sleep {pause_s:.2f}; done
"""


class TaxiCompany:
    """The services that run. `job` is the job of the invoices."""

    def __init__(self, town: Town, rides: int, pause_s: float) -> None:
        """Start them.

        Args:
            rides: how many the company has.
            pause_s: how long the job of the invoices waits between two runs.
        """
        rng, self.environment = town.rng, town.environment
        port, drivers, customers = town.take_ports(1)[0], rng.randrange(60, 200), rng.randrange(200, 500)
        self.mariadb = MariaDb(
            self.environment, rng, orders=5_000, note_words=1,
            settings={"innodb_buffer_pool_size": "128M", "innodb_flush_log_at_trx_commit": 2},
        )  # fmt: skip
        self.mariadb.run(TABLES.format(drivers=drivers, customers=customers, rides=rides))
        self.file, self.effort = self.environment.directory / "invoices.sql", rng.randrange(450, 600)
        self.write_job("")
        words = JOB.format(port=self.mariadb.port, file=self.file, pause_s=pause_s)
        self.job: subprocess.Popen[bytes] = self.environment.on_host(["sh", "-c", words])
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "DRIVERS": str(drivers), "CUSTOMERS": str(customers),
            "RIDES": str(rides), "ROUNDS": str(rng.randrange(300, 1_500)),
        }  # fmt: skip
        (self.environment.directory / "srv" / "rides" / "parish").mkdir(parents=True)
        children = rng.choice((48, 56, 64))
        settings = PhpSettings(pool="rides", max_children=children, variables=variables)
        self.php = Php(self.environment, port, ("parish/rides.php",), settings)
        town.parameters |= {"rides_port": port, "rides": rides, "ride_children": children}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, f"{self.php.directory}/parish/rides.php")

    def write_job(self, target: str) -> None:
        """Let the job print its sums from the next run on, or store them: `target` is the head of a statement."""
        temporary = self.file.with_suffix(".new")
        temporary.write_text(target + SUMS.format(effort=self.effort))
        temporary.replace(self.file)

    @staticmethod
    def draw_paths(town: Town, others: int, location: str) -> list[str]:
        """Return the pages that drivers and customers open: two that change rides, and so many others."""
        pages = ["arrivals", "orders", "arrivals"] + [
            town.rng.choice(("rides", "fares")) for _ in range(others)
        ]
        return [f"{location}?page={page}&n={{n}}" for page in pages]
