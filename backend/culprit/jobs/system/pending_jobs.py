"""Find the rows that wait for a job, and send their messages again.

The broker may lose everything at any time. A message that arrives twice does nothing the second time.
"""

from __future__ import annotations

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
    """Send a message for each row that had none recently; return how many were sent.

    Recent messages are recorded in the broker, so the record is lost together with the messages. A long queue
    gets no more messages: its workers are busy, and the rows stay pending.
    """
    jobs = load_jobs()
    sent = 0
    try:
        free = {queue: FULL_QUEUE - int(str(redis.llen(queue))) for queue in {j.queue for j in jobs.values()}}
        for name, row_id in pending:
            queue = jobs[name].queue
            if free[queue] > 0 and redis.set(f"enqueued:{name}:{row_id}", 1, nx=True, ex=SEND_AGAIN_AFTER_S):
                free[queue] -= 1
                sent += enqueue_job(name, row_id)
    except (RedisError, OSError) as error:
        log.warning("broker_away", error=type(error).__name__)
    return sent
