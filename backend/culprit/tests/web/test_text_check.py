"""A NUL in a body is refused by the name of its field, before anything is done with it."""

import pytest
from culprit.kit.text_check import nul_fields


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b'{"text": "a"}', []),
        (rb'{"text": "a\u0000b"}', ["text"]),
        (rb'{"hosts": [{"labels": {"role": "\u0000"}}]}', ["hosts.0.labels.role"]),
        (rb'{"labels": {"ro\u0000le": "x"}}', ["labels.ro" + "\ufffd" + "le"]),
        (rb'"\u0000"', ["body"]),
        (rb'{"text": "\\u0000"}', []),
        (rb'{"text": "\u0000', []),
        (rb"[" * 5000 + rb'"\u0000"' + b"]" * 5000, []),
    ],
)
def test_every_text_with_a_nul_is_named(body, fields):
    assert nul_fields(body) == fields


@pytest.mark.parametrize(
    "body", [{"text": "a\0b", "kind": "deploy"}, {"text": "a", "kind": "deploy", "x": ["\0"]}]
)
def test_an_event_with_a_nul_is_refused_by_field(as_, body):
    answer = as_("oncall").post("/api/v1/annotations", json=body)
    assert (answer.status_code, answer.json()["key"]) == (422, "request.invalid")
    [error] = answer.json()["errors"]
    assert error["key"] == "request.nul_character" and "NUL" in error["detail"]
    assert error["at"] in ("text", "x.0")


def test_every_route_with_a_body_refuses_a_nul(as_, app):
    """Generated: a route that is added later is asked, too."""
    paths = app.openapi()["paths"]
    asked = 0
    for path, methods in paths.items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" not in content or path.endswith("/alerts"):
                continue
            url = path
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    url = url.replace("{" + parameter["name"] + "}", "01a00000-0000-7000-8000-000000000000")
            answer = as_("admin").request(method, url, json={"anything": ["\0"]})
            assert (answer.status_code, answer.json()["key"]) == (422, "request.invalid"), (method, path)
            asked += 1
    assert asked > 30


def test_a_body_that_is_too_large_is_still_told_so(as_):
    answer = as_("oncall").post(
        "/api/v1/annotations",
        content=b'{"text": "' + b"x" * (3 << 20) + b'"}',
        headers={"content-type": "application/json", "transfer-encoding": "chunked"},
    )
    assert answer.status_code == 413
