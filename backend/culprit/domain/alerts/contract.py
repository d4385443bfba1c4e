"""Types of parsed alerts. All text in them is untrusted and has a length limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from collectors.contract import Sentence

Kind = Literal["alertmanager", "grafana", "pagerduty", "generic"]
KINDS: tuple[Kind, ...] = ("alertmanager", "grafana", "pagerduty", "generic")

MAX_ALERTS = 200
MAX_LABELS = 60
MAX_NAME = 100
MAX_VALUE = 500
MAX_TITLE = 200
MAX_SUMMARY = 2000


@dataclass(frozen=True, slots=True)
class IncomingAlert:
    """One alert. `fingerprint` is the sender's identifier; `cause` describes the problem without its
    location.

    `group` is the sender's group; `began_at` is the start time that the sender reports.
    """

    fingerprint: str
    firing: bool
    cause: str
    title: str
    summary: str = ""
    group: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    began_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class AlertPayload:
    """The alerts of one request. `left_out` counts alerts beyond the limit; `sent_at` is the sender's time."""

    alerts: tuple[IncomingAlert, ...]
    left_out: int = 0
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class UnreadablePayload:
    """A request that does not have the expected form."""

    reason: Sentence
