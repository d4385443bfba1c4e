"""A broker of insurances: HAProxy in front of two services of another site, to which two routes lead."""

from __future__ import annotations

from lab.network import connect_namespaces
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import ApiServer

NETWORK = "10.90.0"
# The address of the host itself, which is the source of what it sends on either route.
HOST = "10.70.0.1"
ROUTES = """
sysctl -qw net.ipv4.fib_multipath_hash_policy=1
ip addr add {source}/32 dev lo
ip route add {network}.0/24 src {source} nexthop via {first} dev eth0 nexthop via 10.80.2.2 dev eth1
"""


class Broker:
    """The services that run."""

    def __init__(self, town: Town) -> None:
        """Start them."""
        rng, self.environment = town.rng, town.environment
        environment = self.environment
        front, *ports = town.take_ports(3)
        connect_namespaces(
            environment.host_net, environment.client_net, ("10.80.2.1/24", "10.80.2.2/24"), ("eth1", "eth1")
        )
        words = ROUTES.format(network=NETWORK, source=HOST, first=environment.client_address)
        environment.host_net.sh(words)
        environment.client_net.sh(
            "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.eth1.rp_filter=0;"
            f"ip route add {HOST} via {environment.host_address}"
        )
        servers = []
        for number, port in zip(rng.sample(range(10, 90), 2), ports, strict=True):
            address = f"{NETWORK}.{number}"
            environment.client_net.sh(f"ip addr add {address}/32 dev lo")
            server = ApiServer(
                environment, address, port, client_side=True,
                delay_ms=rng.uniform(3, 9), work_us=rng.uniform(100, 300), answer_bytes=rng.randrange(1_000, 6_000),
            )  # fmt: skip
            servers.append(server.address)
        settings = HaproxySettings(
            frontend=rng.choice(("claims", "www")), backend="claims", servers=tuple(servers),
            server_words="check inter 3s", backend_lines="option http-server-close\n    http-reuse never",
        )  # fmt: skip
        self.haproxy = Haproxy(environment, front, settings)
        town.parameters |= {"broker": front, "servers": servers}

    def lose_second_route(self) -> None:
        """Let the second route lose what the host sends to the other site, with its link up."""
        self.environment.client_net.sh(f"iptables -A INPUT -i eth1 -d {NETWORK}.0/24 -j DROP")
