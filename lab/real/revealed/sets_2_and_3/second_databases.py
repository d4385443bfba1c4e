"""MariaDB and Redis with one thing wrong: other statements, a long job, another setting of the log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from lab.application import DATA, LabApplication, slow_disk
from lab.environment import LabEnvironment
from lab.real.services.golang import GO, GoService
from lab.real.services.hosts.helpdesk_host import Helpdesk
from lab.real.services.hosts.runtime_host import RuntimeHost
from lab.real.services.redis import Redis
from lab.scenario import Live, Scenario

# One transaction from the first queue to the last ticket; the pause is meant to spare the disk.
REASSIGN = """
BEGIN NOT ATOMIC
    DECLARE position INT DEFAULT 0;
    START TRANSACTION;
    UPDATE queues SET waiting = waiting + 1 WHERE id IN ({queues});
    WHILE position < {tickets} DO
        UPDATE tickets SET state = 'open' WHERE id BETWEEN position AND position + {step} AND queue_id IN ({queues});
        DO SLEEP({pause});
        SET position = position + {step};
    END WHILE;
    COMMIT;
END;
//
"""


def _choose_paths(rng: random.Random, *kinds: str) -> list[str]:
    """Return a mix of ten paths in which each of `kinds` occurs twice and tickets are the rest."""
    paths = [f"/{kind}/{{n}}" for kind in kinds for _ in range(2)]
    return paths + ["/tickets/{n}"] * (10 - len(paths) - rng.randrange(0, 2))


@contextmanager
def _release(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the release of the help desk, whose statements for one kind of page differ."""
    release = rng.choice((42, 43, 44))
    rows = rng.randrange(220_000, 300_000)
    sizes = {"tickets": rows} if release == 44 else {"contacts": rows}
    helpdesk = Helpdesk(
        environment, rng, children=rng.choice((24, 32)), settings={"innodb_buffer_pool_size": "160M"}, **sizes
    )
    helpdesk.start_clients(rng.randrange(60, 85), _choose_paths(rng, "callers", "days", "reply"))
    helpdesk.install_release(release)
    yield helpdesk.build_live(rng.choice((helpdesk.mariadb.pid, helpdesk.php.pid)), release=release)


@contextmanager
def _long_job(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a job of the back office, which changes two queues and their tickets in one transaction."""
    wait_s = rng.choice((2, 5, 10))
    helpdesk = Helpdesk(
        environment,
        rng,
        children=rng.choice((80, 100)),
        settings={"innodb_lock_wait_timeout": wait_s},
        workers=256,
    )
    helpdesk.start_clients(rng.randrange(50, 80), _choose_paths(rng, "callers", "days", "reply"))
    queues = rng.sample(range(1, helpdesk.sizes["queues"] + 1), 2)
    step, pause = rng.randrange(20, 50), rng.uniform(0.5, 0.9)
    words = {"queues": ", ".join(map(str, queues)), "tickets": helpdesk.sizes["tickets"], "step": step}
    file = environment.directory / "reassign-teams.sql"
    file.write_text("DELIMITER //\n" + REASSIGN.format(**words, pause=f"{pause:.2f}"))
    helpdesk.mariadb.start_session(f"cat {file}")
    yield helpdesk.build_live(
        rng.choice((helpdesk.mariadb.pid, helpdesk.php.pid)), queues=queues, lock_wait_timeout_s=wait_s
    )


@contextmanager
def _safer_carts(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a setting of the log of Redis, which the operators want to be safer."""
    host = RuntimeHost(environment, rng)
    image = LabApplication(environment, rng).disk(rng.randrange(500, 900))
    keys = rng.randrange(60_000, 120_000)
    options = (
        "--dir",
        DATA,
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--auto-aof-rewrite-percentage",
        "0",
    )
    redis = Redis(environment, rng.choice((6379, 6390, 7100)), *options)
    redis.populate(keys, "session", rng.choice((200, 400, 600)))
    service = GoService(environment, "accounts.go", host.port, "-redis", redis.address, "-keys", keys)
    service.write_settings(
        writes=rng.randrange(2, 6), reads=rng.randrange(2, 5), rounds=rng.randrange(800, 2000)
    )
    service.start()
    iops = rng.randrange(20, 34)
    slow_disk(environment.app, image, iops=iops)
    mix = {"sessions": rng.choice((4, 5)), "carts": rng.choice((3, 4)), "items": rng.choice((1, 2))}
    host.start_clients(rng.randrange(100, 170), mix)
    redis.run("CONFIG", "SET", "appendfsync", "always")
    yield host.build_live(
        rng.choice((redis.pid, service.pid)), service.access_log,
        lambda: redis.run("CONFIG", "SET", "appendfsync", "everysec") and None, keys=keys, iops=iops,
    )  # fmt: skip


NEEDS = ("mariadbd", "mariadb-install-db", "php-fpm8.2", "apache2")
SCENARIOS = (
    Scenario(
        "mariadb-release-statements", "development", "mariadb-release-statements",
        ("missing-index", "database-hot-sql"),
        "Statements of a release cannot use an index of MariaDB; without them all pages are quick.", _release,
        needs=NEEDS, seconds=8.0, software=("mariadb", "php-fpm", "apache2"), global_effect=("cpu",),
    ),
    Scenario(
        "mariadb-long-job", "development", "mariadb-long-job", ("database-lock-wait",),
        "A job holds row locks of InnoDB for minutes while it works; replies to these queues wait for it.", _long_job,
        needs=NEEDS, seconds=10.0, software=("mariadb", "php-fpm", "apache2"),
    ),
    Scenario(
        "redis-safer-carts", "development", "redis-safer-carts", ("persistence-stall", "sync-write-amplification"),
        "Redis writes its log through to a slow disk for each command; reads wait for that too.", _safer_carts,
        needs=("redis-server", "mkfs.ext4", GO), seconds=10.0, software=("redis", "go"), global_effect=("disk",),
    ),
)  # fmt: skip
