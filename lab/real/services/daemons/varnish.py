"""A Varnish on the host: one backend, one storage in memory, and restarts with other settings."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

VCL = """
vcl 4.1;
backend origin {{ .host = "{host}"; .port = "{port}"; }}
sub vcl_recv {{ if (req.url ~ "^/{passed}/") {{ return (pass); }} }}
sub vcl_backend_response {{ set beresp.ttl = {ttl_s}s; set beresp.grace = 10s; }}
"""


class Varnish:
    """A Varnish that runs. `server` is its first process; pages below `passed` are not stored."""

    def __init__(
        self,
        environment: LabEnvironment,
        port: int,
        origin: str,
        *,
        storage_mb: int,
        ttl_s: int,
        passed: str = "account",
    ) -> None:
        """Start Varnish in front of `origin` (address:port) and wait until it listens."""
        self.environment, self.port = environment, port
        host, _, number = origin.partition(":")
        self.configuration = environment.directory / "site.vcl"
        self.configuration.write_text(VCL.format(host=host, port=number, ttl_s=ttl_s, passed=passed))
        self.start(storage_mb)

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The first process."""
        return self.server.pid

    def start(self, storage_mb: int) -> None:
        """Start Varnish with an empty storage of this size, and wait until it listens."""
        self.environment.host_sh("mkdir -p /run/varnish")
        command = [
            "varnishd", "-F", "-a", self.address, "-f", str(self.configuration), "-s", f"malloc,{storage_mb}M",
            "-n", "/run/varnish/site", "-l", "8m",
        ]  # fmt: skip
        self.server: subprocess.Popen[bytes] = self.environment.on_host(command)
        wait_for(
            lambda: self.server.poll() is not None or self._is_listening(),
            f"Varnish on port {self.port}",
            40.0,
        )
        if self.server.poll() is not None:
            text = (self.environment.directory / "programs.log").read_text()[-800:]
            raise RuntimeError(f"Varnish ended: {text}")

    def restart(self, storage_mb: int) -> None:
        """Start again, with a storage of this size."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "Varnish to end")
        self.start(storage_mb)

    def fetch_pages(self, kinds: tuple[str, ...], count: int) -> None:
        """Request each page once, as a job does after a restart."""
        for kind in kinds:
            pages = f"http://{self.address}/{kind}/[0-{count - 1}]"
            words = "-sZ --parallel-max 8 -o /dev/null -H 'Host: service'"
            self.environment.client_net.sh(f"curl {words} '{pages}'")

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
