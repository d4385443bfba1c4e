"""An Apache httpd on the host: its configuration, its start, and restarts with other settings."""

from __future__ import annotations

import dataclasses
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for

MODULES = Path("/usr/lib/apache2/modules")
ACCESS_LOG = "/run/apache2/access.log"
# The log format is the lab's: epoch in seconds, method, path, status, latency in milliseconds.
CONFIGURATION = """
ServerRoot /etc/apache2
ServerName {name}
DefaultRuntimeDir /run/apache2
PidFile /run/apache2/apache2.pid
User www-data
Group www-data
Listen {address}:{port}
{modules}
Timeout 60
KeepAlive On
MaxKeepAliveRequests 500
KeepAliveTimeout {keepalive_timeout}
ServerLimit {server_limit}
StartServers {start_servers}
MinSpare{spare} {min_spare}
MaxSpare{spare} {max_spare}
{thread_lines}
MaxRequestWorkers {workers}
ErrorLog /run/apache2/error.log
LogLevel warn
LogFormat "%{{sec}}t.%{{msec_frac}}t %m %U %>s %{{ms}}T" timed
CustomLog {access_log} timed
ExtendedStatus On
<Location /server-status>
    SetHandler server-status
    Require ip {address}
</Location>
DocumentRoot {root}
<Directory {root}>
    Options FollowSymLinks
    AllowOverride None
    Require all granted
    {directory_lines}
</Directory>
{server_lines}
"""
THREADS = 16


@dataclass(frozen=True, slots=True)
class ApacheSettings:
    """What a scenario may set.

    mpm: "prefork" (a process for each connection) or "event". workers: MaxRequestWorkers.
    directory_lines, server_lines: further directives; see `build_php` and `build_proxy`.
    """

    mpm: str = "event"
    workers: int = 64
    start_servers: int = 4
    keepalive_timeout: str = "5"
    name: str = "www.example.org"
    directory_lines: str = ""
    server_lines: str = ""


def build_php(address: str) -> str:
    """Return directives that let the php-fpm at `address` run the PHP files of the site."""
    return f'<FilesMatch "\\.php$">\n    SetHandler "proxy:fcgi://{address}"\n</FilesMatch>\n'


def build_proxy(path: str, address: str, words: str = "") -> str:
    """Return a directive that passes requests below `path` on to `address`."""
    return f"ProxyPass {path} http://{address}{path} {words}\n"


class Apache:
    """An Apache that runs. `root` is the directory of its files, `server` its first process."""

    def __init__(self, environment: LabEnvironment, port: int, settings: ApacheSettings, root: Path) -> None:
        """Start Apache and wait until it listens."""
        self.environment, self.port, self.settings, self.root = environment, port, settings, root
        root.mkdir(parents=True, exist_ok=True)
        environment.host_sh("mkdir -p /run/apache2")
        self.start()

    @property
    def address(self) -> str:
        return f"{self.environment.host_address}:{self.port}"

    @property
    def pid(self) -> int:
        """The first process."""
        return self.server.pid

    def start(self) -> None:
        """Start Apache, and wait until it listens."""
        settings = self.settings
        values = dataclasses.asdict(settings)
        mpm = values.pop("mpm")
        names = [
            f"mpm_{mpm}",
            "authz_core",
            "authz_host",
            "mime",
            "dir",
            "proxy",
            "proxy_http",
            "proxy_fcgi",
            "status",
        ]
        prefork = mpm == "prefork"
        threads = 1 if prefork else THREADS
        values |= {
            "modules": "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in names),
            "workers": settings.workers if prefork else -(-settings.workers // threads) * threads,
            "server_limit": -(-settings.workers // threads),
            "start_servers": settings.start_servers if prefork else 1,
            "spare": "Servers" if prefork else "Threads", "min_spare": 4 if prefork else 8,
            "max_spare": 10 if prefork else 48, "thread_lines": "" if prefork else f"ThreadsPerChild {threads}",
            "address": self.environment.host_address, "port": self.port, "root": self.root, "access_log": ACCESS_LOG,
        }  # fmt: skip
        configuration = self.environment.directory / "apache2.conf"
        configuration.write_text(
            CONFIGURATION.format(**values) + "TypesConfig /etc/mime.types\nDirectoryIndex index.html\n"
        )
        self.server: subprocess.Popen[bytes] = self.environment.on_host(
            ["apache2", "-f", str(configuration), "-DFOREGROUND"]
        )
        wait_for(
            lambda: self.server.poll() is not None or self._is_listening(), f"Apache on port {self.port}"
        )
        if self.server.poll() is not None:
            text = (self.environment.directory / "programs.log").read_text()[-800:]
            raise RuntimeError(f"Apache ended: {text}")

    def restart(self, **changes: object) -> None:
        """Start again, with these settings changed."""
        self.server.terminate()
        self.server.wait()
        wait_for(lambda: not self._is_listening(), "Apache to end")
        self.settings = dataclasses.replace(self.settings, **changes)  # type: ignore[arg-type]
        self.start()

    def _is_listening(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")
