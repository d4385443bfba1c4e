"""Programs that answer pages, and what they were given: a directory of people, and numbers of a bookshop."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.daemons.slapd import Slapd
from lab.real.services.hosts.bookshop_host import Bookshop
from lab.real.services.hosts.office_host import Office
from lab.real.services.web_neighbours import draw_ports
from lab.scenario import Live, Scenario


@contextmanager
def _portal_release(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: by which attribute the portal looks people up, or which of them the directory knows by an index."""
    way = rng.choice(("settings", "release"))
    (port,) = draw_ports(rng, 1)
    people = rng.randrange(25_000, 40_000)
    slapd = Slapd(environment, rng, port, people, ("uid", "mail"))
    variables = {
        "DIRECTORY_URL": slapd.url, "PEOPLE": str(people), "OFFSET": str(slapd.offset), "LOGIN_ATTRIBUTE": "mail",
    }  # fmt: skip
    office = Office(environment, rng, "stores/staff_app.py", variables, threads=rng.choice((6, 8, 12)))
    paths = (
        ["/login/{n}"] * rng.randrange(2, 4)
        + ["/people/{n}"] * rng.randrange(2, 4)
        + ["/news/{n}"] * rng.randrange(1, 3)
    )
    office.start_clients(rng.uniform(45, 65), paths)
    if way == "settings":
        slapd.restart(("uid",))
    else:
        office.app.restart(LOGIN_ATTRIBUTE="employeeNumber")
    time.sleep(4.0)
    yield office.build_live(rng.choice((slapd.pid, office.app.pid)), way=way, people=people)


@contextmanager
def _title_numbers(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many threads the library of numpy starts for one product of two matrices."""
    shop = Bookshop(environment, rng)
    shop.start_clients(rng.uniform(45, 60))
    threads = rng.choice((8, 12, 16))
    shop.office.app.restart(OMP_NUM_THREADS=str(threads))
    time.sleep(4.0)
    yield shop.office.build_live(shop.office.app.pid, omp_threads=threads, **shop.sizes)


SCENARIOS = (
    Scenario(
        "staff-portal", "development", "portal-release", ("missing-index", "cpu-hot-function"),
        "OpenLDAP compares all people at each login: there is no index of the attribute by which the portal looks.",
        _portal_release, needs=("slapd", "slapadd", "gunicorn", "nginx"), software=("openldap", "gunicorn", "nginx"),
    ),
    Scenario(
        "book-suggestions", "development", "title-numbers", ("thread-oversubscription",),
        "OpenBLAS starts far more threads for each request than there are CPUs, and they wait for one another.",
        _title_numbers, needs=("gunicorn", "nginx"), software=("openblas", "gunicorn", "nginx"),
    ),
)  # fmt: skip
