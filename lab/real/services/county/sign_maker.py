"""A maker of signs: a Perl service behind nginx, whose processes start a tool for each layer of a drawing."""

from __future__ import annotations

import resource
import subprocess
import time

from lab.load import wait_for
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

DRAWINGS = 40
_, HARD_LIMIT = resource.getrlimit(resource.RLIMIT_NOFILE)
#: What containers often have, where this machine allows it.
MOST_FILES = 512 << 10 if HARD_LIMIT == resource.RLIM_INFINITY else min(512 << 10, HARD_LIMIT)


class SignMaker:
    """The service that runs. `upstream` is what nginx needs for it."""

    def __init__(self, town: Town, open_files: int, layers: int) -> None:
        """Start it. open_files: how many files a process may have open. layers: those of a drawing."""
        rng, self.environment = town.rng, town.environment
        self.port = town.take_ports(1)[0]
        drawings = self.environment.directory / "drawings"
        drawings.mkdir()
        for number in range(DRAWINGS):
            text = "".join(f"<line x1='{rng.randrange(900)}'/>\n" for _ in range(rng.randrange(300, 1_500)))
            (drawings / f"{number:02}.svg").write_text(text)
        self.processes = rng.choice((12, 16, 20))
        words = ("127.0.0.1", self.port, self.processes, drawings, layers, rng.randrange(100, 600))
        self._command = ["perl", str(PROGRAMS / "county" / "signs.pl"), *map(str, words)]
        self.upstream = build_upstream("signs", (f"127.0.0.1:{self.port}",), keepalive=0)
        self.start_service(open_files)
        town.parameters |= {"signs": self.port, "processes": self.processes, "layers": layers}

    @property
    def pid(self) -> int:
        return self.server.pid

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "signs", keepalive=False)

    def start_service(self, open_files: int) -> None:
        """Start the processes with this limit."""
        command = ["prlimit", f"--nofile={open_files}:{open_files}", "--", *self._command]
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(lambda: bool(self._list_listeners()), "the signs")

    def restart_service(self, open_files: int) -> None:
        """Start the processes in place of those that run, with this limit."""
        self.environment.stop(self.server)
        wait_for(lambda: not self._list_listeners(), "the signs to end")
        self.start_service(open_files)

    def measure_plate(self) -> float:
        """Return how many seconds an answer with a drawing takes at best."""
        seconds = []
        for number in range(4):
            start = time.monotonic()
            self.environment.host_sh(
                f"curl -s -m 20 -o /dev/null http://127.0.0.1:{self.port}/plates/{number}"
            )
            seconds.append(time.monotonic() - start)
        return min(seconds)

    def _list_listeners(self) -> str:
        return self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
