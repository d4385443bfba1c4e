"""Artifacts are parsed in the process of the test: these tests read what the rules find in them."""

import pytest


@pytest.fixture(autouse=True)
def parse_in_process(parsed_here: None) -> None:
    """Parse without a sandboxed child."""
