"""Verify the signature of a request over its body and time, compared in constant time.

Signature schemes:

- generic, and Alertmanager behind a signing proxy: `X-Culprit-Timestamp` in seconds of UTC and
  `X-Culprit-Signature: v1=` HMAC-SHA256 in hex over `timestamp.body`;
- Grafana: `X-Grafana-Alerting-Signature`, hex, over `timestamp:body`; the contact point must configure the
  header of the timestamp, which is not set by default: `X-Grafana-Alerting-Signature-Timestamp`;
- PagerDuty: `X-PagerDuty-Signature: v1=…`, several during a change of the secret, over the body alone; the
  time is in the body (`event.occurred_at`), and therefore signed too.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collectors.contract import Sentence
from culprit.domain.alerts.contract import Kind

OUR_TIME, OUR_SIGNATURE = "x-culprit-timestamp", "x-culprit-signature"
GRAFANA_SIGNATURE = "x-grafana-alerting-signature"
GRAFANA_TIMES = ("x-grafana-alerting-signature-timestamp", "x-grafana-alerting-timestamp")
PAGERDUTY_SIGNATURE = "x-pagerduty-signature"
#: A change of a secret needs two signatures; more than this many in one header are refused.
MAX_SIGNATURES = 8


@dataclass(frozen=True, slots=True)
class SignatureProof:
    """A valid signature. `at_s` is the signed time in seconds of UTC; None if the header has no time."""

    at_s: int | None


def compute_signature(secret: bytes, at_s: int | str, body: bytes, separator: bytes = b".") -> str:
    """Return HMAC-SHA256 over time and body, in hex."""
    signed = str(at_s).encode() + separator + body
    return hmac.new(secret, signed, hashlib.sha256).hexdigest()


def check_signature(
    kind: Kind, secret: bytes, headers: Mapping[str, str], body: bytes
) -> SignatureProof | Sentence:
    """Return the proof, or the reason why there is none. `headers` have lower-case names."""
    if kind == "pagerduty" and PAGERDUTY_SIGNATURE in headers:
        right = hmac.new(secret, body, hashlib.sha256).hexdigest()
        return _match_any(_parse_signatures(headers[PAGERDUTY_SIGNATURE]), right, SignatureProof(None))
    if kind == "grafana" and GRAFANA_SIGNATURE in headers:
        at = next((headers[name] for name in GRAFANA_TIMES if name in headers), "")
        if not _is_time(at):
            return Sentence("trigger.no_timestamp", {"header": "X-Grafana-Alerting-Signature-Timestamp"})
        return _match_any(
            [headers[GRAFANA_SIGNATURE]], compute_signature(secret, at, body, b":"), SignatureProof(int(at))
        )
    if OUR_SIGNATURE not in headers:
        return Sentence("trigger.not_signed")
    at = headers.get(OUR_TIME, "")
    if not _is_time(at):
        return Sentence("trigger.no_timestamp", {"header": "X-Culprit-Timestamp"})
    return _match_any(
        _parse_signatures(headers[OUR_SIGNATURE]),
        compute_signature(secret, at, body),
        SignatureProof(int(at)),
    )


def _is_time(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 14


def _parse_signatures(header: str) -> list[str]:
    """Return the version 1 signatures of a header."""
    supplied = [item.strip() for item in header[:1000].split(",")]
    return [item.removeprefix("v1=") for item in supplied if item.startswith("v1=")]


def _match_any(supplied: Iterable[str], right: str, proof: SignatureProof) -> SignatureProof | Sentence:
    result = False
    for item in list(supplied)[:MAX_SIGNATURES]:
        result |= hmac.compare_digest(item.strip().lower().encode("utf-8", "replace"), right.encode())
    return proof if result else Sentence("trigger.wrong_signature")
