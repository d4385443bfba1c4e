"""Healthy services of a host that have nothing to do with its database, and the scope of a round."""

from __future__ import annotations

import random

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.real.services.memcached import start_memcached

AGENT = 'while :; do cat /proc/stat /proc/meminfo /proc/net/dev /proc/diskstats | cksum >"$0"; sleep {pause}; done'
SESSIONS = """
while :; do redis-cli -p {port} set session:$(date +%S) "$(head -c 200 /dev/urandom | base64 -w 0)" ex 60 >/dev/null
redis-cli -p {port} info keyspace >/dev/null; sleep {pause}; done
"""
ENCODER = 'while :; do head -c {kilobytes}k /dev/urandom | gzip -9 | wc -c >"$0"; sleep {pause}; done'
NOTES = 'while :; do echo "$(date -Is) {words}" >>"$0"; sleep {pause}; done'
WARNINGS = (
    "WARN mailer: certificate of smtp.example.net expires in 21 days",
    "WARN search: option max_result_window is deprecated",
    "WARN sessions: secret was rotated 90 days ago",
    "NOTICE thumbnails: skipped 1 image without a color profile",
)


def choose_scope(rng: random.Random, pid: int, group: Group) -> dict[str, str]:
    """Return the whole host in two of three rounds, else the process or the group."""
    if rng.random() < 2 / 3:
        return {}
    return rng.choice([{"pid": str(pid)}, {"cgroup": group.path}])


def start_unrelated(environment: LabEnvironment, rng: random.Random) -> list[str]:
    """Start two to four healthy services. Returns their names."""
    names = rng.sample(("redis", "memcached", "agent", "encoder", "mailer log"), rng.randrange(2, 5))
    directory = environment.directory / "unrelated"
    directory.mkdir()
    if "redis" in names:
        port = rng.randrange(6380, 6500)
        environment.on_host(
            [
                "redis-server",
                "--port",
                str(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--dir",
                str(directory),
            ]
        )
        environment.on_host(["sh", "-c", SESSIONS.format(port=port, pause=rng.choice((0.2, 0.5)))])
    if "memcached" in names:
        start_memcached(environment)
    if "agent" in names:
        environment.on_host(
            ["sh", "-c", AGENT.format(pause=rng.choice((1, 2))), str(directory / "agent.state")]
        )
    if "encoder" in names:
        words = ENCODER.format(kilobytes=rng.randrange(300, 1500), pause=rng.choice((0.4, 0.8)))
        environment.on_host(["sh", "-c", words, str(directory / "encoder.state")])
    if "mailer log" in names:
        words = NOTES.format(words=rng.choice(WARNINGS), pause=rng.choice((1, 3)))
        environment.on_host(["sh", "-c", words, str(directory / "mailer.log")])
    return sorted(names)
