"""A host that is busy and healthy: a release that is rolled out, large downloads, folders, names, and mail."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.platform.artifacts import Artifacts
from lab.real.services.platform.folders import LINE, Folders
from lab.real.services.platform.gateway import Gateway
from lab.real.services.platform.hooks import Hooks
from lab.real.services.platform.mail import OfficeMail
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import PROGRAMS, start_requests
from lab.scenario import Live, Scenario

# Builds come in bursts, at the lowest priority.
BUILD = """
while :; do for part in 1 2 3; do nice -n 19 sh -c 'head -c {kilobytes}k /dev/urandom | gzip -6 >"$0.$1"' "$0" $part &
done; wait; sleep {pause_s:.1f}; done
"""


@contextmanager
def _platform_at_noon(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Ports are closed in time, temporary files have the disk, mounts and threads are ordinary, limits have room."""
    town = Town(environment, rng)
    hooks = Hooks(town)
    folders = Folders(town, rng.randrange(350, 500))
    artifacts = Artifacts(town)
    artifacts.start_offices(rng.randrange(12, 20))
    mail = OfficeMail(town, rng.randrange(40, 80))
    before = rng.randrange(20, 40)
    gateway = Gateway(town, before, rng.randrange(1, 3))
    gateway.start_watchers(rng.randrange(10, 25))
    mail.wait_for_mail(mail.mailboxes * rng.randrange(9, 12))
    mail.start_readers(rng.uniform(2, 4))
    pod = town.create_group(rng.choice(("builds", "runner", "ci")))
    words = BUILD.format(kilobytes=rng.randrange(2_000, 5_000), pause_s=rng.uniform(2, 4))
    environment.on_host(["sh", "-c", words, str(environment.directory / "build")], pod)
    runners = ["--to", artifacts.nginx.address, "--rate", rng.uniform(1, 2), "--path", "/artifacts/{n}",
               "--path", "/builds/{n}", "--seed", rng.randrange(10_000)]  # fmt: skip
    environment.load(*runners, program=str(PROGRAMS / "platform" / "runners.py"))
    stored = ["--to", folders.apache.address, "--rate", rng.uniform(2, 4), "--line", LINE]
    for request in folders.draw_requests():
        stored += ["--request", request]
    environment.load(*stored, program=str(PROGRAMS / "towns" / "senders.py"))
    start_requests(environment, rng, hooks.haproxy.address, rng.uniform(8, 14), "/calls/{n}", "/profiles/{n}")
    paths = rng.sample(("/builds/{n}", "/teams/{n}", "/search/{n}", "/metrics/{n}"), 3)
    town.start_clients(gateway.address, rng.uniform(20, 30), paths, warm_s=8.0)
    earlier = gateway.roll_out(before + rng.randrange(1, 4))
    time.sleep(5.0)
    pid = rng.choice(
        (gateway.processes[0].pid, earlier[0].pid, hooks.pid, artifacts.nginx.pid, folders.php.pid)
    )
    yield town.build_live(pid, gateway.access_log)


SCENARIOS = (
    Scenario(
        "busy-platform", "healthy", "healthy", (),
        "Go that is rolled out, nginx with downloads, Apache with a volume, Node with names, Dovecot, and builds.",
        _platform_at_noon,
        needs=(
            GO, "nginx", "curl", "php-fpm8.2", "apache2", "mkfs.ext4", "node", "haproxy", "dovecot", "doveadm", "gzip",
        ),
        software=("go", "nginx", "php-fpm", "apache2", "node", "haproxy", "dovecot"),
    ),
)  # fmt: skip
