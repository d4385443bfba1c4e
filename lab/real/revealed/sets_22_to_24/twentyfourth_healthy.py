"""A host that is busy and healthy: enrolments, courses, timetables, marks that are copied, and notes of lectures."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.environment import LabEnvironment
from lab.real.services.campus.course_catalog import CourseCatalog
from lab.real.services.campus.examinations import Examinations
from lab.real.services.campus.faculty import Faculty
from lab.real.services.campus.lecture_notes import LectureNotes
from lab.real.services.campus.schools import Schools
from lab.real.services.coast.front import start_front
from lab.real.services.golang import GO
from lab.real.services.towns.town import Town
from lab.real.services.web_neighbours import start_requests
from lab.scenario import Live, Scenario


@contextmanager
def _campus_in_term(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """Copies are quick, the list is short, a spare server is off, layouts are kept, further attempts are rare."""
    town = Town(environment, rng)
    examinations = Examinations(town)
    notes = LectureNotes(town, rng.randrange(200, 500))
    faculty, schools = Faculty(town), Schools(town, rng.randrange(31, 39))
    catalog = CourseCatalog(town, rng.uniform(40, 90), spare=1)
    locations = "".join(
        (
            examinations.build_location("/"), faculty.build_location("/enrolments/"), schools.build_location("/weeks/"),
            notes.build_location("/lectures/"),
        )
    )  # fmt: skip
    locations += "        location /notes/ { }\n"
    nginx = start_front(town, locations, faculty.upstream + schools.upstream + notes.upstream)
    notes.add_files(nginx)
    start_requests(
        environment, rng, catalog.haproxy.address, rng.uniform(6, 12), "/courses/{n}", "/people/{n}"
    )
    places = ["/enrolments/{n}"] * 2 + ["/weeks/{n}"]
    start_requests(environment, rng, nginx.address, faculty.places_per_s * rng.uniform(0.15, 0.3), *places)
    paths = ["/marks/{n}", "/students/{n}", "/exams/{n}", "/lectures/{n}", "/notes/{n}"]
    with examinations.take_copies():
        town.start_clients(nginx.address, rng.uniform(14, 22), paths, warm_s=6.0, range_=notes.files)
        faculty.replace(timeout_ms=rng.choice((1_500, 2_500)), attempts=3)
        time.sleep(5.0)
        pid = rng.choice((faculty.pid, schools.pid, catalog.pid, examinations.mariadb.pid, nginx.pid))
        yield town.build_live(pid)


SCENARIOS = (
    Scenario(
        "busy-campus", "healthy", "healthy", (),
        "Go that may try again, Node with a spare server, Java with layouts, MariaDB that is copied, a short list.",
        _campus_in_term,
        needs=(
            GO, "nginx", "gunicorn", "haproxy", "node", "java", "javac", "mariadbd", "php-fpm8.2", "fsfreeze",
            "mkfs.ext4", "iptables",
        ),
        software=("go", "gunicorn", "haproxy", "node", "java", "mariadb", "php-fpm", "nginx"),
    ),
)  # fmt: skip
