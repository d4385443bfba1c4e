"""The look at a host before dispatch: the real script here, and the verdicts for hosts of other kinds."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.clock.mapping import ClockMap
from collectors.contract import Sampled, Script
from collectors.parse.proc.preflight import parse_preflight
from collectors.registry import COLLECTORS
from collectors.runner import preflight
from collectors.tests.contract_checks import check_sentence

SHELLS = [item for item in ("dash", "bash", "busybox ash") if shutil.which(item.split()[0])]


def look(shell: str = "dash", user: str | None = None, path: str | None = None) -> dict[str, object]:
    env = {**os.environ, **({"PATH": path} if path else {})}
    done = subprocess.run(
        [shutil.which(shell.split(maxsplit=1)[0]), *shell.split()[1:], "-s"],
        input=preflight.PROGRAM,
        capture_output=True,
        user=user,
        extra_groups=[] if user else None,
        env=env,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return parse_preflight(done.stdout)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_finds_the_same_facts(shell: str) -> None:
    facts = look(shell)
    other = look("dash")
    moving = {
        "clock",
        "took_ms",
        "mem_available_bytes",
        "space",
        "processes",
        "threads",
        "sockets",
        "open_files",
        "start_us",
        "read_us",
    }
    steady = facts.keys() - moving - {"cgroups"}
    assert {name: facts[name] for name in steady} == {name: other[name] for name in steady}
    assert facts["complete"] and facts["kernel"] == os.uname().release
    assert facts["page_size"] == os.sysconf("SC_PAGE_SIZE") and facts["cpus"] == os.cpu_count()
    assert ClockMap.from_records([facts["clock"]]).known


def test_script_checks_every_file_that_a_collector_needs() -> None:
    needed = {
        file
        for collector in COLLECTORS.values()
        for method in collector.methods
        for file in method.needs.files
    }
    for file in needed:
        assert file.encode() in preflight.PROGRAM, file


def test_the_script_needs_nothing_but_coreutils_or_busybox(tmp_path) -> None:
    """With busybox alone in the PATH."""
    for applet in ("sh", "date", "uname", "readlink", "id", "getconf", "df", "cat", "timeout", "awk", "true"):
        (tmp_path / applet).symlink_to(shutil.which("busybox"))
    (tmp_path / "getconf").unlink()
    facts = look("busybox ash", path=str(tmp_path))
    assert facts["complete"] and facts["kernel"] == os.uname().release and "page_size" not in facts
    verdicts = {item.id: item for item in preflight.assess_collectors(facts, COLLECTORS.values())}
    assert verdicts["softirqs"].state == "works"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to change the user")
def test_without_rights_perf_does_not_work_and_counters_do() -> None:
    facts = look(user="nobody")
    verdicts = {item.id: item for item in preflight.assess_collectors(facts, COLLECTORS.values())}
    paranoid = facts["perf_event_paranoid"]
    assert isinstance(paranoid, int)
    if paranoid > -1:
        assert verdicts["perf_record"].state == "unavailable"
        assert verdicts["perf_record"].reason is not None
        assert verdicts["perf_record"].reason.params == {"paranoid": paranoid}
        assert (verdicts["perf_sched"].state, verdicts["perf_sched"].method) == ("degrades", "schedstat")
    assert verdicts["softirqs"].state == verdicts["iostat"].state == "works"


def host(**facts: object) -> dict[str, object]:
    """A healthy Debian host with root."""
    files = [
        file
        for collector in COLLECTORS.values()
        for method in collector.methods
        for file in method.needs.files
    ]
    tools = {
        tool: ""
        for collector in COLLECTORS.values()
        for method in collector.methods
        for tool in method.needs.tool_names
    }
    base: dict[str, object] = {
        "kernel": "6.1.0-30-amd64",
        "distro_id": "debian",
        "packages": "apt",
        "root": True,
        "uid": 0,
        "cap_perfmon": True,
        "cap_sys_admin": True,
        "cap_syslog": True,
        "perf_event_paranoid": 3,
        "kptr_restrict": 0,
        "dmesg_restrict": 1,
        "numa_nodes": 2,
        "tools": {**tools, "perf": "6.1", "iostat": "12.6", "vmstat": "4.0", "numastat": "1"},
        "broken_tools": [],
        "other_perf": [],
        "files": files,
        "unreadable": [],
        "space": [{"path": "/var/tmp", "writable": True, "free_bytes": 1 << 34, "free_inodes": None}],
    }
    return {**base, **facts}


def verdict(collector: str, **facts: object) -> preflight.CollectorReadiness:
    [result] = preflight.assess_collectors(host(**facts), [COLLECTORS[collector]])
    return result


def test_all_works_on_a_healthy_host() -> None:
    result = preflight.assess_collectors(host(), COLLECTORS.values())
    assert {item.state for item in result} == {"works"}
    assert {check.state for check in preflight.list_checks(host())} <= {"ok", "degraded"}


NO_TOOLS = {"dmesg": "", "awk": ""}


@pytest.mark.parametrize(
    ("facts", "command"),
    [
        ({"packages": "apt", "distro_id": "debian"}, "apt-get install --no-install-recommends linux-perf"),
        (
            {"packages": "apt", "distro_id": "ubuntu", "kernel": "5.15.0-91-generic"},
            "apt-get install --no-install-recommends linux-tools-common linux-tools-5.15.0-91-generic",
        ),
        (
            {"packages": "apt", "distro_id": "linuxmint", "distro_like": "ubuntu debian", "root": False},
            "sudo apt-get install --no-install-recommends linux-tools-common linux-tools-6.1.0-30-amd64",
        ),
        ({"packages": "dnf", "distro_id": "rhel"}, "dnf install perf"),
        ({"packages": "yum", "distro_id": "centos"}, "yum install perf"),
        ({"packages": "apk", "distro_id": "alpine"}, "apk add perf"),
    ],
)
def test_remedy_for_missing_perf(facts: dict[str, object], command: str) -> None:
    result = verdict("perf_record", **{**facts, "tools": NO_TOOLS})
    assert result.state == "unavailable" and result.reason is not None and result.remedy is not None
    assert (result.reason.key, result.remedy.key, result.remedy.params) == (
        "reason.tool_missing",
        "remedy.run",
        {"command": command},
    )


def test_a_hostile_kernel_name_reaches_no_command_line() -> None:
    result = verdict("perf_record", tools=NO_TOOLS, distro_id="ubuntu", kernel="5;$(reboot)")
    assert result.remedy is not None and "reboot" not in str(result.remedy.params)


def test_missing_tools_fall_back() -> None:
    for collector, method in (("iostat", "proc"), ("vmstat", "proc")):
        result = verdict(collector, tools=NO_TOOLS)
        assert (result.state, result.method) == ("degrades", method)
        assert result.reason is not None and result.reason.key == "reason.tool_missing"


def test_a_perf_that_does_not_run_on_this_kernel() -> None:
    tools = dict.fromkeys(("iostat", "vmstat", "dmesg", "awk"), "")
    broken = verdict("perf_record", tools=tools, broken_tools=["perf"])
    assert broken.state == "unavailable" and broken.reason is not None
    assert broken.reason.key == "reason.tool_broken"
    other = verdict(
        "perf_record", tools=tools, broken_tools=["perf"], other_perf=["/usr/lib/linux-tools/x/perf"]
    )
    assert other.state == "works"


def test_what_is_hidden_or_closed() -> None:
    plain = {"root": False, "cap_sys_admin": False, "cap_syslog": False}
    assert verdict("perf_record", **plain, kptr_restrict=1).state == "degrades"
    assert verdict("perf_record", kptr_restrict=2).state == "degrades"
    assert verdict("kmsg", **plain).state == "unavailable"
    journal = {**NO_TOOLS, "journalctl": ""}
    assert verdict("kmsg", **plain, tools=journal, groups="users adm").state == "degrades"
    assert verdict("kmsg", **plain, dmesg_restrict=0).state == "works"
    assert verdict("psi", unreadable=["/proc/pressure/cpu"]).state == "unavailable"
    assert verdict("numastat", numa_nodes=1).reason is not None


def test_every_sentence_has_its_texts() -> None:
    poor = host(
        tools={}, files=[], root=False, cap_perfmon=False, cap_sys_admin=False, cap_syslog=False, space=[]
    )
    rich = host(broken_tools=["perf"], tools={"awk": ""}, numa_nodes=1, kptr_restrict=2)
    for facts in (poor, rich, {}):
        results = [*preflight.assess_collectors(facts, COLLECTORS.values()), *preflight.list_checks(facts)]
        for item in results:
            for sentence in (item.reason, item.remedy):
                if sentence is not None:
                    check_sentence(sentence)


@given(st.binary(max_size=600))
def test_any_answer_is_survived(text: bytes) -> None:
    facts = parse_preflight(text)
    preflight.assess_collectors(facts, COLLECTORS.values())
    preflight.list_checks(facts)


KEYS = st.sampled_from(["uid", "space", "tool", "self_CapEff", "cpus_online", "clock", "os_ID"])


@given(st.lists(st.tuples(KEYS, st.text(max_size=40))))
def test_any_value_is_survived(lines: list[tuple[str, str]]) -> None:
    facts = parse_preflight("\n".join(f"{key} {value}" for key, value in lines).encode())
    preflight.assess_collectors(facts, COLLECTORS.values())
    preflight.list_checks(facts)


def test_every_way_can_be_judged() -> None:
    assert all(
        isinstance(method, Script | Sampled)
        for collector in COLLECTORS.values()
        for method in collector.methods
    )
