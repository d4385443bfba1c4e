"""Enrolments of a faculty, courses of a campus and timetables of schools: a twenty-fourth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.campus.course_catalog import CourseCatalog
from lab.real.services.campus.faculty import Faculty
from lab.real.services.campus.schools import Schools
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _enrolments_of_a_faculty(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how long an attempt may take, and how many are made. The plan answers as before."""
    town = Town(environment, rng)
    faculty = Faculty(town)
    nginx = start_front(town, faculty.build_location("/"), faculty.upstream)
    enrolments = rng.randrange(2, 4)
    paths = ["/enrolments/{n}"] * enrolments + ["/programmes/{n}"] * rng.randrange(1, 3)
    rate = faculty.places_per_s * rng.uniform(0.42, 0.5) * len(paths) / enrolments
    town.start_clients(nginx.address, rate, paths, warm_s=4.0)
    timeout_ms, attempts = round(faculty.plan_ms * rng.uniform(1.25, 1.5)), rng.randrange(5, 8)
    faculty.replace(timeout_ms, attempts)
    time.sleep(10.0)
    pid = rng.choice((faculty.pid, faculty.places.pid))
    yield town.build_live(pid, faculty.service.access_log, timeout_ms=timeout_ms, attempts=attempts)


@contextmanager
def _courses_of_a_campus(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how long the directory of another host takes, which few pages need."""
    town = Town(environment, rng)
    catalog = CourseCatalog(town, rng.uniform(4, 12))
    paths = ["/courses/{n}"] * rng.randrange(5, 8) + ["/terms/{n}"] * rng.randrange(3, 5) + ["/people/{n}"]
    town.start_clients(catalog.haproxy.address, rng.uniform(25, 45), paths, warm_s=4.0)
    late_ms = catalog.check_ms * rng.uniform(2.2, 3.2)
    catalog.slow_down_directory(late_ms)
    time.sleep(15.0)
    yield town.build_live(catalog.pid, catalog.access_log, late_ms=round(late_ms))


@contextmanager
def _timetables_of_schools(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: the release, which keeps layouts by another key."""
    town = Town(environment, rng)
    before = rng.randrange(31, 39)
    schools = Schools(town, before)
    nginx = start_front(town, schools.build_location("/"), schools.upstream)
    paths = ["/weeks/{n}"] * rng.randrange(2, 4) + ["/terms/{n}"]
    town.start_clients(nginx.address, rng.uniform(22, 30), paths, warm_s=5.0)
    after = rng.randrange(40, 46)
    schools.replace(after)
    time.sleep(12.0)
    yield town.build_live(schools.pid, schools.service.access_log, releases=[before, after])


SCENARIOS = (
    Scenario(
        "faculty-enrolments", "development", "enrolments-of-a-faculty", ("worker-pool-exhausted", "slow-dependency"),
        "A Go service gives up early and requests again; workers of gunicorn answer requests that no one waits for.",
        _enrolments_of_a_faculty, needs=(GO, "nginx", "gunicorn"), seconds=10.0, software=("gunicorn", "go"),
    ),
    Scenario(
        "campus-courses", "development", "courses-of-a-campus", ("slow-dependency",),
        "The health check of HAProxy asks Node for what a directory answers too late; servers count as down.",
        _courses_of_a_campus, needs=("haproxy", "node"), seconds=10.0, software=("haproxy", "node"),
    ),
    Scenario(
        "school-timetables", "development", "timetables-of-schools", ("gc-pauses",),
        "A release loads the classes of layouts again for each page; the JVM stops to collect all for their room.",
        _timetables_of_schools, needs=("java", "javac", "nginx"), seconds=10.0, software=("java",),
    ),
)  # fmt: skip
