"""A stationer: gunicorn and MariaDB, with a table of jobs for programs that render cards."""

from __future__ import annotations

import json
import shutil
import subprocess

from lab.load import wait_for
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

TABLE = """
CREATE TABLE jobs (id BIGINT AUTO_INCREMENT PRIMARY KEY, card INT NOT NULL, state TINYINT NOT NULL DEFAULT 0,
    picture VARCHAR(80) NOT NULL DEFAULT '', KEY state (state, id));
INSERT INTO jobs (card, state, picture) SELECT seq, 1, md5(seq) FROM seq_1_to_{jobs};
"""


class Stationer:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, renderers: int, render_ms: float, release: int) -> None:
        """Start them.

        Args:
            renderers: how many programs render cards.
            render_ms: how long the press, which is on another host, takes for a card.
            release: of the programs that render cards.
        """
        rng, self.environment = town.rng, town.environment
        app_port, press_port = town.take_ports(2)
        self.mariadb = MariaDb(
            self.environment, rng, settings={"max_connections": 200, "innodb_flush_log_at_trx_commit": 2}
        )
        self.mariadb.run(TABLE.format(jobs=rng.randrange(2_000, 9_000)))
        press = ApiServer(
            self.environment, self.environment.client_address, press_port, client_side=True, delay_ms=render_ms,
            work_us=100, answer_bytes=rng.randrange(300, 900),
        )  # fmt: skip
        self.app = Gunicorn(
            self.environment, app_port, "harbor/cards_app.py", address="127.0.0.1", workers=3,
            threads=rng.randrange(40, 56),
            variables={
                "MARIADB_PORT": str(self.mariadb.port), "CUSTOMERS": str(self.mariadb.sizes["customers"]),
                "WAIT_S": str(rng.choice((3.0, 3.5))), "ROUNDS": str(rng.randrange(300, 900)),
            },
        )  # fmt: skip
        self.upstream = build_upstream("cards", (f"127.0.0.1:{app_port}",))
        self.directory = self.environment.directory / "srv" / "stationer-jobs"
        self.directory.mkdir(parents=True)
        shutil.copyfile(PROGRAMS / "harbor" / "render_cards.py", self.directory / "render_cards.py")
        self.settings: dict[str, object] = {
            "port": self.mariadb.port, "press": press.address, "pause_s": round(rng.uniform(0.03, 0.08), 3),
        }  # fmt: skip
        self.renderers, self.programs = renderers, list[subprocess.Popen[bytes]]()
        self.start(release)
        town.parameters |= {"renderers": renderers, "render_ms": round(render_ms), **self.settings}

    def start(self, release: int) -> None:
        """Start a release of the programs that render cards."""
        file = self.directory / "renderer.json"
        file.write_text(json.dumps({**self.settings, "release": release}))
        command = [
            "env",
            "-u",
            "PYTHONPATH",
            "/usr/bin/python3",
            "-B",
            f"{self.directory}/render_cards.py",
            str(file),
        ]
        self.programs = [
            self.environment.on_host([*command, str(number)]) for number in range(self.renderers)
        ]
        wait_for(lambda: self._count_sessions() >= self.renderers, "the renderers", 20.0)

    def replace(self, release: int) -> None:
        """End the release that runs, and start another."""
        for program in self.programs:
            self.environment.stop(program)
        wait_for(lambda: self._count_sessions() == 0, "the renderers to end", 10.0)
        self.start(release)

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "cards")

    def _count_sessions(self) -> int:
        pids = {program.pid for program in self.programs}
        lines = self.environment.host_sh(
            f"ss -Htnp state established dport = :{self.mariadb.port}"
        ).splitlines()
        return sum(any(f"pid={pid}," in line for pid in pids) for line in lines)
