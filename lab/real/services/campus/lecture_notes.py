"""Lecture notes: nginx with files and an API, and an agent that keeps the firewall equal to a list of addresses."""

from __future__ import annotations

import sys

from lab.load import wait_for
from lab.real.services.nginx import Nginx, build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer


class LectureNotes:
    """The services that run, without nginx. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, ranges: int) -> None:
        """Start them, with so many ranges of addresses on the list."""
        rng, self.rng, self.environment = town.rng, town.rng, town.environment
        port = town.take_ports(1)[0]
        # As a virtual card with a single queue has it: what arrives is handed to both CPUs.
        self.environment.host_sh("echo 3 >/sys/class/net/eth0/queues/rx-0/rps_cpus")
        api = ApiServer(
            self.environment, "127.0.0.1", port,
            delay_ms=rng.uniform(2, 6), work_us=rng.uniform(200, 500), answer_bytes=rng.randrange(2_000, 9_000),
        )  # fmt: skip
        self.upstream = build_upstream("lectures", (api.address,))
        self.files = rng.randrange(20, 60)
        self._list = self.environment.directory / "addresses.txt"
        self.list_ranges(ranges)
        self.chain = rng.choice(("f2b-campus", "feed-soc", "cert-list"))
        self.environment.on_host(
            [sys.executable, "-B", str(PROGRAMS / "campus" / "feed_agent.py"), "--chain", self.chain, "--list",
             str(self._list)]
        )  # fmt: skip
        self.wait_for_rules(ranges)
        town.parameters |= {"chain": self.chain, "files": self.files}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "lectures")

    def add_files(self, nginx: Nginx) -> None:
        """Create the files of the notes."""
        for number in range(self.files):
            nginx.add_file(f"notes/{number}", self.rng.randrange(20_000, 120_000))

    def list_ranges(self, count: int) -> None:
        """Put so many ranges of addresses on the list, none of which has a client."""
        lines = []
        for _ in range(count):
            network = f"{self.rng.randrange(11, 200)}.{self.rng.randrange(256)}.{self.rng.randrange(256)}"
            first = self.rng.randrange(1, 200)
            lines.append(f"{network}.{first}-{network}.{first + self.rng.randrange(1, 50)}\n")
        temporary = self._list.with_suffix(".new")
        temporary.write_text("".join(lines))
        temporary.replace(self._list)

    def wait_for_rules(self, count: int) -> None:
        """Wait until the firewall has at least so many rules."""
        listing = f"iptables -S {self.chain} 2>/dev/null | wc -l"
        wait_for(lambda: int(self.environment.host_net.sh(listing)) >= count, "rules", 60.0)
