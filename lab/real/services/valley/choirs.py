"""Scores of choirs: files of nginx and a search with its index in memory, in the container of both."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from lab.application import DATA, LabApplication, slow_disk
from lab.load import wait_for
from lab.real.services.nginx import Nginx, NginxSettings, build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

READ_ALL = "find {where} -type f -exec cat {{}} + >/dev/null"


class Choirs:
    """The services that run."""

    #: What programs of the container take, without the index and the files.
    PROGRAMS_MB = 40

    def __init__(
        self, town: Town, iops: int, files_mb: int, index_mb: int, room: float, *, others: NginxSettings | None = None
    ) -> None:  # fmt: skip
        """Start them, with all files in the page cache.

        Args:
            iops: how many requests a second the volume does; 0 for files on the disk of the host.
            room: the part of the files that fits into the page cache of the container, next to this index.
            others: lines of nginx for other services.
        """
        rng, self.environment = town.rng, town.environment
        environment, self.town = self.environment, town
        port, search_port = town.take_ports(2)
        self.pod = town.create_group(rng.choice(("scores", "library", "choir-web")))
        image = LabApplication(environment, rng).disk(files_mb + 120) if iops else None
        self.where = DATA if iops else str(environment.directory / "choirs")
        kilobytes = rng.randrange(130, 220)
        self.scores = files_mb * 1024 // kilobytes
        self._write_scores(rng.randbytes(kilobytes << 10))
        limit_mb = round(files_mb * room) + index_mb + self.PROGRAMS_MB
        self.pod.limit_memory(limit_mb << 20)
        self.settings = environment.directory / "search.json"
        self.change_index(index_mb)
        program = str(PROGRAMS / "valley" / "score_search.py")
        words = ["--listen", f"127.0.0.1:{search_port}", "--settings", str(self.settings)]
        self.search = environment.on_host([sys.executable, "-B", program, *words], self.pod)
        wait_for(
            lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{search_port}")), "the search", 20.0
        )
        lines = NginxSettings(
            worker_processes=4,
            http_lines=build_upstream("search", (f"127.0.0.1:{search_port}",)) + (others.http_lines if others else ""),
            server_lines=build_proxy("/search/", "search") + f"        location /scores/ {{ root {self.where}; }}\n"
            + (others.server_lines if others else ""),
        )  # fmt: skip
        self.nginx = Nginx(environment, port, lines, group=self.pod)
        reader = environment.on_host(["sh", "-c", READ_ALL.format(where=f"{self.where}/scores")], self.pod)
        wait_for(lambda: reader.poll() is not None, "the files in the page cache", 30.0)
        if image:
            slow_disk(self.pod, image, iops=iops)
        town.parameters |= {
            "choirs": port, "iops": iops, "files_mb": files_mb, "kilobytes": kilobytes, "limit_mb": limit_mb,
        }  # fmt: skip

    def change_index(self, megabytes: int) -> None:
        """Let the index of the next edition take so much memory."""
        self.settings.write_text(json.dumps({"megabytes": megabytes}))
        self.town.parameters["index_mb"] = megabytes

    def load_edition(self) -> None:
        """Let the search build its index again."""
        os.kill(self.search.pid, signal.SIGHUP)

    def _write_scores(self, content: bytes) -> None:
        """Write the files, and keep none of them in the page cache."""
        root = Path(f"{self.environment.host.path(self.where)}/scores")
        root.mkdir(parents=True)
        names = [root / f"{number}.pdf" for number in range(self.scores)]
        for name in names:
            name.write_bytes(content)
        self.environment.host_sh(f"sync -f {self.where}/scores")
        for name in names:
            descriptor = os.open(name, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
