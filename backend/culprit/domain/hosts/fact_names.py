"""Which facts of a host are worth remembering, under which names, and what it means where one is missing. Pure.

Remembered is how a machine is set up, not what it did: no counters, no usage, nothing that differs with each capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]
MAX_VALUE = 400
MAX_NAME = 300
MAX_FACTS = 3_000
"""Of one source in one reading."""

#: Facts of `host_facts` that count, or that say no more than others.
_PASSING = frozenset(
    {
        "uptime_s",
        "sysctl.fs.file-nr",
        "sysctl.net.netfilter.nf_conntrack_count",
        "sysctl.fs.aio-nr",
        "kernel_build",
    }
)
#: What a look at the host finds that captures do not bring home.
_OF_CHECK = (
    "arch", "hostname", "mem_bytes", "page_size", "cgroup", "virtualisation", "container", "ptrace_scope", "lockdown",
    "dmesg_restrict", "init", "broken_tools", "pmu", "addresses",
)  # fmt: skip
#: Mounts, devices and groups that come and go with containers, sessions and removable things.
_FLEETING = (
    "/run/", "/var/lib/docker/", "/var/lib/containers/", "/var/lib/kubelet/", "/proc/", "/sys/", "/dev/", "/snap/",
    "veth", "cali", "lxc", "tap", "br-", "loop", "ram", "zram",
)  # fmt: skip
_HARDWARE = ("cpuinfo/", "vulnerabilities/", "smt/", "transparent_hugepage/", "cpufreq/")


@dataclass(frozen=True, slots=True)
class Fact:
    """A name, its value as text, and the line of the source's artifact (None where it has none)."""

    name: str
    value: str
    part: str
    line: int | None


def listed(name: str) -> bool:
    """Whether a source lists all there are of this kind, so that one that is missing is gone, and a new one is new.

    A setting that is missing may just not have been asked for, by an older Culprit or on a smaller kernel.
    """
    return name.startswith(("mount.", "block.", "interfaces."))


def of_collector(collector: str, facts: Json, lines: Mapping[str, int], tables: Sequence[Json]) -> list[Fact]:
    """The facts in what one collector yielded; none where it yields no such thing, or looked into a namespace."""
    if facts.get("namespace") == "target":
        return []
    found = [
        *(_flat(facts, lines) if collector == "host_facts" else ()),
        *(fact for table in tables for fact in _TABLES.get(table["kind"], _nothing)(table)),
    ]
    return _bounded(found)


def of_check(facts: Json) -> list[Fact]:
    """The facts that a look at a host found, and the versions of its tools."""
    found = [Fact(name, _text(facts[name]), "", None) for name in _OF_CHECK if facts.get(name) is not None]
    tools = facts.get("tools")
    if isinstance(tools, Mapping):
        found += [Fact(f"tool.{name}", _text(version), "", None) for name, version in sorted(tools.items())]
    return _bounded(found)


def _bounded(found: Sequence[Fact]) -> list[Fact]:
    """Each name once, the first counts; nothing that is empty or fleeting."""
    kept: dict[str, Fact] = {}
    for one in found:
        if one.value and one.name not in kept and len(kept) < MAX_FACTS and len(one.name) <= MAX_NAME:
            kept[one.name] = one
    return list(kept.values())


def _flat(facts: Json, lines: Mapping[str, int], before: str = "") -> Iterator[Fact]:
    for key, value in facts.items():
        name = f"{before}{key}"
        if name in _PASSING or (before in {"block.", "interfaces."} and str(key).startswith(_FLEETING)):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, lines, f"{name}.")
        elif isinstance(value, str | int | bool):
            yield Fact(name, _text(value), "samples", lines.get(name))


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(sorted(map(str, value)))
    return " ".join(str(value).replace("\ufffd", " ").split())[:MAX_VALUE]


def _rows(table: Json) -> Iterator[tuple[dict[str, Any], int | None]]:
    columns = [column["id"] for column in table["columns"]]
    lines = table["lines"] or [None] * len(table["rows"])
    for cells, line in zip(table["rows"], lines, strict=False):
        yield dict(zip(columns, cells, strict=False)), line


def _nothing(table: Json) -> Iterator[Fact]:
    return iter(())


def _mounts(table: Json) -> Iterator[Fact]:
    for row, line in _rows(table):
        place = str(row.get("mountpoint") or "")
        if place and not f"{place}/".startswith(_FLEETING):
            value = _text(" ".join(str(row.get(name) or "") for name in ("device", "fstype", "options")))
            yield Fact(f"mount.{place}", value, table["part"], line)


def _hardware(table: Json) -> Iterator[Fact]:
    for row, line in _rows(table):
        name = str(row.get("name") or "")
        if name.startswith(_HARDWARE) and "scaling_cur" not in name:
            yield Fact(f"hardware.{name}", _text(row.get("value") or ""), table["part"], line)


def _limits(table: Json) -> Iterator[Fact]:
    for row, line in _rows(table):
        if row.get("scope") == "host" and row.get("max") is not None:
            yield Fact(f"limit.{row['name']}", _text(_number(row["max"])), table["part"], line)


def _number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _group(column: str, name: str) -> Any:
    """Limits of control groups that last: units and slices, and what lies at the top."""

    def facts(table: Json) -> Iterator[Fact]:
        for row, line in _rows(table):
            path = str(row.get("path") or "")
            lasts = path.endswith((".service", ".slice")) or path.count("/") == 1
            if lasts and row.get(column) not in (None, "") and "user@" not in path:
                yield Fact(f"group.{path}.{name}", _text(_number(row[column])), table["part"], line)

    return facts


_TABLES: Mapping[str, Any] = {
    "mounts": _mounts,
    "hardware": _hardware,
    "limits": _limits,
    "cgroup_cpu": _group("quota_cores", "cpu_quota_cores"),
    "cgroup_mem": _group("limit_kb", "memory_limit_kb"),
    "cgroup_cpuset": _group("cpus", "cpus"),
}
