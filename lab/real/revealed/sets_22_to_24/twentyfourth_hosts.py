"""Marks of students on a volume that is copied, and notes of lectures behind a firewall: a twenty-fourth set."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.campus.examinations import Examinations
from lab.real.services.campus.lecture_notes import LectureNotes
from lab.real.services.coast.front import start_front
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _marks_of_students(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how long the storage takes for a copy of the volume, which takes no writes in the meantime."""
    town = Town(environment, rng)
    examinations = Examinations(town)
    nginx = start_front(town, examinations.build_location("/"))
    paths = (
        ["/marks/{n}"] * rng.randrange(2, 4) + ["/students/{n}"] * rng.randrange(3, 5) + ["/exams/{n}"] * 2
    )
    with examinations.take_copies():
        town.start_clients(nginx.address, rng.uniform(22, 36), paths, warm_s=6.0)
        late_ms = rng.uniform(3_500, 5_000)
        examinations.slow_down_storage(late_ms)
        time.sleep(12.0)
        pid = rng.choice((examinations.mariadb.pid, examinations.php.pid))
        yield town.build_live(pid, late_ms=round(late_ms))


@contextmanager
def _notes_of_lectures(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many ranges of addresses are on the list of the security department."""
    town = Town(environment, rng)
    before, after = rng.randrange(200, 500), rng.randrange(24_000, 30_000)
    notes = LectureNotes(town, before)
    nginx = start_front(town, notes.build_location("/lectures/"), notes.upstream)
    notes.add_files(nginx)
    paths = ["/notes/{n}"] * rng.randrange(2, 4) + ["/lectures/{n}"] * rng.randrange(2, 4)
    town.start_clients(nginx.address, rng.uniform(13, 18), paths, warm_s=5.0, range_=notes.files)
    notes.list_ranges(after)
    notes.wait_for_rules(after)
    time.sleep(8.0)
    yield town.build_live(nginx.pid, ranges=[before, after])


SCENARIOS = (
    Scenario(
        "exam-marks", "development", "marks-of-students", ("filesystem-frozen", "hanging-file-system"),
        "An agent keeps the volume of MariaDB from writes until a slow storage has taken a copy of it.",
        _marks_of_students, needs=("mariadbd", "php-fpm8.2", "nginx", "fsfreeze", "mkfs.ext4"), seconds=10.0,
        software=("mariadb", "php-fpm"),
    ),
    Scenario(
        "lecture-notes", "development", "notes-of-lectures", ("firewall-rules-many", "netrx-softirq-saturation"),
        "An agent has added a rule to the firewall for each of tens of thousands of ranges; each packet meets all.",
        _notes_of_lectures, needs=("nginx", "iptables"), seconds=10.0, software=("nginx",),
    ),
)  # fmt: skip
