"""What was left held back: a process that a signal stopped, a frozen group, a file system that takes no more writes."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lab.application import DATA, LOG, LabApplication
from lab.cgroups import Group
from lab.environment import LabEnvironment, build_python_command
from lab.load import wait_for
from lab.scenario import Live, Scenario


def _start_store(
    application: LabApplication, rng: random.Random, group: Group
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a Redis on the host itself, in `group`."""
    environment, port = application.environment, rng.randrange(5000, 6900)
    store = environment.on_host(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
         str(environment.directory)],
        group,
    )  # fmt: skip
    wait_for(lambda: f":{port} " in environment.host_net.sh(f"ss -Hltn sport = :{port}"), "redis")
    return store, port


@contextmanager
def _stopped_store(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: a signal that stopped the Redis which every request asks."""
    application = LabApplication(environment, rng)
    store, port = _start_store(application, rng, environment.app)
    workers, rate = rng.randrange(12, 32), rng.randrange(30, 90)
    application.items(workers=workers, upstream=f"127.0.0.1:{port}")
    application.clients(rate)
    application.baseline()
    store.send_signal(signal.SIGSTOP)
    yield application.live(
        rate=rate, workers=workers, redis_port=port, repair=partial(store.send_signal, signal.SIGCONT)
    )


@contextmanager
def _frozen_store(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: the group of the Redis which every request asks was frozen, as by a snapshot tool."""
    application = LabApplication(environment, rng)
    group = application.group(rng.choice(("cache", "store", "sessions")))
    _, port = _start_store(application, rng, group)
    workers, rate = rng.randrange(12, 32), rng.randrange(30, 90)
    application.items(workers=workers, upstream=f"127.0.0.1:{port}")
    application.clients(rate)
    application.baseline()
    group.freeze(True)
    yield application.live(rate=rate, workers=workers, redis_port=port, repair=partial(group.freeze, False))


@contextmanager
def _stopped_service(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """The service itself is stopped, in the middle of its requests: the kernel still accepts connections for it."""
    application = LabApplication(environment, rng)
    threads, rate = rng.randrange(4, 16), rng.randrange(20, 60)
    application.shop("--threads", threads)
    application.clients(rate, "--poisson")
    application.baseline()
    assert application.server is not None
    application.server.send_signal(signal.SIGSTOP)
    yield application.live(
        rate=rate, threads=threads, repair=partial(application.server.send_signal, signal.SIGCONT)
    )


@contextmanager
def _stopped_editor(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """A job in the background of a terminal is stopped, as intended; requests wait for a slow service elsewhere."""
    application = LabApplication(environment, rng)
    port, slow_ms = rng.randrange(5000, 6900), rng.randrange(300, 700)
    threads, rate = rng.randrange(10, 20), rng.randrange(30, 60)
    stock = environment.serve("stock.py", port, "--slow-ms", slow_ms, client_side=True)
    application.shop("--threads", threads, "--stock", f"{environment.client_address}:{port}")
    application.clients(rate, "--poisson")
    application.baseline()
    job = environment.on_host(["sh", "-c", "exec tail -F /var/log/syslog"], environment.system)
    job.send_signal(signal.SIGSTOP)
    stock.send_signal(signal.SIGUSR1)
    yield application.live(rate=rate, threads=threads, slow_ms=slow_ms, stock_port=port)


@contextmanager
def _refused_writes(environment: LabEnvironment, rng: random.Random) -> Iterator[Live]:
    """One variable: an error of the file system, after which the kernel allows no more writes to it."""
    application = LabApplication(environment, rng)
    size_mb, rate, kilobytes = rng.randrange(120, 260), rng.randrange(30, 60), rng.randrange(20, 90)
    application.disk(size_mb, options="noatime,errors=remount-ro")
    application.serve(
        build_python_command("web/uploads.py", "--port", application.port, "--directory", DATA, "--log", LOG)
    )
    application.clients(rate, "--body-bytes", kilobytes * 1000)
    application.baseline()
    device = Path(environment.host_sh(f"findmnt -no SOURCE {DATA}").strip()).name
    Path("/sys/fs/ext4", device, "trigger_fs_error").write_text("checksum of a block bitmap")
    yield application.live(size_mb=size_mb, rate=rate, kilobytes=kilobytes)


SCENARIOS = (
    Scenario(
        "stopped-store", "fault", "held", ("process-stopped",),
        "A signal stopped the Redis on the host that every request asks.", _stopped_store,
        needs=("gcc", "redis-server"), seconds=8.0,
    ),
    Scenario(
        "frozen-store", "fault", "held", ("cgroup-frozen",),
        "The control group of the Redis on the host that every request asks is frozen.", _frozen_store,
        needs=("gcc", "redis-server"), seconds=8.0,
    ),
    Scenario(
        "read-only-uploads", "fault", "held", ("filesystem-read-only",),
        "After an error the file system of the uploads takes no more writes.", _refused_writes,
        needs=("mkfs.ext4",), seconds=8.0,
    ),
    Scenario(
        "held-validation", "validation", "held", ("process-stopped",),
        "The service itself is stopped; connections queue in front of it.", _stopped_service, seconds=8.0,
    ),
    Scenario(
        "held-decoy", "decoy", "held", ("slow-dependency",),
        "A job of a terminal is stopped as intended; requests wait for a slow service on another host.",
        _stopped_editor, seconds=6.0,
    ),
)  # fmt: skip
