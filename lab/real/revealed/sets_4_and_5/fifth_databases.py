"""Databases that wait, or that are made to wait, behind PHP: a fifth set."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.real.services.hosts.box_office_host import BoxOffice, SecondDatabase
from lab.real.services.mariadb import MariaDb
from lab.real.services.postgres import POSTGRES
from lab.real.services.storefront import Storefront, choose_paths
from lab.scenario import Live, Scenario

# What is to be sent is written by one job and taken out by another, both in a batch at a time.
WRITE = (
    "INSERT INTO outbox (booking, kind, body) SELECT i, 'letter', repeat(md5(i::text), {words})"
    " FROM generate_series(1, {batch}) i;"
)
SEND = "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox ORDER BY id LIMIT {batch});"
# A backup that spares the disk: a block, then a pause, until nothing is left.
SPARING = 'while [ "$(dd bs={kilobytes}k count=1 iflag=fullblock status=none | tee -a "$0" | wc -c)" -gt 0 ]'


@contextmanager
def _copy_of_the_bookings(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: what the second host does, which has to confirm each booking."""
    way = rng.choice(("maintenance", "maintenance", "paused"))
    confirmed = "remote_apply" if way == "paused" else rng.choice(("on", "remote_write"))
    office = BoxOffice(environment, rng, children=rng.choice((40, 56, 72)))
    second = SecondDatabase(environment, rng, office.postgres)
    office.postgres.change_settings(
        synchronous_standby_names=rng.choice((second.name, f"FIRST 1 ({second.name})")),
        synchronous_commit=confirmed,
    )
    reads = rng.randrange(3, 7)
    office.start_clients(rng.uniform(45, 75), ["/book/{n}"] * rng.randrange(1, 3) + ["/shows/{n}"] * reads)
    if way == "paused":
        second.run("SELECT pg_wal_replay_pause()")
    else:
        second.shut_down()
    time.sleep(3.0)
    yield office.build_live(rng.choice((office.postgres.pid, office.php.pid)), way=way, confirmed=confirmed)


