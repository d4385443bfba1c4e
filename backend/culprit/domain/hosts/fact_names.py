"""Select and name the facts of a host whose history is stored. Without I/O.

Stored facts describe the configuration of a host, not its activity: no counters, no usage, and no values that differ
with each capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culprit.json_types import JsonMapping

MAX_VALUE = 400
MAX_NAME = 300
MAX_FACTS = 3_000
"""Maximum number of facts of a source in one reading."""

#: Facts of `host_facts` that are counts, or that duplicate other facts.
_COUNTERS = frozenset(
    {
        "uptime_s",
        "sysctl.fs.file-nr",
        "sysctl.net.netfilter.nf_conntrack_count",
        "sysctl.fs.aio-nr",
        "kernel_build",
    }
)
#: Facts that only the preflight check reads.
_PREFLIGHT_FACTS = (
    "arch", "hostname", "mem_bytes", "page_size", "cgroup", "virtualisation", "container", "ptrace_scope", "lockdown",
    "dmesg_restrict", "init", "broken_tools", "pmu", "addresses",
)  # fmt: skip
#: Prefixes of temporary mounts and devices, such as those of containers, sessions and removable media.
_TEMPORARY = (
    "/run/", "/var/lib/docker/", "/var/lib/containers/", "/var/lib/kubelet/", "/proc/", "/sys/", "/dev/", "/snap/",
    "veth", "cali", "lxc", "tap", "br-", "loop", "ram", "zram",
)  # fmt: skip
_HARDWARE = ("cpuinfo/", "vulnerabilities/", "smt/", "transparent_hugepage/", "cpufreq/")


@dataclass(frozen=True, slots=True)
class FactReading:
    """A fact: name, value as text, and its source as part and line of an artifact (`line` None without any)."""

    name: str
    value: str
    part: str
    line: int | None


def is_listed_completely(name: str) -> bool:
    """Return whether a source lists all facts of this kind, so that a missing fact means a removed item.

    A missing setting, in contrast, may not have been read by an older Culprit or may not exist in the kernel build.
    """
    return name.startswith(("mount.", "block.", "interfaces."))


def list_collector_facts(
    collector: str, facts: JsonMapping, lines: Mapping[str, int], tables: Sequence[JsonMapping]
) -> list[FactReading]:
    """Return the facts in the results of a collector; none if it read the namespace of a target."""
    if facts.get("namespace") == "target":
        return []
    results = [
        *(_flatten(facts, lines) if collector == "host_facts" else ()),
        *(fact for table in tables for fact in _TABLES.get(table["kind"], _list_none)(table)),
    ]
    return _limit_facts(results)


def list_preflight_facts(facts: JsonMapping) -> list[FactReading]:
    """Return the facts of a preflight check, and the versions of the tools on the host."""
    fact_readings = [
        FactReading(name, _to_text(facts[name]), "", None)
        for name in _PREFLIGHT_FACTS
        if facts.get(name) is not None
    ]
    tools = facts.get("tools")
    if isinstance(tools, Mapping):
        fact_readings += [
            FactReading(f"tool.{name}", _to_text(version), "", None)
            for name, version in sorted(tools.items())
        ]
    return _limit_facts(fact_readings)


def _limit_facts(fact_readings: Sequence[FactReading]) -> list[FactReading]:
    """Return the first reading of each name, without empty values and too long names, at most MAX_FACTS."""
    by_name: dict[str, FactReading] = {}
    for fact_reading in fact_readings:
        if (
            fact_reading.value
            and fact_reading.name not in by_name
            and len(by_name) < MAX_FACTS
            and len(fact_reading.name) <= MAX_NAME
        ):
            by_name[fact_reading.name] = fact_reading
    return list(by_name.values())


def _flatten(facts: JsonMapping, lines: Mapping[str, int], before: str = "") -> Iterator[FactReading]:
    for key, value in facts.items():
        name = f"{before}{key}"
        if name in _COUNTERS or (before in {"block.", "interfaces."} and str(key).startswith(_TEMPORARY)):
            continue
        if isinstance(value, Mapping):
            yield from _flatten(value, lines, f"{name}.")
        elif isinstance(value, str | int | bool):
            yield FactReading(name, _to_text(value), "samples", lines.get(name))


def _to_text(value: object) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(sorted(map(str, value)))
    return " ".join(str(value).replace("\ufffd", " ").split())[:MAX_VALUE]


def _read_rows(table: JsonMapping) -> Iterator[tuple[dict[str, Any], int | None]]:
    columns = [column["id"] for column in table["columns"]]
    lines = table["lines"] or [None] * len(table["rows"])
    for cells, line in zip(table["rows"], lines, strict=False):
        yield dict(zip(columns, cells, strict=False)), line


def _list_none(table: JsonMapping) -> Iterator[FactReading]:
    return iter(())


def _list_mounts(table: JsonMapping) -> Iterator[FactReading]:
    for row, line in _read_rows(table):
        mountpoint = str(row.get("mountpoint") or "")
        if mountpoint and not f"{mountpoint}/".startswith(_TEMPORARY):
            value = _to_text(" ".join(str(row.get(name) or "") for name in ("device", "fstype", "options")))
            yield FactReading(f"mount.{mountpoint}", value, table["part"], line)


def _list_hardware(table: JsonMapping) -> Iterator[FactReading]:
    for row, line in _read_rows(table):
        name = str(row.get("name") or "")
        if name.startswith(_HARDWARE) and "scaling_cur" not in name:
            yield FactReading(f"hardware.{name}", _to_text(row.get("value") or ""), table["part"], line)


def _list_limits(table: JsonMapping) -> Iterator[FactReading]:
    for row, line in _read_rows(table):
        if row.get("scope") == "host" and row.get("max") is not None:
            yield FactReading(f"limit.{row['name']}", _to_text(_to_integer(row["max"])), table["part"], line)


def _to_integer(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _group_reader(column: str, name: str) -> Any:
    """Return a reader of a limit of permanent control groups: services, slices and groups at the top level."""

    def facts(table: JsonMapping) -> Iterator[FactReading]:
        for row, line in _read_rows(table):
            path = str(row.get("path") or "")
            is_permanent = path.endswith((".service", ".slice")) or path.count("/") == 1
            if is_permanent and row.get(column) not in (None, "") and "user@" not in path:
                yield FactReading(
                    f"group.{path}.{name}", _to_text(_to_integer(row[column])), table["part"], line
                )

    return facts


_TABLES: Mapping[str, Any] = {
    "mounts": _list_mounts,
    "hardware": _list_hardware,
    "limits": _list_limits,
    "cgroup_cpu": _group_reader("quota_cores", "cpu_quota_cores"),
    "cgroup_mem": _group_reader("limit_kb", "memory_limit_kb"),
    "cgroup_cpuset": _group_reader("cpus", "cpus"),
}
