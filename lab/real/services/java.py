"""Java programs of lab/real/programs, compiled once for each environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for

PROGRAMS = Path(__file__).parents[1] / "programs"


def build_classes(environment: LabEnvironment, source: str) -> Path:
    """Return the directory of the classes of a Java program; it is compiled at the first call."""
    target = environment.directory / "classes"
    if not (target / f"{Path(source).stem}.class").exists():
        subprocess.run(["javac", "-d", str(target), str(PROGRAMS / source)], check=True, timeout=120)
    return target


class JavaService:
    """A Java server on the host. Its settings and its logs are in `directory`."""

    def __init__(self, environment: LabEnvironment, source: str, port: int) -> None:
        self.environment, self.port = environment, port
        self.name = Path(source).stem
        self.classes = build_classes(environment, source)
        self.directory = environment.directory / self.name.lower()
        self.directory.mkdir()
        self.settings = self.directory / "application.properties"
        self.access_log = str(self.directory / "access.log")

    @property
    def pid(self) -> int:
        return self.server.pid

    def write_settings(self, **values: object) -> None:
        """Write the settings; a server that runs reads them within half a second."""
        escaped = {name: str(value).replace("\\", "\\\\") for name, value in values.items()}
        lines = [f"{name}={value}\n".replace(" ", "\\u0020") for name, value in escaped.items()]
        self.settings.with_suffix(".new").write_text("".join(lines))
        self.settings.with_suffix(".new").replace(self.settings)

    def start(self, *options: str) -> None:
        """Start the server with these options of the JVM, and wait until it listens."""
        command = [
            "java", *options, "-XX:-UsePerfData", "-cp", str(self.classes), self.name,
            self.environment.host_address, str(self.port), str(self.settings), self.access_log,
        ]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(
            lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")),
            f"port {self.port}",
            40,
        )

    def stop(self) -> None:
        """End the server."""
        self.server.terminate()
        self.server.wait()
