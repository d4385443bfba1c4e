"""Checks of an installation with the settings of a test."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from culprit.infra.settings import Settings
from culprit.server.doctor import __main__ as doctor
from culprit.server.doctor.commands import RepairCommands
from culprit.server.doctor.results import ServiceCheck


@pytest.fixture
def check(config: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, ServiceCheck]]:
    """Run the checks with changed settings; `None` removes one. Return them by name."""
    config.home.chmod(0o700)

    def run(**changes: str | None) -> dict[str, ServiceCheck]:
        for name, value in changes.items():
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        checks = doctor.run_checks(RepairCommands(launcher=False), offline=False)
        for item in checks:
            assert (item.command is None) == (item.state == "ok"), item
            assert item.message.endswith("."), item
        return {item.check: item for item in checks}

    return run
