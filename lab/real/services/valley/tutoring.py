"""Tutors of many schools: an aiohttp service behind nginx, whose log is kept short."""

from __future__ import annotations

import shutil
import subprocess

from lab.load import wait_for
from lab.real.services.nginx import build_proxy, build_upstream
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS

AS_WEB = ("setpriv", "--reuid=33", "--regid=33", "--clear-groups", "--")
LOG = "/run/lessons/lessons.log"
# As logrotate does with copytruncate, and without a copy.
ROTATE = 'while sleep 2; do [ "$(stat -c %s {log})" -lt {most} ] || : >{log}; done'


class Tutoring:
    """The service that runs. `upstream` is what nginx needs for it."""

    #: What a line that a handler writes costs, in seconds of a CPU.
    LINE_S = 6.3e-6

    def __init__(self, town: Town, schools: int, release: int) -> None:
        """Start it."""
        rng, self.environment = town.rng, town.environment
        self.port = town.take_ports(1)[0]
        self.directory = self.environment.directory / "srv" / "lessons"
        self.directory.mkdir(parents=True)
        shutil.copyfile(PROGRAMS / "valley" / "lessons_app.py", self.directory / "lessons_app.py")
        self.environment.host_sh("install -d -o www-data /run/lessons; install -o www-data /dev/null " + LOG)
        rotate = ROTATE.format(log=LOG, most=rng.randrange(20, 40) << 20)
        self.environment.on_host(["sh", "-c", rotate])
        self.variables = {
            "LISTEN": f"127.0.0.1:{self.port}", "SCHOOLS": str(schools), "WORK": str(rng.randrange(300, 900)),
            "LOG": LOG,
        }  # fmt: skip
        self.upstream = build_upstream("lessons", (self.variables["LISTEN"],))
        self.start(release)
        town.parameters |= {"lessons": self.port, "schools": schools}

    def start(self, release: int) -> None:
        """Start a release of the service."""
        variables = {**self.variables, "RELEASE": str(release)}
        command = ["prlimit", "--nofile=8192", "--", *AS_WEB, "env", "-u", "PYTHONPATH",
                   *(f"{key}={value}" for key, value in variables.items()),
                   "/usr/bin/python3", "-B", str(self.directory / "lessons_app.py")]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        listing = f"ss -Hltn sport = :{self.port}"
        wait_for(lambda: bool(self.environment.host_net.sh(listing)), "lessons", 30.0)

    def replace(self, release: int) -> None:
        """End the release that runs, and start another."""
        self.environment.stop(self.server)
        self.start(release)

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return build_proxy(location, "lessons")
