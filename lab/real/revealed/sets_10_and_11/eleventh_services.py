"""Programs that wait for what others made of them: a broker that saves, git behind CGI, and a host of notices."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.companies.git_host import GitHost
from lab.real.services.companies.logistics_host import Logistics
from lab.real.services.companies.utility_host import Utility
from lab.real.services.gateways.fcgiwrap import BACKEND
from lab.scenario import Live, Scenario


@contextmanager
def _values_of_meters(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: after how many changes mosquitto saves all that it keeps."""
    utility = Utility(environment, rng, rng.randrange(140_000, 190_000))
    utility.start_clients(rng.uniform(40, 55))
    changes = rng.randrange(18, 30)
    utility.mosquitto.reload(f"autosave_on_changes true\nautosave_interval {changes}")
    time.sleep(4.0)
    yield utility.build_live(changes=changes)


@contextmanager
def _branch_copies(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many children fcgiwrap starts."""
    branches = rng.choice((2, 3))
    git = GitHost(environment, rng, rng.choice((12, 16)))
    git.start_branches(branches)
    git.start_clients(rng.uniform(40, 50))
    few = rng.randrange(1, branches + 1)
    git.fcgiwrap.restart(few)
    time.sleep(8.0)
    yield git.build_live(few=few)


@contextmanager
def _reported_events(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the name server of one customer answers."""
    logistics = Logistics(environment, rng)
    logistics.start_clients(rng.uniform(45, 70))
    logistics.zones.change_theirs(share=1.0, code=-1)
    time.sleep(6.0)
    yield logistics.build_live()


SCENARIOS = (
    Scenario(
        "utility-meters", "development", "values-of-meters", ("blocked-event-loop", "sync-write-amplification"),
        "mosquitto writes all that it keeps to disk after a few changes; until then it serves no client.",
        _values_of_meters, needs=("mosquitto", "gunicorn", "nginx"), seconds=10.0,
        software=("mosquitto", "gunicorn", "nginx"),
    ),
    Scenario(
        "company-git", "development", "branch-copies", ("worker-pool-exhausted",),
        "All children of fcgiwrap send a large repository to slow branches; what builds want to know waits.",
        _branch_copies, needs=("fcgiwrap", "git", BACKEND, "curl", "nginx", "setpriv"), seconds=10.0,
        software=("fcgiwrap", "git", "nginx"),
    ),
    Scenario(
        "logistics-notices", "development", "reported-events", ("slow-name-resolution", "worker-pool-exhausted"),
        "Look-ups of one customer's name take the threads that Node has for look-ups, and those of all others wait.",
        _reported_events, needs=("node", "dnsmasq", "nginx"), seconds=10.0, software=("node", "dnsmasq", "nginx"),
    ),
)  # fmt: skip
