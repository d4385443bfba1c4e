"""The JSON of a drawn tree with what it is a part of. Text, because a tree may be too deep for an encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from culprit.core.drawing import Drawn, Step


def tree_answer(drawn: Drawn, more: Mapping[str, Any], path: Sequence[Step] = ()) -> str:
    """`more` as an object with further members: `pruned_weight`, `path` (to the drawn root) and `tree`."""
    steps = [asdict(step) for step in path]
    head = json.dumps({**more, "pruned_weight": drawn.pruned, "path": steps}, allow_nan=False)
    return f'{head[:-1]}, "tree": {drawn.json()}}}'
