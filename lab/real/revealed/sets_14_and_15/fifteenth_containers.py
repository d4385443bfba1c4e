"""Containers of a practice and of a school: a fifteenth set."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.quarter.practice_host import PATH, Practice, School
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _bills_of_a_practice(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much CPU time the container of php-fpm may use."""
    town = Town(environment, rng)
    practice = Practice(town, rng.uniform(1.4, 1.8))
    town.start_clients(practice.apache.address, rng.uniform(25, 35), [PATH], warm_s=4.0)
    used = practice.measure_cpus(5.0)
    cpus = used * rng.uniform(1.0, 1.08)
    practice.pod.limit_cpu(cpus)
    time.sleep(6.0)
    pid = rng.choice((practice.php.pid, practice.apache.pid))
    yield town.build_group_live(pid, practice.pod, "", used=round(used, 2), cpus=round(cpus, 2))


@contextmanager
def _reports_of_classes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much memory the container of gunicorn may use."""
    town = Town(environment, rng)
    school = School(town)
    school.limit_reports(rng.uniform(11, 14))
    # A good print at a time, with rare ones of four or five.
    prints = rng.uniform(1.1, 1.4) / school.printer_s
    others = rng.randrange(6, 9)
    paths = ["/reports/{n}"] + ["/classes/{n}"] * others
    town.start_clients(school.nginx.address, prints * (others + 1), paths, warm_s=5.0)
    school.app.stop()
    megabytes = school.limit_reports(rng.uniform(1.4, 1.8))
    school.app.start()
    time.sleep(5.0)
    yield town.build_group_live(school.nginx.pid, school.pod, megabytes=megabytes, others=others)


SCENARIOS = (
    Scenario(
        "dental-bills", "development", "bills-of-a-practice", ("cpu-quota-throttling",),
        "The container of php-fpm was given hardly as much CPU time as it needs; the host has plenty.",
        _bills_of_a_practice, needs=("apache2", "php-fpm8.2"), seconds=10.0, software=("php-fpm", "apache"),
    ),
    Scenario(
        "school-reports", "development", "reports-of-classes", ("memcg-oom-kill",),
        "The container of gunicorn was given less memory; two reports at a time let the kernel end a worker.",
        _reports_of_classes, needs=("gunicorn", "nginx"), seconds=10.0, software=("gunicorn", "nginx"),
    ),
)  # fmt: skip
