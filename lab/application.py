"""An application in a lab environment, its clients, and the two phases of a scenario: healthy, then faulty.

A application serves one application at a time on one port. `items`, `shop` and `orders` start one of the lab's
programs (or another version of it) in place of what was there, as a release would.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.cgroups import Group
from lab.environment import PROGRAMS, LabEnvironment, build_python_command
from lab.load import Load, wait_for
from lab.scenario import Live

LOG = "/run/access.log"
DATA = "/run/data"
C_FLAGS = ("-O1", "-g", "-fno-omit-frame-pointer", "-fno-inline", "-pthread")
# Starts the program again when it dies, half a second later, and notes how it died.
SUPERVISOR = 'while :; do "$@"; echo "exit=$?" >>"$0"; sleep 0.5; done'


class LabApplication:
    """See the module. `load` is there once `clients` has been called, `healthy` after `baseline`."""

    def __init__(self, environment: LabEnvironment, rng: random.Random) -> None:
        self.environment, self.rng = environment, rng
        self.port = rng.randrange(7000, 9900)
        self.server: subprocess.Popen[bytes] | None = None
        self.load: Load | None = None
        self.healthy: dict[str, float] = {}
        self.exits = environment.directory / "exits"

    def build(self, source: str) -> str:
        """Compiles a C program (to an executable) or a Java program (to a directory of classes)."""
        name, _, language = source.partition(".")
        target = self.environment.directory / "bin" / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            if language == "c":
                command = ["gcc", *C_FLAGS, "-o", str(target), str(PROGRAMS / source)]
            else:
                command = ["javac", "-d", str(target), str(PROGRAMS / source)]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
        return str(target)

    def items(
        self, *, supervised: bool = False, cpu: int | None = None, open_files: int = 0, **knobs: object
    ) -> None:  # fmt: skip
        """The C service; its knobs are named in items.c."""
        words = [f"{name}={value}" for name, value in {"log": LOG, **knobs, "port": self.port}.items()]
        before = ["taskset", "-c", str(cpu)] if cpu is not None else []
        before += ["prlimit", f"--nofile={open_files}", "--"] if open_files else []
        self.serve([*before, self.build("items.c"), *words], supervised=supervised)

    def shop(self, *options: object, supervised: bool = False) -> None:
        """The Python service; its options are named in shop.py."""
        self.serve(
            build_python_command("shop.py", "--port", self.port, "--log", LOG, *options),
            supervised=supervised,
        )

    def orders(
        self, *jvm: str, supervised: bool = False, wait: bool = True, **properties: object
    ) -> None:  # fmt: skip
        """The Java service; its properties are named in Orders.java."""
        words = [f"-D{name}={value}" for name, value in {**properties, "port": self.port}.items()]
        command = ["java", *jvm, *words, "-cp", self.build("Orders.java"), "Orders"]
        self.serve(command, supervised=supervised, wait=wait)

    def serve(self, command: Sequence[str], *, supervised: bool = False, wait: bool = True) -> None:
        """Puts `command` in place of the application that served until now, and waits until it listens.

        wait=False is for one that may never get so far.
        """
        if self.server is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.server.pid, signal.SIGKILL)
            self.server.wait()
            wait_for(lambda: not self._listens(), "the old application to go")
        if supervised:
            command = ["sh", "-c", SUPERVISOR, str(self.exits), *command]
        self.server = self.environment.on_host(list(command))
        server = self.server
        if not wait:
            return
        wait_for(lambda: server.poll() is not None or self._listens(), command[0], 30.0)
        if server.poll() is not None:
            raise RuntimeError(
                f"{command} ended: {(self.environment.directory / 'programs.log').read_text()[-600:]}"
            )

    def redis(self, port: int) -> None:
        """A Redis for the application to ask, on the clients' side."""
        self.environment.on_client(
            ["redis-server", "--port", str(port), "--bind", self.environment.client_address, "--protected-mode", "no",
             "--save", "", "--enable-debug-command", "yes", "--dir", str(self.environment.directory)]
        )  # fmt: skip
        wait_for(lambda: f":{port} " in self.environment.client_net.sh(f"ss -Hltn sport = :{port}"), "redis")

    def clients(self, rate: float, *options: object, timeout_s: float = 2.0) -> None:
        to = f"{self.environment.host_address}:{self.port}"
        self.load = self.environment.load("--to", to, "--rate", rate, "--timeout-s", timeout_s, *options)

    def baseline(self, seconds: float = 3.0) -> None:
        """Measure the healthy phase; what clients see afterwards belongs to the fault."""
        assert self.load is not None
        self.healthy = self.load.baseline(seconds)

    def live(
        self, *, more: Callable[[], dict[str, float]] | None = None, access_log: str = LOG, pid: bool = True,
        repair: Callable[[], None] | None = None, **parameters: object,
    ) -> Live:  # fmt: skip
        """What the scenario hands out. `more` adds figures that clients cannot see; pid=False where it changes."""
        assert self.load is not None and self.server is not None
        load = self.load
        load.mark()
        scopes: list[dict[str, str]] = [{}, {"cgroup": self.environment.app.path}]
        if pid:
            scopes.append({"pid": str(self.server.pid)})
        return Live(
            self.environment.host, self.rng.choice(scopes), {"port": self.port, **parameters, "healthy": self.healthy},
            lambda: load.stats() | (more() if more else {}), access_log, repair, load.mark,
        )  # fmt: skip

    def _listens(self) -> bool:
        return f":{self.port} " in self.environment.host_net.sh(f"ss -Hltn sport = :{self.port}")

    # -- what applications stand on ----------------------------------------------------------------------------

    def group(self, name: str) -> Group:
        """Another group of applications on the host, for example a neighbour's."""
        path = f"{self.environment.app.path.rpartition('/')[0]}/{name}"
        return Group(path, self.environment.host_sh).create()

    def disk(self, size_mb: int, *, kind: str = "ext4", options: str = "noatime") -> Path:
        """A disk of the host's own, mounted at DATA: a loop device over a file that bypasses the page cache.

        Its device goes with the host's mounts (`losetup -d` only marks it while it is mounted).
        Returns the file that is the disk, to be limited with `slow_disk`.
        """
        image = self.environment.directory / "disk"
        subprocess.run(["fallocate", "-l", f"{size_mb}M", str(image)], check=True, timeout=60)
        subprocess.run([f"mkfs.{kind}", "-q", str(image)], check=True, capture_output=True, timeout=60)
        self.environment.host_sh(
            f"mkdir -p {DATA}; loop=$(losetup --find --show --direct-io=on {image});"
            f"mount -o {options} $loop {DATA} || {{ losetup -d $loop; exit 1; }}; losetup -d $loop"
        )
        return image

    def loop_device(self) -> str:
        """major:minor of the disk mounted at DATA."""
        return self.environment.host_sh(f"findmnt -no MAJ:MIN {DATA}").strip()

    def file(self, name: str, size_mb: int) -> str:
        """A file of random bytes on the disk, not in the page cache."""
        path = f"{DATA}/{name}"
        self.environment.host_sh(
            f"head -c {size_mb}M /dev/urandom >{path}; sync -f {path}; dd of={path} oflag=nocache conv=notrunc count=0"
        )
        return path


