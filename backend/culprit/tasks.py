"""The tasks of the platform by name. A message carries ids and nothing else; anything else is dropped."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import structlog
from celery import Celery

from culprit.carried.compare import compare_carried
from culprit.workflows.annotate import send_annotation
from culprit.workflows.autopilot import advance_incident
from culprit.workflows.build_diff import build_diff
from culprit.workflows.build_profile import build_profile
from culprit.workflows.check_host import check_host
from culprit.workflows.diagnose import advance_diagnosis
from culprit.workflows.evaluate_run import evaluate_run
from culprit.workflows.fetch_oncall import fetch_oncall
from culprit.workflows.fetch_service import fetch_service
from culprit.workflows.fetch_usual import fetch_usual
from culprit.workflows.ingest_run import ingest_run
from culprit.workflows.look_at_storage import look_at_storage
from culprit.workflows.retain import retain
from culprit.workflows.run_capture import run_capture
from culprit.workflows.send_notice import send_notice
from culprit.workflows.tell_firing import tell_firing
from culprit.workflows.tell_incidents import tell_incidents
from culprit.workflows.verify_fix import advance_verification

TASKS: dict[str, Callable[[UUID], object]] = {
    "culprit.run_capture": run_capture,
    "culprit.check_host": check_host,
    "culprit.ingest_run": ingest_run,
    "culprit.fetch_service": fetch_service,
    "culprit.fetch_usual": fetch_usual,
    "culprit.build_profile": build_profile,
    "culprit.build_diff": build_diff,
    "culprit.evaluate_run": evaluate_run,
    "culprit.advance_diagnosis": advance_diagnosis,
    "culprit.advance_verification": advance_verification,
    "culprit.tell_incidents": tell_incidents,
    "culprit.compare_carried": compare_carried,
    "culprit.advance_incident": advance_incident,
    "culprit.fetch_oncall": fetch_oncall,
    "culprit.tell_firing": tell_firing,
    "culprit.send_annotation": send_annotation,
    "culprit.send_notice": send_notice,
    "culprit.retain": retain,
    "culprit.look_at_storage": look_at_storage,
}
log = structlog.get_logger("culprit.tasks")


def install(app: Celery) -> None:
    """Registers every task with an application."""
    for name, work in TASKS.items():
        app.task(name=name, ignore_result=True, acks_late=False, max_retries=0)(_task(name, work))


def _task(name: str, work: Callable[[UUID], object]) -> Callable[..., None]:
    def task(*arguments: object) -> None:
        match arguments:
            case [str() as text] if (one := _id(text)) is not None:
                work(one)
            case _:
                log.warning("message_dropped", task=name)

    task.__name__ = name.rpartition(".")[2]
    return task


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
