"""Views from a lighthouse: gunicorn in a container that keeps what it has painted."""

from __future__ import annotations

import time

from lab.real.services.gunicorn import Gunicorn
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.quarter.practice_host import count_kept_bytes
from lab.real.services.towns.town import Town

MOUNT = "mkdir -p {where}; mount -t tmpfs -o mode=1777,size={megabytes}m shm {where}"


class Lighthouse:
    """The service that runs. `pod` is its container, `upstream` what nginx needs for it."""

    #: How many panoramas are painted at a time, at the most.
    PAINTERS = 4

    def __init__(self, town: Town) -> None:
        """Start it, with what is painted on the disk."""
        rng, self.environment = town.rng, town.environment
        app_port = town.take_ports(1)[0]
        self.pod = town.create_group(rng.choice(("lighthouse", "views", "panoramas")))
        self.canvas_mb, picture_kb = rng.randrange(26, 36), rng.randrange(1_200, 2_000)
        self.kept_mb = round(self.canvas_mb * rng.uniform(3.3, 3.7))
        self.disk = str(self.environment.directory / "panoramas")
        self.memory = f"/run/{rng.choice(('panoramas', 'views', 'cache'))}"
        self.environment.host_sh(f"install -d -o www-data {self.disk}")
        self.environment.host_sh(MOUNT.format(where=self.memory, megabytes=self.kept_mb + 60))
        self.paint_s = rng.uniform(0.12, 0.16)
        variables = {
            "KEPT": self.disk, "MOST": str(self.kept_mb * 1024 // picture_kb), "PICTURE_KB": str(picture_kb),
            "CANVAS_MB": str(self.canvas_mb), "PAINT_S": f"{self.paint_s:.2f}",
            "HEIGHTS_MB": str(rng.randrange(34, 46)),
        }  # fmt: skip
        self.app = Gunicorn(
            self.environment, app_port, "coast/panorama_app.py", address="127.0.0.1", workers=2,
            threads=self.PAINTERS // 2, variables=variables, group=self.pod,
        )  # fmt: skip
        self.upstream = build_upstream("views", (f"127.0.0.1:{app_port}",))
        time.sleep(2.0)
        idle_mb = count_kept_bytes(self.pod) >> 20
        # Enough for as many panoramas as are painted at a time, and for what is written to the disk.
        self.megabytes = idle_mb + round(self.canvas_mb * (self.PAINTERS + 0.9)) + 12
        self.pod.limit_memory(self.megabytes << 20)
        town.parameters |= {
            "idle_mb": idle_mb, "canvas_mb": self.canvas_mb, "kept_mb": self.kept_mb,
            "megabytes": self.megabytes,
        }  # fmt: skip

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "views")

    def keep_in(self, directory: str) -> None:
        """Keep what is painted in another directory from now on."""
        self.app.restart(KEPT=directory)
