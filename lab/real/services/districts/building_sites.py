"""Pictures of building sites: an nginx that takes them on a volume, and containers that put archives there."""

from __future__ import annotations

from lab.real.services.nginx import Nginx, NginxSettings
from lab.real.services.towns.town import Town

LOCATION = """
        location / {{
            root {volume}/www;
            client_body_temp_path {volume}/body;
            client_max_body_size 8m;
            create_full_put_path on;
            dav_methods PUT;
        }}
"""
PREPARE = """
install -d -o www-data {volume}/www {volume}/www/plans {volume}/body; install -d {volume}/archive
for n in $(seq 0 {last}); do head -c {kilobytes}k /dev/urandom >{volume}/www/plans/$n.pdf; done
"""
COPY = """
while :; do dd if={source} bs=256k 2>/dev/null | dd of={volume}/archive/{number}.tar bs=256k 2>/dev/null
sleep {pause_s:.1f}; done
"""
PACED_COPY = """
while :; do for part in $(seq 0 {last}); do
dd if={source} of={volume}/archive/{number}.tar bs=256k seek=$part skip=$part count=1 conv=notrunc 2>/dev/null
sleep {pause_s:.2f}; done; done
"""


class BuildingSites:
    """The nginx of the pictures. `pod` is the group of the copies of archives."""

    def __init__(self, town: Town, volume: str) -> None:
        """Start nginx on the volume, which is mounted."""
        self.town, self.volume, self.environment = town, volume, town.environment
        rng = town.rng
        self.pod = town.create_group(rng.choice(("archive", "former-sites", "import")))
        port = town.take_ports(1)[0]
        self.plans = rng.randrange(60, 120)
        prepare = PREPARE.format(volume=volume, last=self.plans - 1, kilobytes=rng.randrange(30, 90))
        self.environment.host_sh(prepare)
        workers = rng.choice((4, 5, 6))
        lines = NginxSettings(worker_processes=workers, server_lines=LOCATION.format(volume=volume))
        self.nginx = Nginx(self.environment, port, lines)
        town.parameters |= {"sites": port, "plans": self.plans, "workers": workers}

    @property
    def pid(self) -> int:
        """The first process of nginx."""
        return self.nginx.pid

    def draw_requests(self, low: int, high: int) -> list[str]:
        """Return what people on sites send and read. low, high: bytes of a picture."""
        rng = self.town.rng
        return [f"PUT /pictures/{{n}}.jpg {low} {high}"] + ["GET /plans/{n}.pdf 0 0"] * rng.randrange(8, 13)

    def copy_archives(self, count: int, megabytes: int, paced_s: float = 0.0) -> None:
        """Put so many archives on the volume at a time, again and again.

        paced_s: the pause after each 256 KB; without one, as fast as the kernel takes them.
        """
        rng = self.town.rng
        source = self.environment.directory / "former.tar"
        source.write_bytes(rng.randbytes(1 << 20) * megabytes)
        words = {"source": source, "volume": self.volume, "last": megabytes * 4 - 1}
        for number in range(count):
            script = PACED_COPY.format(**words, number=number, pause_s=paced_s) if paced_s else COPY.format(
                **words, number=number, pause_s=rng.uniform(0.2, 1.0)
            )  # fmt: skip
            self.environment.on_host(["sh", "-c", script], self.pod)
        self.town.parameters |= {"archives": count, "archive_mb": megabytes, "paced_s": round(paced_s, 2)}
