"""How full the queues of listening sockets are, looked at again and again."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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
    Series,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import addresses, namespaces
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables.cells import Cell, compute_pct, number_or_none
from collectors.parse.tables.tokens import NAN, parse_hexadecimal, parse_whole, to_text
from collectors.shell import sockets
from collectors.shell.network import PRELUDE

_MAX_BYTES = sockets.MAX_BYTES
_MAX_LISTENERS = 500
_PROCESS = re.compile(rb'\(\("([^"]{0,64})",pid=(\d{1,10})')

#: At least ten samples even in a short window: a single sample may see an empty queue between two bursts.
_SAMPLES = r"""
step=1 n=0
if [ "$SECS" -lt 15 ]; then step=0.7; [ "$SECS" -ge 8 ] || step=0.4; elif [ "$SECS" -gt 120 ]; then step=5; fi
sleep 0.01 2> .err || step=1
read -r up rest < /proc/uptime
end=$((${up%.*} + SECS))
while [ "${up%.*}" -lt "$end" ] || [ "$n" -eq 0 ]; do
    look "$n" >> samples
    n=$((n + 1))
    [ -z "$over" ] || break
    nap "$step"
    read -r up rest < /proc/uptime
done
[ -z "$over" ] || exit 0
"""
_SH_PROC = (
    PRELUDE
    + r"""
