"""Starts services, watches them, stops them in order. Knows nothing of what they do."""

from __future__ import annotations

import contextlib
import http.client
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import IO, Protocol

from culprit.launch import children, warden
from culprit.launch.services import Service

LOG_MAX = 8 << 20
READY_S = 180.0
LOOK_EVERY_S = 0.2
TCP_LISTEN = "0A"  # state of a listening socket in /proc/net/tcp


class Engine(Protocol):
    """PostgreSQL or Valkey."""

    @property
    def pid(self) -> int | None:
        """None where it is not running."""

    def stop(self) -> None:
        """Stop it; may be called again."""


class Stopped(BaseException):
    """A signal asked us to stop."""


class Died(Exception):
    """A service ended by itself; the message names it and ends with what it wrote last."""


class Supervisor:
    """Everything that was started, in order. All methods are for the main thread."""

    def __init__(self, logs: Path, env: Mapping[str, str]) -> None:
        self.logs = logs
        self.env = dict(env)
        self.engines: dict[str, Engine] = {}
        self.services: dict[str, Service] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.asked: list[int] = []
        self.stopping = False

    def listen_to_signals(self) -> None:
        """SIGINT, SIGTERM and SIGHUP raise Stopped once; SIGUSR1 and SIGUSR2 are kept for `watch`."""

        def stop(number: int, _: FrameType | None) -> None:
            if not self.stopping:
                self.stopping = True
                raise Stopped(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, lambda number, _: self.asked.append(number))

    def log(self, name: str) -> IO[bytes]:
        """The log of one service, begun anew (with the one before kept) once it is large."""
        path = self.logs / f"{name}.log"
        if path.exists() and path.stat().st_size > LOG_MAX:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def start(self, service: Service, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a service and remember it."""
        with self.log(service.name) as log:
            child = children.start(
                service.command, log=log, env=self.env if env is None else env,
                cwd=self.logs.parent, death_signal=service.death_signal,
            )  # fmt: skip
        self.services[service.name] = service
        self.running[service.name] = child
        return child

    def run(self, name: str, command: tuple[str, ...]) -> str:
        """Run a command to its end and return its output; raises Died where it fails."""
        child = self.begin(name, command)
        return self.finish(name, child)

    def begin(
        self, name: str, command: tuple[str, ...], *, show: bool = False, **more: str
    ) -> subprocess.Popen[bytes]:
        """Start a command that ends by itself; `finish` waits for it. `show` lets it print where we do."""
        with self.log(name) as log:
            return subprocess.Popen(
                children.guarded(command), stdin=subprocess.DEVNULL,
                stdout=None if show else subprocess.PIPE, stderr=log,
                env=self.env | more, cwd=self.logs.parent, start_new_session=True,
            )  # fmt: skip

    def finish(self, name: str, child: subprocess.Popen[bytes]) -> str:
        """The output of a command; raises Died where it or a service failed meanwhile."""
        try:
            said, _ = child.communicate()
        except BaseException:
            children.kill_group(child.pid)
            child.wait()
            raise
        if child.returncode != 0:
            raise Died(f"{name} failed (exit code {child.returncode}): {self.tail(name)}")
        return (said or b"").decode("utf-8", "replace")

    def tail(self, name: str) -> str:
        """The last lines of a log."""
        path = self.logs / f"{name}.log"
        if not path.exists():
            return ""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 3000))
            return "\n".join(file.read().decode("utf-8", "replace").strip().splitlines()[-12:])

    def check(self) -> None:
        """Raises Died where a service or engine has ended."""
        for name, child in self.running.items():
            code = child.poll()
            if code is not None:
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise Died(f"{name} ended by itself ({how}): {self.tail(name)}")
        for name, engine in self.engines.items():
            if engine.pid is None:
                raise Died(f"{name} ended by itself")

    def wait_ready(self, address: str, port: int, *, whole: bool) -> None:
        """Wait for /readyz: 200, and with `whole` also every part `ok`. Raises Died."""
        deadline = time.monotonic() + READY_S
        last = "no answer"
        while time.monotonic() < deadline:
            self.check()
            if listens(self.running["api"].pid, port):
                status, last = ask(address, port)
                if status == 200 and (not whole or '"ready"' in last):
                    return
            time.sleep(0.1)
        raise Died(f"the platform is not ready after {READY_S:.0f} s: {last[:300]}; {self.tail('api')}")

    def watch(self, on_ask: dict[int, tuple[Service, ...]]) -> None:
        """Until something ends (Died) or a signal comes (Stopped).

        SIGUSR1 stops the services of `on_ask[SIGUSR1]`, SIGUSR2 starts those of its own again.
        """
        while True:
            self.check()
            while self.asked:
                number = self.asked.pop(0)
                for service in on_ask.get(number, ()):
                    if number == signal.SIGUSR1:
                        self.stop_one(service.name)
                    elif service.name not in self.running:
                        self.start(service)
            warden.reap_adopted({child.pid for child in self.running.values()} | self._engine_pids())
            time.sleep(LOOK_EVERY_S)

    def _engine_pids(self) -> set[int]:
        return {engine.pid for engine in self.engines.values() if engine.pid is not None}

    def stop_one(self, name: str) -> None:
        """Stop one service, where it runs."""
        child = self.running.pop(name, None)
        if child is not None:
            children.stop(child, self.services[name].stop)

    def stop_all(self, order: list[str]) -> None:
        """Stop services in `order`, then the engines, last started first; then nothing is left below us.

        The services of one kind (the part of the name before the dash) are asked to stop at the same time.
        """
        self.stopping = True
        for kind in order:
            same = [name for name in self.running if name.split("-")[0] == kind]
            for name in same:
                self.running[name].send_signal(self.services[name].stop[0][0])
            for name in same:
                self.stop_one(name)
        for name in [*self.running]:
            self.stop_one(name)
        for engine in reversed(list(self.engines.values())):
            engine.stop()
        warden.sweep(grace_s=2.0)

    def pids(self) -> dict[str, int]:
        """What runs, by name."""
        found = {name: engine.pid for name, engine in self.engines.items()}
        found |= {name: child.pid for name, child in self.running.items()}
        return {name: pid for name, pid in found.items() if pid is not None}


def listens(pid: int, port: int) -> bool:
    """Whether the process itself listens on TCP `port`: whoever else does must not be taken for it."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    with contextlib.suppress(OSError):
        return any(str(link.readlink()) in inodes for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def ask(address: str, port: int) -> tuple[int, str]:
    """(status, text) of /readyz; status 0 where nobody answers."""
    connection = http.client.HTTPConnection(address, port, timeout=10.0)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.status, answer.read(4096).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()
