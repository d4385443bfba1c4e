"""Hooks of tools: a Node service behind HAProxy that calls other services by their names and reads profiles."""

from __future__ import annotations

import json
import subprocess
import sys

from lab.load import wait_for
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer


class Hooks:
    """The services that run. `access_log` is that of Node, `lookup_s` how long the name server takes on average."""

    def __init__(self, town: Town) -> None:
        """Start the services on another host, their name server, Node and HAProxy."""
        rng, self.town, self.environment = town.rng, town, town.environment
        port, self.port, service_port = town.take_ports(3)
        ApiServer(
            self.environment, self.environment.client_address, service_port, client_side=True,
            delay_ms=rng.uniform(4, 12), work_us=150, answer_bytes=rng.randrange(500, 3_000),
        )  # fmt: skip
        profiles, count = self.environment.directory / "srv" / "profiles", rng.randrange(40, 120)
        profiles.mkdir(parents=True)
        for number in range(count):
            teams = [rng.randrange(900) for _ in range(rng.randrange(60, 400))]
            (profiles / f"{number}.json").write_text(json.dumps({"tool": number, "teams": teams}))
        least = rng.randrange(20, 30)
        late_ms = (least, least + rng.randrange(8, 16))
        self.lookup_s = sum(late_ms) / 2_000
        self._start_names(late_ms)
        self.access_log = str(self.environment.directory / "hooks.log")
        self._variables = {
            "ADDRESS": "127.0.0.1", "PORT": str(self.port), "SERVICES": str(rng.randrange(20, 200)),
            "ZONE": rng.choice(("tools.internal", "platform.example.net", "svc.example.org")),
            "SERVICE_PORT": str(service_port), "PROFILES": str(profiles), "COUNT": str(count),
            "ACCESS_LOG": self.access_log, "NODE_ENV": "production",
        }  # fmt: skip
        self._start()
        settings = HaproxySettings(
            frontend=rng.choice(("tools", "hooks")), backend="hooks", servers=(f"127.0.0.1:{self.port}",),
            server_words="check inter 5s",
        )  # fmt: skip
        self.haproxy = Haproxy(self.environment, port, settings)
        town.parameters |= {"port": port, "late_ms": late_ms}

    @property
    def pid(self) -> int:
        return self.server.pid

    def restart(self, **variables: str) -> None:
        """Start Node again, with these environment variables."""
        self.environment.stop(self.server)
        self._variables |= variables
        self._start()

    def _start(self) -> None:
        words = [f"{name}={value}" for name, value in self._variables.items()]
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["env", *words, "node", str(PROGRAMS / "platform" / "hooks.mjs")]
        )
        listing = f"ss -Hltn sport = :{self.port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "hooks", 30.0)

    def _start_names(self, late_ms: tuple[int, int]) -> None:
        environment = self.environment
        address = f"{environment.client_address.rpartition('.')[0]}.53"
        environment.client_net.sh(f"ip addr add {address}/24 dev eth0")
        settings = environment.directory / "zone.json"
        settings.write_text(json.dumps({"share": 1.0, "late_ms": late_ms}))
        environment.on_client(
            [sys.executable, "-B", str(PROGRAMS / "name_server.py"), "--listen", f"{address}:53",
             "--address", environment.client_address, "--settings", str(settings)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hlun src {address}:53")), "a name server")
        file = environment.directory / "resolv.conf"
        file.write_text(f"nameserver {address}\n")
        environment.host_sh(f"mount --bind {file} /etc/resolv.conf")
