"""Find the rows that wait for a job, and send their messages again.

The broker may lose everything at any time. A message that arrives twice changes nothing the second time, but it costs
the time of a worker: a row whose message still waits in a queue gets no second message.
"""

from __future__ import annotations

import base64
import binascii
import json
from uuid import UUID

import structlog
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.orm import Session

from culprit.infra.task_queue import enqueue_job
from culprit.jobs.registry import load_jobs

BATCH = 100
SEND_AGAIN_AFTER_S = 8
FULL_QUEUE = 200
log = structlog.get_logger("culprit.sweep")


def list_pending_jobs(session: Session) -> list[tuple[str, UUID]]:
    """Return the job name and the ID of every row that waits for a job."""
    return [
        (name, row_id)
        for name, job in load_jobs().items()
        for row_id in session.scalars(job.pending().limit(BATCH)).all()
    ]


def enqueue_pending(redis: Redis, pending: list[tuple[str, UUID]]) -> int:
    """Send a message for each row that has none in a queue and had none recently; return how many were sent.

    Recent messages are recorded in the broker, so the record is lost together with the messages. A long queue
    gets no more messages: its workers are busy, and the rows stay pending.
    """
    if not pending:
        return 0
    jobs = load_jobs()
    sent = 0
    try:
        free, queued = {}, set[tuple[str, UUID]]()
        for queue in {jobs[name].queue for name, _ in pending}:
            free[queue] = FULL_QUEUE - int(str(redis.llen(queue)))
            if free[queue] > 0:
                queued |= {job for job in map(_parse_message, redis.lrange(queue, 0, FULL_QUEUE)) if job}
        for name, row_id in pending:
            queue = jobs[name].queue
            if free[queue] <= 0 or (name, row_id) in queued:
                continue
            if redis.set(f"enqueued:{name}:{row_id}", 1, nx=True, ex=SEND_AGAIN_AFTER_S):
                free[queue] -= 1
                sent += enqueue_job(name, row_id)
    except (RedisError, OSError) as error:
        log.warning("broker_away", error=type(error).__name__)
    return sent


def forget_messages(redis: Redis) -> None:
    """Delete the records of recent messages, so that the next sweep repeats those that wait in no queue."""
    try:
        for key in redis.scan_iter("enqueued:*", count=1000):
            redis.delete(key)
    except (RedisError, OSError) as error:
        log.warning("broker_away", error=type(error).__name__)


def _parse_message(message: bytes | str) -> tuple[str, UUID] | None:
    """Return job name and row ID of a message of kombu (a JSON object with a base64 body), or None for others."""
    try:
        envelope = json.loads(message)
        arguments, _, _ = json.loads(base64.b64decode(envelope["body"]))
        return str(envelope["headers"]["task"]), UUID(arguments[0])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, binascii.Error):
        return None
