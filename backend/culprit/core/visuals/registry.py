"""All builders. Every module of `catalog` has BUILDER; none is registered."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from culprit.core.rules.view import Reads, View
from culprit.core.visuals import catalog
from culprit.core.visuals.contract import MAX_PER_BUILDER, Builder, Drawn, Visual

__all__ = ["BUILDERS", "draw", "fitting", "reads_of"]


def _builders() -> Mapping[str, Builder]:
    """By id, in the order of ids; two with one id are our bug."""
    found: dict[str, Builder] = {}
    for name in sorted(info.name for info in pkgutil.iter_modules(catalog.__path__)):
        one: Builder = importlib.import_module(f"{catalog.__name__}.{name}").BUILDER
        if one.id in found:
            raise ValueError(f"{one.id} is defined twice")
        found[one.id] = one
    return MappingProxyType(dict(sorted(found.items())))


BUILDERS: Mapping[str, Builder] = _builders()


def fitting(ids: Iterable[str], rules: Iterable[str]) -> list[Builder]:
    """The builders with these ids and those that illustrate these rules; all, where neither is asked for."""
    wanted, shown = frozenset(ids), frozenset(rules)
    if not wanted and not shown:
        return list(BUILDERS.values())
    return [one for one in BUILDERS.values() if one.id in wanted or shown.intersection(one.rules)]


def reads_of(builders: Iterable[Builder]) -> Reads:
    """Everything that these builders read."""
    found = Reads()
    for one in builders:
        found |= one.reads
    return found


def draw(builders: Iterable[Builder], view: View) -> list[Drawn]:
    """What each builder makes of the view; one that yields nothing says why there is nothing."""
    return [Drawn(one, _visuals(one, view)) for one in builders]


def _visuals(builder: Builder, view: View) -> tuple[Visual, ...]:
    found: dict[str, Visual] = {}
    for one in builder.build(view):
        found.setdefault(one.id, one)
    built = tuple(found.values())[:MAX_PER_BUILDER]
    return built or (_nothing(builder, view),)


def _nothing(builder: Builder, view: View) -> Visual:
    """The picture that is not there: hatched, with the reason."""
    reason = view.why_not(builder.collectors)
    return Visual(builder.id, builder.id, builder.title, state="no_data", reason=reason)
