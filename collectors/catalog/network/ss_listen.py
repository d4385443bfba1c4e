"""How full the queues of listening sockets are, looked at again and again."""

from __future__ import annotations

import re
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
from collectors.net_shell import PRELUDE
from collectors.parse import addresses, netns, sampled
from collectors.parse.cells import Cell, known, pct
from collectors.parse.sampled import Snapshot
from collectors.parse.tokens import NAN, hexadecimal, whole, words

_MAX_BYTES = 16 << 20
_MAX_LISTENERS = 500
_PROCESS = re.compile(rb'\(\("([^"]{0,64})",pid=(\d{1,10})')

#: Ten looks or more even at a short window: one look sees an empty queue between two bursts.
_LOOKS = r"""
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
_SH = (
    PRELUDE
    + r"""
$ns ss -Hltnp > .now 2> .err || { cat .err >&2; rm -f samples; exit 69; }
many=$(sed -n '401{p;q;}' .now)
{ at 0 listeners; head -n 500 .now; } >> samples
look() {
    at "$1" queues
    if [ -z "$many" ]; then $ns ss -Hltn 2> .err; else $ns ss -Hltn 2> .err | head -n 500; fi
}
"""
    + _LOOKS
)
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
    + _LOOKS
)

_COLUMNS = (
    *(Column("address"), Column("port"), Column("process"), Column("pid"), Column("queue_max", "count")),
    *(Column("queue_last", "count"), Column("backlog", "count"), Column("fill_pct", "pct")),
    *(Column("full_looks", "count"), Column("looks", "count"), Column("queue_min", "count")),
)


@dataclass(frozen=True, slots=True)
class _Queue:
    """One listening socket in one look: connections that wait for accept(), and how many may."""

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
        return pct(self.waiting, self.backlog)


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """One row for each listener: the fullest look with its line, and how many looks found the queue full.

    Only for listening sockets does ss print the queue as Recv-Q and its limit as Send-Q; /proc/net/tcp has
    no limit, so there is no share.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    facts, warnings = netns.seen(samples)
    looks = samples.of("queues")
    found = [one for snapshot in looks for one in _of_ss(snapshot)]
    for path in ("tcp", "tcp6"):
        looks = looks or samples.of(path)
        found += [one for snapshot in samples.of(path) for one in _of_proc(snapshot)]
    owners = {
        (one.address, one.port): one for snapshot in samples.of("listeners") for one in _of_ss(snapshot)
    }
    if not looks:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    by_socket: dict[tuple[str, int], list[_Queue]] = {}
    for one in found:
        by_socket.setdefault((one.address, one.port), []).append(one)
    rows = [_row(queues, owners.get(key)) for key, queues in by_socket.items()]
    rows.sort(key=lambda row: (-float(row[0][7] or 0), -int(row[0][4] or 0), str(row[0][1])))
    tables: tuple[Table, ...] = ()
    if rows:
        cells, lines = tuple(row for row, _ in rows), tuple(line for _, line in rows)
        tables = (Table("listeners", _COLUMNS, cells, sampled.PART, lines),)
    series = tuple(_fullest(context, looks, found))
    return Parsed(series=series, tables=tables, facts=facts, warnings=warnings)


def _row(queues: Sequence[_Queue], owner: _Queue | None) -> tuple[tuple[Cell, ...], int]:
    """Sockets that share an address and port (SO_REUSEPORT) are one row: the fullest of them counts.

    `queue_min` is what no look fell below: a queue that stands, where a burst's would drain.
    """
    top = max(queues, key=lambda one: (one.waiting, one.boot_ns))
    last = max(queues, key=lambda one: (one.boot_ns, one.waiting))
    full = {one.boot_ns for one in queues if one.backlog > 0 and one.waiting >= one.backlog}
    fullest: dict[int, int] = {}
    for one in queues:
        fullest[one.boot_ns] = max(one.waiting, fullest.get(one.boot_ns, 0))
    cells = (
        *(top.address, top.port, owner.process if owner else "", owner.pid if owner else None),
        *(top.waiting, last.waiting, int(top.backlog) if top.backlog >= 0 else None, known(top.fill_pct)),
        *(len(full), len(fullest), min(fullest.values())),
    )
    return cells, top.line


def _fullest(context: Context, looks: Sequence[Snapshot], found: Sequence[_Queue]) -> list[Series]:
    """The fullest queue of each look."""
    tops: dict[int, _Queue] = {}
    for one in found:
        if one.fill_pct >= 0 and (one.boot_ns not in tops or one.fill_pct > tops[one.boot_ns].fill_pct):
            tops[one.boot_ns] = one
    boot_ns = np.array(sorted({look.boot_ns for look in looks}), np.int64)
    values = np.array([[tops[t].fill_pct if t in tops else NAN] for t in boot_ns.tolist()], np.float64)
    lines = np.array([tops[t].line if t in tops else 0 for t in boot_ns.tolist()], np.int32)
    return sampled.series(context, "tcp.accept_queue_fill_pct", boot_ns, values.reshape(-1, 1), lines=lines)


def _of_ss(snapshot: Snapshot) -> Iterator[_Queue]:
    """`LISTEN Recv-Q Send-Q Address:Port Peer:Port [Process]`."""
    for offset, line in enumerate(snapshot.lines()[:_MAX_LISTENERS]):
        tokens = line[:2000].split()
        if len(tokens) < 5 or tokens[0] != b"LISTEN":
            continue
        waiting, backlog = whole(tokens[1]), whole(tokens[2])
        address, port = addresses.split(tokens[3])
        if waiting is None or backlog is None or port is None:
            continue
        owner = _PROCESS.search(line[:2000])
        process, pid = (words(owner[1], 64), int(owner[2])) if owner else ("", None)
        yield _Queue(address, port, waiting, backlog, process, pid, snapshot.line + offset, snapshot.boot_ns)


def _of_proc(snapshot: Snapshot) -> Iterator[_Queue]:
    """`ADDRESS:PORT 0A TX:RX`, all hexadecimal: columns 2, 4 and 5 of /proc/net/tcp."""
    for offset, line in enumerate(snapshot.lines()[:_MAX_LISTENERS]):
        tokens = line[:300].split()
        if len(tokens) == 3 and tokens[1] == b"0A":
            address, port = addresses.of_proc(tokens[0])
            waiting = hexadecimal(tokens[2].partition(b":")[2])
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
    ways=(
        Script(
            "ss",
            Needs(tools=("ss",), mend="iproute2"),
            sh=_SH,
            shows="ss -Hltn again and again for {seconds} s, ss -Hltnp once",
            version="ss -V",
            stop="TERM",
        ),
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/net/tcp",), mend="mount -t proc proc /proc"),
            sh=_SH_PROC,
            shows="awk over /proc/net/tcp and tcp6 again and again for {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse,
    cost=Cost(
        0.5,
        2_000,
        Text(
            "One short command a second; with a million sockets /proc/net/tcp would take longer, ss does not.",
            "每秒一条短命令；套接字达百万时 /proc/net/tcp 会变慢，ss 不会。",
        ),
    ),
    yields=("tcp.accept_queue_fill_pct",),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    touches=frozenset({TargetAccess.COUNTERS}),
)
