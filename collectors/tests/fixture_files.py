"""Paths of recorded fixtures: `fixtures/<area>/<collector>/<case>`, and `fixtures/reports` and `fixtures/profiles`."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
CATALOG = Path(__file__).parents[1] / "catalog"


def fixture_folder(collector_id: str) -> Path:
    """Return the folder that holds the recorded cases of this collector."""
    [module] = CATALOG.glob(f"*/{collector_id}.py")
    return FIXTURES / module.parent.name / collector_id