def weigh_cpu(group: Group, times: float) -> None:
    """Gives `group` so many times the usual share of the CPU."""
    file = group.file("cpu", "cpu.shares", "cpu.weight")
    file.write_text(str(int(times * (1024 if file.name == "cpu.shares" else 100))))


def use_cpus(group: Group, cpus: str) -> None:
    """Lets `group` run on these CPUs only ("0", "0-1")."""
    group.file("cpuset", "cpuset.cpus", "cpuset.cpus").write_text(cpus)


def limit_io(group: Group, device: str, *, iops: int = 0, bytes_per_s: int = 0) -> list[Path]:
    """Limits what `group` reads and writes on `device` (major:minor). Returns the files of the limits."""
    limited = []
    for what, value in (("iops", iops), ("bps", bytes_per_s)):
        if not value:
            continue
        for way in ("read", "write"):
            file = group.file("blkio", f"blkio.throttle.{way}_{what}_device", "io.max")
            line = f"{device} {value}" if "throttle" in file.name else f"{device} {way[0]}{what}={value}"
            file.write_text(line)
            limited.append(file)
    return limited


def remove_io_limit(files: Sequence[Path], device: str) -> None:
    """Removes the limits in `files`, which limit_io returned."""
    for file in files:
        unlimited = "0" if "throttle" in file.name else "rbps=max wbps=max riops=max wiops=max"
        file.write_text(f"{device} {unlimited}")


def slow_disk(group: Group, image: Path, *, iops: int = 0, bytes_per_s: int = 0) -> None:
    """Makes the loop device over `image` slow for `group`: what is limited is the disk beneath it.

    A limit on a device itself holds requests back before they count as its own, so that it looks idle. With
    the limit one layer below, requests queue in the loop device, as they do in a disk that is too slow. The host cannot
    read this limit: it is what a disk can do, and a diagnosis that names it would be right about the lab alone.
    """
    number = image.stat().st_dev
    files = limit_io(group, f"{os.major(number)}:{os.minor(number)}", iops=iops, bytes_per_s=bytes_per_s)
    if group.run_in_host is not None:
        group.run_in_host("; ".join(f"mount --bind /dev/null {file}" for file in dict.fromkeys(files)))
