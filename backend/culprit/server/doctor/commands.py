"""Commands that a check recommends, for a platform of the launcher and for one that a team runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RepairCommands:
    """Commands of one kind of installation. `launcher`: `./culprit up` starts and supervises the processes."""

    launcher: bool

    @property
    def migrate(self) -> str:
        """Bring the tables up to date."""
        return "./culprit up" if self.launcher else "alembic -c migrations/alembic.ini upgrade head"

    @property
    def backup(self) -> str:
        """Create a backup."""
        return (
            "./culprit backup /backups" if self.launcher else "python -m culprit.server.backup make /backups"
        )

    def start_process(self, name: str) -> str:
        """Start `worker-ssh`, `worker-parse` or `scheduler`."""
        if self.launcher:
            return "./culprit retry"
        kind = name.removeprefix("worker-")
        return f"python -m culprit.server.{'scheduler' if kind == name else f'worker {kind}'}"
