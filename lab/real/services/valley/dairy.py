"""A dairy: php-fpm behind nginx, and a MariaDB whose volume an agent saves by snapshots of a provider."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.quarter.marina_host import Volume
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

AGENT = """
sync_volume() {{ fsfreeze --freeze {where}; curl -s -m 20 -o /dev/null http://{api}/volumes/{volume}/snapshots
fsfreeze --unfreeze {where}; }}
trap 'fsfreeze --unfreeze {where} 2>/dev/null' EXIT
while :; do sleep {pause_s:.1f}; sync_volume; done
"""


class Dairy:
    """The services that run, without nginx."""

    def __init__(self, town: Town, iops: int) -> None:
        """Start them. iops: how many requests a second the volume of the database does."""
        rng, self.environment = town.rng, town.environment
        environment, self.town = self.environment, town
        port, self.api_port = town.take_ports(2)
        self.volume = Volume(environment, rng, 20_000, 1_200)
        settings: dict[str, object] = {"max_connections": 120, "innodb_flush_method": "O_DIRECT"}
        self.mariadb = MariaDb(environment, rng, settings=settings, directory=f"{DATA}/main", orders=20_000)
        self.volume.change_speed(iops)
        children = rng.choice((16, 20, 24))
        variables = {
            "DATABASE_DSN": f'"{self.mariadb.dsn}"', "ROUNDS": str(rng.randrange(300, 1_200)),
            **{name.upper(): str(self.mariadb.sizes[name]) for name in ("customers", "products")},
        }  # fmt: skip
        (environment.directory / "srv" / "dairy" / "valley").mkdir(parents=True)
        pool = PhpSettings(pool="dairy", max_children=children, variables=variables)
        self.php = Php(environment, port, ("valley/rounds.php",), pool)
        town.parameters |= {"dairy": port, "iops": iops, "children": children}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, str(self.php.directory / "valley" / "rounds.php"))

    @contextmanager
    def save_volume(self, pause_s: float, answer_ms: float) -> Iterator[ApiServer]:
        """Start the agent and the provider that makes its snapshots; the volume takes writes again at the end.

        Args:
            pause_s: how long the agent waits between two snapshots.
            answer_ms: how long the provider takes for a snapshot.
        """
        rng, environment = self.town.rng, self.environment
        provider = ApiServer(
            environment, environment.client_address, self.api_port, client_side=True, delay_ms=answer_ms, work_us=100,
            answer_bytes=300,
        )  # fmt: skip
        program = str(PROGRAMS / "valley" / "volume_guard.py")
        guard = subprocess.Popen(
            [sys.executable, "-B", program, str(environment.host.path(DATA))], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert guard.stdout is not None
        guard.stdout.readline()
        volume = f"vol-{rng.randrange(1 << 32):08x}"
        script = AGENT.format(where=DATA, api=provider.address, volume=volume, pause_s=pause_s)
        agent = environment.on_host(
            ["sh", "-c", script], self.town.create_group(rng.choice(("agent", "backup")))
        )
        try:
            yield provider
        finally:
            environment.stop(agent)
            guard.communicate()
            self.town.parameters["volume"] = volume
