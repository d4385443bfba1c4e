"""Whether a request is from whom it says it is: a signature over its body and time, compared in constant time.

Who signs how:

- ours (generic; Alertmanager behind something that signs): `X-Culprit-Timestamp` in seconds of UTC and
  `X-Culprit-Signature: v1=` HMAC-SHA256 in hex over `timestamp.body`;
- Grafana: `X-Grafana-Alerting-Signature`, hex, over `timestamp:body`; its contact point must name the header of the
  timestamp, which it does not by itself: `X-Grafana-Alerting-Signature-Timestamp`;
- PagerDuty: `X-PagerDuty-Signature: v1=…`, several of them while a secret is being changed, over the body alone; the
  time is in the body (`event.occurred_at`), and therefore signed too.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.core.alerts.contract import Kind

OUR_TIME, OUR_SIGNATURE = "x-culprit-timestamp", "x-culprit-signature"
GRAFANA_SIGNATURE = "x-grafana-alerting-signature"
GRAFANA_TIMES = ("x-grafana-alerting-signature-timestamp", "x-grafana-alerting-timestamp")
PAGERDUTY_SIGNATURE = "x-pagerduty-signature"
#: More signatures than this in one header are nobody's change of a secret.
MAX_SIGNATURES = 8


@dataclass(frozen=True, slots=True)
class Proven:
    """It is from there. `at_s` is the signed time in seconds of UTC; None where the time is in the body, or nowhere."""

    at_s: int | None


def signature(secret: bytes, at_s: int | str, body: bytes, separator: bytes = b".") -> str:
    """HMAC-SHA256 over time and body, in hex."""
    signed = str(at_s).encode() + separator + body
    return hmac.new(secret, signed, hashlib.sha256).hexdigest()


def proven(kind: Kind, secret: bytes, headers: Mapping[str, str], body: bytes) -> Proven | Sentence:
    """What the signature of a request proves, or what is wrong with it. `headers` by name in lower case."""
    if kind == "pagerduty" and PAGERDUTY_SIGNATURE in headers:
        right = hmac.new(secret, body, hashlib.sha256).hexdigest()
        return _any(_versions(headers[PAGERDUTY_SIGNATURE]), right, Proven(None))
    if kind == "grafana" and GRAFANA_SIGNATURE in headers:
        at = next((headers[name] for name in GRAFANA_TIMES if name in headers), "")
        if not _is_time(at):
            return Sentence("trigger.no_timestamp", {"header": "X-Grafana-Alerting-Signature-Timestamp"})
        return _any([headers[GRAFANA_SIGNATURE]], signature(secret, at, body, b":"), Proven(int(at)))
    if OUR_SIGNATURE not in headers:
        return Sentence("trigger.not_signed")
    at = headers.get(OUR_TIME, "")
    if not _is_time(at):
        return Sentence("trigger.no_timestamp", {"header": "X-Culprit-Timestamp"})
    return _any(_versions(headers[OUR_SIGNATURE]), signature(secret, at, body), Proven(int(at)))


def _is_time(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 14


def _versions(header: str) -> list[str]:
    """The signatures of version 1 in a header."""
    given = [one.strip() for one in header[:1000].split(",")]
    return [one.removeprefix("v1=") for one in given if one.startswith("v1=")]


def _any(given: Iterable[str], right: str, proof: Proven) -> Proven | Sentence:
    found = False
    for one in list(given)[:MAX_SIGNATURES]:
        found |= hmac.compare_digest(one.strip().lower().encode("utf-8", "replace"), right.encode())
    return proof if found else Sentence("trigger.wrong_signature")
