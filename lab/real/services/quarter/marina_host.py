"""A marina with its database on a volume, a furniture shop with pictures, a pharmacy with its tills."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from lab.application import DATA, LabApplication, limit_io
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.mariadb import MariaDb
from lab.real.services.nginx import Nginx
from lab.real.services.postgres import UNPRIVILEGED_UID
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer

STUDIO = "10.80.0.61"
COPY = """
while :; do curl -s -m 300 {words} -H Expect: -o /dev/null -T {file} http://{address}/albums/{number}
sleep {pause_s:.1f}; done
"""


class Volume:
    """The volume of a database, which does so many requests a second and no more. The host cannot read how many."""

    def __init__(self, environment: LabEnvironment, rng: random.Random, iops: int, size_mb: int = 0) -> None:
        """Mount the volume. size_mb: its size; 0 for one that `rng` draws."""
        self.environment = environment
        application = LabApplication(environment, rng)
        image = application.disk(size_mb or rng.randrange(700, 1000))
        number = image.stat().st_dev
        self._below = f"{os.major(number)}:{os.minor(number)}"
        self._loop = application.loop_device()
        files = self.change_speed(iops)
        environment.host_sh("; ".join(f"mount --bind /dev/null {file}" for file in files))
        environment.host_sh(f"install -d -m 700 -o {UNPRIVILEGED_UID} -g {UNPRIVILEGED_UID} {DATA}/main")

    def change_speed(self, iops: int) -> list[Path]:
        """Let the volume do so many requests a second. Returns the files of the limit."""
        return list(dict.fromkeys(limit_io(self.environment.app, self._below, iops=iops)))

    def start_mariadb(self, rng: random.Random) -> MariaDb:
        """Start a MariaDB whose data are on the volume, and more than it keeps in memory."""
        settings: dict[str, object] = {
            "innodb_buffer_pool_size": f"{rng.randrange(16, 25)}M",
            "innodb_flush_method": "O_DIRECT",
        }
        orders = rng.randrange(110_000, 150_000)
        return MariaDb(
            self.environment, rng, settings=settings, directory=f"{DATA}/main", orders=orders, customers=orders // 3,
            note_words=rng.randrange(20, 26),
        )  # fmt: skip

    def count_reads(self) -> int:
        """Return how many requests the volume has read."""
        return int(Path(f"/sys/dev/block/{self._loop}/stat").read_text().split()[0])


class Furniture:
    """The pictures of a furniture shop: nginx, and a photo studio that gets copies of albums over the same line."""

    def __init__(self, town: Town, mbit_per_s: int) -> None:
        """Start nginx and the studio. mbit_per_s: what the line takes."""
        rng = town.rng
        self.town, self.environment = town, town.environment
        self.mbit_per_s, queue_ms = mbit_per_s, rng.randrange(120, 220)
        self.environment.host_net.sh(
            f"tc qdisc replace dev eth0 root tbf rate {mbit_per_s}mbit burst 96k latency {queue_ms}ms"
        )
        self.environment.client_net.sh(f"ip addr add {STUDIO}/24 dev eth0")
        port, studio_port = town.take_ports(2)
        self.nginx = Nginx(self.environment, port)
        self.pictures = rng.randrange(40, 90)
        for number in range(self.pictures):
            self.nginx.add_file(f"pictures/{number}.jpg", rng.randrange(25_000, 110_000))
        self.address = f"{STUDIO}:{studio_port}"
        program = str(PROGRAMS / "towns" / "scan_store.py")
        self.environment.on_client([sys.executable, "-B", program, "--listen", self.address])
        wait_for(
            lambda: bool(self.environment.client_net.sh(f"ss -Hltn sport = :{studio_port}")),
            "the photo studio",
        )
        self.album = self.environment.directory / "albums.tar"
        self.album.write_bytes(rng.randbytes(rng.randrange(16, 30) << 20))
        self.pod = town.create_group(rng.choice(("albums", "studio", "copies")))
        town.parameters |= {"furniture": port, "mbit_per_s": mbit_per_s, "queue_ms": queue_ms}

    def draw_rate(self) -> float:
        """Return how many pictures a second take a good third of the line."""
        return self.mbit_per_s * self.town.rng.uniform(0.30, 0.36) * 1e6 / 8 / 68_000

    def start_copies(self, count: int, kilobytes_per_s: int = 0) -> list[int]:
        """Copy albums to the studio, so many at a time. Returns the pids."""
        words = f"--limit-rate {kilobytes_per_s}k" if kilobytes_per_s else ""
        pause_s = self.town.rng.uniform(0.1, 0.4)
        self.copies = [
            self.environment.on_host(
                ["sh", "-c", COPY.format(words=words, file=self.album, address=self.address, number=number,
                                         pause_s=pause_s)], self.pod,
            )
            for number in range(count)
        ]  # fmt: skip
        return [copy.pid for copy in self.copies]

    def stop_copies(self) -> None:
        """End the copies."""
        for copy in self.copies:
            self.environment.stop(copy)


class Pharmacy:
    """The stock of a pharmacy: HAProxy and an application, behind a firewall that knows connections."""

    def __init__(self, town: Town, *, remembered_s: int) -> None:
        """Start the services. remembered_s: for how long the firewall remembers a closed connection."""
        rng, self.environment = town.rng, town.environment
        self.environment.track_connections()
        self.environment.host_net.sh(
            f"sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_time_wait={remembered_s}"
        )
        port, app_port = town.take_ports(2)
        self.app = ApiServer(
            self.environment, "127.0.0.1", app_port,
            delay_ms=rng.uniform(2, 8), work_us=rng.uniform(300, 900), answer_bytes=rng.randrange(1_000, 8_000),
        )  # fmt: skip
        settings = HaproxySettings(
            frontend=rng.choice(("tills", "www")), backend="stock", servers=(self.app.address,),
            server_words="check inter 5s",
        )  # fmt: skip
        self.haproxy = Haproxy(self.environment, port, settings)
        town.parameters |= {"pharmacy": port, "remembered_s": remembered_s}

    def count_connections(self) -> int:
        """Return how many connections the firewall remembers."""
        return int(self.environment.host_net.sh("cat /proc/sys/net/netfilter/nf_conntrack_count"))
