"""Parse requests of four kinds of senders into alerts.

Sources of the formats: Alertmanager's webhook_config (payload version 4), Grafana's webhook notifier for
unified alerting (the same, with `title`, `message`, `values` and `orgId`), PagerDuty's V3 webhooks
(`event.event_type`, `event.data` an incident reference with `service` and `priority`), and a generic form for
all others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from collectors.contract import Sentence
from culprit.domain.alerts.contract import (
    MAX_ALERTS,
    MAX_SUMMARY,
    MAX_TITLE,
    MAX_VALUE,
    AlertPayload,
    IncomingAlert,
    Kind,
    UnreadablePayload,
)
from culprit.domain.alerts.text import (
    clean_labels,
    clean_text,
    parse_object,
    parse_time,
    to_mapping,
    to_objects,
)
from culprit.json_types import JsonMapping

#: PagerDuty event types, with whether the incident is open after them. Other events are ignored.
PAGERDUTY = {
    "incident.triggered": True,
    "incident.reopened": True,
    "incident.escalated": True,
    "incident.resolved": False,
}


def parse_request(kind: Kind, body: bytes) -> AlertPayload | UnreadablePayload:
    """Return the alerts of a request, or an UnreadablePayload with the reason. Never raises."""
    payload = parse_object(body)
    if payload is None:
        return UnreadablePayload(Sentence("alert.not_json"))
    return _READERS[kind](payload)


def _read_alertmanager(result: JsonMapping) -> AlertPayload | UnreadablePayload:
    listed = result.get("alerts")
    if not isinstance(listed, list):
        return UnreadablePayload(Sentence("alert.no_field", {"field": "alerts"}))
    group = clean_text(result.get("groupKey"), MAX_VALUE)
    common = clean_labels(result.get("commonLabels"))
    objects = to_objects(listed)
    alerts = tuple(_read_prometheus_alert(item, common, group) for item in objects[:MAX_ALERTS])
    return AlertPayload(alerts, max(0, len(objects) - MAX_ALERTS))


def _read_prometheus_alert(item: JsonMapping, common: Mapping[str, str], group: str) -> IncomingAlert:
    """Return one alert of Alertmanager or Grafana."""
    reported = {**common, **clean_labels(item.get("labels"))}
    notes = to_mapping(item.get("annotations"))
    cause = reported.get("alertname", "")[:MAX_TITLE] or "alert"
    summary = clean_text(notes.get("summary") or notes.get("message"), MAX_TITLE)
    more = clean_text(notes.get("description"), MAX_SUMMARY)
    return IncomingAlert(
        fingerprint=clean_text(item.get("fingerprint"), MAX_VALUE) or compute_fingerprint(reported),
        firing=clean_text(item.get("status"), 20) != "resolved",
        cause=cause,
        title=summary or cause,
        summary=more or clean_text(item.get("valueString"), MAX_SUMMARY),
        group=group,
        labels=reported,
        began_at=parse_time(item.get("startsAt")),
    )


def _read_pagerduty(result: JsonMapping) -> AlertPayload | UnreadablePayload:
    event = to_mapping(result.get("event"))
    if not event:
        return UnreadablePayload(Sentence("alert.no_field", {"field": "event"}))
    kind = clean_text(event.get("event_type"), 60)
    sent_at = parse_time(event.get("occurred_at"))
    if kind not in PAGERDUTY:
        return AlertPayload((), sent_at=sent_at)
    data = to_mapping(event.get("data"))
    title = clean_text(data.get("title"), MAX_TITLE)
    service = clean_text(to_mapping(data.get("service")).get("summary"), MAX_VALUE)
    details = {
        **clean_labels(to_mapping(to_mapping(data.get("body")).get("details")).get("firing_labels")),
        **clean_labels(to_mapping(data.get("body")).get("details")),
        **clean_labels(data.get("custom_details")),
    }
    reported = {**details, **({"service": service} if service else {})}
    priority = clean_text(to_mapping(data.get("priority")).get("summary"), 60)
    if priority:
        reported["priority"] = priority
    alert = IncomingAlert(
        fingerprint=clean_text(data.get("id"), MAX_VALUE)
        or compute_fingerprint({"title": title, **reported}),
        firing=PAGERDUTY[kind],
        cause=reported.get("alertname", title)[:MAX_TITLE] or "incident",
        title=title or "incident",
        group=clean_text(data.get("incident_key"), MAX_VALUE) or clean_text(data.get("id"), MAX_VALUE),
        labels=reported,
        began_at=parse_time(data.get("created_at")),
    )
    return AlertPayload((alert,), sent_at=sent_at)


def _read_generic(result: JsonMapping) -> AlertPayload | UnreadablePayload:
    listed = result.get("alerts")
    objects = to_objects(listed) if isinstance(listed, list) else [result]
    if not objects:
        return UnreadablePayload(Sentence("alert.no_field", {"field": "alerts"}))
    alerts = []
    for item in objects[:MAX_ALERTS]:
        title = clean_text(item.get("title"), MAX_TITLE)
        if not title:
            return UnreadablePayload(Sentence("alert.no_field", {"field": "title"}))
        reported = clean_labels(item.get("labels"))
        for name in ("host", "service"):
            message = clean_text(item.get(name), MAX_VALUE)
            if message:
                reported.setdefault(name, message)
        cause = clean_text(item.get("cause"), MAX_TITLE) or reported.get("alertname", "")[:MAX_TITLE] or title
        alerts.append(
            IncomingAlert(
                fingerprint=clean_text(item.get("id"), MAX_VALUE)
                or compute_fingerprint({"cause": cause, **reported}),
                firing=clean_text(item.get("status"), 20) not in {"resolved", "ok"},
                cause=cause,
                title=title,
                summary=clean_text(item.get("summary"), MAX_SUMMARY),
                group=clean_text(item.get("group"), MAX_VALUE),
                labels=reported,
                began_at=parse_time(item.get("began_at")),
            )
        )
    return AlertPayload(tuple(alerts), max(0, len(objects) - MAX_ALERTS), parse_time(result.get("sent_at")))


def compute_fingerprint(reported: Mapping[str, str]) -> str:
    """Return a hash of the labels: the fingerprint of an alert that has none."""
    stored = json.dumps(dict(reported), sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(stored).hexdigest()[:32]


_READERS: Mapping[Kind, Callable[[JsonMapping], AlertPayload | UnreadablePayload]] = {
    "alertmanager": _read_alertmanager,
    "grafana": _read_alertmanager,
    "pagerduty": _read_pagerduty,
    "generic": _read_generic,
}
