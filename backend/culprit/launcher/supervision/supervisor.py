"""Start processes, watch and restart them, and stop them in order."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from culprit.launcher.progress import LauncherError
from culprit.launcher.services import ServiceProcess, open_log
from culprit.launcher.supervision import child_processes, parts, process_guardian
from culprit.launcher.supervision.child_processes import ManagedProcess
from culprit.launcher.supervision.parts import Change, SupervisedPart

READY_S = 180.0
CHECK_INTERVAL_S = 0.2
# Signals of `./culprit worker stop`, `./culprit worker start` and `./culprit retry`.
REQUESTS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN)


class StopRequestedError(BaseException):
    """A signal requested the stop of the platform."""


class ServiceDiedError(LauncherError):
    """A process ended unexpectedly. The message names it and ends with its last output."""


OnChange = Callable[[SupervisedPart, Change], None]


class Supervisor:
    """All started processes, in order. All methods are for the main thread.

    While `watch` runs, a part that ends is restarted; an `essential` part that is given up ends the platform.
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
        self.processes: dict[str, ManagedProcess] = {}
        self.essential = essential
        self.on_change = on_change
        self.parts: dict[str, SupervisedPart] = {}
        self.requests: list[int] = []
        self.stopping = False
        self.oom_kills = parts.count_oom_kills()

    def listen_to_signals(self) -> None:
        """Make SIGINT, SIGTERM and SIGHUP raise StopRequestedError once; queue REQUESTS for `watch_parts`."""

        def stop(number: int, _: FrameType | None) -> None:
            if not self.stopping:
                self.stopping = True
                raise StopRequestedError(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)
        for number in REQUESTS:
            signal.signal(number, lambda number, _: self.requests.append(number))

    def start(self, service: ServiceProcess, env: Mapping[str, str] | None = None) -> None:
        """Start a service, by default with the environment of the platform, and register it."""
        service.log_path, service.env = self.logs / f"{service.name}.log", env or self.env
        self.processes[service.name] = service
        service.restart(0)

    def start_command(
        self, name: str, command: tuple[str, ...], *, show: bool = False, **more: str
    ) -> subprocess.Popen[bytes]:
        """Start a command that ends; `await_command` waits for it. `show` lets it print to the terminal."""
        with open_log(self.logs / f"{name}.log") as log:
            return subprocess.Popen(
                child_processes.guard_command(command), stdin=subprocess.DEVNULL,
                stdout=None if show else subprocess.PIPE, stderr=log,
                env=self.env | more, cwd=self.logs.parent, start_new_session=True,
            )  # fmt: skip

    def await_command(self, name: str, child: subprocess.Popen[bytes]) -> str:
        """Return the output of a command. Raises ServiceDiedError if it failed."""
        try:
            message, _ = child.communicate()
        except BaseException:
            child_processes.kill_group(child.pid)
            child.wait()
            raise
        if child.returncode != 0:
            lines = "\n".join(child_processes.read_last_lines(self.logs / f"{name}.log"))
            raise ServiceDiedError(f"{name} failed (exit code {child.returncode}): {lines}")
        return (message or b"").decode("utf-8", "replace")

    def wait_ready(self, address: str, port: int) -> None:
        """Wait until /readyz reports every part as ready. Raises ServiceDiedError."""
        deadline = time.monotonic() + READY_S
        answer = "no answer"
        while time.monotonic() < deadline:
            for name, process in self.processes.items():
                if process.pid is None:
                    how = parts.describe_end(process.exit_code or 0)
                    raise ServiceDiedError(f"{name} {how}: {chr(10).join(process.read_log_tail())}")
            if self.processes["api"].is_ready():
                answer = query_readiness(address, port)
                if '"ready"' in answer:
                    return
            time.sleep(0.1)
        tail = "\n".join(self.processes["api"].read_log_tail())
        raise ServiceDiedError(f"the platform is not ready after {READY_S:.0f} s: {answer[:300]}; {tail}")

    def watch_parts(self, workers: tuple[str, ...]) -> None:
        """Restart what ends, until a signal arrives or an essential part is given up.

        SIGUSR1 stops `workers`, SIGUSR2 starts them again, SIGRTMIN starts parts that wait or were given up.

        Raises:
            StopRequestedError: a signal requested the stop.
            ServiceDiedError: an essential part was given up.
        """
        self.parts |= {name: SupervisedPart(name) for name in self.processes}
        while True:
            while self.requests:
                self._handle_request(self.requests.pop(0), workers)
            for part in self.parts.values():
                self._supervise_part(part, self.processes[part.name])
            self.oom_kills = parts.count_oom_kills()
            process_guardian.reap_adopted(set(self.pids().values()))
            time.sleep(CHECK_INTERVAL_S)

    def _handle_request(self, number: int, workers: tuple[str, ...]) -> None:
        if number == signal.SIGRTMIN:
            for part in self.parts.values():
                part.reset_failures()
            return
        for part in (self.parts[name] for name in workers):
            if number == signal.SIGUSR1:
                self.processes[part.name].stop()
                part.start_at = None
                part.set_state("stopped")
                self._notify(part, "stopped")
            elif self.processes[part.name].pid is None:
                part.start_at = time.monotonic()
                part.reset_failures()

    def _supervise_part(self, part: SupervisedPart, process: ManagedProcess) -> None:
        now = time.monotonic()
        if part.start_at is not None:
            if now >= part.start_at:
                self._restart(part, process)
        elif part.state == "stopped":
            return
        elif (code := process.exit_code) is not None:
            out_of_memory = parts.count_oom_kills() > self.oom_kills
            self._notify(part, part.record_end(code, process.read_log_tail(), is_out_of_memory=out_of_memory))
        elif part.state == "ok":
            part.reset_failures_when_healthy()
        elif process.is_ready():
            part.set_state("ok")
            self._notify(part, "recovered")
        elif now - part.started > parts.START_LIMIT_S:
            process.kill()
            problem = f"was not ready {parts.START_LIMIT_S:.0f} s after its start"
            self._notify(part, part.record_end(None, process.read_log_tail(), problem=problem))

    def _restart(self, part: SupervisedPart, process: ManagedProcess) -> None:
        part.record_start()
        try:
            process.restart(len(part.failures))
        except (OSError, LauncherError) as error:
            self._notify(part, part.record_end(None, [], problem=f"cannot be started: {error}"))

    def _notify(self, part: SupervisedPart, change: Change) -> None:
        self.on_change(part, change)
        if change == "given_up" and part.name in self.essential:
            lines = "\n".join(part.log)
            raise ServiceDiedError(f"{part.name} ended {len(part.failures)} times ({part.reason}): {lines}")

    def stop_all(self, order: list[str]) -> None:
        """Stop services in `order`, then what is left, last started first, then all descendants.

        Services of one kind (the part of the name before the dash) stop at the same time.
        """
        self.stopping = True
        for kind in order:
            same = [process for name, process in self.processes.items() if name.split("-")[0] == kind]
            for process in same:
                if process.child and process.pid:
                    process.child.send_signal(process.stop_signals[0][0])
            for process in same:
                process.stop()
        for process in reversed(self.processes.values()):
            process.stop()
        process_guardian.kill_descendants(grace_s=2.0)

    def pids(self) -> dict[str, int]:
        """Return the running processes by name."""
        return {name: pid for name, process in self.processes.items() if (pid := process.pid) is not None}


def query_readiness(address: str, port: int) -> str:
    """Return the answer of /readyz, or why there is none."""
    connection = http.client.HTTPConnection(address, port, timeout=10.0)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().read(4096).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return str(error)
    finally:
        connection.close()
