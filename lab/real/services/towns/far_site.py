"""Another site of a company, behind a router and a line: a store of scans."""

from __future__ import annotations

import random
import sys

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.network import Namespace
from lab.real.services.web_neighbours import PROGRAMS

ADDRESS = "10.80.1.9"


class FarSite:
    """The site. It has to be there before services of the host are started."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        """Put the router in between, and start the store."""
        self.environment = environment
        self.router: Namespace = environment.insert_router()
        environment.client_net.sh(f"ip addr add {ADDRESS}/24 dev eth0")
        self.port = rng.randrange(14_000, 15_000)
        program = str(PROGRAMS / "towns" / "scan_store.py")
        environment.on_client([sys.executable, "-B", program, "--listen", self.address])
        wait_for(
            lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{self.port}")), "the store of scans"
        )

    @property
    def address(self) -> str:
        return f"{ADDRESS}:{self.port}"

    def move_line(self, mtu: int) -> None:
        """Let packets to the site take a line that carries no larger ones than this."""
        self.router.sh(f"ip route add {ADDRESS}/32 dev eth1 mtu lock {mtu}")
