"""Jobs and settings of a host next to, or beneath, its web application: a ninth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.daemons.recordings import PartnerExport, Recordings
from lab.real.services.hosts.catalog_host import CatalogHost, choose_pages
from lab.real.services.hosts.helpdesk_host import Helpdesk
from lab.real.services.hosts.magazine_host import Magazine
from lab.scenario import Live, Scenario


@contextmanager
def _more_parts(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much memory OPcache may use."""
    enough, few = rng.choice((64, 96, 128)), rng.choice((8, 9, 10))
    magazine = Magazine(environment, rng, areas=rng.randrange(6, 9), memory_mb=enough)
    magazine.start_clients(rng.uniform(45, 65))
    magazine.start_with_memory(few)
    time.sleep(8.0)
    yield magazine.build_live(magazine.php.pid, enough=enough, few=few)


@contextmanager
def _recordings_in_time(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the scheduling policy of the program that packs recordings."""
    environment.app.allow_real_time()
    host = CatalogHost(environment, rng, workers=rng.choice((3, 4)), proxied=True)
    kilobytes = rng.randrange(3400, 4800)
    recordings = Recordings(environment, rng, cameras=2, kilobytes=kilobytes)
    recordings.start("-o 0")
    host.start_clients(rng.uniform(40, 55), choose_pages(rng))
    time.sleep(3.0)
    host.measure_baseline(5.0)
    policy = f"-{rng.choice('rf')} {rng.randrange(10, 60)}"
    recordings.start(policy)
    time.sleep(5.0)
    yield host.build_live(kilobytes=kilobytes, policy=policy)


@contextmanager
def _export_to_a_partner(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether a killed run of the export left its mark, for which all later runs wait."""
    helpdesk = Helpdesk(environment, rng, children=rng.choice((12, 16, 24)), release=41)
    every_s = rng.uniform(0.45, 0.65)
    export = PartnerExport(environment, rng, every_s=every_s, kilobytes=rng.randrange(300, 900))
    paths = [rng.choice(("/tickets/{n}", "/callers/{n}")) for _ in range(7)] + ["/tickets/{n}"]
    helpdesk.start_clients(rng.uniform(40, 60), paths)
    export.leave_run()
    time.sleep(90 * every_s)
    yield helpdesk.build_live(rng.choice((helpdesk.mariadb.pid, helpdesk.php.pid)), every_s=every_s)


SCENARIOS = (
    Scenario(
        "magazine-parts", "development", "parts-of-pages", ("cache-memory-limit",),
        "OPcache has no room for most files of a PHP application; they are compiled again for each request.",
        _more_parts, needs=("nginx", "php-fpm8.2"), seconds=10.0, software=("php-fpm", "nginx"),
    ),
    Scenario(
        "catalog-and-cameras", "development", "recordings-in-time", ("real-time-task",),
        "Recordings are packed with a real-time policy; the web application runs when the packing pauses.",
        _recordings_in_time, needs=("nginx", "gunicorn", "xz", "chrt"), seconds=15.0,
        software=("gunicorn", "nginx"), global_effect=("cpu",),
    ),
    Scenario(
        "helpdesk-export", "development", "export-to-a-partner", ("worker-leak", "scheduled-job"),
        "Runs of a job wait for a run that is no more; the scheduler adds further ones, and all of them poll.",
        _export_to_a_partner, needs=("mariadbd", "mariadb-install-db", "php-fpm8.2", "apache2"), seconds=10.0,
        software=("mariadb", "php-fpm", "apache"), global_effect=("cpu",),
    ),
)  # fmt: skip
