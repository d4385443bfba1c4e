"""A publisher of podcasts: a Node service, and listeners who skip through recordings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from lab.load import wait_for
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS


class PodcastPublisher:
    """The service that runs. `access_log` is its log."""

    def __init__(self, town: Town, release: int, open_files: int, address: str = "") -> None:
        """Record some episodes, and start the service.

        Args:
            open_files: how many files the service may open.
            address: what Node listens on; the host's address by default.
        """
        rng, self.environment = town.rng, town.environment
        self.open_files = open_files
        self.port = town.take_ports(1)[0]
        host = address or self.environment.host_address
        self.address = f"{host}:{self.port}"
        self.directory = self.environment.directory / "srv" / "podcasts"
        self.directory.mkdir(parents=True)
        episodes, shows = rng.randrange(8, 14), rng.randrange(30, 90)
        for number in range(episodes):
            (self.directory / f"{number}.mp3").write_bytes(rng.randbytes(rng.randrange(4_000, 6_500) << 10))
        for number in range(shows):
            text = json.dumps({"title": f"show {number}", "parts": [rng.randrange(900) for _ in range(60)]})
            (self.directory / f"{number}.json").write_text(text)
        self.access_log = str(self.environment.directory / "podcasts.log")
        self.variables = {
            "ADDRESS": host, "PORT": str(self.port), "DIRECTORY": str(self.directory), "EPISODES": str(episodes),
            "SHOWS": str(shows), "WORK": str(rng.randrange(40, 160)), "ACCESS_LOG": self.access_log,
        }  # fmt: skip
        self.start(release)
        town.parameters |= {"podcasts": self.port, "open_files": open_files, "episodes": episodes}

    @property
    def upstream(self) -> str:
        """What nginx needs for the service."""
        return build_upstream("podcasts", (self.address,))

    @property
    def pid(self) -> int:
        return self.server.pid

    def start(self, release: int) -> None:
        """Start a release of the service."""
        variables = {**self.variables, "RELEASE": str(release)}
        limit = f"--nofile={self.open_files}:{self.open_files}"
        command = ["prlimit", limit, "--", "env", *(f"{name}={value}" for name, value in variables.items()),
                   "node", str(PROGRAMS / "harbor" / "podcasts.mjs")]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        listing = f"ss -Hltn sport = :{self.port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "podcasts", 40.0)

    def replace(self, release: int) -> None:
        """Start another release in place of the one that runs."""
        self.environment.stop(self.server)
        self.start(release)

    def build_location(self, location: str) -> str:
        """Return a location of nginx, which takes of a recording what a listener has read."""
        return build_proxy(location, "podcasts", lines="proxy_buffering off;")

    def count_files(self) -> int:
        """Return how many files the service has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))


def start_listeners(town: Town, to: str, rate: float) -> None:
    """Start listeners who skip so many recordings a second."""
    rng = town.rng
    least, stay_s = rng.randrange(24, 60), rng.uniform(0.05, 0.2)
    words = [
        "--to", to, "--rate", rate, "--kilobytes", least, least + rng.randrange(40, 120),
        "--stay-s", stay_s, stay_s + rng.uniform(0.1, 0.4), "--seed", rng.randrange(10_000),
    ]  # fmt: skip
    program = str(PROGRAMS / "harbor" / "listeners.py")
    town.environment.on_client([sys.executable, "-B", program, *map(str, words)])
    town.parameters |= {"skipped_per_s": round(rate, 1)}
