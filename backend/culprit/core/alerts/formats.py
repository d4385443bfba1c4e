"""Requests of four kinds of senders as alerts.

Sources of the formats: Alertmanager's webhook_config (payload version 4), Grafana's webhook notifier for unified
alerting (the same, with `title`, `message`, `values` and `orgId`), PagerDuty's V3 webhooks (`event.event_type`,
`event.data` an incident reference with `service` and `priority`), and a form of our own for anything else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from collectors.contract import Sentence
from culprit.core.alerts.contract import (
    MAX_ALERTS,
    MAX_SUMMARY,
    MAX_TITLE,
    MAX_VALUE,
    Incoming,
    Kind,
    Payload,
    Unreadable,
)
from culprit.core.alerts.text import items, labels, mapping, moment, parse, text

Json = Mapping[str, Any]
#: What PagerDuty tells of an incident, and whether it is firing then. Other events say nothing new about hosts.
PAGERDUTY = {
    "incident.triggered": True,
    "incident.reopened": True,
    "incident.escalated": True,
    "incident.resolved": False,
}


def read(kind: Kind, body: bytes) -> Payload | Unreadable:
    """A request as alerts. Never raises; what cannot be read says why."""
    found = parse(body)
    if found is None:
        return Unreadable(Sentence("alert.not_json"))
    return _READERS[kind](found)


def _alertmanager(found: Json) -> Payload | Unreadable:
    listed = found.get("alerts")
    if not isinstance(listed, list):
        return Unreadable(Sentence("alert.no_field", {"field": "alerts"}))
    group = text(found.get("groupKey"), MAX_VALUE)
    common = labels(found.get("commonLabels"))
    given = items(listed)
    alerts = tuple(_prometheus(one, common, group) for one in given[:MAX_ALERTS])
    return Payload(alerts, max(0, len(given) - MAX_ALERTS))


def _prometheus(one: Json, common: Mapping[str, str], group: str) -> Incoming:
    """One alert of Alertmanager or Grafana."""
    told = {**common, **labels(one.get("labels"))}
    notes = mapping(one.get("annotations"))
    cause = told.get("alertname", "")[:MAX_TITLE] or "alert"
    summary = text(notes.get("summary") or notes.get("message"), MAX_TITLE)
    more = text(notes.get("description"), MAX_SUMMARY)
    return Incoming(
        fingerprint=text(one.get("fingerprint"), MAX_VALUE) or digest(told),
        firing=text(one.get("status"), 20) != "resolved",
        cause=cause,
        title=summary or cause,
        summary=more or text(one.get("valueString"), MAX_SUMMARY),
        group=group,
        labels=told,
        began_at=moment(one.get("startsAt")),
    )


def _pagerduty(found: Json) -> Payload | Unreadable:
    event = mapping(found.get("event"))
    if not event:
        return Unreadable(Sentence("alert.no_field", {"field": "event"}))
    kind = text(event.get("event_type"), 60)
    sent_at = moment(event.get("occurred_at"))
    if kind not in PAGERDUTY:
        return Payload((), sent_at=sent_at)
    data = mapping(event.get("data"))
    title = text(data.get("title"), MAX_TITLE)
    service = text(mapping(data.get("service")).get("summary"), MAX_VALUE)
    details = {
        **labels(mapping(mapping(data.get("body")).get("details")).get("firing_labels")),
        **labels(mapping(data.get("body")).get("details")),
        **labels(data.get("custom_details")),
    }
    told = {**details, **({"service": service} if service else {})}
    priority = text(mapping(data.get("priority")).get("summary"), 60)
    if priority:
        told["priority"] = priority
    alert = Incoming(
        fingerprint=text(data.get("id"), MAX_VALUE) or digest({"title": title, **told}),
        firing=PAGERDUTY[kind],
        cause=told.get("alertname", title)[:MAX_TITLE] or "incident",
        title=title or "incident",
        group=text(data.get("incident_key"), MAX_VALUE) or text(data.get("id"), MAX_VALUE),
        labels=told,
        began_at=moment(data.get("created_at")),
    )
    return Payload((alert,), sent_at=sent_at)


def _generic(found: Json) -> Payload | Unreadable:
    listed = found.get("alerts")
    given = items(listed) if isinstance(listed, list) else [found]
    if not given:
        return Unreadable(Sentence("alert.no_field", {"field": "alerts"}))
    alerts = []
    for one in given[:MAX_ALERTS]:
        title = text(one.get("title"), MAX_TITLE)
        if not title:
            return Unreadable(Sentence("alert.no_field", {"field": "title"}))
        told = labels(one.get("labels"))
        for name in ("host", "service"):
            said = text(one.get(name), MAX_VALUE)
            if said:
                told.setdefault(name, said)
        cause = text(one.get("cause"), MAX_TITLE) or told.get("alertname", "")[:MAX_TITLE] or title
        alerts.append(
            Incoming(
                fingerprint=text(one.get("id"), MAX_VALUE) or digest({"cause": cause, **told}),
                firing=text(one.get("status"), 20) not in {"resolved", "ok"},
                cause=cause,
                title=title,
                summary=text(one.get("summary"), MAX_SUMMARY),
                group=text(one.get("group"), MAX_VALUE),
                labels=told,
                began_at=moment(one.get("began_at")),
            )
        )
    return Payload(tuple(alerts), max(0, len(given) - MAX_ALERTS), moment(found.get("sent_at")))


def digest(told: Mapping[str, str]) -> str:
    """What an alert without a name is known by: its labels."""
    kept = json.dumps(dict(told), sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(kept).hexdigest()[:32]


_READERS: Mapping[Kind, Callable[[Json], Payload | Unreadable]] = {
    "alertmanager": _alertmanager,
    "grafana": _alertmanager,
    "pagerduty": _pagerduty,
    "generic": _generic,
}
