"""A machine for a fault: a host with a network, mounts, a name and control groups of its own, and its clients.

    init namespace --lab<N>-- mgmt0 [ host ] eth0 --- [ router, where inserted ] --- eth0 [ clients ]

sshd listens on mgmt0, in the group /lab/<host>/system, where no fault of eth0 and no limit of the applications
in /lab/<host>/app starves it. Clients live in a network namespace and a control group (/lab/<host>-clients) of
their own. The kernel, its processes and the CPUs are shared with the whole machine. Everything goes when the
environment is closed; the cleanup process does it if the owner is killed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from lab.cgroups import Group
from lab.cleanup import CleanupProcess
from lab.hosts import Lab, LabHost
from lab.load import Load, wait_for
from lab.network import Namespace, connect_namespaces, wire_management

PROGRAMS = Path(__file__).parent / "programs"
DATAGRAM_PROGRAMS = ("datagram_sink.py", "udp_directory.py")
MAX_S = 300.0
# All environments together weigh as much as one other control group. A capture runs in a group of its own next to them,
# as a unit of systemd does next to the services of a host, and must get as much of a CPU as it would there.
LAB_SHARES = 1024
HOST, CLIENT, CLIENT_BEHIND_ROUTER = "10.80.0.1", "10.80.0.2", "10.80.1.2"
# A new sysfs shows this namespace's interfaces but hides the control groups, which are mounted elsewhere until then.
MOUNTS = """
mkdir /run/cgroup; mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup; umount -l /run/cgroup; rmdir /run/cgroup
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null || :
"""


class LabEnvironment:
    """See the module. `name` is the host's; use it as a context manager."""

    def __init__(self, name: str = "", max_s: float = MAX_S) -> None:
        self.name = name or f"{random.choice(('web', 'api', 'edge', 'node'))}-{random.randrange(1000, 9999)}"
        self.max_s = max_s
        self.host_address, self.client_address = HOST, CLIENT
        self._log_number = 0
        self._programs: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> LabEnvironment:
        self.cleanup = CleanupProcess(self.max_s)
        try:
            self._build()
        except BaseException:
            self.cleanup.close()
            raise
        return self

    def _build(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="culprit-lab-"))
        self.directory.chmod(0o755)
        whole, clients = Group(f"/lab/{self.name}"), Group(f"/lab/{self.name}-clients")
        self.cleanup.remove([*whole.directories, *clients.directories, self.directory])
        whole.create()
        self.system, self.app = (
            Group(f"{whole.path}/{part}", self.host_sh).create() for part in ("system", "app")
        )
        self.clients = clients.create()
        Group("/lab").weigh(LAB_SHARES)
        self.host_net = Namespace(self.system.join_command(), self.name)
        self.client_net = Namespace(self.clients.join_command())
        self.router_net: Namespace | None = None
        self.number, address = wire_management(self.host_net)
        connect_namespaces(self.host_net, self.client_net, (f"{HOST}/24", f"{CLIENT}/24"))
        self.lab = Lab(self.directory / "ssh")
        inside = [*self.system.join_command(), *self.host_net.prefix]
        self.host: LabHost = self.lab.start(self.name, address=address, port=22, setup=MOUNTS, inside=inside)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in self.lab.hosts:
            host.stop()
        self.cleanup.close()
        for net in (self.host_net, self.client_net, self.router_net):
            if net:
                net.close()
        for program in self._programs:
            program.wait()

    def insert_router(self) -> Namespace:
        """Cuts the cable between host and clients and puts a router in. The clients' address changes."""
        self.host_net.sh("ip link del eth0")
        router = self.router_net = Namespace(self.clients.join_command())
        connect_namespaces(self.host_net, router, (f"{HOST}/24", "10.80.0.254/24"))
        connect_namespaces(
            router, self.client_net, ("10.80.1.254/24", f"{CLIENT_BEHIND_ROUTER}/24"), ("eth1", "eth0")
        )
        router.sh("sysctl -qw net.ipv4.ip_forward=1")
        self.host_net.sh("ip route add default via 10.80.0.254")
        self.client_net.sh("ip route add default via 10.80.1.254")
        self.client_address = CLIENT_BEHIND_ROUTER
        return router

    def on_host(self, command: Sequence[str], group: Group | None = None) -> subprocess.Popen[bytes]:
        """Starts a program as the host's own, in the applications' group. Its pid is the program's."""
        enter = ["nsenter", "-t", str(self.host.process.pid), "--mount", "--net", "--uts", "--"]
        return self._start([*(group or self.app).join_command(), *enter, *command])

    def on_client(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        return self._start([*self.clients.join_command(), *self.client_net.prefix, *command])

    def stop(self, program: subprocess.Popen[bytes]) -> None:
        """Kill a program of on_host or on_client, with everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()

    def host_sh(self, script: str) -> str:
        """What `script` printed, run in the host's namespaces but outside of its control groups."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.host.process.pid), "--mount", "--net", "--uts", "--", "sh", "-ec", script],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr.strip()}")
        return done.stdout

    def serve(
        self, program: str, port: int, *options: object, client_side: bool = False
    ) -> subprocess.Popen[bytes]:
        """Starts a server of lab/programs on eth0, and waits until it listens."""
        net, address, start = (
            (self.client_net, self.client_address, self.on_client)
            if client_side
            else (self.host_net, self.host_address, self.on_host)
        )
        server = start(build_python_command(program, "--listen", f"{address}:{port}", *options))
        kind = "u" if program in DATAGRAM_PROGRAMS else "t"
        wait_for(
            lambda: server.poll() is not None or f":{port} " in net.sh(f"ss -Hln{kind} sport = :{port}"),
            f"{program} on port {port}",
        )
        if server.poll() is not None:
            raise RuntimeError(f"{program} ended: {self._log_text()}")
        return server

    def replace(
        self, server: subprocess.Popen[bytes], program: str, port: int, *options: object
    ) -> subprocess.Popen[bytes]:
        """Ends `server` and starts another in its place, as a deployment does."""
        server.kill()
        server.wait()
        return self.serve(program, port, *options)

    def compile(self, source: str) -> Path:
        """Builds a C program of lab/programs for this environment."""
        binary = self.directory / Path(source).stem
        subprocess.run(["gcc", "-O2", "-Wall", "-pthread", "-o", binary, PROGRAMS / source], check=True)
        return binary

    def scope(self, rng: random.Random, pid: int, *, whole: bool = True) -> dict[str, str]:
        """What an engineer may name: the whole host where the fault is everybody's, a group or a process."""
        named: list[dict[str, str]] = [{"cgroup": self.app.path}, {"pid": str(pid)}]
        return rng.choice([{}, *named] if whole else named)

    def load(self, *options: object, on_host: bool = False, program: str = "clients.py") -> Load:
        """Start a load generator, on the client side by default."""
        self._log_number += 1
        log = self.directory / f"clients{self._log_number}.log"
        start = self.on_host if on_host else self.on_client
        return Load(start(build_python_command(program, *options, "--log", log)), log)

    def track_connections(self) -> None:
        """A stateful firewall that lets everything in, and leaves ssh out of the connection table."""
        self.host_net.sh(
            "iptables -t raw -A PREROUTING -i mgmt0 -j CT --notrack;"
            "iptables -t raw -A OUTPUT -o mgmt0 -j CT --notrack;"
            "iptables -A INPUT -m conntrack --ctstate NEW,ESTABLISHED,RELATED -j ACCEPT"
        )

    def ssh(self, script: str, timeout_s: float = 20.0) -> str:
        """What `script` prints over ssh: how other machines observe this host."""
        done = subprocess.run(
            [*self.host.ssh(), script], capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return done.stdout + done.stderr

    def ssh_command(self) -> str:
        return shlex.join(self.host.ssh())

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self.directory / "programs.log").open("ab") as log:
            program = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._programs.append(program)
        return program

    def _log_text(self) -> str:
        return (self.directory / "programs.log").read_text()[-600:]


def build_python_command(program: str, *options: object) -> list[str]:
    """The command line of a Python program of the lab."""
    return [sys.executable, "-B", str(PROGRAMS / program), *map(str, options)]
