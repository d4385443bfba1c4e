"""A Tomcat on the host with one servlet, in a group of its own, which is started again when it ends."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

HOME = Path("/usr/share/tomcat10")
PROGRAMS = Path(__file__).parents[2] / "programs"
SERVER = """<Server port="-1" shutdown="off">
  <Service name="Catalina">
    <Connector port="{port}" address="{address}" protocol="HTTP/1.1" maxThreads="{threads}" />
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="webapps" unpackWARs="false" autoDeploy="false" />
    </Engine>
  </Service>
</Server>
"""
WEB = '<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0" metadata-complete="false"></web-app>\n'
RESTARTS = 'while :; do "$@"; sleep 1; done'


class Tomcat:
    """A Tomcat that runs on 127.0.0.1. `server` is the shell that starts it again."""

    def __init__(
        self, environment: LabEnvironment, port: int, servlet: str, group: Group, *, threads: int = 60
    ) -> None:
        """Install `servlet`, a Java file of lab/real/programs; `start` starts it."""
        self.environment, self.port, self.group = environment, port, group
        self.base = environment.directory / "tomcat"
        classes = self.base / "webapps" / "ROOT" / "WEB-INF" / "classes"
        for directory in (
            classes,
            self.base / "conf",
            self.base / "logs",
            self.base / "temp",
            self.base / "work",
        ):
            directory.mkdir(parents=True)
        (self.base / "conf" / "server.xml").write_text(
            SERVER.format(port=port, address="127.0.0.1", threads=threads)
        )
        (self.base / "conf" / "web.xml").write_text(WEB)
        shutil.copyfile("/etc/tomcat10/catalina.properties", self.base / "conf" / "catalina.properties")
        library = str(HOME / "lib" / "servlet-api.jar")
        subprocess.run(
            ["javac", "-cp", library, "-d", str(classes), str(PROGRAMS / servlet)], check=True, timeout=120
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, options: Sequence[str]) -> None:
        """Start Tomcat with these options of the JVM, and wait until it listens."""
        jars = f"{HOME}/bin/bootstrap.jar:{HOME}/bin/tomcat-juli.jar"
        command = [
            "java", *options, "-XX:-UsePerfData", "-cp", jars, f"-Dcatalina.home={HOME}",
            f"-Dcatalina.base={self.base}", f"-Djava.io.tmpdir={self.base}/temp",
            "org.apache.catalina.startup.Bootstrap", "start",
        ]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["sh", "-c", RESTARTS, "catalina", *command], self.group
        )
        wait_for(
            lambda: bool(self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")),
            f"Tomcat on port {self.port}",
            60,
        )

    def stop(self) -> None:
        """End Tomcat and the shell that starts it again."""
        self.environment.stop(self.server)
        wait_for(lambda: not self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}"), "Tomcat to end")
