"""A campsite: a Java service behind HAProxy that keeps its calendar in memory, and an agent that reads its figures."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.java import JavaService
from lab.real.services.towns.town import Town

AGENT = """
while :; do jcmd {pid} {words} | tail -n +2 | head -n 40 >{file}.new && mv {file}.new {file}; sleep {pause_s:.1f}; done
"""


class Campsite:
    """The services that run."""

    def __init__(self, town: Town, pitches: int) -> None:
        """Start them, with a calendar of so many pitches."""
        rng, self.environment = town.rng, town.environment
        self.town = town
        self.port, front = town.take_ports(2)
        self.service = JavaService(self.environment, "square/Pitches.java", self.port)
        nights, heap_mb = rng.randrange(330, 400), rng.choice((640, 704, 768))
        self.collector = rng.choice(("-XX:+UseSerialGC", "-XX:+UseParallelGC"))
        self.service.start(
            f"-Xmx{heap_mb}m", f"-Xms{heap_mb}m", self.collector, "-Dsun.net.httpserver.nodelay=true",
            f"-Dthreads={rng.choice((16, 24, 32))}", f"-Dpitches={pitches}", f"-Dnights={nights}",
        )  # fmt: skip
        settings = HaproxySettings(
            frontend=rng.choice(("www", "camping")), backend="pitches",
            servers=(f"{self.environment.host_address}:{self.port}",), server_words="check inter 4s",
        )  # fmt: skip
        self.haproxy = Haproxy(self.environment, front, settings)
        self.pause_s = rng.uniform(3.5, 5.5)
        self.agent: subprocess.Popen[bytes] | None = None
        town.parameters |= {
            "pitches": pitches, "nights": nights, "heap_mb": heap_mb, "collector": self.collector, "camp": self.port,
        }  # fmt: skip

    @property
    def pid(self) -> int:
        return self.service.pid

    @property
    def access_log(self) -> str:
        return self.service.access_log

    def read_figures(self, words: str) -> None:
        """Start the agent, in place of the one that runs. words: the command of the JVM that it uses."""
        self.stop_agent()
        file = self.environment.directory / "camp.figures"
        script = AGENT.format(pid=self.pid, words=words, file=file, pause_s=self.pause_s)
        self.agent = self.environment.on_host(["sh", "-c", script])

    def stop_agent(self) -> None:
        """End the agent."""
        if self.agent:
            self.environment.stop(self.agent)

    def remove_files(self) -> None:
        """End the agent, and remove what it leaves in the directory of temporary files."""
        self.stop_agent()
        for name in (f"/tmp/.java_pid{self.pid}", f"/tmp/.attach_pid{self.pid}"):
            with contextlib.suppress(OSError):
                Path(name).unlink()
