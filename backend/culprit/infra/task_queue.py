"""Send job messages. Messages carry IDs only; PostgreSQL holds all state.

A lost message only delays the job: the sweep finds every waiting row.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from uuid import UUID

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from kombu.transport import redis as redis_transport
from kombu.transport.virtual import QoS
from sqlalchemy.orm import Session

from culprit.infra.db.unit_of_work import after_commit
from culprit.infra.settings import get_settings

log = structlog.get_logger("culprit.task_queue")
_routes: dict[str, str] = {}


class ReleasingQoS(redis_transport.QoS):
    """Free the place of a message whose acknowledgement failed.

    kombu keeps the place. A worker that accepts its last messages while the broker is away would have no place left:
    it would not use its connection again, and take no message until it is restarted. The broker delivers the message
    again later, which changes nothing.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message, or free its place only. Raises what the broker raises."""
        try:
            super().ack(delivery_tag)
        except Exception:
            QoS.ack(self, delivery_tag)
            raise


redis_transport.Channel.QoS = ReleasingQoS


def set_routes(routes: Mapping[str, str]) -> None:
    """Set the queue of each job; each process that sends messages does this when it starts."""
    _routes.clear()
    _routes.update(routes)


@lru_cache(maxsize=1)
def get_celery() -> Celery:
    """Return the Celery application of this process: JSON only, without results."""
    app = Celery("culprit", broker=get_settings().broker_url, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_default_queue="default",
        broker_transport_options={"visibility_timeout": 12 * 3600, "socket_connect_timeout": 2},
        broker_connection_retry_on_startup=True,
    )
    return app


def enqueue_job(name: str, *ids: UUID) -> bool:
    """Send the message of one job; return False if the broker is unreachable."""
    queue = _routes.get(name)
    if queue is None:
        log.error("job_without_route", task=name)
        return False
    try:
        get_celery().send_task(name, args=[str(row_id) for row_id in ids], queue=queue, retry=False)
    except OperationalError as error:
        log.warning("broker_away", task=name, error=type(error).__name__)
        return False
    return True


def enqueue_after_commit(session: Session, name: str, *ids: UUID) -> None:
    """Send the message of one job once `session` has committed."""
    after_commit(session, lambda: enqueue_job(name, *ids))
