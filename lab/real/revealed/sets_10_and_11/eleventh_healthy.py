"""A host that is busy and healthy: branches that copy, a broker that saves, a database that is paused for a moment."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cgroups import Group
from lab.environment import LabEnvironment
from lab.real.services.companies.git_host import GitHost
from lab.real.services.gateways.fcgiwrap import BACKEND
from lab.real.services.gateways.mosquitto import Mosquitto
from lab.scenario import Live, Scenario


def _copy_now_and_then(group: Group, pause_s: float, stopped: threading.Event) -> None:
    """Freeze the group for a moment from time to time, as a backup of a small volume does."""
    while not stopped.wait(pause_s):
        group.freeze(True)
        stopped.wait(0.03)
        group.freeze(False)


@contextmanager
def _busy_company(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Most children of fcgiwrap wait for slow branches, but not all; mosquitto saves a store that is small."""
    branches = rng.randrange(4, 6)
    git = GitHost(environment, rng, branches + rng.randrange(6, 9))
    mosquitto = Mosquitto(
        environment, rng, 1883, f"autosave_on_changes true\nautosave_interval {rng.randrange(30, 80)}"
    )
    meters = rng.randrange(800, 2_000)
    mosquitto.start_meters(meters, rng.uniform(10, 25))
    notes = Group(f"{environment.app.path.rpartition('/')[0]}/notes").create()
    environment.on_host(
        ["sh", "-c", 'while :; do date >"$0"; sleep 1; done', str(environment.directory / "notes.txt")], notes
    )
    git.start_branches(branches)
    git.start_clients(rng.uniform(40, 50))
    stopped = threading.Event()
    copies = threading.Thread(
        target=_copy_now_and_then, args=(notes, rng.uniform(5, 9), stopped), daemon=True
    )
    copies.start()
    time.sleep(3.0)
    try:
        yield git.build_live(meters=meters)
    finally:
        stopped.set()
        copies.join()


SCENARIOS = (
    Scenario(
        "busy-company-git", "healthy", "healthy", (),
        "Slow branches hold many children of fcgiwrap, a mosquitto saves often, and a small group is paused briefly.",
        _busy_company, needs=("fcgiwrap", "git", BACKEND, "curl", "nginx", "setpriv", "mosquitto"),
        software=("fcgiwrap", "git", "mosquitto", "nginx"),
    ),
)  # fmt: skip
