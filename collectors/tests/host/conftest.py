"""Rooms to run in, and a host to log in to. The lab may be used by other tests too: see lab/hosts.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.tests.host.harness import Live, Room
from lab.hosts import Lab, LabHost


@pytest.fixture(autouse=True)
def end_programs() -> Iterator[None]:
    """No test leaves a program behind, also if it fails."""
    yield
    Live.end_programs()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A place to work in and a place for leases, of this test alone."""
    return Room(tmp_path)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that ends with the module."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(scope="module")
def host(lab: Lab) -> LabHost:
    """One host."""
    return lab.start("host")
