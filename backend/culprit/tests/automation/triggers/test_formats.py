"""Alert payloads of each kind of trigger, and unreadable payloads."""

from __future__ import annotations

import hmac
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from culprit.domain.alerts.contract import KINDS, MAX_ALERTS, MAX_LABELS, AlertPayload, UnreadablePayload
from culprit.domain.alerts.formats import parse_request
from culprit.domain.alerts.places import (
    HostCandidate,
    compute_capture_limit,
    extract_host_names,
    extract_service_names,
    match_hosts,
)
from culprit.domain.alerts.proof import SignatureProof, check_signature, compute_signature
from culprit.domain.messages import load_messages
from culprit.infra.db.uuid7 import new_uuid7
from hypothesis import given
from hypothesis import strategies as st

PAYLOADS = Path(__file__).parent / "payloads"


def documented(kind: str) -> bytes:
    return (PAYLOADS / f"{kind}.json").read_bytes()


def alerts(kind: str, body: bytes):
    request = parse_request(kind, body)
    assert isinstance(request, AlertPayload), request
    return request


def test_parse_alertmanager_reads_firing_and_resolved_alerts() -> None:
    first, second = alerts("alertmanager", documented("alertmanager")).alerts
    assert (first.firing, second.firing) == (True, False)
    assert (first.cause, first.title) == ("HighLatency", "p99 of feed is 2.3 s")
    assert first.fingerprint == "c3f9e1a2b4d5e6f7"
    assert first.began_at == datetime(2026, 11, 21, 2, 14, 0, 123456, UTC)
    assert extract_host_names(first.labels) == ["feed-7"] and extract_service_names(first.labels) == ["feed"]
    assert first.group.startswith("{}:{alertname")


def test_grafana_is_the_same_with_its_own_texts() -> None:
    [item] = alerts("grafana", documented("grafana")).alerts
    assert (item.cause, item.title, item.summary) == ("Load high", "Load of feed-7", "Load is 300 on one CPU")
    assert extract_host_names(item.labels) == ["feed-7.dc1.example"]
    assert item.began_at == datetime(2026, 11, 21, 1, 14, 10, tzinfo=UTC)


def test_pagerduty_has_its_time_and_its_details() -> None:
    result = alerts("pagerduty", documented("pagerduty"))
    [item] = result.alerts
    assert result.sent_at == datetime(2026, 11, 21, 2, 14, 20, tzinfo=UTC)
    assert (item.firing, item.title, item.fingerprint) == (True, "feed answers slowly", "PGR0VU2")
    assert item.labels == {"host": "feed-7", "load1": "300", "service": "feed", "priority": "P1"}
    other = json.loads(documented("pagerduty"))
    other["event"]["event_type"] = "incident.annotated"
    assert alerts("pagerduty", json.dumps(other).encode()).alerts == ()
    other["event"]["event_type"] = "incident.resolved"
    assert not alerts("pagerduty", json.dumps(other).encode()).alerts[0].firing


def test_parse_generic_accepts_alert_or_list() -> None:
    result = alerts("generic", documented("generic"))
    [item] = result.alerts
    assert result.sent_at is not None
    assert (item.title, item.cause, item.group) == ("nightly job is late", "nightly job is late", "nightly")
    assert item.labels == {"team": "search", "host": "feed-7", "service": "feed"}
    [bare] = alerts("generic", b'{"title": "x", "status": "resolved"}').alerts
    assert not bare.firing and len(bare.fingerprint) == 32


HOSTILE = [
    b"", b"[]", b"null", b"{", b"\xff\xfe", b'{"alerts": 5}', b'{"a": NaN}', b"[" * 5000 + b"]" * 5000,
    b'{"a":' * 60 + b"1" + b"}" * 60, b'{"x": ' + b"9" * 5000 + b"}", b'{"alerts": [], "event": []}',
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_parse_request_reports_unreadable_payload(kind, body: bytes) -> None:
    request = parse_request(kind, body)
    if isinstance(request, UnreadablePayload):
        assert request.reason.key in load_messages("en") and request.reason.key in load_messages("zh")
    else:
        assert request.alerts == ()


def test_texts_are_bounded_and_harmless() -> None:
    labels = {f"l{n}": "v" * 2000 for n in range(200)} | {"nul\x00": "a\x00b\x1b[31m\u202e", "bad": "\ud800"}
    body = json.dumps({"title": "t\x00" + "x" * 5000, "labels": labels, "summary": "\x07"}).encode()
    [item] = alerts("generic", body).alerts
    assert len(item.labels) == MAX_LABELS and all(len(value) <= 500 for value in item.labels.values())
    title = item.title + item.summary + "".join(item.labels) + "".join(item.labels.values())
    assert not any(ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 or sign == "\u202e" for sign in title)
    assert len(item.title) == 200
    many = json.dumps({"alerts": [{"labels": {"host": str(n)}} for n in range(MAX_ALERTS + 7)]}).encode()
    result = alerts("alertmanager", many)
    assert (len(result.alerts), result.left_out) == (MAX_ALERTS, 7)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
WORDS = ("alerts", "labels", "status", "event", "data", "title", "annotations", "startsAt", "service", "body")


@given(
    st.sampled_from(KINDS), st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=8), JSON, max_size=6)
)
def test_no_json_breaks_a_reader(kind, body) -> None:
    body = {
        **body,
        "alerts": [body, *(body.get("alerts") or [] if isinstance(body.get("alerts"), list) else [])],
    }
    body["event"] = {"event_type": "incident.triggered", "data": body.get("data")}
    parse_request(kind, json.dumps(body).encode("utf-8", "surrogatepass"))


