"""Registry of background jobs: the `JOB` of each module below `culprit.jobs`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import lru_cache
from uuid import UUID

import structlog
from celery import Celery

from culprit import jobs
from culprit.infra import task_queue
from culprit.jobs.job import Job

log = structlog.get_logger("culprit.jobs.registry")


@lru_cache(maxsize=1)
def load_jobs() -> Mapping[str, Job]:
    """Return every job by its name. Raises ValueError for a name that is defined twice."""
    by_name: dict[str, Job] = {}
    for module in pkgutil.walk_packages(jobs.__path__, f"{jobs.__name__}."):
        job = getattr(importlib.import_module(module.name), "JOB", None)
        if not isinstance(job, Job):
            continue
        if job.name in by_name:
            raise ValueError(f"the job {job.name} is defined twice")
        by_name[job.name] = job
    return by_name


def install_routes() -> None:
    """Set the queue of each job in the task queue of this process."""
    task_queue.set_routes({job.name: job.queue for job in load_jobs().values()})


def install_tasks(app: Celery) -> None:
    """Register every job with a Celery application. A message that carries anything but one ID is dropped."""
    install_routes()
    for job in load_jobs().values():
        app.task(name=job.name, ignore_result=True, acks_late=False, max_retries=0)(_build_task(job))


def _build_task(job: Job) -> Callable[..., None]:
    def task(*arguments: object) -> None:
        match arguments:
            case [str() as text] if (row_id := _parse_id(text)) is not None:
                job.run(row_id)
            case _:
                log.warning("message_dropped", task=job.name)

    task.__name__ = job.name.rpartition(".")[2]
    return task


def _parse_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
