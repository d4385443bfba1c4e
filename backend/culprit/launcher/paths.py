"""Paths of the checkout, of installed packages and of the data directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
TOOLS = ROOT / ".tools"  # uv; created like .venv and never committed
FRONTEND = ROOT / "frontend"
DIST = FRONTEND / "dist"


class Home:
    """The data directory, `CULPRIT_HOME`, and the paths in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.postgres = path / "postgres"
        self.valkey = path / "valkey"
        self.logs = path / "log"
        self.sshd = path / "sshd"
        self.packages = path / "packages"  # unpacked Debian packages
        self.secret_key = path / "secret.key"
        self.lock = path / "up.lock"
        self.state = path / "running.json"  # the running processes, for `status`, `down` and tests

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Home:
        """Return the home of the environment, by default `.culprit` in the checkout."""
        supplied = environment.get("CULPRIT_HOME")
        return cls(Path(supplied).expanduser().resolve() if supplied else ROOT / ".culprit")

    def create_directories(self) -> None:
        """Create the directory, closed to others. Raises OSError."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        for place in (self.logs, self.sshd):
            place.mkdir(mode=0o700, exist_ok=True)


def create_private_file(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read. Raises FileExistsError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def build_python_path() -> str:
    """Return PYTHONPATH of every process of the platform."""
    return os.pathsep.join((str(ROOT / "backend"), str(ROOT)))
