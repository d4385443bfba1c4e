"""The answer of a diagnosis that a trigger asked for, on its way: the task `culprit.tell_firing`.

Its runs and causes go into the incident, and a message into every channel of the trigger. Whoever holds the row of the
firing does it, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth.actor import actor_by_id
from culprit.core.notices.chart import Chart, thinned
from culprit.core.notices.message import Message, Outcome, figures, told
from culprit.core.rules.contract import Condition, Over
from culprit.core.rules.read import title_of
from culprit.core.rules.registry import CAUSES, RULES
from culprit.core.rules.view import Lane, Reads
from culprit.incidents import diagnosed
from culprit.infra.artifacts import artifact_store
from culprit.infra.broker import announce
from culprit.infra.db import database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Alert, Channel, Diagnosis, Firing, Host, Incident, Notice, Trigger
from culprit.workflows.read_view import read_view

SEND = "culprit.send_notice"
#: Numbers whose series are looked for: each look reads from the store.
DRAWN_OF = 8
Json = dict[str, Any]


def tell_firing(diagnosis_id: UUID) -> int | None:
    """Tell what came of it. Returns how many messages are on their way; None where there is nothing to tell yet."""
    with unit_of_work(database().sessions) as session:
        firing = session.scalar(
            select(Firing).where(Firing.diagnosis_id == diagnosis_id).with_for_update(of=Firing)
        )
        diagnosis = session.get(Diagnosis, diagnosis_id)
        if firing is None or firing.told_at is not None or diagnosis is None or diagnosis.state == "running":
            return None
        firing.told_at = now()
        incident = _bring(session, firing, diagnosis)
        message = message_of(session, firing, diagnosis, incident)
        return _send(session, firing, message)


def _bring(session: Session, firing: Firing, diagnosis: Diagnosis) -> Incident | None:
    """The runs and causes into the incident; one that was resolved meanwhile stays as it is."""
    if firing.incident_id is None:
        return None
    incident = session.scalar(
        select(Incident).where(Incident.id == firing.incident_id).with_for_update(of=Incident, key_share=True)
    )
    actor = actor_by_id(session, diagnosis.requested_by)
    if incident is not None and incident.state != "resolved" and actor is not None:
        diagnosed.bring(session, actor, incident, diagnosis)
    return incident


def message_of(session: Session, firing: Firing, diagnosis: Diagnosis, incident: Incident | None) -> Message:
    """The cause, three numbers and a picture; or that there is none, or why it failed."""
    result: Json = diagnosis.result or {}
    causes = result.get("causes", [])
    first = causes[0] if causes else None
    known = CAUSES.get(first["id"]) if first else None
    outcome: Outcome = "failed" if diagnosis.state != "done" else "named" if first else "nothing"
    trigger = session.get(Trigger, firing.trigger_id) if firing.trigger_id else None
    alerts = session.execute(
        select(func.min(Alert.title), func.sum(Alert.count)).where(Alert.firing_id == firing.id)
    ).one()
    host = session.get_one(Host, firing.host_id)
    paths = {"incident": f"/incidents/{incident.id}"} if incident else {}
    return Message(
        outcome=outcome,
        host=host.name,
        service=firing.service,
        alert=alerts[0] or firing.cause,
        trigger=trigger.name if trigger else "",
        alerts=int(alerts[1] or 0),
        cause={"en": known.title.en, "zh": known.title.zh} if known else None,
        cause_id=first["id"] if first else "",
        confidence=first["confidence"] if first else "",
        fix={"en": known.fix.en, "zh": known.fix.zh} if known else None,
        more=max(0, len(causes) - 1),
        figures=tuple(figures(result, _title)),
        peers=tuple(_names(session, firing.peers)),
        failure=diagnosis.failure if outcome == "failed" else None,
        incident=incident.number if incident else None,
        diagnosis=diagnosis.number,
        paths={**paths, "diagnosis": f"/diagnoses/{diagnosis.id}"},
        seconds=round((now() - firing.created_at).total_seconds(), 1),
        chart=chart_of(session, result),
    )


def _title(rule_id: str, measure: str) -> Mapping[str, str]:
    """The number of a rule itself is called as the rule is, one beside it as its measure."""
    rule = RULES.get(rule_id)
    if rule is None:
        return {"en": rule_id, "zh": rule_id}
    beside = next((title_of(one) for one in rule.reads()[1:] if one.id == measure), rule.title)
    title = rule.title if measure == rule.measure.id else beside
    return {"en": title.en, "zh": title.zh}


def _names(session: Session, ids: list[str]) -> list[str]:
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_([UUID(one) for one in ids])))
    names = {str(row.id): row.name for row in rows}
    return [names[one] for one in ids if one in names]


def chart_of(session: Session, result: Mapping[str, Any]) -> Chart | None:
    """The first compared number with a series behind it, as a line with its threshold; else the first one beside it.

    Where no cause is named it is of what stood out, as the numbers of the message are.
    """
    compared = (one for one in told(result) if one.get("threshold") is not None)
    numbers = list(islice(compared, DRAWN_OF))
    for one in numbers:
        drawn = _line(session, one)
        if drawn is not None:
            return drawn
    return _chart(numbers[0]) if numbers else None


def _line(session: Session, one: Mapping[str, Any]) -> Chart | None:
    read = _read_of(one)
    run = str((one.get("locator") or {}).get("run") or "")
    if read is None or not run:
        return None
    view = read_view(session, artifact_store(), [UUID(run)], only=Reads(metrics=frozenset({read.metric})))
    subject = one.get("subject") or {}
    for lane in view.of(read.metric, read.where):
        column = _column(lane, subject)
        if column is not None and len(lane.t_ns) > 1:
            t_s, values = thinned(lane.t_ns.tolist(), lane.values[:, column].tolist())
            return _chart(one, t_s, values)
    return None


def _read_of(one: Mapping[str, Any]) -> Over | None:
    """The stored metric that a number was reduced from; None for one that was derived."""
    rule = RULES.get(str(one.get("finding")))
    if rule is None:
        return None
    also = [each for each in rule.also if isinstance(each, Condition)]
    reads = [rule.measure, *(each.read for each in also)]
    return next((each for each in reads if isinstance(each, Over) and each.id == one.get("metric")), None)


def _column(lane: Lane, subject: Mapping[str, Any]) -> int | None:
    """Which column of a series a number is about; None where the series is another one's."""
    if any(subject.get(name, value) != value for name, value in lane.labels.items()):
        return None
    if lane.axis is None:
        return 0
    wanted = subject.get(lane.axis)
    return lane.axis_values.index(wanted) if wanted in lane.axis_values else None


def _chart(
    one: Mapping[str, Any], t_s: tuple[float, ...] = (), values: tuple[float | None, ...] = ()
) -> Chart:
    rule = RULES.get(str(one.get("finding")))
    baseline = one.get("baseline")
    return Chart(
        title={"en": rule.title.en, "zh": rule.title.zh} if rule else {"en": str(one.get("finding"))},
        unit=str(one.get("unit") or ""),
        value=float(one["value"]),
        threshold=float(one["threshold"]),
        op=str(one.get("op") or ""),
        t_s=t_s,
        values=values,
        baseline=float(baseline) if isinstance(baseline, int | float) else None,
    )


def _send(session: Session, firing: Firing, message: Message) -> int:
    trigger = session.get(Trigger, firing.trigger_id) if firing.trigger_id else None
    wanted = [UUID(one) for one in trigger.channel_ids] if trigger else []
    channels = session.scalars(select(Channel).where(Channel.id.in_(wanted), Channel.enabled)).all()
    for channel in channels:
        notice = Notice(
            channel_id=channel.id,
            about="firing",
            firing_id=firing.id,
            host_id=firing.host_id,
            message=message.as_json(),
        )
        session.add(notice)
        session.flush()
        announce(session, SEND, notice.id)
    return len(channels)
