"""What senders send, as alerts; and whatever else may come."""

from __future__ import annotations

import hmac
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from culprit.core.alerts.contract import KINDS, MAX_ALERTS, MAX_LABELS, Payload, Unreadable
from culprit.core.alerts.formats import read
from culprit.core.alerts.places import Candidate, cap, choose, host_names, service_names
from culprit.core.alerts.proof import Proven, proven, signature
from culprit.kit.sentences import catalogue
from culprit.kit.uuid7 import uuid7
from hypothesis import given
from hypothesis import strategies as st

PAYLOADS = Path(__file__).parent / "payloads"


def documented(kind: str) -> bytes:
    return (PAYLOADS / f"{kind}.json").read_bytes()


def alerts(kind: str, body: bytes):
    found = read(kind, body)
    assert isinstance(found, Payload), found
    return found


def test_alertmanager_says_which_fire_and_which_are_over() -> None:
    first, second = alerts("alertmanager", documented("alertmanager")).alerts
    assert (first.firing, second.firing) == (True, False)
    assert (first.cause, first.title) == ("HighLatency", "p99 of feed is 2.3 s")
    assert first.fingerprint == "c3f9e1a2b4d5e6f7"
    assert first.began_at == datetime(2026, 11, 21, 2, 14, 0, 123456, UTC)
    assert host_names(first.labels) == ["feed-7"] and service_names(first.labels) == ["feed"]
    assert first.group.startswith("{}:{alertname")


def test_grafana_is_the_same_with_its_own_texts() -> None:
    [one] = alerts("grafana", documented("grafana")).alerts
    assert (one.cause, one.title, one.summary) == ("Load high", "Load of feed-7", "Load is 300 on one CPU")
    assert host_names(one.labels) == ["feed-7.dc1.example"]
    assert one.began_at == datetime(2026, 11, 21, 1, 14, 10, tzinfo=UTC)


def test_pagerduty_has_its_time_and_its_details() -> None:
    found = alerts("pagerduty", documented("pagerduty"))
    [one] = found.alerts
    assert found.sent_at == datetime(2026, 11, 21, 2, 14, 20, tzinfo=UTC)
    assert (one.firing, one.title, one.fingerprint) == (True, "feed answers slowly", "PGR0VU2")
    assert one.labels == {"host": "feed-7", "load1": "300", "service": "feed", "priority": "P1"}
    other = json.loads(documented("pagerduty"))
    other["event"]["event_type"] = "incident.annotated"
    assert alerts("pagerduty", json.dumps(other).encode()).alerts == ()
    other["event"]["event_type"] = "incident.resolved"
    assert not alerts("pagerduty", json.dumps(other).encode()).alerts[0].firing


def test_the_generic_form_is_one_alert_or_a_list() -> None:
    found = alerts("generic", documented("generic"))
    [one] = found.alerts
    assert found.sent_at is not None
    assert (one.title, one.cause, one.group) == ("nightly job is late", "nightly job is late", "nightly")
    assert one.labels == {"team": "search", "host": "feed-7", "service": "feed"}
    [bare] = alerts("generic", b'{"title": "x", "status": "resolved"}').alerts
    assert not bare.firing and len(bare.fingerprint) == 32


