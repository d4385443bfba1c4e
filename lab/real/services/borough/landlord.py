"""A landlord: a Java service behind nginx, a script that starts it, and a script that checks how it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.load import wait_for
from lab.real.services.java import build_classes
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer

SERVICE = """
while :; do
java -Xmx192m -XX:+UseSerialGC -XX:-UsePerfData -Dsun.net.httpserver.nodelay=true {properties} -cp {classes} \
Tenancies {address} {port} {log} & echo $! >{pid}; wait $!; sleep 0.5; done
"""
CHECK = """
misses=0; while :; do sleep {every_s:.2f}; . {settings}
if curl -s -f -m $CHECK_S -o /dev/null http://{address}/health; then misses=0; else misses=$(( misses + 1 )); fi
if [ $misses -ge 2 ]; then kill $(cat {pid}); misses=0; sleep {settle_s:.2f}; fi; done
"""


class Landlord:
    """The services that run. `upstream` is what nginx needs for them."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        port, register_port = town.take_ports(2)
        directory = self.environment.directory / "tenancies"
        directory.mkdir()
        self.access_log, self.settings, pid = (
            directory / name for name in ("access.log", "check.conf", "pid")
        )
        self.register_ms = rng.uniform(1_500, 1_900)
        register = ApiServer(
            self.environment, self.environment.client_address, register_port, client_side=True,
            delay_ms=self.register_ms, work_us=rng.uniform(50, 150), answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        properties = {
            "register": register.address, "papers": rng.randrange(20_000, 30_000), "threads": rng.choice((24, 32)),
            "rounds": rng.randrange(200, 1_000),
        }  # fmt: skip
        self.address = f"{self.environment.host_address}:{port}"
        words = SERVICE.format(
            properties=" ".join(f"-D{name}={value}" for name, value in properties.items()),
            classes=build_classes(self.environment, "borough/Tenancies.java"), address=self.environment.host_address,
            port=port, log=self.access_log, pid=pid,
        )  # fmt: skip
        self.service: subprocess.Popen[bytes] = self.environment.on_host(["sh", "-c", words])
        listing = f"ss -Hltn sport = :{port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "the tenancies", 40.0)
        self.write_check(rng.randrange(8, 12))
        words = CHECK.format(
            every_s=rng.uniform(0.8, 1.4), settings=self.settings, address=self.address, pid=pid,
            settle_s=rng.uniform(5.0, 7.0),
        )  # fmt: skip
        self.environment.on_host(["sh", "-c", words])
        self.upstream = build_upstream("tenancies", (self.address,))
        town.parameters |= {
            "tenancies": port,
            "register_ms": round(self.register_ms),
            "papers": properties["papers"],
        }

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "tenancies")

    def write_check(self, seconds: int) -> None:
        """Let the check wait for at most so many seconds from now on."""
        write_file(self.settings, f"CHECK_S={seconds}\n")


def write_file(file: Path, text: str) -> None:
    """Replace a file at once."""
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").replace(file)