def test_a_signature_is_over_time_and_body() -> None:
    secret, body = b"s" * 20, b'{"title": "x"}'
    ours = {"x-culprit-timestamp": "1700000000"}
    ours["x-culprit-signature"] = "v0=zz, v1=" + compute_signature(secret, 1700000000, body)
    assert check_signature("generic", secret, ours, body) == SignatureProof(1700000000)
    assert check_signature("generic", secret, ours, body + b" ").key == "trigger.wrong_signature"
    assert (
        check_signature("generic", secret, {**ours, "x-culprit-timestamp": "1700000001"}, body).key
        == "trigger.wrong_signature"
    )
    assert check_signature("generic", secret, {}, body).key == "trigger.not_signed"
    assert (
        check_signature("generic", secret, {**ours, "x-culprit-timestamp": "now"}, body).key
        == "trigger.no_timestamp"
    )
    assert (
        check_signature("generic", secret, {**ours, "x-culprit-signature": "v1=é"}, body).key
        == "trigger.wrong_signature"
    )
    grafana = {
        "x-grafana-alerting-signature": compute_signature(secret, "1700000000", body, b":"),
        "x-grafana-alerting-signature-timestamp": "1700000000",
    }
    assert check_signature("grafana", secret, grafana, body) == SignatureProof(1700000000)
    del grafana["x-grafana-alerting-signature-timestamp"]
    assert check_signature("grafana", secret, grafana, body).key == "trigger.no_timestamp"
    # An example that can be checked by hand: printf %s '{"title": "x"}' | openssl dgst -sha256 -hmac ssssssssssssssssssss
    right = "v1=" + hmac.new(secret, body, "sha256").hexdigest()
    assert check_signature(
        "pagerduty", secret, {"x-pagerduty-signature": f"v1={'0' * 64},{right}"}, body
    ) == SignatureProof(None)
    assert (
        check_signature("pagerduty", secret, {"x-pagerduty-signature": "v1="}, body).key
        == "trigger.wrong_signature"
    )


def test_a_host_is_meant_by_name_address_or_short_name_and_never_guessed() -> None:
    names = ["feed-7", "feed-8.dc1.example", "feed-8.dc2.example", "ads-1"]
    hosts = [HostCandidate(new_uuid7(), name, f"10.0.0.{n}") for n, name in enumerate(names)]

    def meant(*labels: str) -> list[str]:
        return [item.name for item in match_hosts(list(labels), hosts)]

    assert meant("feed-7") == ["feed-7"]
    assert meant("feed-7.dc1.example") == ["feed-7"]
    assert meant("10.0.0.3") == ["ads-1"]
    assert meant("feed-8") == ["feed-8.dc1.example", "feed-8.dc2.example"]
    assert meant("feed-8.dc2.example") == ["feed-8.dc2.example"]
    assert meant("feed-8.dc3.example") == []
    assert meant("unknown", "ads-1") == ["ads-1"]
    assert extract_host_names({"instance": "[2001:db8::1]:9100"}) == ["2001:db8::1"]
    assert extract_host_names({"instance": "2001:db8::1"}) == ["2001:db8::1"]
    assert extract_host_names({"instance": "10.0.0.1:9100", "host": "H-1 "}) == ["h-1", "10.0.0.1"]


def test_compute_capture_limit_is_bounded_tenth_of_hosts() -> None:
    assert [compute_capture_limit("light", size) for size in (1, 3, 19, 20, 100, 500)] == [1, 1, 1, 2, 10, 20]
    assert [compute_capture_limit("standard", size) for size in (1, 30, 50, 100, 500)] == [1, 3, 5, 5, 5]
