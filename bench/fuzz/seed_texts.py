"""Short examples of documents of other systems, of which the repository has no recording."""

from __future__ import annotations

import base64
import json

_ALERT = {
    "status": "firing", "labels": {"alertname": "HighLoad", "instance": "web-1:9100"},
    "annotations": {"summary": "load", "description": "too high"}, "startsAt": "2026-11-22T09:00:00Z",
    "fingerprint": "c0ffee",
}  # fmt: skip
_PAGE = {
    "event": {
        "event_type": "incident.triggered", "occurred_at": "2026-11-22T09:00:00.123Z",
        "data": {
            "id": "Q1", "title": "slow", "created_at": "2026-11-22T09:00:00Z", "service": {"summary": "shop"},
            "priority": {"summary": "P1"}, "body": {"details": {"host": "web-1", "firing_labels": {"a": "b"}}},
        },
    }
}  # fmt: skip
_GENERIC = {"title": "slow", "host": "web-1", "labels": {"a": "b"}, "status": "ok", "began_at": 1767225600}

ALERTS = tuple(
    json.dumps(item).encode()
    for item in ({"groupKey": "g", "commonLabels": {"job": "n"}, "alerts": [_ALERT]}, _PAGE, _GENERIC)
)
PAGERDUTY = json.dumps(
    {
        "oncalls": [
            {
                "user": {"name": "Ada", "email": "ada@example.org"}, "start": "2026-11-22T09:00:00Z",
                "end": None, "escalation_level": 2,
            }
        ],
        "more": False,
    }
).encode()  # fmt: skip

_BLOB = (11).to_bytes(4, "big") + b"ssh-ed25519" + (32).to_bytes(4, "big") + bytes(32)
KEY_LINE = b"ssh-ed25519 " + base64.b64encode(_BLOB)
INVENTORIES = (
    b"[web]\nweb-1 ansible_host=10.0.0.1 ansible_port=2222 ansible_user=ops\nweb-[01:03].example\n\n"
    b"[web:vars]\nansible_user=ops\n\n[all:children]\nweb\n",
    b"---\nall:\n  vars:\n    ansible_user: ops\n  children:\n    web:\n      hosts:\n"
    b"        web-1: {ansible_host: 10.0.0.1, ansible_port: 22}\n        web-[1:3]:\n",
    b"name,address,port,username,labels,jump,host_key\nweb-1,10.0.0.1,22,ops,role=web;site=a,gate,"
    + KEY_LINE
    + b"\n",
    b"web-1,10.0.0.1 "
    + KEY_LINE
    + b"\n[web-2]:2222 "
    + KEY_LINE
    + b" comment\n@cert-authority *.x "
    + KEY_LINE,
    b"Host web-* !web-9\n  HostName %h.example\n  Port 2222\n  User ops\n  ProxyJump gate,ops@b:22\n"
    b"Host web-1\nMatch host x exec true\nInclude other\n",
)

_EVENT = (
    "BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Ada\r\nDTSTART;TZID=Europe/Berlin:20261101T090000\r\n"
    "DTEND;TZID=Europe/Berlin:20261102T090000\r\nRRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=4\r\n"
    "EXDATE;TZID=Europe/Berlin:20261109T090000\r\nATTENDEE;CN=Ada:mailto:ada@example.org\r\nEND:VEVENT\r\n"
)
CALENDARS = (
    f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{_EVENT}END:VCALENDAR\r\n".encode(),
    b"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nUID:2\nSUMMARY:Bo\nDTSTART;VALUE=DATE:20261105\n"
    b"DURATION:P3D\nSTATUS:CANCELLED\nEND:VEVENT\nEND:VCALENDAR\n",
)

DISCOVERY = json.dumps(
    {
        "issuer": "https://id.example", "authorization_endpoint": "https://id.example/a",
        "token_endpoint": "https://id.example/t", "jwks_uri": "https://id.example/k",
        "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        "code_challenge_methods_supported": ["S256"], "end_session_endpoint": "https://id.example/e",
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }
).encode()  # fmt: skip
KEY_SET = json.dumps(
    {"keys": [{"kty": "EC", "crv": "P-256", "x": "x", "y": "y", "kid": "1", "use": "sig"}]}
).encode()

