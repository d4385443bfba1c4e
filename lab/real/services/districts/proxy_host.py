"""The proxy of offices: a Squid, the dnsmasq that resolves names for it, and a report of visitors."""

from __future__ import annotations

import json
import random
import subprocess
import sys

from lab.load import wait_for
from lab.real.services.daemons.squid import Squid
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

DNSMASQ = ("dnsmasq", "--keep-in-foreground", "--no-resolv", "--no-hosts", "--bind-interfaces", "--user=root")
LINE = '{address} - - [29/Nov/2026:06:{minute:02}:{second:02} +0000] "GET /offers/{n} HTTP/1.1" 200 {size}\n'


class OfficeProxy:
    """The services that run. `squid` is the proxy, `resolver` the dnsmasq."""

    def __init__(self, town: Town) -> None:
        """Start the sites and name servers of others, dnsmasq and Squid."""
        self.town, self.environment = town, town.environment
        rng, environment = town.rng, town.environment
        self.site_port, port = town.take_ports(2)
        ApiServer(
            environment, environment.client_address, self.site_port, client_side=True,
            delay_ms=rng.uniform(8, 25), work_us=150, answer_bytes=rng.randrange(1_000, 9_000),
        )  # fmt: skip
        network = environment.client_address.rpartition(".")[0]
        company, forward, reverse = (f"{network}.{number}" for number in (53, 54, 55))
        self._start_names(forward)
        # Many networks have no name server that answers for their addresses.
        silent = rng.uniform(0.55, 0.75)
        self._start_names(reverse, share=silent, code=-1)
        environment.client_net.sh(f"ip addr add {company}/24 dev eth0")
        environment.on_client(
            [*DNSMASQ, f"--listen-address={company}", f"--pid-file={environment.directory}/company.pid",
             "--dns-forward-max=9000", f"--server={forward}", f"--server=/in-addr.arpa/{reverse}"]
        )  # fmt: skip
        cache = rng.choice((150, 500, 1_000))
        self.resolver: subprocess.Popen[bytes] = environment.on_host(
            [*DNSMASQ, "--listen-address=127.0.0.1", "--pid-file=/run/dnsmasq.pid", f"--cache-size={cache}",
             f"--server={company}"]
        )  # fmt: skip
        for net, address in ((environment.client_net, company), (environment.host_net, "127.0.0.1")):
            wait_for(lambda: bool(net.sh(f"ss -Hlun src {address}:53")), "dnsmasq")  # noqa: B023
        file = environment.directory / "resolv.conf"
        file.write_text("nameserver 127.0.0.1\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")
        self.squid = Squid(
            environment, port, rng.choice((4_096, 8_192)), keeps_connections=rng.random() < 0.5
        )
        self.address = f"{environment.host_address}:{port}"
        self._log = environment.directory / "visits.log"
        self._log.write_text("".join(_list_visits(rng, rng.randrange(30_000, 50_000))))
        self._report: subprocess.Popen[bytes] | None = None
        town.parameters |= {"proxy": port, "silent": round(silent, 2), "cache": cache}

    def report_visits(self, at_a_time: int) -> None:
        """Write the report, with so many names looked up at a time; in place of one that is being written."""
        if self._report:
            self.environment.stop(self._report)
        words = [
            "--log",
            self._log,
            "--at-a-time",
            at_a_time,
            "--report",
            self.environment.directory / "visits.txt",
        ]
        program = str(PROGRAMS / "districts" / "visits_report.py")
        self._report = self.environment.on_host([sys.executable, "-B", program, *map(str, words)])

    def draw_paths(self) -> list[str]:
        """Return what offices request from sites of others."""
        rng = self.town.rng
        names = rng.sample(
            ("shop{n}.example", "www.firm{n}.example", "news{n}.example", "api.depot{n}.example"), 3
        )
        return [
            f"http://{name}:{self.site_port}/{rng.choice(('offers', 'news', 'lots'))}/{{n}}" for name in names
        ]

    def _start_names(self, address: str, **settings: object) -> None:
        environment = self.environment
        environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        file = environment.directory / f"zone-{address}.json"
        file.write_text(json.dumps(settings))
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "name_server.py"), "--listen", f"{address}:53",
             "--address", environment.client_address, "--settings", str(file)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hlun src {address}:53")), "a name server")


def _list_visits(rng: random.Random, count: int) -> list[str]:
    lines = []
    for number in range(count):
        address = f"198.{rng.randrange(18, 20)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
        lines.append(
            LINE.format(
                address=address, minute=number * 60 // count, second=number % 60, n=rng.randrange(9_999),
                size=rng.randrange(400, 9_000),
            )
        )  # fmt: skip
    return lines
