"""Artifacts of builds: a Go store behind nginx, runners that download, and offices behind lines."""

from __future__ import annotations

import time

from lab.load import wait_for
from lab.real.services.golang import GoService
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

OFFICE = """
while :; do curl -s -m 120 --limit-rate {kilobytes}k -o /dev/null http://{address}/images/{number}
sleep {pause_s:.1f}; done
"""


class Artifacts:
    """The services that run: the store, and the nginx in front of it."""

    def __init__(self, town: Town) -> None:
        """Start them; nginx keeps on the disk what clients have not read yet."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, store_port = town.take_ports(2)
        self.image_mb, self.artifact_kb = rng.randrange(4, 7), rng.randrange(3_500, 5_500)
        self.store = GoService(
            self.environment, "platform/artifacts.go", store_port,
            "-artifact-kb", self.artifact_kb, "-image-mb", self.image_mb,
        )  # fmt: skip
        self.store.start()
        self._locations = build_proxy("/", "store")
        settings = NginxSettings(
            listen_words=f"sndbuf={rng.choice((128, 192, 256))}k",
            http_lines=build_upstream("store", (f"{self.environment.host_address}:{store_port}",)),
            server_lines=self._locations,
        )
        self.nginx = Nginx(self.environment, port, settings)
        town.parameters |= {"port": port, "image_mb": self.image_mb, "artifact_kb": self.artifact_kb}

    def move_temporary_files(self, megabytes: int) -> None:
        """Let nginx keep on a file system of this size, in memory, what clients have not read yet."""
        where = self.town.rng.choice(("/run/gateway", "/run/buffers", "/run/nginx-temp"))
        self.environment.host_sh(
            f"mkdir -p {where}; mount -t tmpfs -o mode=1777,size={megabytes}m tmpfs {where}"
        )
        self.nginx.restart(server_lines=f"        proxy_temp_path {where}/proxy;\n{self._locations}")
        self.town.parameters |= {"temporary": where, "megabytes": megabytes}

    def start_offices(self, count: int) -> None:
        """Start offices that download images over lines of their own."""
        rng = self.town.rng
        for _ in range(count):
            words = OFFICE.format(
                kilobytes=rng.randrange(80, 140), address=self.nginx.address, number=rng.randrange(9_000),
                pause_s=rng.uniform(0.4, 1.2),
            )  # fmt: skip
            self.environment.on_client(["sh", "-c", words])
        self.town.parameters |= {"offices": count}

    def start_runners(self, rate: float) -> None:
        """Start runners, and measure the healthy phase."""
        rng = self.town.rng
        paths = ["/artifacts/{n}"] * rng.randrange(2, 4) + ["/builds/{n}"] * rng.randrange(1, 3)
        words = [word for path in paths for word in ("--path", path)]
        self.town.load = self.environment.load(
            "--to", self.nginx.address, "--rate", rate, "--kilobytes-per-s", rng.randrange(3_000, 6_000),
            "--seed", rng.randrange(10_000), *words, program=str(PROGRAMS / "platform" / "runners.py"),
        )  # fmt: skip
        wait_for(lambda: self.town.load.stats()["ok"] > 20, "answers to runners", 30.0)
        time.sleep(4.0)
        self.town.parameters |= {"rate": rate, "paths": paths, "healthy": self.town.load.baseline(6.0)}
