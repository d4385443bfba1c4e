"""A NUL in a body is refused with the name of its field, before anything is processed."""

import pytest
from culprit.web.http.text_check import list_nul_fields


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
def test_text_check_names_each_text_with_nul(body, fields):
    assert list_nul_fields(body) == fields


@pytest.mark.parametrize(
    "body", [{"text": "a\0b", "kind": "deploy"}, {"text": "a", "kind": "deploy", "x": ["\0"]}]
)
def test_report_event_refuses_nul_by_field(as_, body):
    answer = as_("oncall").post("/api/v1/annotations", json=body)
    assert (answer.status_code, answer.json()["key"]) == (422, "request.invalid")
    [error] = answer.json()["errors"]
    assert error["key"] == "request.nul_character" and "NUL" in error["detail"]
    assert error["at"] in ("text", "x.0")


def test_each_route_with_body_refuses_nul(as_, app):
    """Every route of the application is checked, including new ones."""
    paths = app.openapi()["paths"]
    requested = 0
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
            requested += 1
    assert requested > 30


def test_too_large_body_is_refused_as_too_large(as_):
    answer = as_("oncall").post(
        "/api/v1/annotations",
        content=b'{"text": "' + b"x" * (3 << 20) + b'"}',
        headers={"content-type": "application/json", "transfer-encoding": "chunked"},
    )
    assert answer.status_code == 413
