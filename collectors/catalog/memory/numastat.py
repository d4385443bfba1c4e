"""Where memory was allocated between NUMA nodes, once a second."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Script,
    Series,
    Text,
    Tier,
    Times,
    Values,
)
from collectors.parse.proc import id_list, sampled
from collectors.parse.proc.sampled import Readings, Samples, Snapshot
from collectors.parse.tables import rates, results
from collectors.parse.tables.tokens import parse_counter

_NODE = "/sys/devices/system/node/node"
_PATHS = re.compile(rf"{_NODE}(\d{{1,5}})/(numastat|meminfo|cpulist|distance)")
_TABLE = "numastat"
_MAX_BYTES = 16 << 20
_COUNTERS = {
    "numa_hit": "numa.hit_per_s",
    "numa_miss": "numa.miss_per_s",
    "numa_foreign": "numa.foreign_per_s",
    "interleave_hit": "numa.interleave_per_s",
    "local_node": "numa.local_node_per_s",
    "other_node": "numa.other_node_per_s",
}

_SH = """
LC_ALL=C
export LC_ALL
tick=0
while [ "$tick" -le "$SECS" ]; do
    read -r up rest < /proc/uptime
    whole=${up%.*} part=${up#*.}000000000
    while [ "${#part}" -gt 9 ]; do part=${part%0}; done
    echo "@ $tick $whole$part numastat" >> samples
    numastat >> samples || exit 69
    tick=$((tick + 1))
    [ "$tick" -gt "$SECS" ] || sleep 1
done
"""


def parse_numastat(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Pages allocated on each node and for whom, per second, and the share made for tasks on other nodes.

    These count allocations, not accesses. Under a wrong binding pages still count as hits on the node that
    they were bound to, so that only `other_node` grows. On a host with a single node there is nothing to
    compare: the fact `numa_applicable` is false. Source: Documentation/admin-guide/numastat.rst of the kernel.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    per_node = _build_node_series(samples)
    nodes = sorted(per_node)
    series: list[Series] = []
    if nodes:
        series = _compute_rates(context, per_node, nodes) + _read_free(context, samples)
    facts: dict[str, object] = {}
    if nodes:
        facts = {"numa_nodes": len(nodes), "numa_applicable": len(nodes) > 1, **_read_layout(samples)}
    return results.build_series_result(series, samples.warnings, facts)


def _build_node_series(samples: Samples) -> dict[int, Readings]:
    """Counters of each node, from sysfs or else from the table that the tool prints."""
    results = {
        int(match[1]): sampled.tabulate_readings(snapshots, _read_pairs)
        for match, snapshots in samples.matching(_PATHS)
        if match[2] == "numastat"
    }
    if results or not samples.of(_TABLE):
        return results
    table = sampled.tabulate_readings(samples.of(_TABLE), _build_table)
    nodes = sorted({int(name.partition(".")[0]) for name in table.names})
    return {node: _read_node(table, node) for node in nodes}


def _read_pairs(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    for offset, line in enumerate(snapshot.lines()[:32]):
        tokens = line.split(None, 2)
        if len(tokens) == 2 and tokens[0].decode("ascii", "replace") in _COUNTERS:
            yield tokens[0].decode("ascii"), parse_counter(tokens[1]), offset


def _build_table(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    """The tool's table: a header of nodes, then one line for each counter."""
    nodes: list[int] = []
    for offset, line in enumerate(snapshot.lines()[:64]):
        tokens = line.split(None, 1_100)
        if tokens and all(re.match(rb"node\d{1,5}\Z", token) for token in tokens):
            nodes = [int(token[4:]) for token in tokens]
        elif nodes and len(tokens) == len(nodes) + 1 and tokens[0].decode("ascii", "replace") in _COUNTERS:
            for node, token in zip(nodes, tokens[1:], strict=True):
                yield f"{node}.{tokens[0].decode('ascii')}", parse_counter(token), offset


def _read_node(table: Readings, node: int) -> Readings:
    chosen = [at for at, name in enumerate(table.names) if name.startswith(f"{node}.")]
    names = tuple(table.names[at].partition(".")[2] for at in chosen)
    return Readings(table.boot_ns, names, table.values[:, chosen], table.lines[:, chosen])


def _compute_rates(context: Context, per_node: Mapping[int, Readings], nodes: Sequence[int]) -> list[Series]:
    """Every counter as a matrix over nodes, at the times of the first node."""
    first = per_node[nodes[0]]
    boot_ns = first.boot_ns
    if len(boot_ns) < 2:
        return []
    axis = tuple(str(node) for node in nodes)
    changed: dict[str, Values] = {
        name: np.hstack([_align_columns(boot_ns, per_node[node], name) for node in nodes])
        for name in _COUNTERS
    }
    series: list[Series] = []
    for name, metric in _COUNTERS.items():
        lines = first.line_of(name)[1:]
        series += sampled.build_series(
            context, metric, boot_ns[1:], changed[name], lines=lines, axis="node", axis_values=axis
        )
    share = rates.compute_share_pct(changed["other_node"], changed["other_node"] + changed["local_node"])
    return series + sampled.build_series(
        context,
        "numa.other_node_ratio_pct",
        boot_ns[1:],
        share,
        lines=first.line_of("other_node")[1:],
        axis="node",
        axis_values=axis,
    )


def _align_columns(boot_ns: Times, readings: Readings, name: str) -> Values:
    """The rate of one counter of one node at the times of the first; a reading that is missing is no data."""
    column = readings.column(name)
    if len(readings.boot_ns) != len(boot_ns):
        at = np.searchsorted(readings.boot_ns, boot_ns)
        inside = at < len(readings.boot_ns)
        column = np.where(inside[:, None], column[np.minimum(at, len(column) - 1)], np.nan)
    return rates.compute_rates(boot_ns, column)


def _read_free(context: Context, samples: Samples) -> list[Series]:
    readings: dict[int, Readings] = {
        int(match[1]): sampled.tabulate_readings(snapshots, _read_meminfo)
        for match, snapshots in samples.matching(_PATHS)
        if match[2] == "meminfo"
    }
    nodes = sorted(readings)
    if not nodes:
        return []
    n = min(len(readings[node].boot_ns) for node in nodes)
    values = np.hstack([readings[node].column("MemFree")[:n] for node in nodes])
    first = readings[nodes[0]]
    return sampled.build_series(
        context,
        "numa.free_kb",
        first.boot_ns[:n],
        values,
        lines=first.line_of("MemFree")[:n],
        axis="node",
        axis_values=tuple(str(node) for node in nodes),
    )


def _read_meminfo(snapshot: Snapshot) -> Iterable[tuple[str, float, int]]:
    """`Node 0 MemFree:  123 kB`."""
    for offset, line in enumerate(snapshot.lines()[:100]):
        tokens = line.split(None, 5)
        if len(tokens) >= 4 and tokens[2] == b"MemFree:":
            yield "MemFree", parse_counter(tokens[3]), offset


def _read_layout(samples: Samples) -> dict[str, object]:
    """CPUs and distances of every node, as lists."""
    cpus: dict[str, list[int]] = {}
    distances: dict[str, list[int]] = {}
    for match, snapshots in samples.matching(_PATHS):
        body = snapshots[0].body
        if match[2] == "cpulist":
            cpus[match[1]] = list(id_list.parse_ids(body))
        elif match[2] == "distance":
            distances[match[1]] = [int(t) for t in body.split()[:1024] if t.isdigit() and len(t) <= 6]
    return {"numa_cpus": cpus, "numa_distances": distances}


COLLECTOR = Collector(
    id="numastat",
    title=Text("numastat", "numastat"),
    why=Text(
        "Whether memory is taken from the node on which the work runs.",
        "内存是否分配在运行任务的节点上。",
    ),
    tier=Tier.LIGHT,
    mandatory=True,
    methods=(
        Sampled(
            "sysfs",
            Needs(files=(f"{_NODE}0/numastat",), remedy="a kernel built with CONFIG_NUMA"),
            files=(
                f"{_NODE}[0-9]*/numastat",
                f"{_NODE}[0-9]*/meminfo",
                f"{_NODE}[0-9]*/cpulist",
                f"{_NODE}[0-9]*/distance",
            ),
            at_ends=(f"{_NODE}[0-9]*/cpulist", f"{_NODE}[0-9]*/distance"),
            interval_s=1.0,
        ),
        Script(
            "numactl",
            Needs(tools=("numastat",), remedy="numactl"),
            sh=_SH,
            command_line="numastat, every second for {seconds} s",
            version="numastat -V 2>&1",
        ),
    ),
    parse=parse_numastat,
    cost=Cost(0.03, 2_000, Text("A few small files per node and second.", "每节点每秒读取几个小文件。")),
    yields=(*_COUNTERS.values(), "numa.other_node_ratio_pct", "numa.free_kb"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
