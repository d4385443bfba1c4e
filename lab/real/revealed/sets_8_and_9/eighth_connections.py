"""Connections that others keep at a host: tills in the tunnels of a proxy, and an inventory at an sshd."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.daemons.openssh import PartnerSshd
from lab.real.services.hosts.agency_host import Agency
from lab.real.services.web_neighbours import choose_scope, start_neighbours
from lab.scenario import Live, Scenario


@contextmanager
def _branch_tills(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many tills keep a tunnel through the Squid of the agency."""
    agency = Agency(environment, rng)
    few = rng.randrange(10, 40)
    agency.start_tills(few, serves=True)
    agency.start_clients(rng.uniform(45, 75))
    more = agency.squid.descriptors // 2 - few + rng.randrange(10, 60)
    agency.start_tills(more)
    time.sleep(more * 0.02 + 6.0)
    yield agency.build_live(few=few, more=more)


@contextmanager
def _company_inventory(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many connections at a time the inventory of the company keeps at the sshd of partners."""
    neighbours = start_neighbours(environment, rng, count=3)
    sshd = PartnerSshd(environment, rng)
    rate = rng.uniform(3.5, 5.5)
    load = sshd.start_partners(rate)
    few, more = rng.randrange(1, 4), rng.randrange(26, 60)
    pause_s = rng.uniform(60, 85)
    sshd.start_inventory(few, pause_s)
    wait_for(lambda: load.stats()["ok"] > 10, "answers to partners")
    time.sleep(2.0)
    healthy = load.baseline(8.0)
    sshd.start_inventory(more, pause_s)
    time.sleep(10.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, sshd.pid),
        {
            "port": sshd.port, "healthy": healthy, "rate": rate, "few": few, "more": more, "startups": sshd.startups,
            "neighbours": neighbours,
        },
        load.stats,
        mark=load.mark,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "agency-flights", "development", "branch-tills", ("file-descriptor-limit",),
        "Squid has no descriptor left for new connections, as tills of branches keep tunnels through it.",
        _branch_tills, needs=("squid", "gunicorn", "nginx"), seconds=10.0, software=("squid", "gunicorn", "nginx"),
    ),
    Scenario(
        "partner-files", "development", "company-inventory", ("connection-limit",),
        "The sshd of partners refuses new connections at random: an inventory keeps many that never log in.",
        _company_inventory, needs=("sshd", "sftp", "ssh-keygen"), seconds=20.0, software=("openssh",),
    ),
)  # fmt: skip
