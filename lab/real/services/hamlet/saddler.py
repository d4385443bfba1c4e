"""A saddler: php-fpm behind nginx, in a container, with the CPUs on which its processes may run."""

from __future__ import annotations

import time

from lab.real.services.nginx import build_fastcgi
from lab.real.services.php import Php, PhpSettings
from lab.real.services.quarter.practice_host import read_cpu_s
from lab.real.services.towns.town import Town


class Saddler:
    """The service that runs, without nginx."""

    def __init__(self, town: Town) -> None:
        """Start it."""
        rng, self.environment = town.rng, town.environment
        self.pod = town.create_group(rng.choice(("saddler", "sizes", "shop")))
        (self.environment.directory / "srv" / "saddler" / "hamlet").mkdir(parents=True)
        children, rounds = rng.choice((8, 10, 12)), rng.randrange(18_000, 26_000)
        settings = PhpSettings(pool="saddler", max_children=children, variables={"ROUNDS": str(rounds)})
        port = town.take_ports(1)[0]
        self.php = Php(self.environment, port, ("hamlet/saddles.php",), settings, group=self.pod)
        town.parameters |= {"saddler": port, "children": children, "rounds": rounds}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_fastcgi(location, self.php.address, str(self.php.directory / "hamlet" / "saddles.php"))

    def measure_request(self, address: str) -> float:
        """Return how many seconds of CPU time a size takes."""
        count = 30
        for phase in range(2):
            before = read_cpu_s(self.pod)
            urls = " ".join(f"http://{address}/sizes/{100 * phase + number}" for number in range(count))
            self.environment.client_net.sh(f"curl -s {urls} >/dev/null")
            time.sleep(0.2)
        return (read_cpu_s(self.pod) - before) / count

    def run_on(self, cpus: str) -> None:
        """Let all processes of the service run on these CPUs only, and those that they start."""
        for pid in sorted(self.pod.pids()):
            self.environment.host_sh(f"taskset -a -p -c {cpus} {pid} >/dev/null || :")
