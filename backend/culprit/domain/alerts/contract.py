"""The words of alerts. Everything in them comes from outside: bounded text, never trusted."""

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
class Incoming:
    """One alert. `fingerprint` is what its sender knows it by, `cause` what is alerted, without where.

    `group` names what belongs together at the sender; `began_at` is when it began, as the sender says.
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
class Payload:
    """A request that could be read. `left_out` counts alerts beyond the limit; `sent_at` is the sender's own time."""

    alerts: tuple[Incoming, ...]
    left_out: int = 0
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A request that is none of its kind."""

    reason: Sentence
