"""Which facts are stored: from real recordings and from arbitrary host output."""

from __future__ import annotations

import subprocess

from culprit.domain.hosts.fact_names import (
    MAX_FACTS,
    MAX_NAME,
    MAX_VALUE,
    list_collector_facts,
    list_preflight_facts,
)
from hypothesis import given
from hypothesis import strategies as st

from collectors.parse.proc.preflight import parse_preflight
from collectors.runner.preflight import PROGRAM

LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
ANY = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
)
NAMES = st.sampled_from(
    ["addresses", "arch", "cgroup", "container", "mem_bytes", "pmu", "tools", "sysctl", "block"]
)
TABLES = ("mounts", "hardware", "limits", "cgroup_cpu", "cgroup_mem", "cgroup_cpuset", "processes")
COLUMNS = ("mountpoint", "device", "name", "value", "max", "scope", "path", "quota_cores", "limit_kb", "cpus")


def bounded(facts: object) -> None:
    names = [fact.name for fact in facts]
    assert len(names) == len(set(names)) <= MAX_FACTS
    assert all(0 < len(fact.value) <= MAX_VALUE and len(fact.name) <= MAX_NAME for fact in facts)


def test_a_real_look_at_this_machine_is_remembered() -> None:
    ran = subprocess.run(["sh"], input=PROGRAM, capture_output=True, check=False, timeout=60)
    facts = parse_preflight(ran.stdout)
    reported = {preflight_fact.name: preflight_fact.value for preflight_fact in list_preflight_facts(facts)}
    assert reported["arch"] == facts["arch"] and reported["mem_bytes"] == str(facts["mem_bytes"])
    assert any(name.startswith("tool.") for name in reported)
    assert reported["addresses"] == ", ".join(sorted(facts["addresses"]))


@given(st.dictionaries(NAMES | st.text(max_size=9), ANY, max_size=8))
def test_whatever_a_look_finds_is_harmless(facts: dict[str, object]) -> None:
    bounded(list_preflight_facts(facts))


@given(
    st.sampled_from(["host_facts", "mounts", "hardware"]),
    st.dictionaries(NAMES, ANY, max_size=5),
    st.sampled_from(TABLES),
    st.lists(st.lists(LEAF, min_size=len(COLUMNS), max_size=len(COLUMNS)), max_size=5),
)
def test_whatever_a_collector_yields_is_harmless(collector, facts, kind, rows) -> None:
    table = {
        "kind": kind,
        "columns": [{"id": column} for column in COLUMNS],
        "rows": rows,
        "lines": [],
        "part": "stdout",
    }
    bounded(list_collector_facts(collector, facts, {}, [table]))
