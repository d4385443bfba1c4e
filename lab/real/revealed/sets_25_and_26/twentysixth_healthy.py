"""A busy, healthy host: a container that is nearly full, pinned processes, copies that a shaper slows down."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.hamlet.gallery import Gallery
from lab.real.services.hamlet.inn import Inn
from lab.real.services.hamlet.pottery import Pottery
from lab.real.services.hamlet.saddler import Saddler
from lab.real.services.hamlet.smithy import Smithy
from lab.real.services.postgres import POSTGRES
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _hamlet_on_market_day(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Listings fit, the CPU of the saddler has room, only copies are dropped, locks are brief, and files are left."""
    town = Town(environment, rng)
    pottery = Pottery(town, rng.randrange(1, 3), rng.randrange(80, 110))
    saddler = Saddler(town)
    smithy = Smithy(town)
    inn = Inn(town, rng.uniform(0.72, 0.82))
    locations = (
        pottery.build_location("~ ^/(orders|pots|glazes)/"),
        saddler.build_location("~ ^/(sizes|leathers)/"),
        smithy.build_location("~ ^/(entries|pieces)/"),
        inn.build_location("~ ^/(bookings|stays)/"),
    )
    nginx = start_front(town, "".join(locations), pottery.upstream + smithy.upstream)
    gallery = Gallery(town, nginx)
    gallery.shape_link(rng.uniform(5, 9))
    gallery.add_destination(smithy.address)
    smithy.keep_books(rng.randrange(4, 12))
    smithy.start_job(rng.randrange(800, 1_600), rng.uniform(2.5, 4.0))
    seconds = saddler.measure_request(nginx.address)
    saddler.run_on(str(rng.randrange(2)))
    start_requests(environment, rng, nginx.address, rng.uniform(0.06, 0.1) / seconds, "/sizes/{n}")
    paths = [
        "/orders/{n}", "/pots/{n}", "/glazes/{n}", "/leathers/{n}", "/entries/{n}", "/pieces/{n}", "/bookings/{n}",
        "/stays/{n}", "/pictures/{n}.jpg", "/pictures/{n}.jpg",
    ]  # fmt: skip
    # More than the class of the copies takes.
    gallery.start_copies(4_000)
    town.start_clients(nginx.address, rng.uniform(26, 36), paths, warm_s=5.0, range_=gallery.pictures)
    time.sleep(4.0)
    pid = rng.choice((nginx.pid, pottery.app.pid, saddler.php.pid, smithy.app.pid, inn.php.pid))
    yield town.build_live(pid, killed=pottery.count_kills())


SCENARIOS = (
    Scenario(
        "busy-hamlet", "healthy", "healthy", (),
        "PostgreSQL in a container that suffices, php-fpm on one CPU with room, a shaper that drops copies only.",
        _hamlet_on_market_day,
        needs=(POSTGRES, "psql", "gunicorn", "php-fpm8.2", "nginx", "taskset", "tc", "flock", "mkfs.ext4", "curl"),
        software=("postgresql", "gunicorn", "php-fpm", "nginx"),
    ),
)  # fmt: skip
