"""An rsyslog that reads the log file of an application, masks personal data and passes the lines on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.load import wait_for

SHIPPER = """
global(workDirectory="{directory}")
main_queue(queue.type="LinkedList" queue.size="50000")
module(load="imfile" mode="inotify")
input(type="imfile" File="{file}" Tag="deliveries:" Severity="info")
template(name="masked" type="list") {{
    constant(value="<134>")
    property(name="timestamp" dateFormat="rfc3339")
    constant(value=" {name} deliveries ")
    property(name="msg" regex.expression="(candidate|planned|shown).*(stop|route|parcel)=[0-9]+" regex.type="ERE"
        regex.nomatchmode="FIELD")
{masks}
    constant(value="\\n")
}}
*.* action(type="omfwd" target="{target}" port="{port}" protocol="tcp" template="masked" queue.type="LinkedList")
"""
MASK = """    constant(value=" ")
    property(name="msg" regex.expression="{expression}" regex.type="ERE" regex.submatch="1" regex.nomatchmode="BLANK")
"""
MASKS = (
    "[a-z]+([0-9]+)@[a-z]+\\\\.[a-z]+",
    "phone=\\\\+([0-9]+) [0-9 ]+",
    "distance=([0-9]+)$",
    "stops=([0-9]+) driver",
    "([A-Z]+) deliveries",
)
CENTRAL = """
module(load="imtcp")
input(type="imtcp" address="{target}" port="{port}")
*.* action(type="omfile" file="{directory}/hosts")
"""


class LogShipper:
    """The rsyslog next to the application and, on another machine, that of the log host."""

    def __init__(
        self, environment: LabEnvironment, port: int, file: str, *, masks: int, group: Group | None = None
    ) -> None:
        """Start both. masks: how many kinds of data are masked."""
        self.environment, self.port = environment, port
        self.directory = environment.directory / "shipper"
        self.directory.mkdir()
        values = {
            "directory": self.directory, "file": file, "name": environment.name, "port": port,
            "target": environment.client_address,
            "masks": "".join(MASK.format(expression=expression) for expression in MASKS[:masks]),
        }  # fmt: skip
        central, shipper = environment.directory / "central.conf", environment.directory / "shipper.conf"
        central.write_text(CENTRAL.format(**values))
        self.central = environment.on_client(_build_command(central))
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hltn sport = :{port}")), "the log host")
        shipper.write_text(SHIPPER.format(**values))
        self.server: subprocess.Popen[bytes] = environment.on_host(_build_command(shipper), group)
        wait_for(shipper.with_suffix(".pid").exists, "rsyslog")

    @property
    def pid(self) -> int:
        """The process on the host."""
        return self.server.pid


def _build_command(configuration: Path) -> list[str]:
    return ["rsyslogd", "-n", "-f", str(configuration), "-i", str(configuration.with_suffix(".pid"))]
