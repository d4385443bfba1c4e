"""An examination office: php-fpm behind nginx, a MariaDB on a volume, and an agent that takes copies of the volume."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.quarter.marina_host import Volume
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

TABLE = """
CREATE TABLE marks (id BIGINT AUTO_INCREMENT PRIMARY KEY, student INT NOT NULL, exam INT NOT NULL, points INT NOT NULL,
    KEY student (student));
INSERT INTO marks (student, exam, points) SELECT seq % {students}, seq % 300, seq % 16 FROM seq_1_to_{marks};
"""
# Outlives the owner: ends the agent and lets the volume take writes again.
GUARD = 'cat >/dev/null; kill -9 "$1"; fsfreeze -u "$2"'


class Examinations:
    """The services that run. `storage` takes the copies."""

    def __init__(self, town: Town) -> None:
        """Start the storage on another host, MariaDB and php-fpm."""
        rng, self.town, self.environment = town.rng, town, town.environment
        environment = self.environment
        php_port, storage_port = town.take_ports(1)[0], rng.randrange(13_600, 13_900)
        self.storage = ApiServer(
            environment, environment.client_address, storage_port, client_side=True,
            delay_ms=rng.uniform(8, 20), work_us=200, answer_bytes=rng.randrange(200, 900),
        )  # fmt: skip
        volume = Volume(environment, rng, 20_000, 700)
        students, marks = rng.randrange(2_000, 6_000), rng.randrange(30_000, 60_000)
        self.mariadb = volume.start_mariadb(rng)
        self.mariadb.run(TABLE.format(students=students, marks=marks))
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "CUSTOMERS": str(students),
            "ROUNDS": str(rng.randrange(300, 1_200)),
        }  # fmt: skip
        children = rng.choice((12, 16, 20))
        (environment.directory / "srv" / "marks" / "campus").mkdir(parents=True)
        self.php = Php(
            environment, php_port, ("campus/marks.php",),
            PhpSettings(pool="marks", max_children=children, variables=variables),
        )  # fmt: skip
        self.every_s = rng.uniform(3.0, 4.5)
        town.parameters |= {"children": children, "students": students, "every_s": round(self.every_s, 1)}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, str(self.php.directory / "campus" / "marks.php"))

    @contextmanager
    def take_copies(self) -> Iterator[None]:
        """Let the agent take copies of the volume until the end."""
        command = [sys.executable, "-B", str(PROGRAMS / "campus" / "copy_agent.py"), "--volume", DATA,
                   "--storage", self.storage.address, "--every-s", f"{self.every_s:.1f}"]  # fmt: skip
        agent = self.environment.on_host(command)
        enter = ["nsenter", "-t", str(self.environment.host.process.pid), "--mount", "--"]
        words = [*enter, "sh", "-c", GUARD, "guard", str(agent.pid), DATA]
        guard = subprocess.Popen(
            words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield
        finally:
            guard.communicate()

    def slow_down_storage(self, milliseconds: float) -> None:
        """Let the storage take so long for a copy."""
        self.storage.write_settings(delay_ms=milliseconds)
