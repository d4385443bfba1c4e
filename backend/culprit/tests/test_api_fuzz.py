"""Every operation of the OpenAPI document under generated requests: no 5xx, answers as described."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from culprit.config import Settings
from culprit.main import create_app
from culprit.tests.conftest import environment, make_people
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.long(30)

# The short run looks a few times at every operation; CULPRIT_FUZZ_EXAMPLES=200 as often as one who means it.
EXAMPLES = int(os.environ.get("CULPRIT_FUZZ_EXAMPLES", "3"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# The document needs no database. A stream has no end that a client could wait for.
OPERATIONS = [
    (method.upper(), path)
    for path, methods in create_app(Settings()).openapi()["paths"].items()
    for method in methods
    if not path.endswith(("/progress", "/incidents/{incident_id}/events"))
]


@pytest.fixture(scope="module")
def api(
    template: str,
    redis_url: str,
    make_database: Callable[[str | None], str],
    drop_database: Callable[[str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Any, dict[str, str]]]:
    """The document of an application on one database for all operations, and an admin's headers."""
    url = make_database(template)
    with environment(url, redis_url, tmp_path_factory.mktemp("fuzz")) as config:
        app = create_app(config)
        people = make_people(app.state.database)
        yield schemathesis.openapi.from_asgi("/openapi.json", app), people["admin"].headers
        app.state.database.close()
    drop_database(url)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_request_breaks_the_server(method: str, path: str, api: tuple[Any, dict[str, str]]) -> None:
    document, headers = api
    operation = document[path][method]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    ask()
