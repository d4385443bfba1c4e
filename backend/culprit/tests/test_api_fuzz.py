"""Generated requests to every operation of the OpenAPI document: no 5xx, answers as described."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from culprit.server.web import install_state
from culprit.tests.conftest import environment, make_people
from culprit.tests.support.route_table import API, PUBLIC, TABLE
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.datastructures import State

pytestmark = pytest.mark.long(170)

# The short run tests every operation a few times; CULPRIT_FUZZ_EXAMPLES=200 tests thoroughly.
EXAMPLES = int(os.environ.get("CULPRIT_FUZZ_EXAMPLES", "3"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# test_authz compares the table with the routes. Streams are excluded, because they do not end.
OPERATIONS = [
    (method, API + path)
    for method, path in [*TABLE, *PUBLIC]
    if not path.endswith(("/progress", "/incidents/{incident_id}/updates"))
]


@pytest.fixture(scope="module")
def api(
    built: FastAPI,
    template: str,
    redis_url: str,
    make_database: Callable[[str | None], str],
    drop_database: Callable[[str], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Any, dict[str, str]]]:
    """Return the document of an application on one database, and the headers of an admin."""
    url = make_database(template)
    with environment(url, redis_url, tmp_path_factory.mktemp("fuzz")) as config:
        built.state = State()
        install_state(built, config)
        people = make_people(built.state.database)
        yield schemathesis.openapi.from_asgi("/openapi.json", built), people["admin"].headers
        built.state.database.close()
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