HOSTILE = [
    b"", b"[]", b"null", b"{", b"\xff\xfe", b'{"alerts": 5}', b'{"a": NaN}', b"[" * 5000 + b"]" * 5000,
    b'{"a":' * 60 + b"1" + b"}" * 60, b'{"x": ' + b"9" * 5000 + b"}", b'{"alerts": [], "event": []}',
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_request_says_so(kind, body: bytes) -> None:
    found = read(kind, body)
    if isinstance(found, Unreadable):
        assert found.reason.key in catalogue("en") and found.reason.key in catalogue("zh")
    else:
        assert found.alerts == ()


def test_texts_are_bounded_and_harmless() -> None:
    labels = {f"l{n}": "v" * 2000 for n in range(200)} | {"nul\x00": "a\x00b\x1b[31m\u202e", "bad": "\ud800"}
    body = json.dumps({"title": "t\x00" + "x" * 5000, "labels": labels, "summary": "\x07"}).encode()
    [one] = alerts("generic", body).alerts
    assert len(one.labels) == MAX_LABELS and all(len(value) <= 500 for value in one.labels.values())
    told = one.title + one.summary + "".join(one.labels) + "".join(one.labels.values())
    assert not any(ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 or sign == "\u202e" for sign in told)
    assert len(one.title) == 200
    many = json.dumps({"alerts": [{"labels": {"host": str(n)}} for n in range(MAX_ALERTS + 7)]}).encode()
    found = alerts("alertmanager", many)
    assert (len(found.alerts), found.left_out) == (MAX_ALERTS, 7)


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
    read(kind, json.dumps(body).encode("utf-8", "surrogatepass"))


def test_a_signature_is_over_time_and_body() -> None:
    secret, body = b"s" * 20, b'{"title": "x"}'
    ours = {"x-culprit-timestamp": "1700000000"}
    ours["x-culprit-signature"] = "v0=zz, v1=" + signature(secret, 1700000000, body)
    assert proven("generic", secret, ours, body) == Proven(1700000000)
    assert proven("generic", secret, ours, body + b" ").key == "trigger.wrong_signature"
    assert (
        proven("generic", secret, {**ours, "x-culprit-timestamp": "1700000001"}, body).key
        == "trigger.wrong_signature"
    )
    assert proven("generic", secret, {}, body).key == "trigger.not_signed"
    assert (
        proven("generic", secret, {**ours, "x-culprit-timestamp": "now"}, body).key == "trigger.no_timestamp"
    )
    assert (
        proven("generic", secret, {**ours, "x-culprit-signature": "v1=é"}, body).key
        == "trigger.wrong_signature"
    )
    grafana = {
        "x-grafana-alerting-signature": signature(secret, "1700000000", body, b":"),
        "x-grafana-alerting-signature-timestamp": "1700000000",
    }
    assert proven("grafana", secret, grafana, body) == Proven(1700000000)
    del grafana["x-grafana-alerting-signature-timestamp"]
    assert proven("grafana", secret, grafana, body).key == "trigger.no_timestamp"
    # An example that can be checked by hand: printf %s '{"title": "x"}' | openssl dgst -sha256 -hmac ssssssssssssssssssss
    right = "v1=" + hmac.new(secret, body, "sha256").hexdigest()
    assert proven("pagerduty", secret, {"x-pagerduty-signature": f"v1={'0' * 64},{right}"}, body) == Proven(
        None
    )
    assert (
        proven("pagerduty", secret, {"x-pagerduty-signature": "v1="}, body).key == "trigger.wrong_signature"
    )


def test_a_host_is_meant_by_name_address_or_short_name_and_never_guessed() -> None:
    names = ["feed-7", "feed-8.dc1.example", "feed-8.dc2.example", "ads-1"]
    hosts = [Candidate(uuid7(), name, f"10.0.0.{n}") for n, name in enumerate(names)]

    def meant(*labels: str) -> list[str]:
        return [one.name for one in choose(list(labels), hosts)]

    assert meant("feed-7") == ["feed-7"]
    assert meant("feed-7.dc1.example") == ["feed-7"]
    assert meant("10.0.0.3") == ["ads-1"]
    assert meant("feed-8") == ["feed-8.dc1.example", "feed-8.dc2.example"]
    assert meant("feed-8.dc2.example") == ["feed-8.dc2.example"]
    assert meant("feed-8.dc3.example") == []
    assert meant("unknown", "ads-1") == ["ads-1"]
    assert host_names({"instance": "[2001:db8::1]:9100"}) == ["2001:db8::1"]
    assert host_names({"instance": "2001:db8::1"}) == ["2001:db8::1"]
    assert host_names({"instance": "10.0.0.1:9100", "host": "H-1 "}) == ["h-1", "10.0.0.1"]


def test_ten_percent_but_one_at_least_and_few_at_most() -> None:
    assert [cap("light", size) for size in (1, 3, 19, 20, 100, 500)] == [1, 1, 1, 2, 10, 20]
    assert [cap("standard", size) for size in (1, 30, 50, 100, 500)] == [1, 3, 5, 5, 5]
