"""Pruned trees for flame graphs as flat columns in pre-order, and their JSON, written without recursion.

Every node satisfies `value == own + sum(children)`. Nodes that are too narrow to draw are merged into a child of kind
`pruned`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PRUNED = "pruned"
MAX_WIDTH = 16_384
MAX_NODES = 60_000
"""Maximum number of nodes in a response; the narrowest are pruned first."""

MAX_DEPTH = 400
"""Maximum number of levels below the root of a response. Deeper levels are pruned and loaded on zoom, because JSON
parsers and renderers recurse and stacks may have 10,000 frames."""


NodeNumbers = Sequence[int | float | bool | str | None]


@dataclass(frozen=True, slots=True)
class TreePathStep:
    """A node on the path from the root of the trie to the root of a rendered tree."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class RenderedTree:
    """Columns [n] of the nodes in pre-order. `level` of the first node is 0.

    `more` has further columns by name, such as the differences of a comparison.
    """

    id: Sequence[int]
    level: Sequence[int]
    name: Sequence[str]
    module: Sequence[str]
    kind: Sequence[str]
    value: Sequence[int]
    own: Sequence[int]
    more: Mapping[str, NodeNumbers] = field(default_factory=dict)

    @property
    def pruned(self) -> int:
        """The total weight of the pruned nodes."""
        return sum(v for v, k in zip(self.value, self.kind, strict=True) if k == PRUNED)

    def add_pruned(self, rest: Sequence[int], more: Mapping[str, NodeNumbers] | None = None) -> RenderedTree:
        """Return the tree with a first child of kind `pruned` for each node whose `rest` is not zero.

        `more` has the values of the pruned children, for each name in `self.more`. The ID of a pruned child is -1
        minus that of its parent: users can zoom into the parent, not into the pruned child.
        """
        take: list[int] = []  # rows of the old columns; -1 - i for the pruned child of row i
        for i, weight in enumerate(rest):
            take.append(i)
            if weight:
                take.append(-1 - i)
        return RenderedTree(
            [self.id[i] if i >= 0 else -1 - self.id[-1 - i] for i in take],
            [self.level[i] if i >= 0 else self.level[-1 - i] + 1 for i in take],
            [self.name[i] if i >= 0 else PRUNED for i in take],
            [self.module[i] if i >= 0 else "" for i in take],
            [self.kind[i] if i >= 0 else PRUNED for i in take],
            [self.value[i] if i >= 0 else rest[-1 - i] for i in take],
            [self.own[i] if i >= 0 else rest[-1 - i] for i in take],
            {
                name: [column[i] if i >= 0 else (more or {})[name][-1 - i] for i in take]
                for name, column in self.more.items()
            },
        )

    def json(self) -> str:
        """Return the tree as JSON text: nested objects {id, name, module, kind, value, self, …more, children}."""
        out: list[str] = []
        last = -1
        quote = json.dumps
        extra = [(quote(name), column) for name, column in self.more.items()]
        for i, level in enumerate(self.level):
            if level <= last:
                out.append("]}" * (last - level + 1) + ",")
            last = level
            more = "".join(f",{name}:{quote(column[i])}" for name, column in extra)
            module = f',"module":{quote(self.module[i])}' if self.module[i] else ""
            out.append(
                f'{{"id":{self.id[i]},"name":{quote(self.name[i])}{module},"kind":"{self.kind[i]}",'
                f'"value":{self.value[i]},"self":{self.own[i]}{more},"children":['
            )
        out.append("]}" * (last + 1))
        return "".join(out)
