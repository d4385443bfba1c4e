"""Write the response for a rendered tree as JSON text, because a tree may be too deep for a recursive encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from culprit.domain.profiles.tree import RenderedTree, TreePathStep


def render_tree_json(
    rendered_tree: RenderedTree, more: Mapping[str, Any], path: Sequence[TreePathStep] = ()
) -> str:
    """Return `more` as a JSON object with the added members `pruned_weight`, `path` (to the root) and `tree`."""
    steps = [asdict(step) for step in path]
    head = json.dumps({**more, "pruned_weight": rendered_tree.pruned, "path": steps}, allow_nan=False)
    return f'{head[:-1]}, "tree": {rendered_tree.json()}}}'