_ID, _AT = "00000000-0000-4000-8000-00000000000", "2026-11-22T09:00:00+00:00"
_LISTS = (
    "playbooks", "hypotheses", "steps", "verdicts", "pins", "waivers", "outcomes", "fixes", "verifications",
    "artifacts", "profiles", "comparisons",
)  # fmt: skip
DOCUMENT_SEED = json.dumps(
    {name: [] for name in _LISTS}
    | {
        "origin": {
            "culprit": "0.1.0", "number": 7, "written_at": _AT, "redacted": True, "rules": "ab" * 32,
        },
        "incident": {
            "id": f"{_ID}1", "title": "slow", "symptom": {}, "severity": 2, "state": "open",
            "window_from": _AT, "window_to": None, "created_at": _AT, "resolved_at": None,
        },
        "hosts": [{"id": f"{_ID}2", "name": "web-1", "scope": {"kind": "host"}, "role": "suspect"}],
        "captures": [
            {
                "id": f"{_ID}3", "plan": "triage", "collectors": [{"id": "meminfo", "seconds": 10}],
                "seconds": 10.0, "scope": {"kind": "host"}, "reason": "", "state": "done", "created_at": _AT,
            }
        ],
        "runs": [
            {
                "id": f"{_ID}4", "capture": f"{_ID}3", "host": f"{_ID}2", "role": None, "fix": None,
                "step": None, "state": "done", "failure": None, "failure_side": None, "boot_id": "b",
                "clock": None, "host_cpu_ms": 1.5, "t0_ns": 1, "t1_ns": 2, "target": None,
                "started_at": _AT, "ended_at": _AT,
                "rule_verdicts": [{"rule": "MEM-1", "state": "matched", "subjects": 1}],
            }
        ],
        "collectors": [
            {
                "id": f"{_ID}5", "run": f"{_ID}4", "collector": "meminfo", "state": "skipped",
                "reason": {"key": "reason.unavailable", "params": {}}, "method": None, "argv": None,
                "exit_code": None, "tool_version": None, "started_ns": 1, "ended_ns": 2, "cpu_ms": 1.0,
                "bytes": 0, "stderr_tail": None, "parser_version": 1,
            }
        ],
        "comments": [{"about": "incident", "text": "hm", "by": "Ada", "at": _AT}],
    }
).encode()  # fmt: skip

_SPAN = {"traceID": "t", "startTime": 1000, "duration": 100, "operationName": "GET /", "processID": "p"}
_RESULT = {
    "attack": "a", "seq": 1, "code": 503, "timestamp": "2026-11-21T10:00:01.100000001+02:00", "latency": 1000000,
    "bytes_out": 0, "bytes_in": 3, "error": "timeout awaiting response", "method": "GET", "url": "http://h/o?a=1#x",
}  # fmt: skip
_SUMMARY = {
    "latencies": {"total": 1, "mean": 2000000, "50th": 1, "90th": 2, "95th": 3, "99th": 4, "max": 5, "min": 1},
    "bytes_in": {"total": 1, "mean": 1}, "bytes_out": {"total": 0, "mean": 0}, "earliest": "2026-11-21T10:00:00Z",
    "latest": "2026-11-21T10:00:02Z", "end": "2026-11-21T10:00:02Z", "duration": 2000000000, "wait": 1,
    "requests": 200, "rate": 100, "throughput": 90, "success": 0.9, "status_codes": {"0": 4, "200": 196},
    "errors": ["503 Service Unavailable"],
}  # fmt: skip
REPORTS_OF_OTHERS = {
    "jaeger": [
        json.dumps(
            {
                "data": [
                    {
                        "traceID": "t", "processes": {"p": {"serviceName": "web"}},
                        "spans": [
                            {**_SPAN, "spanID": "a", "references": [], "tags": [{"key": "error", "value": True}]},
                            {**_SPAN, "spanID": "b", "references": [{"refType": "CHILD_OF", "spanID": "a"}]},
                        ],
                    }
                ]
            },
            indent=1,
        ).encode()
    ],
    "vegeta": [json.dumps(_SUMMARY).encode(), b"\n".join([json.dumps(_RESULT).encode()] * 3)],
    "jmeter": [
        b"timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes\n"
        b'1795295643000,12,"Home, page",200,OK,t 1-1,true,10\n1795295643500,30,Checkout,500,Internal,t 1-1,false,10\n'
    ],
}  # fmt: skip
