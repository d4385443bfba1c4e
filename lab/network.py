"""Network namespaces of a environment and the wires between them.

A namespace is held by a sleeping process: it goes when that process goes, with its interfaces, rules and
settings, and no name is left in /run/netns. Addresses of the traffic side are the same in every environment, as
they meet nowhere; only the management side reaches the machine's own namespace and needs numbers of its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

MANAGEMENT = "10.231"
SITES = 250


class Namespace:
    """A network namespace (and a host name, where given). `prefix` are words that put a command into it."""

    def __init__(self, inside: Sequence[str] = (), hostname: str = "") -> None:
        flags = ["-n", "-u"] if hostname else ["-n"]
        name = f"hostname {hostname}; " if hostname else ""
        script = f"{name}ip link set lo up && echo up && exec sleep infinity"
        self.holder = subprocess.Popen(
            [*inside, "unshare", *flags, "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert self.holder.stdout is not None
        with self.holder.stdout as output:
            if output.readline() != b"up\n":
                raise RuntimeError("no network namespace: is this root?")
        enter = ["--net", "--uts"] if hostname else ["--net"]
        self.prefix = ["nsenter", "-t", str(self.holder.pid), *enter, "--"]

    def sh(self, script: str) -> str:
        """What `script` printed, run in this namespace; an error when it fails."""
        done = subprocess.run(
            [*self.prefix, "sh", "-ec", script], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stderr.strip()}")
        return done.stdout

    def close(self) -> None:
        self.holder.kill()
        self.holder.wait()


def connect_namespaces(
    namespace: Namespace,
    other: Namespace,
    addresses: tuple[str, str],
    names: tuple[str, str] = ("eth0", "eth0"),
) -> None:
    """A cable from `one` to `other`. `addresses` carry their prefix lengths."""
    namespace.sh(
        f"ip link add {names[0]} type veth peer name {names[1]} netns {other.holder.pid};"
        f"ip addr add {addresses[0]} dev {names[0]}; ip link set {names[0]} up"
    )
    other.sh(f"ip addr add {addresses[1]} dev {names[1]}; ip link set {names[1]} up")


def wire_management(host: Namespace) -> tuple[int, str]:
    """A cable from the machine's own namespace to `host`. Returns the number of the environment and the host's address.

    The name of the interface is what makes the number unique: the kernel refuses to add one twice.
    """
    for number in range(1, SITES):
        done = subprocess.run(
            ["ip", "link", "add", f"lab{number}", "type", "veth",
             "peer", "name", "mgmt0", "netns", str(host.holder.pid)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 0:
            break
        if "File exists" not in done.stderr:
            raise RuntimeError(f"no management interface: {done.stderr.strip()}")
    else:
        raise RuntimeError("no number is free for another environment")
    net = f"{MANAGEMENT}.{number}"
    subprocess.run(
        ["sh", "-ec", f"ip addr add {net}.1/30 dev lab{number}; ip link set lab{number} up"], check=True
    )
    host.sh(f"ip addr add {net}.2/30 dev mgmt0; ip link set mgmt0 up")
    return number, f"{net}.2"
