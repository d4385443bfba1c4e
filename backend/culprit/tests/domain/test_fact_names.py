"""Which facts are remembered: of real recordings, and of whatever else a host may say."""

from __future__ import annotations

import subprocess

from culprit.core.fact_names import MAX_FACTS, MAX_NAME, MAX_VALUE, of_check, of_collector
from hypothesis import given
from hypothesis import strategies as st

from collectors.parse.preflight import read
from collectors.preflight import PROGRAM

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
    names = [one.name for one in facts]
    assert len(names) == len(set(names)) <= MAX_FACTS
    assert all(0 < len(one.value) <= MAX_VALUE and len(one.name) <= MAX_NAME for one in facts)


def test_a_real_look_at_this_machine_is_remembered() -> None:
    ran = subprocess.run(["sh"], input=PROGRAM, capture_output=True, check=False, timeout=60)
    facts = read(ran.stdout)
    told = {one.name: one.value for one in of_check(facts)}
    assert told["arch"] == facts["arch"] and told["mem_bytes"] == str(facts["mem_bytes"])
    assert any(name.startswith("tool.") for name in told)
    assert told["addresses"] == ", ".join(sorted(facts["addresses"]))


@given(st.dictionaries(NAMES | st.text(max_size=9), ANY, max_size=8))
def test_whatever_a_look_finds_is_harmless(facts: dict[str, object]) -> None:
    bounded(of_check(facts))


@given(
    st.sampled_from(["host_facts", "mounts", "hardware"]),
    st.dictionaries(NAMES, ANY, max_size=5),
    st.sampled_from(TABLES),
    st.lists(st.lists(LEAF, min_size=len(COLUMNS), max_size=len(COLUMNS)), max_size=5),
)
def test_whatever_a_collector_yields_is_harmless(collector, facts, kind, rows) -> None:
    table = {
        "kind": kind,
        "columns": [{"id": one} for one in COLUMNS],
        "rows": rows,
        "lines": [],
        "part": "stdout",
    }
    bounded(of_collector(collector, facts, {}, [table]))
