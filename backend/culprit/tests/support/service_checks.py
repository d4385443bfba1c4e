"""Compare the check of one part of an installation."""

from __future__ import annotations

from culprit.server.doctor.results import ServiceCheck


def require_check(item: ServiceCheck, state: str, *parts: str) -> None:
    """Compare the state, and look for each part in the message or the command."""
    assert item.state == state, item
    for part in parts:
        assert part in f"{item.message} {item.command}", item
