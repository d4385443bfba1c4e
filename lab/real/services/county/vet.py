"""A vet: a Node service behind nginx, a Redis with animals and letters, and a program that posts the letters."""

from __future__ import annotations

import subprocess
import sys

from lab.load import wait_for
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.redis import Redis
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

ANIMAL_BYTES = 900


class Vet:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town, policy: str) -> None:
        """Start them. policy: what Redis does when its memory is full."""
        self.town, self.environment = town, town.environment
        rng, environment = town.rng, town.environment
        port, redis_port = town.take_ports(2)
        self.animals, self.letter_kb = rng.randrange(2_000, 5_000), rng.randrange(24, 48)
        self.queue = rng.choice(("letters", "post", "mailing"))
        self.redis = Redis(environment, redis_port, "--maxmemory-policy", policy)
        self.redis.populate(self.animals, "animal", ANIMAL_BYTES)
        self._post_s = rng.uniform(0.005, 0.02)
        self.post = self._start_post(self.queue)
        words = {
            "ADDRESS": environment.host_address, "PORT": port, "STORE": redis_port, "ANIMALS": self.animals,
            "LETTER_BYTES": self.letter_kb << 10, "QUEUE": self.queue, "WORK": rng.randrange(10, 60),
        }  # fmt: skip
        self.server: subprocess.Popen[bytes] = environment.on_host(
            [
                "env",
                *(f"{name}={value}" for name, value in words.items()),
                "node",
                str(PROGRAMS / "county" / "vet.mjs"),
            ]
        )
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(environment.host_net.sh(listing)), "the appointments", 40.0)
        self.upstream = build_upstream("vet", (f"{environment.host_address}:{port}",))
        town.parameters |= {"vet": port, "animals": self.animals, "letter_kb": self.letter_kb}

    @property
    def pid(self) -> int:
        return self.server.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "vet")

    def limit_memory(self, free_kb: int) -> None:
        """Let Redis use as much memory as it does now, and so much more."""
        used = next(line for line in self.redis.run("INFO", "memory").splitlines() if "used_memory:" in line)
        self.redis.run("CONFIG", "SET", "maxmemory", int(used.partition(":")[2]) + (free_kb << 10))

    def restart_post(self, queue: str) -> None:
        """Start another release of the program that posts letters, which takes them from this list."""
        self.environment.stop(self.post)
        self.post = self._start_post(queue)

    def _start_post(self, queue: str) -> subprocess.Popen[bytes]:
        program = str(PROGRAMS / "county" / "letters.py")
        words = [sys.executable, "-B", program, str(self.redis.port), queue, f"{self._post_s:.4f}"]
        return self.environment.on_host(words)
