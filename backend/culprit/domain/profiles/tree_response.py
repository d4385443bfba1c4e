"""The JSON of a drawn tree with what it is a part of. Text, because a tree may be too deep for an encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from culprit.domain.profiles.tree import RenderedTree, TreePathStep


def render_tree_json(
    rendered_tree: RenderedTree, more: Mapping[str, Any], path: Sequence[TreePathStep] = ()
) -> str:
    """`more` as an object with further members: `pruned_weight`, `path` (to the drawn root) and `tree`."""
    steps = [asdict(step) for step in path]
    head = json.dumps({**more, "pruned_weight": rendered_tree.pruned, "path": steps}, allow_nan=False)
    return f'{head[:-1]}, "tree": {rendered_tree.json()}}}'
