"""Services of an internal platform: a gateway, artifacts of builds, and hooks of tools: a twenty-first set."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from lab.environment import LabEnvironment
from lab.real.services.golang import GO
from lab.real.services.platform.artifacts import Artifacts
from lab.real.services.platform.gateway import Gateway
from lab.real.services.platform.hooks import Hooks
from lab.real.services.towns.town import Town
from lab.scenario import Live, Scenario


@contextmanager
def _routes_of_a_gateway(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: whether another release has been rolled out."""
    town = Town(environment, rng)
    before = rng.randrange(50, 70)
    gateway = Gateway(town, before, rng.randrange(1, 3))
    gateway.start_watchers(rng.randrange(10, 25))
    paths = rng.sample(("/builds/{n}", "/teams/{n}", "/search/{n}", "/metrics/{n}"), 3)
    town.start_clients(gateway.address, rng.uniform(40, 70), paths)
    earlier = gateway.roll_out(before + rng.randrange(1, 4))
    time.sleep(8.0)
    pid = rng.choice([process for process in earlier if process.poll() is None]).pid
    yield town.build_live(pid, gateway.access_log, release=before)


@contextmanager
def _artifacts_of_builds(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: where nginx keeps what clients have not read yet."""
    town = Town(environment, rng)
    artifacts = Artifacts(town)
    offices = rng.randrange(30, 40)
    artifacts.start_offices(offices)
    artifacts.start_runners(rng.uniform(4, 6))
    artifacts.move_temporary_files(round(artifacts.image_mb * offices * rng.uniform(0.26, 0.34)))
    time.sleep(15.0)
    yield town.build_live(artifacts.nginx.pid)


@contextmanager
def _hooks_of_tools(environment: LabEnvironment, rng: Random) -> Iterator[Live]:
    """One variable: how many threads Node has for what may wait."""
    town = Town(environment, rng)
    hooks = Hooks(town)
    calls = rng.randrange(3, 5)
    paths = ["/calls/{n}"] * calls + ["/profiles/{n}"] * rng.randrange(2, 4) + ["/scopes/{n}"]
    rate = rng.uniform(1.0, 1.15) / hooks.lookup_s * len(paths) / calls
    town.start_clients(hooks.haproxy.address, rate, paths, warm_s=4.0)
    hooks.restart(UV_THREADPOOL_SIZE="1")
    time.sleep(10.0)
    live = town.build_live(hooks.pid, hooks.access_log)
    yield dataclasses.replace(live, scope={"pid": str(hooks.pid)})


SCENARIOS = (
    Scenario(
        "gateway-routes", "development", "routes-of-a-gateway", ("listen-queue-overflow", "recent-change"),
        "The earlier release of a Go gateway waits for its streams with its port open; nothing takes its connections.",
        _routes_of_a_gateway, needs=(GO,), seconds=10.0, software=("go",),
    ),
    Scenario(
        "build-artifacts", "development", "artifacts-of-builds", ("disk-full", "deleted-open-file"),
        "nginx keeps what slow clients have not read on a small file system in memory; other downloads end too early.",
        _artifacts_of_builds, needs=(GO, "nginx", "curl"), seconds=10.0, software=("nginx", "go"),
    ),
    Scenario(
        "tool-hooks", "development", "hooks-of-tools", ("worker-pool-exhausted",),
        "Node has a single thread for names, files and packing, which wait for each other while its loop is idle.",
        _hooks_of_tools, needs=("node", "haproxy"), seconds=10.0, software=("node", "haproxy"),
    ),
)  # fmt: skip
