"""A zoo: tickets by a Go service in a container of its own, next to a container that packs films of cameras."""

from __future__ import annotations

import os
import subprocess
import time

from lab.load import wait_for
from lab.real.services.golang import build_program
from lab.real.services.quarter.practice_host import read_cpu_s
from lab.real.services.towns.town import Town

PACK = "while :; do gzip -{level} -c {file} | wc -c >{file}.{number}; done"
SHARES = 1024


def count_shares(millis: int) -> int:
    """Return what a container weighs that requests so many thousandths of a CPU, as Kubernetes has it."""
    return max(2, millis * SHARES // 1000)


class Zoo:
    """The tickets. `server` is the Go process, `pod` its group, `films` the group of those who pack films."""

    def __init__(self, town: Town, millis: int) -> None:
        """Start the service. millis: the CPU time that its container requests."""
        rng, self.environment, self.town = town.rng, town.environment, town
        port = town.take_ports(1)[0]
        self.pod = town.create_group(rng.choice(("zoo", "tickets", "visitors")))
        self.films = town.create_group(rng.choice(("films", "cameras", "media")))
        self.request_cpu(millis)
        self.address = f"{self.environment.host_address}:{port}"
        self.access_log = str(self.environment.directory / "tickets.log")
        side, rounds = rng.randrange(230, 300), rng.randrange(500, 2_000)
        binary = build_program(self.environment, "districts/tickets.go")
        words = [
            "-listen",
            self.address,
            "-access-log",
            self.access_log,
            "-side",
            str(side),
            "-rounds",
            str(rounds),
        ]
        self.server: subprocess.Popen[bytes] = self.environment.on_host([str(binary), *words], self.pod)
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the tickets", 40.0)
        town.parameters |= {"zoo": port, "side": side, "rounds": rounds, "millis": millis}

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid

    def request_cpu(self, millis: int) -> None:
        """Let the container request so many thousandths of a CPU."""
        self.pod.weigh(count_shares(millis))

    def measure_request(self, seconds: float) -> float:
        """Return the request that gives the container as much CPU time as it uses, next to those who pack films."""
        before = read_cpu_s(self.pod)
        time.sleep(seconds)
        used = (read_cpu_s(self.pod) - before) / seconds
        return self.films_millis * used / max(0.1, (os.cpu_count() or 1) - used)

    def pack_films(self, count: int, millis: int) -> None:
        """Start programs that pack films all the time, in a container that requests so much CPU time."""
        self.films_millis = millis
        self.films.weigh(count_shares(millis))
        file = self.environment.directory / "camera.mjpeg"
        file.write_bytes(self.town.rng.randbytes(self.town.rng.randrange(4, 9) << 20))
        for number in range(count):
            words = PACK.format(level=self.town.rng.randrange(4, 8), file=file, number=number)
            self.environment.on_host(["sh", "-c", words], self.films)
        self.town.parameters |= {"films": count, "films_millis": millis}

    def draw_paths(self) -> list[str]:
        """Return what visitors request: mostly tickets."""
        rng = self.town.rng
        return (
            ["/tickets/{n}"] * rng.randrange(4, 7) + ["/animals/{n}"] * rng.randrange(1, 3) + ["/hours/{n}"]
        )
