"""A gallery: pictures that nginx sends, copies to an archive, and a class of the link for each."""

from __future__ import annotations

import sys

from lab.load import wait_for
from lab.real.services.nginx import Nginx
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

ARCHIVE = "10.80.0.71"
# Two classes: answers of the site, and all else.
CLASSES = """
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:1 htb rate {link}mbit quantum 60000
tc class add dev eth0 parent 1:1 classid 1:10 htb rate {site}mbit ceil {link}mbit prio 0 quantum 60000
tc class add dev eth0 parent 1:1 classid 1:20 htb rate {rest:.2f}mbit ceil {rest:.2f}mbit prio 1 quantum 6000
tc qdisc add dev eth0 parent 1:20 pfifo limit {packets}
"""
FILTER = (
    "tc filter replace dev eth0 parent 1: handle 800::800 protocol ip prio 1 u32 match ip sport {port} 0xffff"
)
COPY = """
while :; do curl -s -m 60 --limit-rate {rate}k -H Expect: -o /dev/null -T {file} http://{address}/scans/{number}
sleep {pause_s:.1f}; done
"""


class Gallery:
    """The pictures and the copies. `mean_bytes` is the mean size of a picture."""

    def __init__(self, town: Town, nginx: Nginx) -> None:
        """Add pictures to nginx, and start the archive."""
        rng, self.environment = town.rng, town.environment
        environment, self.town, self.nginx = self.environment, town, nginx
        self.pictures = rng.randrange(40, 90)
        sizes = [rng.randrange(20_000, 90_000) for _ in range(self.pictures)]
        for number, size in enumerate(sizes):
            nginx.add_file(f"pictures/{number}.jpg", size)
        self.mean_bytes = sum(sizes) / len(sizes)
        port = town.take_ports(1)[0]
        self.address = f"{ARCHIVE}:{port}"
        environment.client_net.sh(f"ip addr add {ARCHIVE}/24 dev eth0")
        program = str(PROGRAMS / "towns" / "scan_store.py")
        environment.on_client([sys.executable, "-B", program, "--listen", self.address])
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the archive")
        town.parameters |= {"pictures": self.pictures, "archive": port}

    def shape_link(self, rest_mbit: float) -> None:
        """Create the classes. rest_mbit: what all but the site may send."""
        rng = self.town.rng
        link = rng.choice((400, 500, 800))
        text = CLASSES.format(link=link, site=link // 2, rest=rest_mbit, packets=rng.randrange(8, 20))
        for line in text.strip().splitlines():
            self.environment.host_net.sh(line)
        self.choose_port(self.nginx.port)
        self.town.parameters |= {"link_mbit": link, "rest_mbit": round(rest_mbit, 2)}

    def choose_port(self, port: int) -> None:
        """Put what is sent from this port into the class of the site, and from no other port."""
        net = self.environment.host_net
        net.sh("tc filter del dev eth0 parent 1: 2>/dev/null || :")
        net.sh(f"{FILTER.format(port=port)} flowid 1:10")

    def add_destination(self, address: str) -> None:
        """Put what is sent to this address and port into the class of the site too."""
        host, port = address.split(":")
        match = f"match ip dst {host}/32 match ip dport {port} 0xffff"
        self.environment.host_net.sh(
            f"tc filter add dev eth0 parent 1: protocol ip prio 2 u32 {match} flowid 1:10"
        )

    def start_copies(self, kilobytes_per_s: int) -> None:
        """Copy scans to the archive, at this rate."""
        rng = self.town.rng
        file = self.environment.directory / "scans.tar"
        file.write_bytes(rng.randbytes(rng.randrange(2, 5) << 20))
        words = COPY.format(
            rate=kilobytes_per_s, file=file, address=self.address, number=rng.randrange(100), pause_s=rng.uniform(1, 3)
        )  # fmt: skip
        self.environment.on_host(["sh", "-c", words], self.town.create_group("copies"))
