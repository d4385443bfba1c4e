"""An InfluxDB on the host, with its files on a path of the host."""

from __future__ import annotations

import subprocess

from lab.environment import LabEnvironment
from lab.load import wait_for

CONFIGURATION = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc_port}"
[meta]
  dir = "{directory}/meta"
[data]
  dir = "{directory}/data"
  wal-dir = "{directory}/wal"
  index-version = "inmem"
  wal-fsync-delay = "{fsync_delay_ms}ms"
  query-log-enabled = false
[coordinator]
  query-timeout = "10s"
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  log-enabled = false
[logging]
  level = "warn"
"""


class InfluxDb:
    """An InfluxDB that runs. `server` is its process."""

    def __init__(
        self, environment: LabEnvironment, port: int, directory: str, database: str, fsync_delay_ms: int = 100
    ) -> None:
        """Start it on the loopback address with an empty database, and wait until it answers."""
        self.environment, self.port = environment, port
        environment.host_sh(f"install -d -o influxdb -g influxdb {directory} /run/influxdb")
        configuration = environment.directory / "influxdb.conf"
        configuration.write_text(
            CONFIGURATION.format(
                port=port, rpc_port=port + 1, directory=directory, fsync_delay_ms=fsync_delay_ms
            )
        )
        self.server: subprocess.Popen[bytes] = environment.on_host(
            ["setpriv", "--reuid=influxdb", "--regid=influxdb", "--clear-groups", "--", "sh", "-c",
             'exec influxd run -config "$0" >>/run/influxdb/influxd.log 2>&1', str(configuration)]
        )  # fmt: skip
        wait_for(lambda: bool(environment.host_net.sh(f"ss -Hltn sport = :{port}")), "InfluxDB", 30.0)
        environment.host_sh(
            f"curl -sSf -XPOST http://127.0.0.1:{port}/query --data-urlencode 'q=CREATE DATABASE {database}'"
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        return self.server.pid
