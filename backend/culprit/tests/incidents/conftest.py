"""Artifacts are parsed in the process of the test: these tests are about incidents over them."""

import pytest


@pytest.fixture(autouse=True)
def parse_in_process(parsed_here: None) -> None:
    """Parse without a sandboxed child."""
