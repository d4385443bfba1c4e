"""Where am I, answered from what real hosts said."""

from __future__ import annotations

from pathlib import Path

import pytest
from culprit.core.rules.contract import Citation
from culprit.core.rules.parsed_view import view_of
from culprit.core.rules.view import Row, View
from culprit.core.surroundings import Item, Known, Section, sections
from culprit.core.usual_settings import DEFAULTS, usual
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract import Sentence
from collectors.registry import COLLECTORS
from collectors.tests.support import context, part

FIXTURES = Path(__file__).parents[4] / "collectors" / "tests" / "fixtures"
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
def found() -> dict[str, Section]:
    parsed = {}
    for name, case in RECORDED.items():
        parts = {
            one.name: part(one.read_bytes())
            for one in (FIXTURES / name / case).iterdir()
            if one.suffix != ".json"
        }
        parsed[name] = COLLECTORS[name].parse(parts, context())
    known = Known(view_of(parsed), {"virtualisation": "kvm", "mem_bytes": 1 << 34}, {"host_facts": SOURCE})
    return {one.id: one for one in sections(known)}


def of(section: Section, item: str) -> list[Item]:
    return [one for one in section.items if one.id == item]


def test_the_machine(found: dict[str, Section]) -> None:
    machine = found["machine"]
    assert [one.value for one in of(machine, "cpu_model")] == ["AMD EPYC"]
    assert [(one.value, one.looked_at) for one in of(machine, "memory")] == [(1 << 34, True)]
    assert [(one.value, one.cite) for one in of(machine, "cpus")] == [(2, SOURCE)]
    assert ("vda", "mq-deadline, rotational") in [(one.name, one.detail) for one in of(machine, "disk")]
    assert [one.name for one in of(machine, "nic")] == ["eth0", "eth1"]
    assert machine.gaps == ()


def test_the_kernel_says_which_mitigation_is_open(found: dict[str, Section]) -> None:
    open_ = [one.name for one in of(found["kernel"], "mitigation") if one.unusual]
    assert open_ == ["spec_rstack_overflow"]
    assert all(one.cite and one.cite.lines for one in of(found["kernel"], "mitigation"))


def test_limits_come_with_what_struck_and_what_somebody_set(found: dict[str, Section]) -> None:
    limits = found["limits"]
    [quota] = of(limits, "cpu_quota")
    assert (quota.name, quota.value, quota.unusual) == (
        *("/h1lab", 0.3, Sentence("context.throttled", {"pct": 100.0})),
    )  # fmt: skip
    [memory] = of(limits, "memory_limit")
    assert memory.unusual is not None
    assert memory.unusual.key == "context.near_limit"
    set_by_hand = {one.name: one.value for one in of(limits, "setting") if one.unusual}
    assert set_by_hand == {"net.ipv4.tcp_congestion_control": "bbr"}
    assert next(one.value for one in of(limits, "setting") if "local_port" in one.name) == "32768 60999"


def test_who_else_runs_here_takes_most_first(found: dict[str, Section]) -> None:
    assert [one.name for one in of(found["neighbours"], "process_cpu")] == ["yes", "dd"]
    assert of(found["neighbours"], "process_memory")[0].detail == "pid 73"
    assert of(found["neighbours"], "process_io")[0].value == pytest.approx(3_299_328)


def test_what_changed_has_its_time_and_its_line(found: dict[str, Section]) -> None:
    first = found["changes"].items[0]
    assert (first.id, first.value) == ("package", "install liblzo2-2:amd64 2.10-2")
    assert first.at_s == 1795468550
    assert first.cite is not None
    assert first.cite.lines


def test_what_nobody_collected_is_a_gap_with_its_collector() -> None:
    for section in sections(Known(View(), {}, {})):
        assert section.items == ()
        assert all(gap.collectors and gap.reason.key == "missing.not_collected" for gap in section.gaps)
        assert section.gaps


def test_with_a_scope_only_limits_on_its_path_hold() -> None:
    cite = Citation("r", "cgroup_cpu", "a", "stdout", (1,))
    rows = [
        Row({"path": path, "quota_cores": 1.0}, cite)
        for path in ("/", "/app", "/app/web", "/app/web2", "/app/web/x")
    ]
    view = View(tables={"cgroup_cpu": rows}, facts={"target": {"kind": "cgroup", "cgroup": "/app/web"}})
    limits = sections(Known(view, {}, {}))[2]
    assert [one.name for one in limits.items] == ["/", "/app", "/app/web"]


@given(st.sampled_from(sorted(DEFAULTS)), st.text(max_size=20))
def test_a_default_is_never_called_unusual(name: str, value: str) -> None:
    assert usual(name, f" {DEFAULTS[name][0]}\t") is None
    assert usual("no.such.setting", value) is None
    assert (usual(name, value) is None) == (" ".join(value.split()) in DEFAULTS[name])
