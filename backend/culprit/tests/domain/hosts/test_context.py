"""Tests of the host context on recorded output of real hosts."""

from __future__ import annotations

import pytest
from culprit.domain.hosts.context import ContextInput, HostContextItem, HostContextSection, build_sections
from culprit.domain.hosts.kernel_defaults import DEFAULTS, find_changed_default
from culprit.domain.rules.finding import Citation
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import HostView, TableRow
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence
from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import fixture_folder
from collectors.tests.support import context, part

RECORDED = {
    "host_facts": "debian-12-kernel6.18",
    "hardware": "debian-12-idle",
    "block_queue": "debian-12-loop",
    "links": "debian-12-e1000-flapping",
    "cgroup_cpu": "debian-12-quota",
    "cgroup_mem": "debian-12-limit",
    "cgroup_cpuset": "debian-12-host",
    "limits": "debian-12-host",
    "proc_top": "debian-12-kernel6.18",
    "proc_mem": "debian-12-leak",
    "proc_io": "debian-12-osync",
    "changes": "debian-12-after-packages",
}
SOURCE = Citation("r", "host_facts", "a", "samples")


@pytest.fixture(scope="module")
def sections() -> dict[str, HostContextSection]:
    parsed = {}
    for name, case in RECORDED.items():
        parts = {
            item.name: part(item.read_bytes())
            for item in (fixture_folder(name) / case).iterdir()
            if item.suffix != ".json"
        }
        parsed[name] = COLLECTORS[name].parse(parts, context())
    context_input = ContextInput(
        build_view(parsed), {"virtualisation": "kvm", "mem_bytes": 1 << 34}, {"host_facts": SOURCE}
    )
    return {section.id: section for section in build_sections(context_input)}


def items_with_id(section: HostContextSection, item: str) -> list[HostContextItem]:
    return [entry for entry in section.items if entry.id == item]


def test_machine_lists_hardware(sections: dict[str, HostContextSection]) -> None:
    machine = sections["machine"]
    assert [item.value for item in items_with_id(machine, "cpu_model")] == ["AMD EPYC"]
    assert [(item.value, item.checked) for item in items_with_id(machine, "memory")] == [(1 << 34, True)]
    assert [(item.value, item.citation) for item in items_with_id(machine, "cpus")] == [(2, SOURCE)]
    assert ("vda", "mq-deadline, rotational") in [
        (item.name, item.detail) for item in items_with_id(machine, "disk")
    ]
    assert [item.name for item in items_with_id(machine, "nic")] == ["eth0", "eth1"]
    assert machine.gaps == ()


def test_kernel_marks_missing_mitigation(sections: dict[str, HostContextSection]) -> None:
    open_ = [item.name for item in items_with_id(sections["kernel"], "mitigation") if item.atypical]
    assert open_ == ["spec_rstack_overflow"]
    assert all(
        item.citation and item.citation.lines for item in items_with_id(sections["kernel"], "mitigation")
    )


def test_limits_mark_reached_limits_and_changed_settings(sections: dict[str, HostContextSection]) -> None:
    limits = sections["limits"]
    [quota] = items_with_id(limits, "cpu_quota")
    assert (quota.name, quota.value, quota.atypical) == (
        *("/h1lab", 0.3, Sentence("context.throttled", {"pct": 100.0})),
    )  # fmt: skip
    [memory] = items_with_id(limits, "memory_limit")
    assert memory.atypical is not None
    assert memory.atypical.key == "context.near_limit"
    changed_settings = {item.name: item.value for item in items_with_id(limits, "setting") if item.atypical}
    assert changed_settings == {"net.ipv4.tcp_congestion_control": "bbr"}
    assert (
        next(item.value for item in items_with_id(limits, "setting") if "local_port" in item.name)
        == "32768 60999"
    )


def test_neighbors_are_sorted_by_use(sections: dict[str, HostContextSection]) -> None:
    assert [item.name for item in items_with_id(sections["neighbors"], "process_cpu")] == ["yes", "dd"]
    assert items_with_id(sections["neighbors"], "process_memory")[0].detail == "pid 73"
    assert items_with_id(sections["neighbors"], "process_io")[0].value == pytest.approx(3_299_328)


def test_change_has_time_and_line(sections: dict[str, HostContextSection]) -> None:
    first = sections["changes"].items[0]
    assert (first.id, first.value) == ("package", "install liblzo2-2:amd64 2.10-2")
    assert first.at_s == 1795468550
    assert first.citation is not None
    assert first.citation.lines


def test_missing_data_is_gap_with_collector() -> None:
    for section in build_sections(ContextInput(HostView(), {}, {})):
        assert section.items == ()
        assert all(gap.collectors and gap.reason.key == "missing.not_collected" for gap in section.gaps)
        assert section.gaps


def test_limits_of_scope_include_ancestors_only() -> None:
    citation = Citation("r", "cgroup_cpu", "a", "stdout", (1,))
    rows = [
        TableRow({"path": path, "quota_cores": 1.0}, citation)
        for path in ("/", "/app", "/app/web", "/app/web2", "/app/web/x")
    ]
    view = HostView(tables={"cgroup_cpu": rows}, facts={"target": {"kind": "cgroup", "cgroup": "/app/web"}})
    limits = build_sections(ContextInput(view, {}, {}))[2]
    assert [item.name for item in limits.items] == ["/", "/app", "/app/web"]


@given(st.sampled_from(sorted(DEFAULTS)), st.text(max_size=20))
def test_default_setting_is_not_atypical(name: str, value: str) -> None:
    assert find_changed_default(name, f" {DEFAULTS[name][0]}\t") is None
    assert find_changed_default("no.such.setting", value) is None
    assert (find_changed_default(name, value) is None) == (" ".join(value.split()) in DEFAULTS[name])
