"""The doorbell: task messages by name, carrying ids only. PostgreSQL holds what there is to do.

A message that is lost costs time and nothing else: the sweeper finds every row that waits.
"""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from sqlalchemy.orm import Session

from culprit.config import settings
from culprit.kit.unit_of_work import after_commit

QUEUES = {
    "culprit.run_capture": "ssh",
    "culprit.check_host": "ssh",
    "culprit.ingest_run": "parse",
    "culprit.fetch_service": "parse",
    "culprit.fetch_usual": "parse",
    "culprit.build_profile": "parse",
    "culprit.build_diff": "parse",
    "culprit.evaluate_run": "parse",
    "culprit.advance_diagnosis": "parse",
    "culprit.advance_verification": "parse",
    "culprit.tell_incidents": "parse",
    "culprit.compare_carried": "parse",
    "culprit.advance_incident": "parse",
    "culprit.fetch_oncall": "parse",
    "culprit.tell_firing": "parse",
    "culprit.send_annotation": "ssh",
    "culprit.retain": "parse",
    "culprit.look_at_storage": "parse",
    "culprit.send_notice": "ssh",  # it waits for the network, and threads do that
}
log = structlog.get_logger("culprit.broker")


@lru_cache(maxsize=1)
def celery() -> Celery:
    """The Celery application of this process: JSON only, no results, nothing kept."""
    app = Celery("culprit", broker=settings().broker_url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_default_queue="default",
        task_routes={name: {"queue": queue} for name, queue in QUEUES.items()},
        broker_transport_options={"visibility_timeout": 12 * 3600, "socket_connect_timeout": 2},
        broker_connection_retry_on_startup=True,
    )
    return app


def send(name: str, *ids: UUID) -> bool:
    """Ring for one task; False where the broker is away."""
    try:
        celery().send_task(name, args=[str(one) for one in ids], retry=False)
    except OperationalError as error:
        log.warning("broker_away", task=name, error=type(error).__name__)
        return False
    return True


def announce(session: Session, name: str, *ids: UUID) -> None:
    """Ring for one task once `session` has committed."""
    after_commit(session, lambda: send(name, *ids))
