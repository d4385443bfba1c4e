"""Faults of disks beneath a program that writes with one thread at a time, behind a web application."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.real.services.daemons.slapd import Slapd
from lab.real.services.hosts.office_host import Office
from lab.real.services.web_neighbours import draw_ports
from lab.scenario import Live, Scenario


@contextmanager
def _visits_of_a_club(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many requests a second the disk of the directory can do."""
    image = LabApplication(environment, rng).disk(rng.randrange(500, 800))
    people = rng.randrange(2_000, 5_000)
    slapd = Slapd(environment, rng, draw_ports(rng, 1)[0], people, ("uid",))
    slapd.server.terminate()
    slapd.server.wait()
    data = slapd.directory / "data"
    environment.host_sh(f"cp -a {data} {DATA}/people; mount --bind {DATA}/people {data}")
    slapd.start()
    variables = {"DIRECTORY_URL": slapd.url, "PEOPLE": str(people)}
    office = Office(environment, rng, "towns/visits_app.py", variables, threads=rng.choice((12, 16)))
    office.start_clients(rng.uniform(34, 42), ["/visits/{n}", *["/people/{n}"] * rng.randrange(1, 3)])
    iops = rng.randrange(46, 60)
    slow_disk(environment.app, image, iops=iops)
    time.sleep(6.0)
    yield office.build_live(rng.choice((slapd.pid, office.app.pid)), iops=iops, people=people)


SCENARIOS = (
    Scenario(
        "club-visits", "development", "visits-of-a-club",
        ("disk-saturation", "sync-write-amplification", "volume-rate-limit"),
        "OpenLDAP writes each change to a slow disk before the next one may begin; the web application waits for it.",
        _visits_of_a_club, needs=("slapd", "slapadd", "gunicorn", "nginx"), global_effect=("disk",),
        software=("openldap", "gunicorn", "nginx"),
    ),
)  # fmt: skip
