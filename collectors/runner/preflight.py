"""Which collectors will work on a host, which will degrade, which will not, why, and what mends it.

Pure: facts in (see `collectors.parse.preflight`), verdicts out. `PROGRAM` is what finds the facts out.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from collectors.contract import Collector, Needs, Sentence, Way

__all__ = ["PROGRAM", "Check", "Verdict", "assess", "checks"]

#: The POSIX sh program that prints the facts, ready to be sent.
PROGRAM: bytes = files("collectors").joinpath("host/preflight.sh").read_bytes()

State = Literal["works", "degrades", "does_not_work"]

_FAMILIES = ("debian", "ubuntu", "rpm", "apk", "zypper", "pacman")
#: Package that holds a tool, by the family of package managers. `{kernel}` is the running kernel's release.
_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "perf": {
        "debian": "linux-perf",
        "ubuntu": "linux-tools-common linux-tools-{kernel}",
        "rpm": "perf",
        "apk": "perf",
        "zypper": "perf",
        "pacman": "perf",
    },
    "iostat": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "sysstat"),
    "numastat": {
        **dict.fromkeys(("debian", "ubuntu", "rpm", "zypper", "pacman"), "numactl"),
        "apk": "numactl-tools",
    },
    "vmstat": {
        **dict.fromkeys(("debian", "ubuntu", "zypper"), "procps"),
        **dict.fromkeys(("rpm", "pacman"), "procps-ng"),
        "apk": "procps-ng",
    },
    "dmesg": {
        **dict.fromkeys(("debian", "ubuntu", "rpm", "zypper", "pacman"), "util-linux"),
        "apk": "dmesg",
    },
    **{
        tool: {**dict.fromkeys(("debian", "ubuntu", "apk", "zypper", "pacman"), "iproute2"), "rpm": "iproute"}
        for tool in ("ss", "tc", "ip")
    },
    **{
        tool: dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), tool)
        for tool in ("tcpdump", "curl", "ethtool")
    },
    "nft": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "nftables"),
    "nsenter": {
        **dict.fromkeys(("debian", "ubuntu", "rpm", "zypper", "pacman"), "util-linux"),
        "apk": "util-linux-misc",
    },
    "python3": {**dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper"), "python3"), "pacman": "python"},
    "strace": dict.fromkeys(_FAMILIES, "strace"),
    "psql": {
        **dict.fromkeys(("debian", "ubuntu"), "postgresql-client"),
        **dict.fromkeys(("rpm", "zypper"), "postgresql"),
        "apk": "postgresql-client",
        "pacman": "postgresql-libs",
    },
    "redis-cli": {
        **dict.fromkeys(("debian", "ubuntu"), "redis-tools"),
        **dict.fromkeys(("rpm", "apk", "zypper"), "redis"),
        "pacman": "valkey",
    },
    "sadf": dict.fromkeys(_FAMILIES, "sysstat"),
    "atop": dict.fromkeys(_FAMILIES, "atop"),
    **dict.fromkeys(
        ("find", "xargs"), dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "findutils")
    ),
    **dict.fromkeys(
        ("sort", "timeout"),
        dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "coreutils"),
    ),
    "grep": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "grep"),
    "df": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "coreutils"),
    "cut": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "coreutils"),
    "ls": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "coreutils"),
    "sed": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "sed"),
    "bpftrace": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "bpftrace"),
    "awk": dict.fromkeys(("debian", "ubuntu", "rpm", "apk", "zypper", "pacman"), "gawk"),
}
_INSTALL: Mapping[str, str] = {
    "debian": "apt-get install --no-install-recommends {}",
    "ubuntu": "apt-get install --no-install-recommends {}",
    "rpm": "{tool} install {}",
    "apk": "apk add {}",
    "zypper": "zypper install {}",
    "pacman": "pacman -S {}",
}
_LOG_GROUPS = frozenset({"adm", "systemd-journal", "wheel"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to expect of one collector on this host. `way` will be taken; it is "" where none can."""

    id: str
    state: State
    way: str = ""
    reason: Sentence | None = None
    mend: Sentence | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of what was found: ok, degraded or missing, with its value for people."""

    id: str
    state: Literal["ok", "degraded", "missing"]
    value: str
    reason: Sentence | None = None
    mend: Sentence | None = None


def assess(facts: Mapping[str, object], collectors: Iterable[Collector]) -> tuple[Verdict, ...]:
    """One verdict for each collector, in their order. The first way whose needs are met will be taken.

    A way other than the first means that the collector degrades; the reason is that of the first.
    """
    return tuple(_verdict(facts, one) for one in collectors)


def _verdict(facts: Mapping[str, object], collector: Collector) -> Verdict:
    first: tuple[Sentence, Sentence | None] | None = None
    for at, way in enumerate(collector.ways):
        lack = _lack(facts, way)
        if lack is None:
            if at == 0 or first is None:
                return _caveat(facts, collector, way)
            return Verdict(collector.id, "degrades", way.name, *first)
        first = first or lack
    reason, mend = first or (Sentence("reason.no_way"), None)
    return Verdict(collector.id, "does_not_work", "", reason, mend)


def _lack(facts: Mapping[str, object], way: Way) -> tuple[Sentence, Sentence | None] | None:
    """What keeps this way from working here, and what mends it; None where nothing does."""
    needs: Needs = way.needs
    tools, broken = _mapping(facts, "tools"), _strings(facts, "broken_tools")
    for tool in needs.tools:
        if tool in broken and not _strings(facts, "other_perf"):
            return Sentence("reason.tool_broken", {"tool": tool}), _install(facts, tool)
        if tool not in tools and tool not in broken:
            return Sentence("reason.tool_missing", {"tool": tool}), _install(facts, tool)
    if needs.root and not facts.get("root"):
        return Sentence("reason.needs_root"), Sentence("mend.become_root")
    if needs.perf and not perf_allowed(facts):
        paranoid = facts.get("perf_event_paranoid")
        shown = paranoid if isinstance(paranoid, int) else "?"
        return Sentence("reason.perf_not_allowed", {"paranoid": shown}), Sentence("mend.allow_perf")
    present, unreadable = _strings(facts, "files"), _strings(facts, "unreadable")
    for file in needs.files:
        if file not in present or file in unreadable:
            return Sentence("reason.file_missing", {"file": file}), Sentence(
                "mend.told", {"what": needs.mend}
            )
    return None


def perf_allowed(facts: Mapping[str, object]) -> bool:
    """Whether system-wide perf events may be opened: by root's or CAP_PERFMON's right, or by a lax kernel."""
    paranoid = facts.get("perf_event_paranoid")
    lax = isinstance(paranoid, int) and paranoid <= -1
    return lax or bool(facts.get("cap_perfmon") or facts.get("cap_sys_admin"))


def _caveat(facts: Mapping[str, object], collector: Collector, way: Way) -> Verdict:
    """A way that can be taken, and what will be missing all the same."""
    if collector.id == "kmsg" and facts.get("dmesg_restrict") == 1 and not _may_read_log(facts):
        groups = set(str(facts.get("groups", "")).split())
        mend = Sentence("mend.become_root")
        if groups & _LOG_GROUPS and "journalctl" in _mapping(facts, "tools"):
            return Verdict(collector.id, "degrades", way.name, Sentence("reason.kernel_log_by_journal"), mend)
        return Verdict(collector.id, "does_not_work", "", Sentence("reason.kernel_log_closed"), mend)
    if way.needs.perf and way.name == collector.ways[0].name and _symbols_hidden(facts):
        mend = Sentence("mend.run", {"command": "sysctl kernel.kptr_restrict=0"})
        return Verdict(collector.id, "degrades", way.name, Sentence("reason.kernel_symbols_hidden"), mend)
    if collector.id == "numastat" and facts.get("numa_nodes") == 1:
        return Verdict(collector.id, "works", way.name, Sentence("reason.single_node"))
    return Verdict(collector.id, "works", way.name)


def _may_read_log(facts: Mapping[str, object]) -> bool:
    return bool(facts.get("root") or facts.get("cap_syslog") or facts.get("cap_sys_admin"))


def _symbols_hidden(facts: Mapping[str, object]) -> bool:
    """kptr_restrict 2 hides addresses from everybody, 1 from those without CAP_SYSLOG, 0 from few."""
    restrict = facts.get("kptr_restrict")
    if restrict == 2:
        return True
    return not _may_read_log(facts) and (restrict == 1 or facts.get("perf_event_paranoid") not in {-1, 0, 1})


def _family(facts: Mapping[str, object]) -> str:
    manager = str(facts.get("packages", ""))
    if manager == "apt":
        like = f"{facts.get('distro_id', '')} {facts.get('distro_like', '')}"
        return "ubuntu" if "ubuntu" in like.split() else "debian"
    return "rpm" if manager in {"dnf", "yum"} else manager


def _install(facts: Mapping[str, object], tool: str) -> Sentence:
    """The line that installs the tool here, or what to look for where the package manager is unknown."""
    family = _family(facts)
    package = _PACKAGES.get(tool, {}).get(family)
    if package is None or family not in _INSTALL:
        return Sentence("mend.install_tool", {"tool": tool})
    kernel = str(facts.get("kernel", ""))
    safe = set(string.ascii_letters + string.digits + "._+~-")
    package = package.replace("{kernel}", kernel if kernel and set(kernel) <= safe else "generic")
    line = _INSTALL[family].replace("{tool}", str(facts.get("packages"))).replace("{}", package)
    return Sentence("mend.run", {"command": line if facts.get("root") else f"sudo {line}"})


def _mapping(facts: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = facts.get(name)
    return value if isinstance(value, Mapping) else {}


def _strings(facts: Mapping[str, object], name: str) -> frozenset[str]:
    value = facts.get(name)
    return frozenset(str(one) for one in value) if isinstance(value, list | tuple) else frozenset()


def checks(facts: Mapping[str, object], need_bytes: int = 256 << 20) -> tuple[Check, ...]:
    """What was found, one line each, in the order in which a person reads it."""
    found = [
        _plain(facts, "kernel"),
        _plain(facts, "distro"),
        _plain(facts, "arch"),
        _plain(facts, "cpus"),
        _numa(facts),
        _plain(facts, "cgroup"),
        _plain(facts, "mem_bytes"),
        _plain(facts, "virtualisation"),
        _privileges(facts),
        _paranoid(facts),
        _space(facts, need_bytes),
        *(_tool(facts, tool) for tool in ("perf", "iostat", "vmstat", "numastat")),
        _sampler(facts),
        _plain(facts, "machine_id"),
        _plain(facts, "boot_id"),
    ]
    return tuple(found)


def _plain(facts: Mapping[str, object], name: str) -> Check:
    value = facts.get(name)
    known = value not in {None, "", "none"}
    return Check(name, "ok" if known else "degraded", str(value) if known else "")


def _numa(facts: Mapping[str, object]) -> Check:
    nodes = facts.get("numa_nodes")
    reason = Sentence("reason.single_node") if nodes == 1 else None
    return Check("numa_nodes", "ok", "" if nodes is None else str(nodes), reason)


def _privileges(facts: Mapping[str, object]) -> Check:
    value = f"{facts.get('user', '?')} ({facts.get('uid', '?')})"
    if facts.get("root"):
        return Check("privileges", "ok", value)
    rights = [name for name in ("cap_perfmon", "cap_syslog") if facts.get(name)]
    value = " ".join([value, *rights])
    state: Literal["ok", "degraded"] = "ok" if len(rights) == 2 else "degraded"
    return Check("privileges", state, value, Sentence("reason.not_root"), Sentence("mend.become_root"))


def _paranoid(facts: Mapping[str, object]) -> Check:
    value = facts.get("perf_event_paranoid")
    if not isinstance(value, int):
        return Check("perf_event_paranoid", "missing", "", Sentence("reason.no_perf_events"))
    if perf_allowed(facts):
        return Check("perf_event_paranoid", "ok", str(value))
    reason = Sentence("reason.perf_not_allowed", {"paranoid": value})
    return Check("perf_event_paranoid", "degraded", str(value), reason, Sentence("mend.allow_perf"))


def _space(facts: Mapping[str, object], need_bytes: int) -> Check:
    """The first directory that may be written to decides, as the runner does."""
    best = 0
    places = facts.get("space")
    for place in places if isinstance(places, list) else []:
        free, inodes = place.get("free_bytes"), place.get("free_inodes")
        if place.get("writable") and isinstance(free, int) and (inodes is None or inodes > 1_000):
            if free >= need_bytes:
                return Check("space", "ok", f"{place.get('path')} {free}")
            best = max(best, free)
    reason = Sentence("reason.no_space", {"free": best, "need": need_bytes})
    return Check("space", "degraded", str(best), reason, Sentence("mend.free_space"))


def _tool(facts: Mapping[str, object], tool: str) -> Check:
    tools = _mapping(facts, "tools")
    if tool in tools:
        return Check(tool, "ok", str(tools[tool]))
    broken = tool in _strings(facts, "broken_tools")
    if broken and _strings(facts, "other_perf"):
        return Check(tool, "ok", sorted(_strings(facts, "other_perf"))[0])
    reason = Sentence("reason.tool_broken" if broken else "reason.tool_missing", {"tool": tool})
    return Check(tool, "missing", "", reason, _install(facts, tool))


def _sampler(facts: Mapping[str, object]) -> Check:
    """Everything that is sampled is read by one awk."""
    tools = _mapping(facts, "tools")
    for name in ("gawk", "mawk", "busybox", "awk"):
        if name in tools and "awk" in tools:
            return Check("awk", "ok", name)
    return Check(
        "awk", "missing", "", Sentence("reason.tool_missing", {"tool": "awk"}), _install(facts, "awk")
    )
