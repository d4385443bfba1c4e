"""The courses of a campus: servers of Node behind HAProxy, which ask a directory on another host."""

from __future__ import annotations

from lab.load import wait_for
from lab.real.services.haproxy import Haproxy, HaproxySettings
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, ApiServer


class CourseCatalog:
    """The services that run. `haproxy` is what clients reach."""

    def __init__(self, town: Town, directory_ms: float, spare: int = 0) -> None:
        """Start the directory, the servers and HAProxy.

        Args:
            directory_ms: how long the directory takes for an answer.
            spare: how many further servers HAProxy has that are not started.
        """
        rng, environment = town.rng, town.environment
        count = rng.randrange(2, 4)
        (port, *ports), directory_port = town.take_ports(1 + count), rng.randrange(13_300, 13_600)
        self.directory = ApiServer(
            environment, environment.client_address, directory_port, client_side=True,
            delay_ms=directory_ms, work_us=150, answer_bytes=rng.randrange(300, 1_500),
        )  # fmt: skip
        self.access_log = str(environment.directory / "courses.log")
        words = [
            "env", "ADDRESS=127.0.0.1", f"DIRECTORY_HOST={environment.client_address}",
            f"DIRECTORY_PORT={directory_port}", f"COURSES={rng.randrange(300, 2_000)}",
            f"ROUNDS={rng.randrange(40, 120)}", f"ACCESS_LOG={self.access_log}", "NODE_ENV=production",
        ]  # fmt: skip
        program = str(PROGRAMS / "campus" / "courses.mjs")
        self.servers = [environment.on_host([*words, f"PORT={own}", "node", program]) for own in ports]
        for own in ports:
            listing = f"ss -Hltn sport = :{own}"
            wait_for(lambda listing=listing: bool(environment.host_net.sh(listing)), "courses", 30.0)
        self.check_ms = rng.choice((800, 900, 1_000))
        settings = HaproxySettings(
            frontend=rng.choice(("campus", "www", "public")), backend="courses", balance="roundrobin",
            servers=tuple(f"127.0.0.1:{own}" for own in (*ports, *range(14_000, 14_000 + spare))),
            server_words="check inter 2s fall 2 rise 2",
            backend_lines=f"option httpchk GET /status\n    timeout check {self.check_ms}ms",
        )  # fmt: skip
        self.haproxy = Haproxy(environment, port, settings)
        town.parameters |= {"port": port, "servers": count, "check_ms": self.check_ms}

    @property
    def pid(self) -> int:
        """The first server."""
        return self.servers[0].pid

    def slow_down_directory(self, milliseconds: float) -> None:
        """Let the directory take so long for an answer."""
        self.directory.write_settings(delay_ms=milliseconds)
