"""What measures the requests of a host's declared service, as options of a capture."""

from __future__ import annotations

from sqlalchemy.orm import Session

from culprit.models import Host
from culprit.services import queries as services

LOG, ACCEPTS = "app_metrics", "accepts"


def measuring(session: Session, host: Host) -> dict[str, dict[str, str]]:
    """The collectors that measure the host's declared service, with their options: its log, else its port."""
    logged = services.measured(session, host, "access_log")
    if logged is not None:
        return {LOG: {"path": logged.source["path"], "format": logged.source["format"]}}
    inferred = services.measured(session, host, "accepts")
    return {ACCEPTS: {"port": str(inferred.source["port"])}} if inferred else {}
