"""Filters by softirq and by control group: every figure equals counting sample by sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from culprit.domain.profiles.facets import compute_facets
from culprit.domain.profiles.stacks import SampleFilter, StackProfile
from hypothesis import given
from hypothesis import strategies as st

from collectors.parse.perf import folded, perf_script
from collectors.profiles.samples import ControlGroups
from collectors.tests.recorded_profiles import captured, source

GROUPS = ("/", "/web", "/web/api", "/webmail", "/db")
FRAMES = ("main", "handle_softirqs", "__do_softirq.part.0", "net_rx_action", "do_softirq_x", "__do_softirq")


def profile_of(rows: list[tuple[list[str], int]]) -> StackProfile:
    text = "".join(f"app;{';'.join(frames)} {weight}\n" for frames, weight in rows)
    return StackProfile(folded.parse_folded(source(text.encode())))


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(FRAMES), min_size=1, max_size=4), st.integers(1, 9)),
        min_size=1,
        max_size=20,
    )
)
def test_softirqs_are_stacks_through_the_functions_that_run_them(rows):
    runs = {"handle_softirqs", "__do_softirq.part.0", "__do_softirq"}
    expected = sum(weight for frames, weight in rows if runs & set(frames))
    profile = profile_of(rows)
    assert profile.view(SampleFilter(softirq_only=True)).weight == expected
    assert compute_facets(profile.view()).softirq == expected


def test_softirqs_of_a_recording_are_those_that_perf_prints():
    """Each sample of the recording, as perf printed it, is counted by its lines."""
    text = captured("mill_slower.txt")
    profile = StackProfile(perf_script.parse_perf_script(source(text)))
    blocks = text.decode("utf-8", "replace").split("\n\n")
    expected = sum("handle_softirqs" in block or "__do_softirq" in block for block in blocks)
    assert expected > 0
    assert profile.view(SampleFilter(softirq_only=True)).samples == expected


@pytest.fixture(scope="module")
def profile() -> StackProfile:
    table = perf_script.parse_perf_script(source(captured("cpu.txt")))
    pids = np.unique(table.pid).tolist()
    known = pids[: len(pids) - 1]
    groups = {pid: GROUPS[at % len(GROUPS)] for at, pid in enumerate(known)}
    return StackProfile(replace(table, cgroups=ControlGroups.of(groups)))


@given(st.lists(st.sampled_from((*GROUPS, "/none")), min_size=1, max_size=3))
def test_a_control_group_contains_those_below_it(profile, chosen):
    table = profile.table
    names = table.cgroups.names.all()
    below = {"/": set(GROUPS), "/web": {"/web", "/web/api"}}
    accepted = set().union(*(below.get(group, {group}) for group in chosen))
    groups = {pid: names[at] for pid, at in zip(table.cgroups.pid, table.cgroups.group, strict=True)}
    pairs = zip(table.pid.tolist(), table.weight.tolist(), strict=True)
    expected = sum(weight for pid, weight in pairs if groups.get(pid) in accepted)
    assert profile.view(SampleFilter(cgroup=tuple(chosen))).weight == expected


def test_facets_list_each_group_with_its_own_processes(profile):
    table = profile.table
    facets = dict(compute_facets(profile.view()).cgroups)
    known = table.cgroups.find(table.pid) >= 0
    assert sum(facets.values()) == int(table.weight[known].sum()) < table.total
    assert all(
        facets[group] == profile.view(SampleFilter(cgroup=(group,))).weight for group in ("/db", "/webmail")
    )


@given(
    st.dictionaries(st.integers(0, 2**31 - 1), st.sampled_from(GROUPS), max_size=20),
    st.lists(st.integers(-1, 50)),
)
def test_each_process_has_its_group(groups, pids):
    packed = ControlGroups.of(groups)
    names = packed.names.all()
    matches = packed.find(np.array(pids, np.int32)).tolist()
    assert [names[at] if at >= 0 else None for at in matches] == [groups.get(pid) for pid in pids]
