"""Starts services, watches and restarts them, stops them in order. Knows nothing of what they do."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import IO, Protocol

from culprit.launch import children, parts, warden
from culprit.launch.engines import EngineError
from culprit.launch.parts import Change, Part
from culprit.launch.services import Service

LOG_MAX = 8 << 20
READY_S = 180.0
LOOK_EVERY_S = 0.2
# What `./culprit worker stop`, `./culprit worker start` and `./culprit retry` send.
REQUESTS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN)
TCP_LISTEN = "0A"  # state of a listening socket in /proc/net/tcp


class Engine(Protocol):
    """PostgreSQL or Valkey."""

    @property
    def pid(self) -> int | None:
        """None where it is not running."""

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs or before it was started."""

    @property
    def log_path(self) -> Path:
        """Where it writes."""

    def restart(self, failures: int) -> None:
        """Start it again after it ended, without waiting; `failures` tells how often it ended lately."""

    def is_ready(self) -> bool:
        """Whether it answers."""

    def stop(self) -> None:
        """Stop it; may be called again."""


class Stopped(BaseException):
    """A signal asked us to stop."""


class Died(Exception):
    """A service ended by itself; the message names it and ends with what it wrote last."""


OnChange = Callable[[Part, Change], None]


class Supervisor:
    """Everything that was started, in order. All methods are for the main thread.

    While `watch` runs, a part that ends is restarted; one of `essential` that is given up ends the platform.
    `on_change` is called after each change of a part.
    """

    def __init__(
        self,
        logs: Path,
        env: Mapping[str, str],
        essential: frozenset[str] = frozenset(),
        on_change: OnChange = lambda part, change: None,
    ) -> None:
        self.logs = logs
        self.env = dict(env)
        self.engines: dict[str, Engine] = {}
        self.services: dict[str, Service] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.essential = essential
        self.on_change = on_change
        self.parts: dict[str, Part] = {}
        self.service_env: dict[str, Mapping[str, str]] = {}
        self.asked: list[int] = []
        self.stopping = False
        self.oom_kills = parts.count_oom_kills()

    def listen_to_signals(self) -> None:
        """SIGINT, SIGTERM and SIGHUP raise Stopped once; the signals of REQUESTS are kept for `watch`."""

        def stop(number: int, _: FrameType | None) -> None:
            if not self.stopping:
                self.stopping = True
                raise Stopped(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        for number in REQUESTS:
            signal.signal(number, lambda number, _: self.asked.append(number))

    def log(self, name: str) -> IO[bytes]:
        """The log of one service, begun anew (with the one before kept) once it is large."""
        path = self.logs / f"{name}.log"
        if path.exists() and path.stat().st_size > LOG_MAX:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def start(self, service: Service, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a service and remember it, with the environment that it needs in place of ours."""
        if env is not None:
            self.service_env[service.name] = env
        self.services[service.name] = service
        with self.log(service.name) as log:
            child = children.start(
                service.command, log=log, env=self.service_env.get(service.name, self.env),
                cwd=self.logs.parent, death_signal=service.death_signal,
            )  # fmt: skip
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
        engine = self.engines.get(name)
        path = engine.log_path if engine else self.logs / f"{name}.log"
        return "\n".join(read_last_lines(path))

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

    def watch(self, workers: tuple[Service, ...]) -> None:
        """Restart what ends, until a signal comes (Stopped) or an essential part is given up (Died).

        SIGUSR1 stops `workers`, SIGUSR2 starts them again, SIGRTMIN starts what waits or was given up.
        """
        for name in (*self.engines, *self.running):
            self.parts.setdefault(name, Part(name))
        while True:
            while self.asked:
                self._answer(self.asked.pop(0), workers)
            for part in list(self.parts.values()):
                self._look_after(part)
            self.oom_kills = parts.count_oom_kills()
            warden.reap_adopted({child.pid for child in self.running.values()} | self._engine_pids())
            time.sleep(LOOK_EVERY_S)

    def _answer(self, number: int, workers: tuple[Service, ...]) -> None:
        for service in workers if number != signal.SIGRTMIN else ():
            part = self.parts.setdefault(service.name, Part(service.name))
            if number == signal.SIGUSR1:
                self.stop_one(service.name)
                part.start_at = None
                part.set_state("stopped")
                self._tell(part, "stopped")
            elif service.name not in self.running:
                self.services[service.name] = service
                part.start_at = time.monotonic()
                part.forget_failures()
        for part in self.parts.values() if number == signal.SIGRTMIN else ():
            part.forget_failures()

    def _look_after(self, part: Part) -> None:
        now = time.monotonic()
        if part.start_at is not None:
            if now >= part.start_at:
                self._restart(part)
            return
        if part.state == "stopped":
            return
        code = self._find_exit_code(part.name)
        if code is not None:
            out_of_memory = parts.count_oom_kills() > self.oom_kills
            log = self.tail(part.name).splitlines()
            self._tell(part, part.record_end(code, log, is_out_of_memory=out_of_memory))
        elif part.state == "ok":
            part.forget_failures_when_healthy()
        elif self._is_ready(part, now):
            part.set_state("ok")
            self._tell(part, "recovered")
        elif now - part.started > parts.START_LIMIT_S:
            self._end(part.name)
            problem = f"was not ready {parts.START_LIMIT_S:.0f} s after its start"
            self._tell(part, part.record_problem(problem, self.tail(part.name).splitlines()))

    def _tell(self, part: Part, change: Change) -> None:
        self.on_change(part, change)
        if change == "given_up" and part.name in self.essential:
            times = len(part.failures)
            raise Died(f"{part.name} ended {times} times ({part.reason}): {chr(10).join(part.log)}")

    def _find_exit_code(self, name: str) -> int | None:
        """How a part ended, after what it left in its process group was killed; None while it runs."""
        engine = self.engines.get(name)
        if engine is not None:
            return engine.exit_code
        child = self.running[name]
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        if child.returncode is None and os.waitid(os.P_PID, child.pid, options) is None:
            return None
        children.kill_group(child.pid)  # before its number can belong to another process
        code = child.wait()
        del self.running[name]
        return code

    def _restart(self, part: Part) -> None:
        part.record_start()
        engine = self.engines.get(part.name)
        try:
            if engine is not None:
                engine.restart(len(part.failures))
            else:
                self.start(self.services[part.name])
        except (OSError, EngineError) as error:
            self._tell(part, part.record_problem(f"cannot be started: {error}", []))

    def _is_ready(self, part: Part, now: float) -> bool:
        engine = self.engines.get(part.name)
        if engine is not None:
            return engine.is_ready()
        port = self.services[part.name].port
        if port is None:
            return now - part.started > parts.SETTLE_S
        return listens(self.running[part.name].pid, port)

    def _end(self, name: str) -> None:
        engine = self.engines.get(name)
        child = self.running.pop(name, None)
        if engine is not None and engine.pid is not None:
            os.kill(engine.pid, signal.SIGKILL)
            while engine.exit_code is None:
                time.sleep(0.01)
        elif child is not None:
            children.stop(child, ())

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


def read_last_lines(path: Path) -> list[str]:
    """The last lines of a file; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 3000))
            return file.read().decode("utf-8", "replace").strip().splitlines()[-parts.LOG_LINES :]
    except OSError:
        return []


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
