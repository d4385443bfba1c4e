"""A zoomed flame graph names its path, and each step of the path can be zoomed to."""

from __future__ import annotations

import io

from culprit.domain.profiles.changes.drawing import ComparisonDrawing
from culprit.domain.profiles.comparison import compare_views
from culprit.domain.profiles.inverted import find_inverted_path, render_inverted_tree
from culprit.domain.profiles.stacks import ProfileView, StackProfile

from collectors.parse.perf import folded

STACKS = b"app;main;parse;malloc 6\napp;main;write 3\napp;idle 1\n"


def seen() -> ProfileView:
    return StackProfile(folded.parse_folded(io.BytesIO(STACKS))).view()


def ids(view: ProfileView) -> dict[str, int]:
    tree = view.render_tree()
    return dict(zip(tree.name, tree.id, strict=True))


def test_steps_lead_from_the_root_to_the_caller() -> None:
    view = seen()
    place = ids(view)
    steps = view.list_path(place["malloc"])
    assert [step.name for step in steps][-2:] == ["main", "parse"]
    assert steps[0].id == 0
    assert view.list_path(0) == []
    for step in steps:
        assert view.render_tree(root=step.id).name[0] == step.name


def test_callers_have_steps_of_their_own() -> None:
    view = seen()
    whole = render_inverted_tree(view)
    deep = whole.id[whole.level.index(max(whole.level))]
    steps = find_inverted_path(view, deep)
    assert steps[0].id == 0
    assert len(steps) == max(whole.level)
    for step in steps[1:]:
        assert render_inverted_tree(view, root=step.id).name[0] == step.name
    assert find_inverted_path(view, 0) == []


def test_a_comparison_has_them_too() -> None:
    result = ComparisonDrawing(compare_views(seen(), seen()))
    tree = result.render_tree()
    leaf = tree.id[tree.name.index("malloc")]
    assert [step.name for step in result.list_path(leaf)][-1] == "parse"
