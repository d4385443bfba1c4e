"""What may be looked at, and what a host says it has found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import scope
from collectors.bundle import Job, Limits, build, options_of
from collectors.contract import Option, Text
from collectors.registry import COLLECTORS
from collectors.scope import Scope

LIMITS = Limits(run="00000000-0000-7000-8000-000000000000")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("host", ""),
        ("process", "4194304"),
        ("cgroup", "/"),
        ("cgroup", "/system.slice/docker-0123.scope"),
        ("cgroup", r"/system.slice/dev-disk-by\x2did.device"),
        ("unit", "getty@tty1.service"),
        ("container", "web_1.a-b"),
        ("port", "65535"),
    ],
)
def test_what_may_be_asked_for_comes_back_from_its_forms(kind, value) -> None:
    one = Scope(kind, value)
    assert Scope.from_json(one.to_json()) == Scope.from_text(f"{kind}={value}") == one
    program = build([], LIMITS, one).decode()
    assert f"\nWANT_KIND={kind}\nWANT_VALUE='{value}'\n" in program


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("planet", ""),
        ("host", "x"),
        ("process", "0"),
        ("process", "4194305"),
        ("process", "1\n"),
        ("process", "١"),
        ("cgroup", "relative"),
        ("cgroup", "/a/../b"),
        ("cgroup", "/a b"),
        ("cgroup", "/$(id)"),
        ("cgroup", "/*"),
        ("unit", "-H"),
        ("unit", "a;b"),
        ("container", "--all"),
        ("port", "0"),
        ("port", "65536"),
    ],
)
def test_what_may_not(kind, value) -> None:
    with pytest.raises(ValueError):
        Scope(kind, value)


@pytest.mark.parametrize("told", [[], {}, None])
def test_nothing_is_the_whole_host(told) -> None:
    assert Scope.from_json(told) == Scope()


@pytest.mark.parametrize("told", ["host", {"kind": 1}, {"kind": "host", "more": 1}, {"value": "x"}])
def test_json_that_is_no_scope(told) -> None:
    with pytest.raises(ValueError):
        Scope.from_json(told)


def test_what_a_host_has_found() -> None:
    hello = {"target_kind": "cgroup", "target_pid": "12", "target_cgroup": "/app", "target_pids_count": "3"}
    expected = {"kind": "cgroup", "pid": 12, "cgroup": "/app", "processes": 3, "network": False, "lost": None}
    assert scope.found(hello) == expected
    lost = scope.found({"target_kind": "process", "target_lost": "no_process"})
    assert lost is not None and lost["lost"] == {"key": "target.no_process", "params": {}}
    assert scope.found({}) is None


WORDS = st.one_of(st.none(), st.text(max_size=40), st.integers(), st.just("9" * 5000))


@given(st.dictionaries(st.sampled_from(["kind", "pid", "cgroup", "pids_count", "network", "lost"]), WORDS))
def test_a_hostile_host_finds_nothing_odd(hello) -> None:
    said = scope.found({f"target_{key}": value for key, value in hello.items()} | {"target_kind": "cgroup"})
    assert said is not None
    assert said["pid"] is None or 0 < int(str(said["pid"])) < 10_000_000
    assert len(str(said["cgroup"] or "")) <= scope.MAX_VALUE and "\0" not in str(said["cgroup"])


def test_options_are_checked_where_the_program_is_built() -> None:
    option = Option("path", r"/[^\n']*", Text("Path", "路径"), "/tmp")
    one = replace(COLLECTORS["vmstat"], options=(option,))
    assert options_of(one, {}) == {"path": "/tmp"}
    assert options_of(one, {"path": "/x"}) == {"path": "/x"}
    for wrong in ({"path": "x"}, {"path": "/é"}, {"other": "/x"}):
        with pytest.raises(ValueError):
            options_of(one, wrong)
    assert "export OPT_PATH=" in build([Job.of(one, 1, {"path": "/x y"})], LIMITS).decode()
