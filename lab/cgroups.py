"""Control groups of the lab, on cgroup v1, v2 and the hybrid of both.

A Group is one path below the mount point, made in every hierarchy that matters, so that a process that joins
it can be limited by any controller and also be selected by `perf -G`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

CONTROLLERS = ("cpu", "cpuacct", "memory", "blkio", "cpuset")
REMOVE_S = 5.0
REAL_TIME_BUDGET = "cpu.rt_runtime_us"
#: As long as another lab may hold a setting of the whole machine (see `lab.cleanup`).
BUDGET_WAIT_S = 120.0


def list_hierarchies() -> dict[str, Path]:
    """Mount points by controller of v1; "unified" for cgroup2, alone or together with v1."""
    paths: dict[str, Path] = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        if kind == "cgroup2":
            paths.setdefault("unified", Path(where))
        elif kind == "cgroup":
            for controller in set(options.split(",")) & set(CONTROLLERS):
                paths.setdefault(controller, Path(where))
    return paths


def owns_controllers(unified: Path) -> bool:
    """Whether cgroup2 is what limits here, rather than v1 hierarchies on the same host."""
    return bool((unified / "cgroup.controllers").read_text().split())


class Group:
    """One control group, for example Group("/lab/web-3/app").

    `run_in_host` runs a shell script in the namespaces of the host to which the group belongs; None without one.
    """

    def __init__(self, path: str, run_in_host: Callable[[str], str] | None = None) -> None:
        self.path, self.run_in_host = path, run_in_host
        roots = list_hierarchies()
        self._by_controller = {name: Path(f"{root}{path}") for name, root in roots.items()}
        self._v2 = "unified" in roots and owns_controllers(roots["unified"])

    @property
    def directories(self) -> list[Path]:
        return sorted(set(self._by_controller.values()))

    def create(self) -> Group:
        for directory in self.directories:
            _make(directory)
        if "cpuset" in self._by_controller:
            _inherit_cpuset(self._by_controller["cpuset"])
        if self._v2:
            _enable_controllers(self._by_controller["unified"])
        return self

    def file(self, controller: str, v1: str, v2: str) -> Path:
        """The control file of `controller`: `v1` or `v2`, as this machine has it."""
        if controller in self._by_controller:
            return self._by_controller[controller] / v1
        return self._by_controller["unified"] / v2

    def weigh(self, shares: int) -> None:
        """CPU time against siblings, where 1024 is what one ordinary process of the parent weighs."""
        v2_weight = max(1, shares * 100 // 1024)
        file = self.file("cpu", "cpu.shares", "cpu.weight")
        file.write_text(str(shares if "cpu" in self._by_controller else v2_weight))

    def limit_cpu(self, cpus: float, period_us: int = 100_000) -> None:
        """A quota of `cpus` CPUs per period."""
        quota_us = int(cpus * period_us)
        if "cpu" in self._by_controller:
            (self._by_controller["cpu"] / "cpu.cfs_period_us").write_text(str(period_us))
            (self._by_controller["cpu"] / "cpu.cfs_quota_us").write_text(str(quota_us))
        else:
            (self._by_controller["unified"] / "cpu.max").write_text(f"{quota_us} {period_us}")

    def limit_memory(self, limit_bytes: int) -> None:
        self.file("memory", "memory.limit_in_bytes", "memory.max").write_text(str(limit_bytes))

    def allow_real_time(self) -> None:
        """Let programs of the group take a real-time policy: under v1 the group and each parent need a budget.

        All groups below one parent share its budget, so a lab waits until another one has given its own back.
        """
        root = list_hierarchies().get("cpu")
        if root is None or not (root / REAL_TIME_BUDGET).exists():
            return
        directory = root
        for name in self.path.strip("/").split("/"):
            directory /= name
            take_budget(directory / REAL_TIME_BUDGET, (root / REAL_TIME_BUDGET).read_text())

    def freeze(self, frozen: bool) -> None:
        """Freeze or thaw the group by cgroup2, which exists next to v1 too: what v1 froze cannot be killed."""
        (self._by_controller["unified"] / "cgroup.freeze").write_text(str(int(frozen)))

    def join_command(self) -> list[str]:
        """A command prefix: joins the group, then becomes the command that follows."""
        script = 'for g in $0; do echo $$ >$g/cgroup.procs || exit 71; done; exec "$@"'
        return ["sh", "-c", script, " ".join(map(str, self.directories))]

    def pids(self) -> set[int]:
        return {pid for directory in self.directories for pid in _pids(directory)}


def take_budget(file: Path, budget: str, wait_s: float = BUDGET_WAIT_S) -> None:
    """Write a budget of real-time work into a file of a group.

    The kernel answers EINVAL while the groups below one parent would have more than the parent, also for a moment after
    one of them was removed (`__rt_schedulable` in kernel/sched/rt.c). So this waits for them.
    """
    end = time.monotonic() + wait_s
    while True:
        try:
            file.write_text(budget)
            return
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            if time.monotonic() >= end:
                others = [
                    item.parent.name
                    for item in file.parent.parent.glob(f"*/{file.name}")
                    if _has_budget(item)
                ]
                raise RuntimeError(
                    f"{file}: these groups have the real-time budget: {', '.join(others)}"
                ) from error
        time.sleep(0.1)


def _has_budget(file: Path) -> bool:
    try:
        return int(file.read_text()) != 0
    except OSError:
        return False


def _give_back_budgets(top: Path) -> None:
    """Leave the real-time budget to other groups now: the kernel may keep a removed group for a while."""
    for file in sorted(top.rglob(REAL_TIME_BUDGET), reverse=True):
        with contextlib.suppress(OSError):
            file.write_text("0")


def destroy_groups(directories: list[Path]) -> None:
    """Kill all processes in these groups and below, then remove the groups."""
    end = time.monotonic() + REMOVE_S
    while time.monotonic() < end:
        for pid in {pid for top in directories for pid in _pids(top)} - {os.getpid()}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for top in directories:
            _give_back_budgets(top)
            for below in sorted(top.rglob("*/"), reverse=True):
                with contextlib.suppress(OSError):
                    below.rmdir()
            with contextlib.suppress(OSError):
                top.rmdir()
        if not any(top.exists() for top in directories):
            break
        time.sleep(0.03)
    for parent in {top.parent for top in directories}:
        with contextlib.suppress(OSError):
            parent.rmdir()  # /lab itself, once the last environment is gone


def _make(directory: Path) -> None:
    """Another environment may just be removing the parent that both would share."""
    for _ in range(20):
        with contextlib.suppress(FileNotFoundError):
            directory.mkdir(parents=True, exist_ok=True)
            return
    directory.mkdir(parents=True, exist_ok=True)


def _pids(top: Path) -> set[int]:
    result: set[int] = set()
    for file in (top / "cgroup.procs", *top.rglob("cgroup.procs")):
        with contextlib.suppress(OSError):
            result |= {int(word) for word in file.read_text().split()}
    return result


def _inherit_cpuset(directory: Path) -> None:
    """A new v1 cpuset has no CPU and no memory node, and accepts no process before it has."""
    missing = []
    while not (directory / "cpuset.cpus").read_text().strip():
        missing.append(directory)
        directory = directory.parent
    for child in reversed(missing):
        for name in ("cpuset.cpus", "cpuset.mems"):
            (child / name).write_text((child.parent / name).read_text())


def _enable_controllers(directory: Path) -> None:
    """Hands every controller down to `directory`: only groups without processes of their own can do that."""
    for parent in reversed([p for p in directory.parents if (p / "cgroup.subtree_control").exists()]):
        for controller in (parent / "cgroup.controllers").read_text().split():
            with contextlib.suppress(OSError):
                (parent / "cgroup.subtree_control").write_text(f"+{controller}")
