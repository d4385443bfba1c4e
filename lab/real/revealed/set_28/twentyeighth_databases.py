"""Hires of costumes, and labels of a bottler: a twenty-eighth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.borough.bottler import Bottler
from lab.real.services.borough.costumes import CostumeHirer
from lab.real.services.coast.front import start_front
from lab.real.services.nginx import ACCESS_LOG
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _costumes_of_a_hirer(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the engine of the table of hires."""
    town = Town(environment, rng)
    hirer = CostumeHirer(town, "InnoDB", rng.uniform(1.6, 2.4), rng.uniform(1.0, 2.0))
    nginx = start_front(town, hirer.build_location("/"))
    paths = hirer.draw_paths(town, rng.randrange(1, 4), "/desk")
    town.start_clients(nginx.address, rng.uniform(14, 22), paths, warm_s=4.0)
    hirer.restore_table("MyISAM")
    time.sleep(6.0)
    yield town.build_live(rng.choice((hirer.php.pid, hirer.mariadb.pid)))


@contextmanager
def _labels_of_a_bottler(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how long a printer may take before beanstalkd hands its job to another."""
    town = Town(environment, rng)
    bottler = Bottler(town)
    nginx = start_front(town, bottler.build_location("/"), bottler.upstream)
    paths = bottler.draw_paths(town)
    town.start_clients(nginx.address, rng.uniform(1.15, 1.4) * len(paths), paths, warm_s=4.0)
    bottler.app.restart(RUN_S="1")
    time.sleep(10.0)
    pid = rng.choice((bottler.app.pid, bottler.queue.pid, bottler.printers[0].pid))
    yield town.build_live(pid, ACCESS_LOG)


SCENARIOS = (
    Scenario(
        "costume-hires", "development", "costumes-of-a-hirer", ("database-lock-wait",),
        "A restored table of MariaDB has MyISAM as its engine; changes and pages wait until a report has read it.",
        _costumes_of_a_hirer, needs=("mariadbd", "mariadb-install-db", "mariadb", "php-fpm8.2", "nginx"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "bottle-labels", "development", "labels-of-a-bottler", ("worker-pool-exhausted",),
        "beanstalkd hands a job that takes longer than a second to a further printer each second; no printer is left.",
        _labels_of_a_bottler, needs=("beanstalkd", "gunicorn", "nginx"), seconds=10.0,
        software=("beanstalkd", "python", "gunicorn", "nginx"),
    ),
)  # fmt: skip
