"""A tree ready to be drawn: few nodes, flat, in pre-order; and its JSON, written without recursion.

Every node obeys `value == own + sum(children)`; what was too narrow to be drawn is a child of kind `pruned`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PRUNED = "pruned"
MAX_WIDTH = 16_384
MAX_NODES = 60_000
"""Nodes that one answer holds at most; beyond, the narrowest are pruned first."""

MAX_DEPTH = 400
"""Levels below the asked root that one answer holds; what is deeper is pruned and comes on zoom. JSON parsers
and renderers recurse, stacks may have 10,000 frames."""


NodeNumbers = Sequence[int | float | bool | str | None]


@dataclass(frozen=True, slots=True)
class TreePathStep:
    """A node on the way from the root to the one that a drawing begins with."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class RenderedTree:
    """Columns [n] in pre-order. `level` is 0 for the first node. `more` holds further numbers per node
    (differences).
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
        """The weight of everything that was pruned."""
        return sum(v for v, k in zip(self.value, self.kind, strict=True) if k == PRUNED)

    def add_pruned(self, rest: Sequence[int], more: Mapping[str, NodeNumbers] | None = None) -> RenderedTree:
        """The same with a child of kind `pruned`, first below its parent, for each node whose `rest` is not
        zero.

        `more` holds, for each name in `self.more`, what the pruned child of each node has. Its id is -1 - its
        parent's: it cannot be zoomed into, the parent can.
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
        """Nested objects {id, name, module, kind, value, self, …more, children}, as text. Pass it on as it
        is.
        """
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