look() {
    for f in tcp tcp6; do
        at "$1" "$f"
        $ns awk '$4 == "0A" && ++n <= 250 { print $2, $4, $5 }' "/proc/net/$f" 2> .err
    done
}
"""
    + _SAMPLES
)

_COLUMNS = (
    *(Column("address"), Column("port"), Column("process"), Column("pid"), Column("queue_max", "count")),
    *(Column("queue_last", "count"), Column("backlog", "count"), Column("fill_pct", "pct")),
    *(Column("full_samples", "count"), Column("samples", "count"), Column("queue_min", "count")),
    *(Column("queue_mean", "count"), Column("queue_deviation", "count")),
    *(Column("sockets", "count"), Column("emptiest_max", "count")),
)


@dataclass(frozen=True, slots=True)
class _Queue:
    """One listening socket in one sample: connections that wait for accept(), and how many may."""

    address: str
    port: int
    waiting: int
    backlog: float
    process: str
    pid: int | None
    line: int
    boot_ns: int

    @property
    def fill_pct(self) -> float:
        """The share of the backlog that is taken; a full queue holds one more than its backlog."""
        return compute_pct(self.waiting, self.backlog)


def parse_ss_listen(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each listener: the fullest sample with its line, and how many samples found the queue full.

    Only for listening sockets does ss print the queue as Recv-Q and its limit as Send-Q; /proc/net/tcp has
    no limit, so there is no share.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    checks = samples.of("queues")
    matching_samples = [item for snapshot in checks for item in _parse_ss(snapshot)]
    for path in ("tcp", "tcp6"):
        checks = checks or samples.of(path)
        matching_samples += [item for snapshot in samples.of(path) for item in _parse_proc_net(snapshot)]
    known = [item for snapshot in samples.of("listeners") for item in _parse_ss(snapshot)]
    owners = {(item.address, item.port): item for item in sorted(known, key=lambda item: item.waiting)}
    if not checks:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    by_socket: dict[tuple[str, int], list[_Queue]] = {}
    for sample in matching_samples:
        by_socket.setdefault((sample.address, sample.port), []).append(sample)
    rows = [_build_row(queues, owners.get(key)) for key, queues in by_socket.items()]
    rows.sort(key=lambda row: (-float(row[0][7] or 0), -int(row[0][4] or 0), str(row[0][1])))
    tables: tuple[Table, ...] = ()
    if rows:
        cells, lines = tuple(row for row, _ in rows), tuple(line for _, line in rows)
        tables = (Table("listeners", _COLUMNS, cells, sampled.PART, lines),)
    series = tuple(_select_fullest(context, checks, matching_samples))
    return Parsed(series=series, tables=tables, facts=facts, warnings=warnings)


def _build_row(queues: Sequence[_Queue], owner: _Queue | None) -> tuple[tuple[Cell, ...], int]:
    """Sockets that share an address and port (SO_REUSEPORT) are one row: the fullest of them counts.

    `queue_min` is the minimum of all samples: a lasting queue, where that of a burst would drain. `queue_mean` and
    `queue_deviation` (of single samples; none for one sample) describe a queue that comes and goes. `sockets` is how
    many sockets there were in every sample, and `emptiest_max` the longest queue of the emptiest one of a sample.
    """
    top = max(queues, key=lambda queue: (queue.waiting, queue.boot_ns))
    last = max(queues, key=lambda queue: (queue.boot_ns, queue.waiting))
    full = {queue.boot_ns for queue in queues if queue.backlog > 0 and queue.waiting >= queue.backlog}
    by_sample: dict[int, list[int]] = {}
    for queue in queues:
        by_sample.setdefault(queue.boot_ns, []).append(queue.waiting)
    fullest = [max(waiting) for waiting in by_sample.values()]
    cells = (
        *(top.address, top.port, owner.process if owner else "", owner.pid if owner else None),
        *(
            top.waiting,
            last.waiting,
            int(top.backlog) if top.backlog >= 0 else None,
            number_or_none(top.fill_pct),
        ),
        *(len(full), len(fullest), min(fullest)),
        *(statistics.fmean(fullest), statistics.stdev(fullest) if len(fullest) > 1 else None),
        *(min(map(len, by_sample.values())), max(map(min, by_sample.values()))),
    )
    return cells, top.line


def _select_fullest(
    context: Context, snapshots: Sequence[Snapshot], queues: Sequence[_Queue]
) -> list[Series]:
    """The fullest queue of each look."""
    tops: dict[int, _Queue] = {}
    for queue in queues:
        if queue.fill_pct >= 0 and (
            queue.boot_ns not in tops or queue.fill_pct > tops[queue.boot_ns].fill_pct
        ):
            tops[queue.boot_ns] = queue
    boot_ns = np.array(sorted({snapshot.boot_ns for snapshot in snapshots}), np.int64)
    values = np.array([[tops[t].fill_pct if t in tops else NAN] for t in boot_ns.tolist()], np.float64)
    lines = np.array([tops[t].line if t in tops else 0 for t in boot_ns.tolist()], np.int32)
    return sampled.build_series(
        context, "tcp.accept_queue_fill_pct", boot_ns, values.reshape(-1, 1), lines=lines
    )


def _parse_ss(snapshot: Snapshot) -> Iterator[_Queue]:
    """`LISTEN Recv-Q Send-Q Address:Port Peer:Port [Process]`."""
    for offset, line in enumerate(snapshot.lines()[:_MAX_LISTENERS]):
        tokens = line[:2000].split()
        if len(tokens) < 5 or tokens[0] != b"LISTEN":
            continue
        waiting, backlog = parse_whole(tokens[1]), parse_whole(tokens[2])
        address, port = addresses.split_address(tokens[3])
        if waiting is None or backlog is None or port is None:
            continue
        owner = _PROCESS.search(line[:2000])
        process, pid = (to_text(owner[1], 64), int(owner[2])) if owner else ("", None)
        yield _Queue(address, port, waiting, backlog, process, pid, snapshot.line + offset, snapshot.boot_ns)


def _parse_proc_net(snapshot: Snapshot) -> Iterator[_Queue]:
    """`ADDRESS:PORT 0A TX:RX`, all hexadecimal: columns 2, 4 and 5 of /proc/net/tcp."""
    for offset, line in enumerate(snapshot.lines()[:_MAX_LISTENERS]):
        tokens = line[:300].split()
        if len(tokens) == 3 and tokens[1] == b"0A":
            address, port = addresses.decode_proc_address(tokens[0])
            waiting = parse_hexadecimal(tokens[2].partition(b":")[2])
            if port is not None and waiting >= 0:
                at = snapshot.line + offset
                yield _Queue(address, port, int(waiting), NAN, "", None, at, snapshot.boot_ns)


COLLECTOR = Collector(
    id="ss_listen",
    title=Text("Listening sockets", "监听套接字"),
    why=Text(
        "Whether a service accepts its connections too slowly: its queue fills, and then clients wait a second.",
        "服务 accept 是否过慢：队列写满后，客户端要等一秒才会重试。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "ss",
            Needs(tools=("ss", "awk"), remedy="iproute2"),
            sh=sockets.SH,
            command_line="ss -Hltn once a second for {seconds} s, with owners at the start",
            version="ss -V",
            stop="TERM",
            share=sockets.SHARE,
        ),
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/net/tcp",), remedy="mount -t proc proc /proc"),
            sh=_SH_PROC,
            command_line="awk over /proc/net/tcp and tcp6 again and again for {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_ss_listen,
    cost=Cost(
        0.5,
        2_000,
        Text(
            "One short command per second. With a million sockets /proc/net/tcp is slow, ss is not.",
            "每秒一条短命令；套接字达百万时 /proc/net/tcp 会变慢，ss 不会。",
        ),
    ),
    yields=("tcp.accept_queue_fill_pct",),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=3,
    touches=frozenset({TargetAccess.COUNTERS}),
)
