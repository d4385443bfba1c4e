"""Which facts of a host are worth remembering, under which names, and what it means where one is missing. Pure.

Remembered is how a machine is set up, not what it did: no counters, no usage, nothing that differs with each capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from culprit.json_types import JsonMapping

MAX_VALUE = 400
MAX_NAME = 300
MAX_FACTS = 3_000
"""Of one source in one reading."""

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
#: What a look at the host finds that captures do not bring home.
_PREFLIGHT_FACTS = (
    "arch", "hostname", "mem_bytes", "page_size", "cgroup", "virtualisation", "container", "ptrace_scope", "lockdown",
    "dmesg_restrict", "init", "broken_tools", "pmu", "addresses",
)  # fmt: skip
#: Mounts, devices and groups that come and go with containers, sessions and removable things.
_TEMPORARY = (
    "/run/", "/var/lib/docker/", "/var/lib/containers/", "/var/lib/kubelet/", "/proc/", "/sys/", "/dev/", "/snap/",
    "veth", "cali", "lxc", "tap", "br-", "loop", "ram", "zram",
)  # fmt: skip
_HARDWARE = ("cpuinfo/", "vulnerabilities/", "smt/", "transparent_hugepage/", "cpufreq/")


@dataclass(frozen=True, slots=True)
class FactReading:
    """A name, its value as text, and the line of the source's artifact (None where it has none)."""

    name: str
    value: str
    part: str
    line: int | None


def is_listed_completely(name: str) -> bool:
    """Whether a source lists all there are of this kind, so that one that is missing is gone, and a new one is new.

    A setting that is missing may just not have been asked for, by an older Culprit or on a smaller kernel.
    """
    return name.startswith(("mount.", "block.", "interfaces."))


def list_collector_facts(
    collector: str, facts: JsonMapping, lines: Mapping[str, int], tables: Sequence[JsonMapping]
) -> list[FactReading]:
    """The facts in what one collector yielded; none where it yields no such thing, or looked into a namespace."""
    if facts.get("namespace") == "target":
        return []
    results = [
        *(_flatten(facts, lines) if collector == "host_facts" else ()),
        *(fact for table in tables for fact in _TABLES.get(table["kind"], _list_none)(table)),
    ]
    return _limit_facts(results)


def list_preflight_facts(facts: JsonMapping) -> list[FactReading]:
    """The facts that a look at a host found, and the versions of its tools."""
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
    """Each name once, the first counts; nothing that is empty or fleeting."""
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
        place = str(row.get("mountpoint") or "")
        if place and not f"{place}/".startswith(_TEMPORARY):
            value = _to_text(" ".join(str(row.get(name) or "") for name in ("device", "fstype", "options")))
            yield FactReading(f"mount.{place}", value, table["part"], line)


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
    """Limits of permanent control groups: units, slices and the groups at the top level."""

    def facts(table: JsonMapping) -> Iterator[FactReading]:
        for row, line in _read_rows(table):
            path = str(row.get("path") or "")
            lasts = path.endswith((".service", ".slice")) or path.count("/") == 1
            if lasts and row.get(column) not in (None, "") and "user@" not in path:
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
