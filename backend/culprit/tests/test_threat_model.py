"""SECURITY.md is complete and its evidence exists: every actor, every public route, every named test."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from culprit.launcher.paths import ROOT
from fastapi import FastAPI

PAGE = ROOT / "SECURITY.md"
#: Actors of the threat model. An actor without a row, or a row without a test, fails.
ACTORS = (
    "Anonymous",
    "Viewer",
    "Investigator",
    "On-call",
    "Admin",
    "Token of any role",
    "Container owner",
    "Local user of a target",
    "Hostile host",
    "Debuginfod server",
    "Hostile upload",
    "Network",
    "Thief of a backup",
)
TEST = re.compile(r"`([\w/.-]+\.(?:py|ts))::([^`]+)`")
ROUTE = re.compile(r"^\| `([A-Z]+) (/[^`]*)` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text("utf-8")


def section(page: str, title: str) -> str:
    """Return the text below the heading `title`, up to the next heading of the same level."""
    return page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every body row of a Markdown table."""
    cells = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in cells[1:] if not set("".join(row)) <= set("-| ")]


def served_routes(routes: Sequence[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (method, path) of every route, also of those that the OpenAPI document does not list."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from served_routes(route.original_router.routes, prefix + route.include_context.prefix)
        else:
            yield from ((method, prefix + route.path) for method in route.methods - {"HEAD"})


def test_every_actor_has_rows_and_every_row_has_a_test(page: str) -> None:
    table = rows(section(page, "Threat model"))
    assert {row[0] for row in table} == set(ACTORS)
    assert [row[:2] for row in table if not TEST.search(row[-1])] == []


def list_missing_tests(page: str) -> list[str]:
    """Return the tests that a page names and that do not exist."""
    missing = []
    for path, name in TEST.findall(page):
        file = ROOT / path
        text = file.read_text("utf-8") if file.is_file() else ""
        requested = rf"^\s*(?:async )?def {re.escape(name)}\(" if path.endswith(".py") else re.escape(name)
        if not re.search(requested, text, re.MULTILINE):
            missing.append(f"{path}::{name}")
    return missing


def test_every_named_test_exists(page: str) -> None:
    assert len(TEST.findall(page)) >= len(ACTORS)
    assert list_missing_tests(page) == []


def test_every_route_outside_the_authorization_matrix_is_listed(app: FastAPI, page: str) -> None:
    matrix = {
        (method.upper(), path) for path, methods in app.openapi()["paths"].items() for method in methods
    }
    outside = set(served_routes(app.routes)) - matrix
    assert outside, "the walk over the routes finds nothing"
    listed = set(ROUTE.findall(section(page, "Routes outside the API")))
    assert outside - listed == set(), "decide who may use these, and add them to SECURITY.md"
    assert listed - outside == set(), "these are no longer served"
