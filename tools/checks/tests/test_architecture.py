"""The tree of docs/architecture.md is that of the repository."""

from __future__ import annotations

import pytest

from tools.checks import architecture

PAGE = """# A

## Layout

```
backend/culprit/   the server
  jobs/              background jobs
docs/              guide
```
"""
FOLDERS = {".", "backend", "backend/culprit", "backend/culprit/jobs", "docs"}


def test_read_tree_joins_children_with_their_parent() -> None:
    assert architecture.read_tree(PAGE) == ["backend/culprit", "backend/culprit/jobs", "docs"]
    with pytest.raises(ValueError, match="no tree"):
        architecture.read_tree("# A\n")


def test_compare_tree_finds_unmatched_folders() -> None:
    assert architecture.compare_tree(PAGE, FOLDERS) == []
    assert architecture.compare_tree(PAGE, FOLDERS | {"backend/culprit/sheds", "attic"}) == [
        "attic: not in docs/architecture.md",
        "backend/culprit/sheds: not in docs/architecture.md",
    ]
    assert architecture.compare_tree(PAGE, FOLDERS - {"docs"}) == [
        "docs: in docs/architecture.md, not in the repository"
    ]
