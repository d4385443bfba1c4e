"""Changed stacks, sandwiches, tracks and missing names over HTTP, on an imported recording."""

from __future__ import annotations

import pytest
from culprit.tests.captures.imports.test_import_profiles import SCRIPT, bring, finish


@pytest.fixture
def get(as_, session):
    client = as_("investigator")
    profile, state = finish(session, bring(client, SCRIPT).json())
    assert state == "ready", profile.failure

    def read(resource, status=200, **params):
        answer = client.get(f"/api/v1/profiles/{profile.id}/{resource}", params=params)
        assert answer.status_code == status, answer.text
        return answer.json()

    return read


def names(tree):
    """Every name of a tree with its weight."""
    out, todo = {}, [tree]
    while todo:
        node = todo.pop()
        out[node["name"]] = out.get(node["name"], 0) + node["value"]
        todo += node["children"]
    return out


def test_a_path_of_names_addresses_a_frame_in_any_selection(get):
    zoomed = get("tree", path=["web", "main", "handle"])
    assert (zoomed["tree"]["name"], zoomed["tree"]["value"]) == ("handle", 2)
    assert [step["name"] for step in zoomed["path"]] == ["all", "web", "main"]
    assert get("tree", path=["web", "main", "handle"], cpu=1)["tree"]["value"] == 1
    assert get("tree", path=["web", "gone"])["tree"]["name"] == "web"
    inner = get("tree", path=["handle", "main"], inverted=True)
    assert (inner["tree"]["name"], inner["tree"]["value"]) == ("main", 1)


def test_stacks_are_changed_and_totals_follow(get):
    hidden = get("tree", hide=["main"])
    assert "main" not in names(hidden["tree"]) and hidden["total"] == 3
    focused = get("tree", focus="handle")
    assert (focused["total"], names(focused["tree"])) == (2, {"all": 2, "handle": 2, "do_syscall_64": 1})
    assert get("table", focus="handle")["total"] == 2
    assert get("search", focus="handle", q="main")["weight"] == 0
    assert get("tree", fold=True)["total"] == 3
    grouped = names(get("tree", group_unnamed=True)["tree"])
    assert grouped["db [no symbols]"] == 1 and "[unknown]" not in grouped


def test_samples_are_filtered_by_what_is_on_their_stack(get):
    assert get("tree", stack="^do_sys")["total"] == 1
    assert get("tree", module="/usr/bin/web")["total"] == 2
    assert get("facets")["modules"][0] == {"module": "/usr/bin/web", "weight": 2}
    assert get("tree", status=422, stack="(")["key"] == "profile.pattern"


def test_a_function_between_callers_and_callees(get):
    sandwich = get("sandwich", function="handle")
    assert (sandwich["total"], sandwich["self"], sandwich["view_total"]) == (2, 1, 3)
    assert names(sandwich["callers"]) == {"handle": 2, "main": 2, "web": 2}
    assert names(sandwich["callees"]) == {"handle": 2, "do_syscall_64": 1}
    assert get("sandwich", function="handle", cpu=1)["total"] == 1
    assert get("sandwich", status=404, function="nothing")["key"] == "profile.no_such_function"


def test_a_thread_in_the_order_of_time(get):
    order = get("time-order")
    figures = ("tid", "pid", "comm", "tracks_total", "total", "samples", "pruned_weight")
    assert [order[name] for name in figures] == [42, 41, "web", 2, 2, 2, 0]
    [task] = order["tree"]["children"]
    [main] = task["children"]
    [handle] = main["children"]
    [syscall] = handle["children"]
    assert (syscall["name"], syscall["start"], syscall["value"], handle["self"]) == ("do_syscall_64", 0, 1, 1)
    assert handle["last_ns"] - handle["first_ns"] == 499_999_999
    assert get("time-order", by="cpu", cpu=0)["samples"] == 2
    assert get("time-order", tid=1)["tree"] is None
    get("time-order", status=422, by="process")


def test_tracks_and_missing_names(get):
    tracks = get("tracks", by="process", bins=2)
    assert [(track["comm"], track["pid"], track["counts"]) for track in tracks["tracks"]] == [
        ("web", 41, [2, 0]),
        ("db", 7, [0, 1]),
    ]
    assert [track["cpu"] for track in get("tracks", by="cpu")["tracks"]] == [0, 1]
    get("tracks", status=422, bins=0)
    [module] = get("unnamed")["modules"]
    assert (module["module"], module["reason"], module["weight"]) == ("/usr/bin/db", "stripped", 1)
    assert module["explanation"] is None


def test_what_fetching_symbols_showed_explains_a_module(as_, session):
    client = as_("investigator")
    profile, _ = finish(session, bring(client, SCRIPT).json())
    explanation = {"key": "naming.too_large", "params": {}}
    profile.naming = {"unnamed": [{"module": "/usr/bin/db", "reason": explanation}]}
    session.commit()
    [module] = client.get(f"/api/v1/profiles/{profile.id}/unnamed").json()["modules"]
    assert module["explanation"]["key"] == "naming.too_large"


def test_a_comparison_by_what_is_no_pattern_is_refused(as_, session):
    client = as_("investigator")
    profile, _ = finish(session, bring(client, SCRIPT).json())
    side = {"profile_id": str(profile.id), "filter": {"stack": "("}}
    answer = client.post("/api/v1/comparisons", json={"a": side, "b": {"profile_id": str(profile.id)}})
    assert answer.status_code == 422, answer.text
