"""Scopes of a capture, and the target that a host reports."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Option, Text
from collectors.registry import COLLECTORS
from collectors.runner import scope
from collectors.runner.program import CollectorJob, RunnerLimits, build_program, resolve_options
from collectors.runner.scope import Scope

LIMITS = RunnerLimits(run="00000000-0000-7000-8000-000000000000")


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
def test_scope_round_trips_through_json_and_text(kind, value) -> None:
    scope = Scope(kind, value)
    assert Scope.from_json(scope.to_json()) == Scope.from_text(f"{kind}={value}") == scope
    program = build_program([], LIMITS, scope).decode()
    assert f"\nSCOPE_KIND={kind}\nSCOPE_VALUE='{value}'\n" in program


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


@pytest.mark.parametrize("value_json", [[], {}, None])
def test_nothing_is_the_whole_host(value_json) -> None:
    assert Scope.from_json(value_json) == Scope()


@pytest.mark.parametrize("value_json", ["host", {"kind": 1}, {"kind": "host", "more": 1}, {"value": "x"}])
def test_json_that_is_no_scope(value_json) -> None:
    with pytest.raises(ValueError):
        Scope.from_json(value_json)


def test_resolved_target_from_hello() -> None:
    hello = {"target_kind": "cgroup", "target_pid": "12", "target_cgroup": "/app", "target_pids_count": "3"}
    expected = {"kind": "cgroup", "pid": 12, "cgroup": "/app", "processes": 3, "network": False, "lost": None}
    assert scope.parse_target(hello) == expected
    lost = scope.parse_target({"target_kind": "process", "target_lost": "no_process"})
    assert lost is not None and lost["lost"] == {"key": "target.no_process", "params": {}}
    assert scope.parse_target({}) is None


WORDS = st.one_of(st.none(), st.text(max_size=40), st.integers(), st.just("9" * 5000))


@given(st.dictionaries(st.sampled_from(["kind", "pid", "cgroup", "pids_count", "network", "lost"]), WORDS))
def test_a_hostile_host_finds_nothing_odd(hello) -> None:
    target = scope.parse_target(
        {f"target_{key}": value for key, value in hello.items()} | {"target_kind": "cgroup"}
    )
    assert target is not None
    assert target["pid"] is None or 0 < int(str(target["pid"])) < 10_000_000
    assert len(str(target["cgroup"] or "")) <= scope.MAX_VALUE and "\0" not in str(target["cgroup"])


def test_options_are_checked_where_the_program_is_built() -> None:
    option = Option("path", r"/[^\n']*", Text("Path", "路径"), "/tmp")
    item = replace(COLLECTORS["vmstat"], options=(option,))
    assert resolve_options(item, {}) == {"path": "/tmp"}
    assert resolve_options(item, {"path": "/x"}) == {"path": "/x"}
    for wrong in ({"path": "x"}, {"path": "/é"}, {"other": "/x"}):
        with pytest.raises(ValueError):
            resolve_options(item, wrong)
    assert "export OPT_PATH=" in build_program([CollectorJob.of(item, 1, {"path": "/x y"})], LIMITS).decode()
