"""Where things are: the checkout, what is installed into it, and the one directory that holds the data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
TOOLS = ROOT / ".tools"  # uv itself; like .venv made by us and never committed
FRONTEND = ROOT / "frontend"
DIST = FRONTEND / "dist"


@dataclass(frozen=True, slots=True)
class Home:
    """The data directory, `CULPRIT_HOME`, and the names in it."""

    path: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Home:
        """From the environment, else `.culprit` in the checkout."""
        given = environment.get("CULPRIT_HOME")
        return cls(Path(given).expanduser().resolve() if given else ROOT / ".culprit")

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def valkey(self) -> Path:
        return self.path / "valkey"

    @property
    def logs(self) -> Path:
        return self.path / "log"

    @property
    def sshd(self) -> Path:
        return self.path / "sshd"

    @property
    def packages(self) -> Path:
        """Debian packages that were unpacked, never installed."""
        return self.path / "packages"

    @property
    def secret_key(self) -> Path:
        return self.path / "secret.key"

    @property
    def lock(self) -> Path:
        return self.path / "up.lock"

    @property
    def state(self) -> Path:
        """What runs at the moment, as JSON, for `status`, `down` and tests."""
        return self.path / "running.json"

    def make(self) -> None:
        """Create it, closed to others. Raises OSError where that is impossible."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        for place in (self.logs, self.sshd):
            place.mkdir(mode=0o700, exist_ok=True)


def python_path() -> str:
    """PYTHONPATH of every process of the platform."""
    return os.pathsep.join((str(ROOT / "backend"), str(ROOT)))
