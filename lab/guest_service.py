"""One service on a guest and its clients, and what scenarios on guests have in common."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from lab.environment import LabEnvironment
from lab.guest import APP_PORT, LOG, Guest
from lab.load import Load
from lab.scenario import Kind, Live, Scenario

NEEDS = ("qemu-system-x86_64", "debootstrap", "gcc", "mkfs.ext4", "debugfs")
BASELINE_S = 4.0

Run = Callable[[LabEnvironment, random.Random], AbstractContextManager[Live]]


class LabService:
    """One service on a guest and its clients: healthy first, then with the fault.

    A `counter` is a script that prints a number of the guest's kernel: its rate is reported with what clients saw.
    """

    def __init__(self, guest: Guest, rng: random.Random, group: str = "api") -> None:
        self.guest, self.rng, self.group = guest, rng, group
        self.healthy: dict[str, float] = {}

    def items(self, *before: str, supervised: bool = False, **knobs: object) -> None:
        """The C service, with its knobs; `before` is a command that starts it."""
        words = [f"{name}={value}" for name, value in {"log": LOG, **knobs, "port": APP_PORT}.items()]
        self.serve([*before, self.guest.program("items"), *words], supervised=supervised)

    def shop(self, *options: object, before: Sequence[str] = (), supervised: bool = False) -> None:
        """The Python service."""
        words = ["python3", self.guest.program("shop.py"), "--port", APP_PORT, "--log", LOG, *options]
        self.serve([*before, *map(str, words)], supervised=supervised)

    def serve(self, command: Sequence[str], *, supervised: bool = False) -> None:
        self.supervised = supervised
        self.guest.serve(command, self.group, supervised=supervised)

    def limit(self, **values: object) -> None:
        """Control files of the group, with the first dot of their names written as an underscore."""
        files = {name.replace("_", ".", 1): str(value) for name, value in values.items()}
        self.guest.limit(self.group, files)

    def baseline(self, rate: float, *options: object, counter: str = "") -> None:
        self.load = self.guest.load(rate, *options)
        rate_of = count_rate(self.guest, counter) if counter else dict
        self.healthy = self.load.baseline(BASELINE_S) | rate_of()

    def live(
        self, *, counter: str = "", more: Callable[[], dict[str, float]] = dict, **parameters: object
    ) -> Live:
        """What the scenario returns; the fault phase begins."""
        load: Load = self.load
        load.mark()
        rate_of = count_rate(self.guest, counter) if counter else dict
        scopes: list[dict[str, str]] = [{}, {"cgroup": f"/services/{self.group}"}]
        if not self.supervised:  # whose process changes with every death
            scopes.append({"pid": str(self.guest.pid)})
        return Live(
            self.guest.host, self.rng.choice(scopes), {**parameters, "healthy": self.healthy},
            lambda: load.stats() | rate_of() | more(), LOG,
        )  # fmt: skip


def count_rate(guest: Guest, script: str) -> Callable[[], dict[str, float]]:
    """How fast the number that `script` prints grows from now on, on the guest's own clock."""

    def read() -> tuple[float, float]:
        count, uptime_s, *_ = guest.sh(f"{script}; cat /proc/uptime").split()
        return float(count), float(uptime_s)

    began, began_s = read()

    def rate() -> dict[str, float]:
        count, uptime_s = read()
        return {"counted_per_s": (count - began) / max(uptime_s - began_s, 0.01)}

    return rate


def guest_scenario(id: str, kind: Kind, family: str, cause: str, summary: str, run: Run) -> Scenario:
    """A scenario that brings its guest; `cause` is "" on healthy ones."""
    causes = (cause,) if cause else ()
    return Scenario(id, kind, family, causes, summary, run, NEEDS, seconds=8.0, own_host=True)
