"""Volumes, files in memory and guarded files beneath a database and a mail server: a seventh set."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import slow_disk
from lab.environment import LabEnvironment
from lab.load import wait_for
from lab.real.services.daemons.dovecot import Dovecot
from lab.real.services.daemons.endpoint_agent import EndpointAgent
from lab.real.services.hosts.library_host import Library
from lab.real.services.postgres import POSTGRES
from lab.real.services.web_neighbours import PROGRAMS, choose_scope, draw_ports, start_neighbours
from lab.scenario import Live, Scenario

MAIL_CLIENTS = str(PROGRAMS / "clients" / "mail_clients.py")
MIB = 1 << 20


@contextmanager
def _earned_requests(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many requests per second the provider of the volume takes from now on."""
    library = Library(
        environment, rng, volume_mb=rng.randrange(500, 800), settings={"max_wal_size": "256MB"},
        orders=rng.randrange(8_000, 20_000),
    )  # fmt: skip
    loans, others = rng.randrange(2, 4), rng.randrange(2, 5)
    paths = ["/loans/{n}"] * loans + [rng.choice(("/documents/{n}", "/shelves/{n}")) for _ in range(others)]
    library.start_clients(rng.uniform(55, 85), paths)
    time.sleep(3.0)
    before, began = library.count_requests(), time.monotonic()
    library.measure_baseline(0.0)
    used = (library.count_requests() - before) / (time.monotonic() - began)
    iops = max(4, int(used * rng.uniform(0.08, 0.13)))
    slow_disk(environment.app, library.image, iops=iops)
    time.sleep(4.0)
    yield library.build_live(rng.choice((library.postgres.pid, library.php.pid)), used_iops=used, iops=iops)


@contextmanager
def _readings_that_stay(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how many readings a job keeps, in a directory that is in memory."""
    note_words, table = rng.randrange(60, 100), rng.randrange(110, 150) * MIB
    library = Library(
        environment, rng, volume_mb=700,
        settings={"shared_buffers": "16MB", "max_wal_size": "64MB", "min_wal_size": "32MB"},
        orders=table // (note_words * 32 + 120), note_words=note_words,
    )  # fmt: skip
    megabytes, pause_s = rng.choice((2, 3, 4)), rng.choice((0.15, 0.2, 0.25))
    directory, stay = library.start_readings(3, megabytes, pause_s)
    documents, others = rng.randrange(3, 6), rng.randrange(1, 3)
    rate = rng.uniform(60, 90)
    library.start_clients(rate, ["/documents/{n}"] * documents + ["/shelves/{n}"] * others)
    # What was read and written to fill the tables need not stay; the rows do.
    time.sleep(2.0)
    library.postgres.run("CHECKPOINT")
    empty = environment.app.file("memory", "memory.force_empty", "memory.reclaim")
    with contextlib.suppress(OSError):
        empty.write_text("0" if empty.name == "memory.force_empty" else "2G")
    library.postgres.run("SELECT sum(length(note)) FROM orders")
    library.postgres.run("SELECT count(id) FROM orders WHERE id > 0")
    time.sleep(3.0)
    usage = environment.app.file("memory", "memory.usage_in_bytes", "memory.current")
    limit = int(usage.read_text()) + rng.randrange(44, 60) * MIB
    environment.app.limit_memory(limit)
    iops = int(rate * documents / (documents + others) * rng.uniform(0.5, 0.6))
    slow_disk(environment.app, library.image, iops=iops)
    library.measure_baseline()
    files = int((limit - int(usage.read_text()) + table * rng.uniform(0.65, 0.8)) / (megabytes * MIB))
    stay.write_text(str(files))
    time.sleep(files * (pause_s + 0.1) + 4.0)
    yield library.build_live(
        rng.choice((library.postgres.pid, library.php.pid)), directory=directory, files=files, iops=iops,
        megabytes=megabytes, limit_bytes=limit,
    )  # fmt: skip


@contextmanager
def _guarded_mail(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: whether the list of what the agent of the company guards has the mail store."""
    port, agent_port = rng.choice((143, 1143, 10143)), draw_ports(rng, 1)[0]
    neighbours = start_neighbours(environment, rng)
    agent = EndpointAgent(environment, rng, agent_port, rng.uniform(12, 18))
    people = rng.randrange(20, 40)
    dovecot = Dovecot(environment, rng, port, people)
    environment.host_sh(f"mount --bind {dovecot.directory} {dovecot.directory}")
    dovecot.write_passwords(4)
    dovecot.start()
    rate, waiting = rng.uniform(9, 14), rng.randrange(10, 40)
    load = environment.load(
        "--to", dovecot.address, "--people", people, "--rate", rate, "--waiting", waiting, "--timeout-s", 5,
        "--seed", rng.randrange(10_000), program=MAIL_CLIENTS,
    )  # fmt: skip
    wait_for(lambda: load.stats()["ok"] > 20, "answers to clients")
    time.sleep(4.0)
    healthy = load.baseline(6.0)
    agent.guard(str(dovecot.directory))
    time.sleep(8.0)
    load.mark()
    yield Live(
        environment.host,
        choose_scope(environment, rng, dovecot.pid),
        {
            "port": port, "healthy": healthy, "rate": rate, "people": people, "waiting": waiting,
            "answer_ms": agent.service.settings["delay_ms"], "neighbours": neighbours,
        },
        load.stats,
        mark=load.mark,
    )  # fmt: skip


SCENARIOS = (
    Scenario(
        "library-loans", "development", "earned-requests", ("volume-rate-limit", "disk-saturation"),
        "The volume of a PostgreSQL takes only a few requests per second since its credits are used up.",
        _earned_requests, needs=(POSTGRES, "nginx", "php-fpm8.2", "mkfs.ext4"), seconds=10.0,
        software=("postgresql", "php-fpm", "nginx"), global_effect=("disk",),
    ),
    Scenario(
        "library-readings", "development", "files-of-a-job", ("memory-file-system-large",),
        "A job keeps files in a directory that is in memory; the group has no room for the pages of PostgreSQL.",
        _readings_that_stay, needs=(POSTGRES, "nginx", "php-fpm8.2", "mkfs.ext4"), seconds=10.0,
        software=("postgresql", "php-fpm", "nginx"), global_effect=("app-memory", "disk"),
    ),
    Scenario(
        "mailboxes-of-a-company", "development", "company-agent", ("fanotify-permission-wait",),
        "An agent of the company asks a service before it lets Dovecot open a file of the mail store.",
        _guarded_mail, needs=("dovecot", "doveadm"), seconds=10.0, software=("dovecot",),
    ),
)  # fmt: skip
