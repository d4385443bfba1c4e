"""Departures of trams: a Go service whose Redis is on another host, behind a firewall with a list of addresses."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from lab.application import LabApplication
from lab.real.services.golang import GoService
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.town import Town

RULES = "*filter\n:{chain} - [0:0]\n{lines}COMMIT\n"
FIRST = "iptables -N {chain}; iptables -A INPUT -i eth0 -j {chain}"
SET = """
table inet guard {{
    set feed {{ type ipv4_addr; elements = {{ {addresses} }} }}
    chain input {{
        type filter hook input priority -10;
        iifname "eth0" ip saddr @feed drop
    }}
}}
"""


class Trams:
    """The services that run."""

    def __init__(self, town: Town, trams: int) -> None:
        """Start them. trams: how many a stop lists, each of which is a request of its own to the Redis."""
        rng, self.environment = town.rng, town.environment
        environment, self.town = self.environment, town
        port, front, redis_port = town.take_ports(3)
        # The network card has a single queue, which a CPU of its own takes packets from.
        self.cpu = rng.randrange(2)
        environment.host_sh(f"echo {1 << self.cpu} >/sys/class/net/eth0/queues/rx-0/rps_cpus")
        LabApplication(environment, rng).redis(redis_port)
        keys = rng.randrange(3_000, 9_000)
        redis = f"redis-cli -h {environment.client_address} -p {redis_port}"
        environment.client_net.sh(f"{redis} DEBUG POPULATE {keys} tram {rng.randrange(150, 500)}")
        self.service = GoService(
            environment, "valley/stops.go", port, "-redis", f"{environment.client_address}:{redis_port}",
            "-trams", trams, "-keys", keys, "-rounds", rng.randrange(300, 1_200),
        )  # fmt: skip
        self.service.start()
        settings = HaproxySettings(
            frontend=rng.choice(("www", "trams")), backend="stops", server_words="check inter 5s",
            servers=(f"{environment.host_address}:{port}",),
        )  # fmt: skip
        self.haproxy = Haproxy(environment, front, settings)
        self.chain = rng.choice(("abuse", "feeds", "blocked"))
        environment.host_net.sh(FIRST.format(chain=self.chain))
        town.parameters |= {
            "stops": port,
            "front": front,
            "trams": trams,
            "keys": keys,
            "packet_cpu": self.cpu,
        }

    @property
    def access_log(self) -> str:
        return self.service.access_log

    def load_list(self, entries: int) -> None:
        """Replace the list of addresses whose packets are dropped, with a rule for each of them."""
        draw = random.Random(self.town.rng.randrange(10_000))
        lines = "".join(f"-A {self.chain} -s {draw_address(draw)} -j DROP\n" for _ in range(entries))
        file = self.environment.directory / "addresses.rules"
        file.write_text(RULES.format(chain=self.chain, lines=lines))
        self.environment.host_net.sh(f"iptables-restore --noflush {file}")
        self.town.parameters["entries"] = entries

    def measure_packets(self, seconds: float) -> float:
        """Return which part of its CPU the work of the kernel for packets takes."""
        before, began = self._read_ticks(), time.monotonic()
        time.sleep(seconds)
        ticks = self._read_ticks() - before
        return max(0.01, ticks / os.sysconf("SC_CLK_TCK") / (time.monotonic() - began))

    def _read_ticks(self) -> int:
        line = Path("/proc/stat").read_text().splitlines()[1 + self.cpu]
        return int(line.split()[7])

    def load_set(self, entries: int) -> None:
        """Drop packets of so many addresses by a single rule, which looks them up in a set."""
        draw = random.Random(self.town.rng.randrange(10_000))
        addresses = {
            f"{draw.randrange(11, 200)}.{draw.randrange(256)}.{draw.randrange(256)}.7" for _ in range(entries)
        }
        file = self.environment.directory / "addresses.nft"
        file.write_text(SET.format(addresses=", ".join(sorted(addresses))))
        self.environment.host_net.sh(f"nft -f {file}")
        self.town.parameters["set"] = len(addresses)


def draw_address(draw: random.Random) -> str:
    """Return an address or a network of the internet, none of the lab."""
    number = f"{draw.randrange(11, 200)}.{draw.randrange(256)}.{draw.randrange(256)}"
    return f"{number}.0/24" if draw.random() < 0.3 else f"{number}.{draw.randrange(1, 255)}/32"
