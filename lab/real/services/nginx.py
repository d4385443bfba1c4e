"""An nginx on the host: its configuration, its start, and reloads with other settings."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import time
from dataclasses import dataclass

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

ACCESS_LOG = "/run/nginx/access.log"
# The lab's access log: epoch in seconds, method, path, status, latency in milliseconds.
LOG_FORMAT = """
    map $request_time $request_ms { "~^0\\.0*(?<low>\\d+)$" $low; "~^(?<whole>\\d+)\\.(?<rest>\\d+)$" $whole$rest; }
    log_format timed '$msec $request_method $uri $status $request_ms';
"""
MAIN = """
user www-data;
worker_processes {worker_processes};
pid /run/nginx/nginx.pid;
error_log /run/nginx/error.log warn;
{main_lines}
events {{ worker_connections {worker_connections}; {events_lines} }}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    sendfile on;
    server_tokens off;
    keepalive_timeout {keepalive_timeout_s};
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
{log_format}
    access_log {access_log};
{http_lines}
    server {{
        listen {address}:{port}{listen_words};
        root {root};
{server_lines}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class NginxSettings:
    """What a scenario may set.

    open_files: worker_rlimit_nofile; 0 leaves it to the limit of the master.
    main_lines, events_lines, http_lines, server_lines: directives of these blocks, complete with their semicolons; use
        `build_proxy`, `build_upstream`, `build_fastcgi` for the common ones.
    listen_words: what follows the port, such as "ssl" or "backlog=64".
    """

    worker_processes: int = 2
    worker_connections: int = 1024
    open_files: int = 0
    keepalive_timeout_s: int = 65
    listen_words: str = ""
    main_lines: str = ""
    events_lines: str = ""
    http_lines: str = ""
    server_lines: str = ""


def build_upstream(name: str, servers: tuple[str, ...], keepalive: int = 16) -> str:
    """Return an upstream block; keepalive=0 opens a connection for each request."""
    kept = f" keepalive {keepalive};" if keepalive else ""
    return f"    upstream {name} {{ {' '.join(f'server {server};' for server in servers)}{kept} }}\n"


def build_proxy(location: str, upstream: str, *, keepalive: bool = True, lines: str = "") -> str:
    """Return a location that passes requests on to `upstream`: the name of a block, or address:port."""
    kept = 'proxy_http_version 1.1; proxy_set_header Connection "";' if keepalive else ""
    return f"        location {location} {{ proxy_pass http://{upstream}; {kept} {lines} }}\n"


def build_fastcgi(location: str, address: str, script: str, lines: str = "") -> str:
    """Return a location whose requests the PHP file `script` (an absolute path) answers."""
    return (
        f"        location {location} {{ include /etc/nginx/fastcgi_params; fastcgi_pass {address};"
        f" fastcgi_param SCRIPT_FILENAME {script}; {lines} }}\n"
    )


class Nginx:
    """An nginx that runs. `root` is the directory of its static files, `server` its master process."""

    def __init__(
        self,
        environment: LabEnvironment,
        port: int,
        settings: NginxSettings | None = None,
        *,
        access_log: bool = True,
        limits: tuple[str, ...] = (),
        group: Group | None = None,
    ) -> None:
        """Start nginx and wait until it listens. `limits` are options of prlimit, such as "--nofile=4096"."""
        self.environment, self.port, self.settings = environment, port, settings or NginxSettings()
        self.access_log = ACCESS_LOG if access_log else ""
        self.directory = environment.directory / "nginx"
        self.root = self.directory / "www"
        self.root.mkdir(parents=True, exist_ok=True)
        self._limits, self._group = limits, group
        self.create_log_directory()
        self.start()

    def create_log_directory(self) -> None:
        """Create the directory of the logs, which only this host has."""
        self.environment.host_sh("mkdir -p /run/nginx")

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The master process."""
        return self.server.pid

    def add_file(self, name: str, size_bytes: int) -> None:
        """Create a static file of the site."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(
            (b"The quick brown fox jumps over the lazy dog. " * (size_bytes // 45 + 1))[:size_bytes]
        )

    def write_configuration(self) -> None:
        """Write nginx.conf from the settings."""
        values = dataclasses.asdict(self.settings)
        if self.settings.open_files:
            values["main_lines"] += f"\nworker_rlimit_nofile {self.settings.open_files};"
        if self.settings.listen_words:
            values["listen_words"] = f" {self.settings.listen_words}"
        text = MAIN.format(
            **values, directory=self.directory, root=self.root, address=self.environment.host_address,
            port=self.port, log_format=LOG_FORMAT, access_log=f"{self.access_log} timed" if self.access_log else "off",
        )  # fmt: skip
        (self.directory / "nginx.conf").write_text(text)

    def start(self) -> None:
        """Start the master, and wait until it listens."""
        self.write_configuration()
        before = ["prlimit", *self._limits, "--"] if self._limits else []
        command = [
            "nginx",
            "-c",
            str(self.directory / "nginx.conf"),
            "-e",
            "/run/nginx/error.log",
            "-g",
            "daemon off;",
        ]
        self.server: subprocess.Popen[bytes] = self.environment.on_host([*before, *command], self._group)
        wait_for(lambda: self.server.poll() is not None or self._is_listening(), f"nginx on port {self.port}")
        if self.server.poll() is not None:
            raise RuntimeError(f"nginx ended: {self.environment.host_sh('tail -c 800 /run/nginx/error.log')}")

    def stop(self) -> None:
        """End nginx and its workers at once."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "nginx to end")

    def restart(self, **changes: object) -> None:
        """Start again, with these settings changed."""
        self.stop()
        self.settings = dataclasses.replace(self.settings, **changes)  # type: ignore[arg-type]
        self.start()

    def reload(self, **changes: object) -> None:
        """Change these settings without an interruption, and wait for the new workers."""
        self.settings = dataclasses.replace(self.settings, **changes)  # type: ignore[arg-type]
        self.write_configuration()
        before = set(self.list_workers())
        self.server.send_signal(signal.SIGHUP)
        wait_for(lambda: bool(set(self.list_workers()) - before), "new workers of nginx")
        time.sleep(0.2)

    def list_workers(self) -> list[int]:
        """Return the pids of the worker processes."""
        done = subprocess.run(
            ["pgrep", "-P", str(self.server.pid)], capture_output=True, text=True, check=False
        )
        return [int(word) for word in done.stdout.split()]

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
