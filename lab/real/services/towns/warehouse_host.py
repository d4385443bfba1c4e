"""A warehouse: picks go over a beanstalkd to packers, which keeps them on the disk that exports are written to, too."""

from __future__ import annotations

import subprocess

from lab.cgroups import Group
from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.towns.beanstalkd import Beanstalkd
from lab.real.services.towns.town import Town

# An export is written next to the one before, and takes its place when it is complete.
EXPORTS = """
mkdir -p {directory}
while :; do head -c {megabytes}M /dev/zero | tr '\\0' 'x' >{directory}/stock.new
mv {directory}/stock.new {directory}/stock.txt; sleep {pause_s:.1f}; done
"""


class Warehouse:
    """The services that run. `town` has the neighbors and the clients."""

    def __init__(self, town: Town, volume: str, exports: Group) -> None:
        """Start beanstalkd, packers, the application and nginx. exports: the group of what exports."""
        self.town, self.volume, self.exports = town, volume, exports
        environment, rng = town.environment, town.rng
        port, app_port, queue_port = town.take_ports(3)
        self.queue = Beanstalkd(environment, queue_port, f"{volume}/queue")
        self.queue.start_packers(rng.randrange(2, 4))
        variables = {"QUEUE": self.queue.address, "WORDS": str(rng.randrange(15, 60))}
        self.app = Gunicorn(
            environment, app_port, "towns/picks_app.py", address="127.0.0.1", workers=2, threads=rng.choice((12, 16)),
            variables=variables,
        )  # fmt: skip
        lines = NginxSettings(
            http_lines=build_upstream("picks", (f"127.0.0.1:{app_port}",)),
            server_lines=build_proxy("/", "picks"),
        )
        self.nginx = Nginx(environment, port, lines)
        town.parameters |= {"port": port, "volume": volume}

    def start_clients(self, rate: float) -> None:
        """Start clients, and measure the healthy phase."""
        rng = self.town.rng
        paths = ["/picks/{n}"] * rng.randrange(2, 4) + ["/shelves/{n}"] * rng.randrange(3, 5)
        self.town.start_clients(self.nginx.address, rate, paths)

    def start_exports(self, megabytes: int, pause_s: float) -> subprocess.Popen[bytes]:
        """Start what writes exports, in a container of its own."""
        directory = f"{self.volume}/{self.town.rng.choice(('exports', 'outgoing', 'stock'))}"
        words = EXPORTS.format(directory=directory, megabytes=megabytes, pause_s=pause_s)
        return self.town.environment.on_host(["sh", "-c", words], self.exports)
