"""Pictures of a gallery, and entries of a smithy: a twenty-sixth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.coast.front import start_front
from lab.real.services.hamlet.gallery import Gallery
from lab.real.services.hamlet.smithy import Smithy
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _pictures_of_a_gallery(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: which port the shaper of the link has as that of the site."""
    town = Town(environment, rng)
    nginx = start_front(town, "")
    gallery = Gallery(town, nginx)
    rate = rng.uniform(18, 30)
    rest_mbit = rate * gallery.mean_bytes * 8 / 1e6 * rng.uniform(0.75, 0.85)
    gallery.shape_link(rest_mbit)
    gallery.start_copies(round(rest_mbit * 1e3 / 8 * rng.uniform(0.04, 0.08)))
    town.start_clients(nginx.address, rate, ["/pictures/{n}.jpg"], warm_s=3.0, range_=gallery.pictures)
    port = rng.choice((80, 443, 8080))
    gallery.choose_port(port)
    time.sleep(8.0)
    yield town.build_live(nginx.pid, shaped_port=port)


@contextmanager
def _entries_of_a_smithy(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how large the books are that a job copies while it holds the lock of the book."""
    town = Town(environment, rng)
    smithy = Smithy(town)
    nginx = start_front(town, smithy.build_location("/"), smithy.upstream)
    kilobytes_per_s, pause_s = rng.randrange(800, 1_600), rng.uniform(2.5, 4.0)
    smithy.keep_books(rng.randrange(4, 12))
    smithy.start_job(kilobytes_per_s, pause_s)
    others = rng.randrange(2, 4)
    town.start_clients(
        nginx.address, rng.uniform(20, 40), ["/entries/{n}"] * 2 + ["/pieces/{n}"] * others, warm_s=5.0
    )
    seconds = rng.uniform(4, 6)
    smithy.keep_books(round(kilobytes_per_s * seconds))
    time.sleep(8.0)
    yield town.build_live(rng.choice((smithy.app.pid, nginx.pid)), held_s=round(seconds, 1))


SCENARIOS = (
    Scenario(
        "gallery-pictures", "development", "pictures-of-a-gallery", ("qdisc-drop", "link-saturated"),
        "The shaper of the host has another port for the site; pictures share the small class of copies, which drops.",
        _pictures_of_a_gallery, needs=("nginx", "tc", "curl"), seconds=10.0, software=("nginx",),
    ),
    Scenario(
        "smithy-entries", "development", "entries-of-a-smithy", ("file-lock-held", "scheduled-job"),
        "A job holds the lock of a book while it copies books to another site; gunicorn waits for the lock.",
        _entries_of_a_smithy, needs=("gunicorn", "nginx", "flock", "curl"), seconds=10.0,
        software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
