"""Salons: a Go service behind nginx, and a firewall that limits how fast an address may open connections."""

from __future__ import annotations

from lab.real.services.golang import GoService
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town

RULE = (
    "iptables -{action} {chain} -p tcp --dport {port} --syn -m hashlimit --hashlimit-name {name}"
    " --hashlimit-mode srcip --hashlimit-above {most}/sec --hashlimit-burst {burst} -j DROP"
)
CHAIN = """
iptables -N {chain}; iptables -A INPUT -i lo -j ACCEPT; iptables -A INPUT -i mgmt0 -j ACCEPT
iptables -A INPUT -i eth0 -p udp --dport 161 -j DROP; iptables -A INPUT -i eth0 -j {chain}
"""


class Salons:
    """The service that runs. `upstream` is what nginx needs for it."""

    def __init__(self, town: Town) -> None:
        """Start it."""
        rng, self.environment = town.rng, town.environment
        port = town.take_ports(1)[0]
        self.service = GoService(
            self.environment, "parish/appointments.go", port,
            "-salons", rng.randrange(20, 90), "-rounds", rng.randrange(200, 1_200),
        )  # fmt: skip
        self.service.start()
        self.upstream = build_upstream("salons", (f"{self.environment.host_address}:{port}",))
        self.chain, self.name = (
            rng.choice(("web-in", "site", "services")),
            rng.choice(("web", "http", "site")),
        )
        self._rule = ""
        town.parameters |= {"salons": port}

    @property
    def pid(self) -> int:
        return self.service.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "salons")

    def start_firewall(self, port: int, most: int, burst: int) -> None:
        """Start the firewall in front of a port: an address may open `most` connections a second to it."""
        self.environment.host_net.sh(CHAIN.format(chain=self.chain))
        self._rule = RULE.format(
            action="A", chain=self.chain, port=port, name=self.name, most=most, burst=burst
        )
        self.environment.host_net.sh(self._rule)

    def change_limit(self, port: int, most: int, burst: int) -> None:
        """Put another limit in the place of the one there is."""
        rule = RULE.format(action="A", chain=self.chain, port=port, name=self.name, most=most, burst=burst)
        self.environment.host_net.sh(f"{self._rule.replace(' -A ', ' -D ')}; {rule}")
        self._rule = rule
