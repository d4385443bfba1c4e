"""Reports of buoys: HAProxy with TLS in front of a service, and buoys that take up their sessions again."""

from __future__ import annotations

import subprocess
import time

from lab.load import Load, wait_for
from lab.real.services.golang import build_program
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer

KEY = """
openssl req -x509 -newkey rsa:{bits} -nodes -days 365 -subj /CN=reports.example.org -keyout server.key \
    -out server.crt 2>&1
cat server.crt server.key >reports.pem
"""
TYPICAL = "ssl-default-bind-options ssl-min-ver TLSv1.2"
HARDENED = f"{TYPICAL} no-tls-tickets\n    tune.ssl.cachesize 0"


class BuoyReports:
    """The services that run."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        self.town, rng, environment = town, town.rng, town.environment
        port, tls_port, app_port = town.take_ports(3)
        directory = environment.directory / "tls"
        directory.mkdir()
        subprocess.run(
            ["sh", "-ec", KEY.format(bits=4096)], cwd=directory, check=True, capture_output=True, timeout=60
        )
        app = ApiServer(
            environment, "127.0.0.1", app_port,
            delay_ms=rng.uniform(2, 8), work_us=rng.uniform(100, 200), answer_bytes=rng.randrange(100, 900),
        )  # fmt: skip
        self.address = f"{environment.host_address}:{tls_port}"
        settings = HaproxySettings(
            frontend=rng.choice(("reports", "sea")), backend="reports", servers=(app.address,), threads=1,
            global_lines=TYPICAL, frontend_lines=f"bind {self.address} ssl crt {directory}/reports.pem",
            server_words="check inter 5s",
        )  # fmt: skip
        self.haproxy = Haproxy(environment, port, settings)
        town.parameters |= {"buoys_port": port, "buoys_tls_port": tls_port}

    def start_buoys(self, rate: float, buoys: int) -> Load:
        """Start the buoys: clients with a connection for each report."""
        environment, rng = self.town.environment, self.town.rng
        binary, log = build_program(environment, "coast/buoys.go"), environment.directory / "buoys.log"
        paths = rng.sample(("/waves/{n}", "/currents/{n}", "/salt/{n}", "/depths/{n}"), 2)
        words = ["-to", self.address, "-rate", f"{rate:.1f}", "-buoys", buoys, "-paths", ",".join(paths),
                 "-timeout", 4, "-seed", rng.randrange(10_000), "-log", log]  # fmt: skip
        load = Load(environment.on_client([str(binary), *map(str, words)]), log)
        wait_for(lambda: load.stats()["ok"] > 50, "answers to buoys")
        self.town.parameters |= {"rate": rate, "buoys": buoys, "paths": paths}
        return load

    def measure_buoys(self, rate: float, buoys: int, warm_s: float) -> None:
        """Start the buoys as the clients of the host, and measure the healthy phase after a warm-up."""
        self.town.load = self.start_buoys(rate, buoys)
        time.sleep(warm_s)
        self.town.parameters["healthy"] = self.town.load.baseline(4.0)

    def harden(self) -> None:
        """Apply the settings of a guide to safer TLS."""
        self.haproxy.restart(global_lines=HARDENED)
