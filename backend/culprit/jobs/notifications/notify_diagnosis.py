"""The job that sends the result of a diagnosis that a trigger started.

A notification is queued for every channel of the trigger. The lock of the trigger response ensures that this
happens once.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from culprit.domain.notifications.chart import Chart, reduce_series
from culprit.domain.notifications.message import NotificationContent, Outcome, iter_numbers, select_figures
from culprit.domain.rules.readings import get_title
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.domain.rules.rule import Condition, MetricReading
from culprit.domain.rules.view import ViewRequest, ViewSeries
from culprit.evidence.view_loader import load_view
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.task_queue import enqueue_after_commit
from culprit.jobs.job import Job
from culprit.jobs.notifications.locks import lock_trigger_response
from culprit.jobs.notifications.queries import (
    list_enabled_channels,
    load_host_names,
    pending_diagnosis_notifications,
    summarize_alerts,
)
from culprit.json_types import Json

SEND_JOB = "culprit.send_notification"
#: Maximum number of measured numbers whose series are searched: each search reads from the store.
MAX_CHART_CANDIDATES = 8


def notify_diagnosis(diagnosis_id: UUID) -> int | None:
    """Queue the notifications. Return their number, or None if the diagnosis has not ended."""
    with unit_of_work(get_database().sessions) as session:
        firing = lock_trigger_response(session, diagnosis_id)
        diagnosis = session.get(Diagnosis, diagnosis_id)
        if (
            firing is None
            or firing.notified_at is not None
            or diagnosis is None
            or diagnosis.state == "running"
        ):
            return None
        firing.notified_at = utc_now()
        incident = session.get(Incident, firing.incident_id) if firing.incident_id else None
        message = build_message(session, firing, diagnosis, incident)
        return _queue_notifications(session, firing, message)


def build_message(
    session: Session, firing: TriggerResponseRecord, diagnosis: Diagnosis, incident: Incident | None
) -> NotificationContent:
    """Build the message: cause, three numbers and a chart, or why there is no cause."""
    result: Json = diagnosis.result or {}
    causes = result.get("causes", [])
    first = causes[0] if causes else None
    known = CAUSES.get(first["id"]) if first else None
    outcome: Outcome = "failed" if diagnosis.state != "done" else "named" if first else "nothing"
    trigger = session.get(Trigger, firing.trigger_id) if firing.trigger_id else None
    alert, alert_count = summarize_alerts(session, firing.id)
    host = session.get_one(Host, firing.host_id)
    paths = {"incident": f"/incidents/{incident.id}"} if incident else {}
    return NotificationContent(
        outcome=outcome,
        host=host.name,
        service=firing.service,
        alert=alert or firing.cause,
        trigger=trigger.name if trigger else "",
        alerts=alert_count,
        cause={"en": known.title.en, "zh": known.title.zh} if known else None,
        cause_id=first["id"] if first else "",
        confidence=first["confidence"] if first else "",
        fix={"en": known.fix.en, "zh": known.fix.zh} if known else None,
        more=max(0, len(causes) - 1),
        figures=tuple(select_figures(result, _get_title)),
        peers=tuple(_list_host_names(session, firing.peers)),
        failure=diagnosis.failure if outcome == "failed" else None,
        incident=incident.number if incident else None,
        diagnosis=diagnosis.number,
        paths={**paths, "diagnosis": f"/diagnoses/{diagnosis.id}"},
        seconds=round((utc_now() - firing.created_at).total_seconds(), 1),
        chart=build_chart(session, result),
    )


def _get_title(rule_id: str, measure: str) -> Mapping[str, str]:
    """Return the title of the rule for the compared number, and the measure for a related number."""
    rule = RULES.get(rule_id)
    if rule is None:
        return {"en": rule_id, "zh": rule_id}
    related = next((get_title(item) for item in rule.inputs()[1:] if item.id == measure), rule.title)
    title = rule.title if measure == rule.measure.id else related
    return {"en": title.en, "zh": title.zh}


def _list_host_names(session: Session, ids: list[str]) -> list[str]:
    names = load_host_names(session, [UUID(item) for item in ids])
    return [names[item] for item in ids if item in names]


def build_chart(session: Session, result: Mapping[str, Any]) -> Chart | None:
    """Return the series of the first compared number with its threshold, else of the first related number.

    Without a cause it uses the numbers of the findings, as the message does.
    """
    compared = (number for number in iter_numbers(result) if number.get("threshold") is not None)
    numbers = list(islice(compared, MAX_CHART_CANDIDATES))
    for number in numbers:
        line_chart = _build_line_chart(session, number)
        if line_chart is not None:
            return line_chart
    return _to_chart(numbers[0]) if numbers else None


def _build_line_chart(session: Session, item: Mapping[str, Any]) -> Chart | None:
    read = _find_reading(item)
    run = str((item.get("locator") or {}).get("run") or "")
    if read is None or not run:
        return None
    view = load_view(
        session, artifact_store(), [UUID(run)], only=ViewRequest(metrics=frozenset({read.metric}))
    )
    subject = item.get("subject") or {}
    for series in view.series_of(read.metric, read.where):
        column = _find_column(series, subject)
        if column is not None and len(series.t_ns) > 1:
            t_s, values = reduce_series(series.t_ns.tolist(), series.values[:, column].tolist())
            return _to_chart(item, t_s, values)
    return None


def _find_reading(item: Mapping[str, Any]) -> MetricReading | None:
    """Return the stored metric from which a number was reduced, or None for a derived number."""
    rule = RULES.get(str(item.get("finding")))
    if rule is None:
        return None
    also = [each for each in rule.also if isinstance(each, Condition)]
    reads = [rule.measure, *(each.read for each in also)]
    return next(
        (each for each in reads if isinstance(each, MetricReading) and each.id == item.get("metric")), None
    )


def _find_column(series: ViewSeries, subject: Mapping[str, Any]) -> int | None:
    """Return the column of a series for the subject of a number, or None if the series is of another subject."""
    if any(subject.get(name, value) != value for name, value in series.labels.items()):
        return None
    if series.axis is None:
        return 0
    requested = subject.get(series.axis)
    return series.axis_values.index(requested) if requested in series.axis_values else None


def _to_chart(
    item: Mapping[str, Any], t_s: tuple[float, ...] = (), values: tuple[float | None, ...] = ()
) -> Chart:
    rule = RULES.get(str(item.get("finding")))
    baseline = item.get("baseline")
    return Chart(
        title={"en": rule.title.en, "zh": rule.title.zh} if rule else {"en": str(item.get("finding"))},
        unit=str(item.get("unit") or ""),
        value=float(item["value"]),
        threshold=float(item["threshold"]),
        op=str(item.get("op") or ""),
        t_s=t_s,
        values=values,
        baseline=float(baseline) if isinstance(baseline, int | float) else None,
    )


def _queue_notifications(
    session: Session, firing: TriggerResponseRecord, message: NotificationContent
) -> int:
    trigger = session.get(Trigger, firing.trigger_id) if firing.trigger_id else None
    uuids = [UUID(channel_id) for channel_id in trigger.channel_ids] if trigger else []
    channels = list_enabled_channels(session, uuids)
    for channel in channels:
        notice = Notification(
            channel_id=channel.id,
            about="diagnosis",
            trigger_response_id=firing.id,
            host_id=firing.host_id,
            message=message.as_json(),
        )
        session.add(notice)
        session.flush()
        enqueue_after_commit(session, SEND_JOB, notice.id)
    return len(channels)


JOB = Job("culprit.notify_diagnosis", "parse", notify_diagnosis, pending_diagnosis_notifications)
