"""On which CPUs control groups and processes may run, from which nodes they get memory, and whether the two fit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import cgroup_files, id_list
from collectors.parse.proc.cgroup_files import CgroupFiles
from collectors.parse.tables.tokens import to_text
from collectors.shell import cgroups

_MAX_BYTES = 16 << 20
_MAX_LINES = 100_000
_MAX_PROCESSES = 512
_MAX_NODES = 1024
_PLACES = (
    Column("cpus"),
    Column("mems"),
    Column("cpu_count"),
    Column("nodes_of_cpus"),
    Column("nodes_of_mems"),
    Column("mismatch"),
)
_COLUMNS = (Column("path"), *_PLACES)
_PROCESS_COLUMNS = (Column("pid"), Column("comm"), *_PLACES)
_NODE = re.compile(rb"/sys/devices/system/node/node(\d{1,4})/cpulist:(.*)")
_STATUS = re.compile(rb"/proc/(\d{1,10})/status:(Name|Cpus_allowed_list|Mems_allowed_list):\s*(.*)")

Row = tuple[str | int | float | None, ...]


def parse_cgroup_cpuset(parts: Mapping[str, Part], context: Context) -> Parsed:
    """A row for each group whose sets differ from the host's, and for each process of the target.

    `mismatch`: `disjoint` where the nodes of the CPUs and the nodes of the memory share none, `partial` where they
    are not the same, `none` where they are; None where the nodes of the CPUs are unknown.
    """
    checks = cgroup_files.parse_cgroup_files(parts, _MAX_BYTES)
    part = parts.get("stdout")
    if part is None or not checks.samples:
        return Parsed(warnings=(*checks.warnings, Sentence("warning.too_few_samples")), readable=False)
    nodes, processes = _other_fields(part)
    groups = [path for path in checks.paths() if path != "/"]
    tables = [
        Table(
            "cgroup_cpuset",
            _COLUMNS,
            tuple(
                (
                    path,
                    *_count_placements(
                        _first_value(checks.last(path), cgroups.CPUSET_CPUS),
                        _first_value(checks.last(path), cgroups.CPUSET_MEMS),
                        nodes,
                    ),
                )
                for path in groups
            ),
            lines=tuple(
                checks.last(path).line(*((name, "") for name in cgroups.CPUSET_CPUS)) for path in groups
            ),
        )
    ]
    if processes:
        rows = [
            (
                pid,
                to_text(reported.get(b"Name", b""), 64),
                *_count_placements(reported.get(_ALLOWED[0]), reported.get(_ALLOWED[1]), nodes),
            )
            for pid, (_, reported) in processes.items()
        ]
        lines = tuple(line for line, _ in processes.values())
        tables.append(Table("process_cpuset", _PROCESS_COLUMNS, tuple(rows), lines=lines))
    return Parsed(tables=tuple(tables), facts={"nodes": len(nodes)}, warnings=checks.warnings)


_ALLOWED = (b"Cpus_allowed_list", b"Mems_allowed_list")
Nodes = dict[int, frozenset[int]]


def _other_fields(part: Part) -> tuple[Nodes, dict[int, tuple[int, dict[bytes, bytes]]]]:
    """CPUs by node, and of each process the first line about it and its fields."""
    nodes: Nodes = {}
    processes: dict[int, tuple[int, dict[bytes, bytes]]] = {}
    for number, line in enumerate(part.read(_MAX_BYTES).split(b"\n")[:_MAX_LINES], 1):
        if (match := _NODE.fullmatch(line)) and len(nodes) < _MAX_NODES:
            nodes[int(match[1])] = frozenset(id_list.parse_ids(match[2]))
        elif match := _STATUS.fullmatch(line):
            pid = int(match[1])
            if pid in processes or len(processes) < _MAX_PROCESSES:
                processes.setdefault(pid, (number, {}))[1][match[2]] = match[3]
    return nodes, processes


def _first_value(group: CgroupFiles, names: tuple[str, ...]) -> bytes | None:
    return next((text for name in names if (text := group.text(name))), None)


def _count_placements(cpus: bytes | None, mems: bytes | None, nodes: Nodes) -> Row:
    """The cells of `_PLACES`."""
    allowed = frozenset(id_list.parse_ids(cpus)) if cpus else frozenset()
    of_cpus = {node for node, members in nodes.items() if members & allowed}
    of_mems = set(id_list.parse_ids(mems)) if mems else set()
    mismatch = None
    if of_cpus and of_mems:
        mismatch = "none" if of_cpus == of_mems else "partial" if of_cpus & of_mems else "disjoint"
    reported_of_cpus = [",".join(map(str, sorted(of_cpu)[:64])) or None for of_cpu in (of_cpus, of_mems)]
    return (
        to_text(cpus, 200) if cpus else None,
        to_text(mems, 200) if mems else None,
        len(allowed) or None,
        *reported_of_cpus,
        mismatch,
    )


COLLECTOR = Collector(
    id="cgroup_cpuset",
    title=Text("CPU and memory sets", "CPU 与内存节点绑定"),
    why=Text(
        "Groups and processes that are bound to some CPUs or nodes, and whether their memory is on other nodes.",
        "哪些控制组与进程被限制在部分 CPU 或节点上，内存是否落在其他节点。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "cgroup",
            Needs(tools=("find", "grep", "xargs"), remedy="mount the cgroup file systems; findutils, grep"),
            sh=cgroups.SH,
            share=cgroups.SHARE,
            command_line="grep -H '' cpuset.{cpus,mems}.effective (of groups that differ), "
            "/proc/PID/status, over {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_cgroup_cpuset,
    cost=Cost(0.2, 500, Text("Two samples of small files that rarely change.", "读取两次基本不变的小文件。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
