"""A memcached that serves nothing in particular, as many hosts have one."""

from __future__ import annotations

from lab.environment import LabEnvironment


def start_memcached(environment: LabEnvironment, port: int = 11211) -> None:
    """Start it on the loopback address of the host, under an account without rights."""
    environment.on_host(["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port), "-m", "64"])
