"""A database server that this process starts, at a unix socket in a short private directory."""

from __future__ import annotations

import pwd
import shutil
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from culprit.launcher.engines import engine_paths
from culprit.launcher.progress import LauncherError
from culprit.launcher.supervision.child_processes import ManagedProcess, StopSignals

START_S = 60.0


class EngineError(LauncherError):
    """An engine is missing or did not start. The message ends with its last output."""


class Engine(ManagedProcess):
    """A server with its data below `directory`; use it as a context manager, or with `start()` and `stop()`."""

    title: ClassVar[str]  # as messages name it
    variable: ClassVar[str]  # the environment variable that contains its URL

    def __init__(self, name: str, directory: Path, stop_signals: StopSignals) -> None:
        super().__init__(name, stop_signals)
        self.directory = Path(directory)
        self.log_path = self.directory / f"{name}.log"
        self.user: pwd.struct_passwd | None = None  # that the server drops to
        self.sockets: Path | None = None

    @property
    def url(self) -> str:
        """The URL of the running server."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Create what the server needs before its first start."""

    def spawn(self) -> None:
        """Start the server at `sockets`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it answers. Raises EngineError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.prepare()
        self.sockets = engine_paths.create_socket_directory(self.user)
        try:
            self.spawn()
            deadline = time.monotonic() + START_S
            while not self.is_ready():
                if self.pid is None or time.monotonic() > deadline:
                    raise EngineError(f"{self.title} did not start: {' '.join(self.read_log_tail())[-800:]}")
                time.sleep(0.02)
        except BaseException:
            self.stop()
            raise

    def restart(self, failures: int = 1) -> None:
        """Start the server at the same socket after it ended, without waiting until it answers."""
        if self.sockets is None:
            raise EngineError(f"{self.title} was never started")
        engine_paths.create_directory(self.sockets, 0o700, self.user)
        for left in self.sockets.iterdir():
            left.unlink()
        self.spawn()

    def stop(self) -> None:
        """Stop the server and remove its socket directory. Does nothing if it is stopped."""
        super().stop()
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)
            self.sockets = None
