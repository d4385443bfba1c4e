"""Assess which collectors work on a host, which are degraded or unavailable, why, and what the remedy is.

Pure: facts in (see `collectors.parse.proc.preflight`), assessments out. `PROGRAM` is the script that reads the facts.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from collectors.contract import CollectionMethod, Collector, Needs, Sentence
from collectors.runner.packages import INSTALL_COMMANDS, find_package

__all__ = ["PROGRAM", "CollectorReadiness", "HostCheck", "assess_collectors", "list_checks"]

#: The POSIX sh program that prints the facts.
PROGRAM: bytes = files("collectors").joinpath("runner/scripts/preflight.sh").read_bytes()

State = Literal["works", "degrades", "unavailable"]

_LOG_GROUPS = frozenset({"adm", "systemd-journal", "wheel"})


@dataclass(frozen=True, slots=True)
class CollectorReadiness:
    """Whether one collector works on this host. `method` is the method that it uses, "" if none works."""

    id: str
    state: State
    method: str = ""
    reason: Sentence | None = None
    remedy: Sentence | None = None


@dataclass(frozen=True, slots=True)
class HostCheck:
    """The result of one check: ok, degraded or missing, with the value that is displayed."""

    id: str
    state: Literal["ok", "degraded", "missing"]
    value: str
    reason: Sentence | None = None
    remedy: Sentence | None = None


def assess_collectors(
    facts: Mapping[str, object], collectors: Iterable[Collector]
) -> tuple[CollectorReadiness, ...]:
    """Return the readiness of each collector, in their order. The first method whose needs are met is used.

    If that is not the first method, the collector is degraded, and the reason is that of the first method.
    """
    return tuple(_assess_collector(facts, collector) for collector in collectors)


def _assess_collector(facts: Mapping[str, object], collector: Collector) -> CollectorReadiness:
    first: tuple[Sentence, Sentence | None] | None = None
    for at, method in enumerate(collector.methods):
        lack = _find_missing(facts, method)
        if lack is None:
            if at == 0 or first is None:
                return _add_caveat(facts, collector, method)
            return CollectorReadiness(collector.id, "degrades", method.name, *first)
        first = first or lack
    reason, remedy = first or (Sentence("reason.no_method"), None)
    return CollectorReadiness(collector.id, "unavailable", "", reason, remedy)


def _find_missing(
    facts: Mapping[str, object], method: CollectionMethod
) -> tuple[Sentence, Sentence | None] | None:
    """Return why this method does not work here and the remedy, or None if it works."""
    needs: Needs = method.needs
    tools, broken = _get_mapping(facts, "tools"), _get_strings(facts, "broken_tools")
    for tool in needs.tool_names:
        if tool in broken and not _get_strings(facts, "other_perf"):
            return Sentence("reason.tool_broken", {"tool": tool}), _install_message(facts, tool)
        if tool not in tools and tool not in broken:
            return Sentence("reason.tool_missing", {"tool": tool}), _install_message(facts, tool)
    if needs.root and not facts.get("root"):
        return Sentence("reason.needs_root"), Sentence("remedy.become_root")
    if needs.perf and not is_perf_allowed(facts):
        paranoid = facts.get("perf_event_paranoid")
        displayed_paranoid = paranoid if isinstance(paranoid, int) else "?"
        return Sentence("reason.perf_not_allowed", {"paranoid": displayed_paranoid}), Sentence(
            "remedy.allow_perf"
        )
    present, unreadable = _get_strings(facts, "files"), _get_strings(facts, "unreadable")
    for file in needs.files:
        if file not in present or file in unreadable:
            return Sentence("reason.file_missing", {"file": file}), Sentence(
                "remedy.required", {"what": needs.remedy}
            )
    return None


def is_perf_allowed(facts: Mapping[str, object]) -> bool:
    """Return whether system-wide perf events can be opened: with root, CAP_PERFMON, or a permissive kernel setting."""
    paranoid = facts.get("perf_event_paranoid")
    lax = isinstance(paranoid, int) and paranoid <= -1
    return lax or bool(facts.get("cap_perfmon") or facts.get("cap_sys_admin"))


def _add_caveat(
    facts: Mapping[str, object], collector: Collector, method: CollectionMethod
) -> CollectorReadiness:
    """Return the readiness for a method that works, with the data that is missing nevertheless."""
    if collector.id == "kmsg" and facts.get("dmesg_restrict") == 1 and not _can_read_log(facts):
        groups = set(str(facts.get("groups", "")).split())
        sentence = Sentence("remedy.become_root")
        if groups & _LOG_GROUPS and "journalctl" in _get_mapping(facts, "tools"):
            return CollectorReadiness(
                collector.id, "degrades", method.name, Sentence("reason.kernel_log_by_journal"), sentence
            )
        return CollectorReadiness(
            collector.id, "unavailable", "", Sentence("reason.kernel_log_closed"), sentence
        )
    if method.needs.perf and method.name == collector.methods[0].name and _has_hidden_symbols(facts):
        sentence = Sentence("remedy.run", {"command": "sysctl kernel.kptr_restrict=0"})
        return CollectorReadiness(
            collector.id, "degrades", method.name, Sentence("reason.kernel_symbols_hidden"), sentence
        )
    if collector.id == "numastat" and facts.get("numa_nodes") == 1:
        return CollectorReadiness(collector.id, "works", method.name, Sentence("reason.single_node"))
    return CollectorReadiness(collector.id, "works", method.name)


def _can_read_log(facts: Mapping[str, object]) -> bool:
    return bool(facts.get("root") or facts.get("cap_syslog") or facts.get("cap_sys_admin"))


def _has_hidden_symbols(facts: Mapping[str, object]) -> bool:
    """Return whether kptr_restrict hides addresses: 2 for all users, 1 for users without CAP_SYSLOG, 0 for few."""
    restrict = facts.get("kptr_restrict")
    if restrict == 2:
        return True
    return not _can_read_log(facts) and (restrict == 1 or facts.get("perf_event_paranoid") not in {-1, 0, 1})


def _package_family(facts: Mapping[str, object]) -> str:
    manager = str(facts.get("packages", ""))
    if manager == "apt":
        like = f"{facts.get('distro_id', '')} {facts.get('distro_like', '')}"
        return "ubuntu" if "ubuntu" in like.split() else "debian"
    return "rpm" if manager in {"dnf", "yum"} else manager


def _install_message(facts: Mapping[str, object], tool: str) -> Sentence:
    """Return the command that installs the tool here, or only its name if the package manager is unknown."""
    family = _package_family(facts)
    package = find_package(tool, family)
    if package is None or family not in INSTALL_COMMANDS:
        return Sentence("remedy.install_tool", {"tool": tool})
    kernel = str(facts.get("kernel", ""))
    safe = set(string.ascii_letters + string.digits + "._+~-")
    package = package.replace("{kernel}", kernel if kernel and set(kernel) <= safe else "generic")
    line = INSTALL_COMMANDS[family].replace("{tool}", str(facts.get("packages"))).replace("{}", package)
    return Sentence("remedy.run", {"command": line if facts.get("root") else f"sudo {line}"})


def _get_mapping(facts: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = facts.get(name)
    return value if isinstance(value, Mapping) else {}


def _get_strings(facts: Mapping[str, object], name: str) -> frozenset[str]:
    value = facts.get(name)
    return frozenset(str(item) for item in value) if isinstance(value, list | tuple) else frozenset()


def list_checks(facts: Mapping[str, object], need_bytes: int = 256 << 20) -> tuple[HostCheck, ...]:
    """Return the checks in the order in which they are displayed."""
    matching_facts = [
        _check_fact(facts, "kernel"),
        _check_fact(facts, "distro"),
        _check_fact(facts, "arch"),
        _check_fact(facts, "cpus"),
        _check_numa(facts),
        _check_fact(facts, "cgroup"),
        _check_fact(facts, "mem_bytes"),
        _check_fact(facts, "virtualisation"),
        _check_privileges(facts),
        _check_perf_events(facts),
        _check_space(facts, need_bytes),
        *(_check_tool(facts, tool) for tool in ("perf", "iostat", "vmstat", "numastat")),
        _check_sampler(facts),
        _check_fact(facts, "machine_id"),
        _check_fact(facts, "boot_id"),
    ]
    return tuple(matching_facts)


def _check_fact(facts: Mapping[str, object], name: str) -> HostCheck:
    value = facts.get(name)
    known = value not in {None, "", "none"}
    return HostCheck(name, "ok" if known else "degraded", str(value) if known else "")


def _check_numa(facts: Mapping[str, object]) -> HostCheck:
    nodes = facts.get("numa_nodes")
    reason = Sentence("reason.single_node") if nodes == 1 else None
    return HostCheck("numa_nodes", "ok", "" if nodes is None else str(nodes), reason)


def _check_privileges(facts: Mapping[str, object]) -> HostCheck:
    value = f"{facts.get('user', '?')} ({facts.get('uid', '?')})"
    if facts.get("root"):
        return HostCheck("privileges", "ok", value)
    rights = [name for name in ("cap_perfmon", "cap_syslog") if facts.get(name)]
    value = " ".join([value, *rights])
    state: Literal["ok", "degraded"] = "ok" if len(rights) == 2 else "degraded"
    return HostCheck("privileges", state, value, Sentence("reason.not_root"), Sentence("remedy.become_root"))


def _check_perf_events(facts: Mapping[str, object]) -> HostCheck:
    value = facts.get("perf_event_paranoid")
    if not isinstance(value, int):
        return HostCheck("perf_event_paranoid", "missing", "", Sentence("reason.no_perf_events"))
    if is_perf_allowed(facts):
        return HostCheck("perf_event_paranoid", "ok", str(value))
    reason = Sentence("reason.perf_not_allowed", {"paranoid": value})
    return HostCheck("perf_event_paranoid", "degraded", str(value), reason, Sentence("remedy.allow_perf"))


def _check_space(facts: Mapping[str, object], need_bytes: int) -> HostCheck:
    """Check the first writable directory with enough space, as the runner does."""
    best = 0
    places = facts.get("space")
    for place in places if isinstance(places, list) else []:
        free, inodes = place.get("free_bytes"), place.get("free_inodes")
        if place.get("writable") and isinstance(free, int) and (inodes is None or inodes > 1_000):
            if free >= need_bytes:
                return HostCheck("space", "ok", f"{place.get('path')} {free}")
            best = max(best, free)
    reason = Sentence("reason.no_space", {"free": best, "need": need_bytes})
    return HostCheck("space", "degraded", str(best), reason, Sentence("remedy.free_space"))


def _check_tool(facts: Mapping[str, object], tool: str) -> HostCheck:
    tools = _get_mapping(facts, "tools")
    if tool in tools:
        return HostCheck(tool, "ok", str(tools[tool]))
    broken = tool in _get_strings(facts, "broken_tools")
    if broken and _get_strings(facts, "other_perf"):
        return HostCheck(tool, "ok", sorted(_get_strings(facts, "other_perf"))[0])
    reason = Sentence("reason.tool_broken" if broken else "reason.tool_missing", {"tool": tool})
    return HostCheck(tool, "missing", "", reason, _install_message(facts, tool))


def _check_sampler(facts: Mapping[str, object]) -> HostCheck:
    """Check awk, which reads all sampled files."""
    tools = _get_mapping(facts, "tools")
    for name in ("gawk", "mawk", "busybox", "awk"):
        if name in tools and "awk" in tools:
            return HostCheck("awk", "ok", name)
    return HostCheck(
        "awk", "missing", "", Sentence("reason.tool_missing", {"tool": "awk"}), _install_message(facts, "awk")
    )
