"""A zoomed drawing says what it stands on, and each step of it can be zoomed to."""

from __future__ import annotations

import io

from culprit.core.diff import diff
from culprit.core.inverted import inverted, inverted_path
from culprit.core.stacks import Profile, View

from collectors.parse import folded

STACKS = b"app;main;parse;malloc 6\napp;main;write 3\napp;idle 1\n"


def seen() -> View:
    return Profile(folded.read(io.BytesIO(STACKS))).view()


def ids(view: View) -> dict[str, int]:
    drawn = view.tree()
    return dict(zip(drawn.name, drawn.id, strict=True))


def test_steps_lead_from_the_root_to_the_caller() -> None:
    view = seen()
    place = ids(view)
    steps = view.path(place["malloc"])
    assert [step.name for step in steps][-2:] == ["main", "parse"]
    assert steps[0].id == 0
    assert view.path(0) == []
    for step in steps:
        assert view.tree(root=step.id).name[0] == step.name


def test_callers_have_steps_of_their_own() -> None:
    view = seen()
    whole = inverted(view)
    deep = whole.id[whole.level.index(max(whole.level))]
    steps = inverted_path(view, deep)
    assert steps[0].id == 0
    assert len(steps) == max(whole.level)
    for step in steps[1:]:
        assert inverted(view, root=step.id).name[0] == step.name
    assert inverted_path(view, 0) == []


def test_a_comparison_has_them_too() -> None:
    found = diff(seen(), seen())
    drawn = found.tree()
    leaf = drawn.id[drawn.name.index("malloc")]
    assert [step.name for step in found.path(leaf)][-1] == "parse"