@contextmanager
def _export_of_the_bookings(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a transaction of a job that stays open for minutes; it never touches the letters to be sent."""
    way = rng.choice(("export", "prepared"))
    office = BoxOffice(
        environment, rng, children=rng.choice((16, 24)), outbox=True,
        settings={"autovacuum_naptime": rng.choice((1, 2)), "max_prepared_transactions": 8},
    )  # fmt: skip
    batch, pause_s = rng.randrange(700, 1000), rng.uniform(0.3, 0.4)
    words = {"batch": batch, "words": rng.randrange(2, 5)}
    office.postgres.start_session(f'while :; do echo "{WRITE.format(**words)}"; sleep {pause_s:.2f}; done')
    office.postgres.start_session(
        f'while :; do echo "{SEND.format(batch=batch * 2)}"; sleep {pause_s:.2f}; done'
    )
    paths = ["/letters/{n}"] * rng.randrange(3, 5) + ["/book/{n}"] + ["/shows/{n}"] * rng.randrange(2, 5)
    office.start_clients(rng.uniform(50, 80), paths, warm_s=6.0)
    if way == "export":
        office.start_session(
            f"COPY (SELECT o.*, pg_sleep({rng.uniform(0.02, 0.04):.3f}) FROM orders o) TO STDOUT"
        )
    else:
        office.start_session(
            f"BEGIN; UPDATE products SET price = price + 1 WHERE id = {rng.randrange(1000)};"
            f" PREPARE TRANSACTION 'prices-{rng.randrange(10_000)}'"
        )
    time.sleep(rng.uniform(60, 70))
    yield office.build_live(
        rng.choice((office.postgres.pid, office.php.pid)), way=way, letters_per_s=round(batch / pause_s)
    )


@contextmanager
def _backup_of_the_shop(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an option of the backup, which reads all tables at a pace that spares the disk."""
    storefront = Storefront(environment, rng)
    wait_s = rng.choice((3, 8, 86400))
    mariadb = MariaDb(
        environment, rng, orders=rng.randrange(90_000, 140_000), note_words=rng.randrange(4, 7),
        settings={"lock_wait_timeout": wait_s, "innodb_buffer_pool_size": "96M"},
    )  # fmt: skip
    storefront.start_php(mariadb, children=rng.choice((24, 32, 48)))
    kilobytes, target = rng.choice((16, 32)), environment.directory / "shop-2026-11-27.sql"
    keep_pace = f"{SPARING.format(kilobytes=kilobytes)}; do sleep {kilobytes / 80:.2f}; done"
    dump = f"mariadb-dump --no-defaults -u root -S {mariadb.socket} --quick {{option}} shop"

    running: list[subprocess.Popen[bytes]] = []

    def start_backup(option: str) -> None:
        script = f"{dump.format(option=option)} | sh -c '{keep_pace}' {target}"
        running.append(environment.on_host(["sh", "-c", script]))

    start_backup("--single-transaction")
    storefront.start_clients(rng.randrange(40, 70), choose_paths(rng), timeout_s=4.0)
    storefront.measure_baseline(4.0, warm_s=2.0)
    environment.stop(running.pop())
    option = rng.choice(("--lock-all-tables", "--lock-tables"))
    start_backup(option)
    time.sleep(4.0)
    yield storefront.build_live(
        rng.choice((mariadb.pid, storefront.server.pid)), option=option, lock_wait_timeout_s=wait_s
    )


@contextmanager
def _settings_of_the_package(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: how much of its tables MariaDB may keep in memory; an update brought the setting of the package."""
    storefront, application = Storefront(environment, rng), LabApplication(environment, rng)
    image = application.disk(rng.randrange(900, 1200))
    environment.host_sh(f"chown 65534:65534 {DATA}")
    few_mb = rng.randrange(20, 32)
    orders, customers = rng.randrange(220_000, 280_000), rng.randrange(28_000, 40_000)
    mariadb = MariaDb(
        environment, rng, directory=f"{DATA}/mysql", orders=orders, customers=customers,
        note_words=rng.randrange(7, 11), settings={"innodb_buffer_pool_size": "256M", "innodb_log_file_size": "96M"},
    )  # fmt: skip
    storefront.start_php(mariadb, children=rng.choice((24, 32)), persistent=rng.random() < 0.5)
    rate = rng.randrange(40, 60)
    histories = rng.randrange(5, 8)
    paths = ["/orders/{n}"] * histories + ["/products/{n}"] * 3 + ["/checkout/{n}"]
    mariadb.restart()
    mariadb.run("SELECT count(*), sum(length(note)) FROM orders FORCE INDEX (PRIMARY)")
    storefront.start_clients(rate, paths, range_=customers)
    # Rows of the histories: nearly each is in a page of its own, and the index is read too.
    iops = int(rate * histories / len(paths) * orders / customers * rng.uniform(1.25, 1.45))
    slow_disk(environment.app, image, iops=iops)
    storefront.measure_baseline(4.0, warm_s=4.0)
    mariadb.restart(innodb_buffer_pool_size=f"{few_mb}M")
    time.sleep(8.0)
    yield storefront.build_live(rng.choice((mariadb.pid, storefront.server.pid)), iops=iops, few_mb=few_mb)


PHP = ("nginx", "php-fpm8.2")
MARIADB = ("mariadbd", "mariadb-install-db", "mariadb-dump", *PHP)
SCENARIOS = (
    Scenario(
        "box-office-copy", "development", "confirmed-bookings", ("synchronous-replica-wait",),
        "Each booking waits until a second PostgreSQL has it, and that one is away or does not go on.",
        _copy_of_the_bookings, needs=(POSTGRES, *PHP), seconds=10.0, software=("postgresql", "php-fpm", "nginx"),
    ),
    Scenario(
        "box-office-letters", "development", "letters-to-send", ("vacuum-blocked",),
        "A transaction of minutes keeps the removed rows of a queue, through which each look at the queue goes.",
        _export_of_the_bookings, needs=(POSTGRES, *PHP), seconds=15.0, software=("postgresql", "php-fpm", "nginx"),
        global_effect=("cpu",),
    ),
    Scenario(
        "shop-backup-option", "development", "backup-option", ("database-lock-wait",),
        "A backup of MariaDB holds the lock of all tables while it writes slowly; orders wait for it.",
        _backup_of_the_shop, needs=MARIADB, seconds=10.0, software=("mariadb", "php-fpm", "nginx"),
    ),
    Scenario(
        "shop-packaged-settings", "development", "packaged-settings", ("disk-saturation", "cache-memory-limit"),
        "MariaDB may keep a small part of its tables in memory and reads the others from a disk that is too slow.",
        _settings_of_the_package, needs=(*MARIADB, "mkfs.ext4"), seconds=10.0,
        software=("mariadb", "php-fpm", "nginx"), global_effect=("disk",),
    ),
)  # fmt: skip
