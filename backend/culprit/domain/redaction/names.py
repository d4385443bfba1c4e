"""Search known names with one prefix-tree expression, so that the cost does not grow with their number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MIN_UNBOUNDED_LENGTH = 5
"""Minimum length of a name that is also replaced inside other words, if it is not only letters. Other names are only
replaced as whole words: a host can have the name cache."""

_NOTHING = re.compile(r"(?!)")
_END = ""


def build_expression(names: Iterable[str], *, alone: bool = False) -> re.Pattern[str]:
    """Return an expression that matches any of `names`, case-insensitive, the longest first.

    With `alone` it matches only whole words.
    """
    lowered = sorted({name.strip().lower() for name in names if name.strip()})
    if not lowered:
        return _NOTHING
    inside = {
        name for name in lowered if len(name) >= MIN_UNBOUNDED_LENGTH and not name.isalpha() and not alone
    }
    long = [name for name in lowered if name in inside]
    short = [name for name in lowered if name not in inside]
    parts = []
    if long:
        parts.append(_build_branch(long))
    if short:
        parts.append(rf"(?<![^\W_]){_build_branch(short)}(?![^\W_])")
    return re.compile("|".join(parts), re.IGNORECASE)


def _build_branch(names: Iterable[str]) -> str:
    root: dict[str, Any] = {}
    for name in names:
        node = root
        for letter in name:
            node = node.setdefault(letter, {})
        node[_END] = {}
    return _render_branch(root)


def _render_branch(root: dict[str, Any]) -> str:
    """Convert the tree to an expression without recursion, because names have no length limit."""
    done: dict[int, str] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        children = [(letter, child) for letter, child in node.items() if letter != _END]
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for _, child in children)
            continue
        choices = [re.escape(letter) + done.pop(id(child)) for letter, child in children]
        if not choices:
            done[id(node)] = ""
        elif len(choices) == 1 and _END not in node:
            done[id(node)] = choices[0]
        else:
            done[id(node)] = f"(?:{'|'.join(choices)}){'?' if _END in node else ''}"
    return done[id(root)]
