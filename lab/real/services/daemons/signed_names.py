"""A signed zone that a BIND of the network serves, and the unbound of the host, which checks its signatures."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from lab.environment import LabEnvironment
from lab.load import wait_for

ADDRESS = "10.80.0.53"
ZONE = """$TTL {ttl_s}
@ IN SOA ns.{zone}. hostmaster.{zone}. ( {serial} 3600 600 864000 {ttl_s} )
@ IN NS ns.{zone}.
ns IN A {address}
{records}
"""
NAMED = """
options {{
    directory "{directory}"; listen-on port 53 {{ {address}; }}; listen-on-v6 {{ none; }}; recursion no;
    dnssec-validation no; pid-file "{directory}/named.pid"; session-keyfile "{directory}/session.key";
}};
controls {{ }};
"""
UNBOUND = """
server:
    directory: ""
    chroot: ""
    username: ""
    pidfile: "/run/unbound.pid"
    use-syslog: no
    logfile: "/run/unbound.log"
    interface: 127.0.0.1
    do-ip6: no
    num-threads: 1
    module-config: "validator iterator"
    trust-anchor-file: "{anchor}"
    val-log-level: {log_level}
    {server_lines}
remote-control:
    control-enable: no
"""
DAY_S = 86_400


class SignedNames:
    """Both name servers. `signed` is the name of the zone that has signatures."""

    def __init__(
        self,
        environment: LabEnvironment,
        signed: str,
        zones: Mapping[str, Mapping[str, str]],
        *,
        ttl_s: int,
        log_level: int = 0,
        server_lines: str = "",
    ) -> None:
        """Start both, and let the host resolve its names with unbound.

        zones: addresses by name, by zone. ttl_s: of all records. log_level, server_lines: of unbound.
        """
        self.environment, self.signed, self.zones, self.ttl_s = environment, signed, zones, ttl_s
        self.directory = environment.directory / "names"
        self.directory.mkdir()
        environment.client_net.sh(f"ip addr add {ADDRESS}/24 dev eth0")
        self.keys = self.create_keys("keys")
        for zone in zones:
            self._write_zone(zone, 1)
        self.sign_zone(self.keys, -3600, 30 * DAY_S)
        text = NAMED.format(directory=self.directory, address=ADDRESS)
        text += "".join(f'zone "{zone}" {{ type primary; file "{zone}.zone"; }};\n' for zone in zones)
        (self.directory / "named.conf").write_text(text)
        self.server: subprocess.Popen[bytes] = environment.on_client(
            ["named", "-f", "-c", str(self.directory / "named.conf")]
        )
        wait_for(lambda: bool(environment.client_net.sh(f"ss -Hlun src {ADDRESS}:53")), "BIND")
        self._start_unbound(log_level, server_lines)

    @property
    def pid(self) -> int:
        """The unbound of the host."""
        return self.unbound.pid

    def create_keys(self, name: str) -> Path:
        """Create a pair of keys for the signed zone, and return their directory."""
        directory = self.directory / name
        directory.mkdir()
        for words in ((), ("-f", "KSK")):
            command = [
                "dnssec-keygen",
                "-q",
                "-a",
                "ECDSAP256SHA256",
                "-K",
                str(directory),
                *words,
                self.signed,
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=30)
        return directory

    def sign_zone(self, keys: Path, from_s: float, to_s: float, serial: int = 1) -> None:
        """Sign the zone; signatures are good from now + from_s until now + to_s."""
        self._write_zone(self.signed, serial)
        start, end = (
            time.strftime("%Y%m%d%H%M%S", time.gmtime(time.time() + shift)) for shift in (from_s, to_s)
        )
        file = self.directory / f"{self.signed}.zone"
        command = ["dnssec-signzone", "-q", "-P", "-S", "-K", str(keys), "-d", str(self.directory), "-o", self.signed,
                   "-s", start, "-e", end, "-f", f"{file}.signed", str(file)]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, timeout=30)
        shutil.move(f"{file}.signed", file)

    def reload_zones(self) -> None:
        """Let BIND read its zones again."""
        os.kill(self.server.pid, signal.SIGHUP)

    def _write_zone(self, zone: str, serial: int) -> None:
        records = "\n".join(f"{name} IN A {address}" for name, address in self.zones[zone].items())
        values = {"zone": zone, "serial": serial, "ttl_s": self.ttl_s, "address": ADDRESS, "records": records}
        (self.directory / f"{zone}.zone").write_text(ZONE.format(**values))

    def _start_unbound(self, log_level: int, server_lines: str) -> None:
        anchor = self.directory / "anchor.key"
        anchor.write_text(
            "".join(file.read_text() for file in self.keys.glob("*.key") if " 257 " in file.read_text())
        )
        text = UNBOUND.format(anchor=anchor, log_level=log_level, server_lines=server_lines)
        text += "".join(f'stub-zone:\n    name: "{zone}"\n    stub-addr: {ADDRESS}\n' for zone in self.zones)
        configuration = self.directory / "unbound.conf"
        configuration.write_text(text)
        resolver = self.directory / "resolv.conf"
        resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:2\n")
        self.environment.host_sh(f"mount --bind {resolver} /etc/resolv.conf")
        self.unbound: subprocess.Popen[bytes] = self.environment.on_host(
            ["unbound", "-d", "-c", str(configuration)]
        )
        wait_for(lambda: bool(self.environment.host_net.sh("ss -Hlun src 127.0.0.1:53")), "unbound")
