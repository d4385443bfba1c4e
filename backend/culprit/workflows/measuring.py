"""What measures the requests of a host's declared service, as options of a capture."""

from __future__ import annotations

from sqlalchemy.orm import Session

from culprit.captures import beside
from culprit.models import Host


def measuring(session: Session, host: Host) -> dict[str, dict[str, str]]:
    """The collectors that measure the host's declared service, with their options: its log, else its port."""
    found = beside.of_host(session, host)
    return {found.collector: dict(found.options)} if found else {}
