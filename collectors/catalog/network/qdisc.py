"""What the queueing disciplines of network devices sent, delayed and dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
from collectors.parse.network import namespaces
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Snapshot
from collectors.parse.tables import json_rows
from collectors.parse.tables.cells import (
    Cell,
    compute_pct,
    count_or_none,
    counter_increase,
    counter_rate,
    number_or_none,
)
from collectors.parse.tables.json_rows import Object
from collectors.parse.tables.tokens import NAN, parse_amount, parse_counter, to_text
from collectors.shell.network import PRELUDE

_MAX_BYTES = 8 << 20
_MAX_QDISCS = 2_000
_MAX_OPTIONS = 200

_SH = (
    PRELUDE
    + r"""
look() {
    $ns tc -s -j -p qdisc show > .now 2> .err && grep -q '"kind"' .now ||
        $ns tc -s qdisc show > .now 2>> .err
    grep -q -e '"kind"' -e '^qdisc ' .now || { cat .err >&2; rm -f samples; exit 69; }
    at "$1" tc >> samples
    head -c 2000000 .now >> samples
}
look 0
nap "$SECS"
look 1
"""
)

_COLUMNS = (
    *(Column("dev"), Column("kind"), Column("handle"), Column("parent"), Column("options")),
    *(Column("netem_loss_pct", "pct"), Column("netem_delay_ms", "ms")),
    *(Column("packets_per_s", "packets_per_s"), Column("drops", "count"), Column("drops_per_s", "per_s")),
    *(Column("drop_pct", "pct"), Column("overlimits_per_s", "per_s"), Column("requeues_per_s", "per_s")),
    *(Column("backlog_bytes", "bytes"), Column("queue_packets", "count"), Column("drops_total", "count")),
)


@dataclass(frozen=True, slots=True)
class _Qdisc:
    """One discipline at one moment; counters are NaN where tc did not print them."""

    dev: str
    kind: str
    handle: str
    parent: str
    options: str
    line: int
    loss_pct: float = NAN
    delay_ms: float = NAN
    packets: float = NAN
    drops: float = NAN
    overlimits: float = NAN
    requeues: float = NAN
    backlog_bytes: float = NAN
    queue_packets: float = NAN

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What makes two readings be of the same discipline."""
        return self.dev, self.kind, self.handle, self.parent


def parse_qdisc(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates between the two readings; drops as a share of what was sent or dropped in the meantime.

    tc prints JSON since iproute2 4.17, and text that has hardly changed since 2.6.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    readings = samples.of("tc")
    if not readings:
        return Parsed(facts=facts, warnings=warnings, readable=False)
    first, last = readings[0], readings[-1]
    elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
    earlier = {qdisc.key: qdisc for qdisc in _parse_qdiscs(first)} if last is not first else {}
    rows = [
        (_build_row(earlier.get(qdisc.key), qdisc, elapsed_s), qdisc.line) for qdisc in _parse_qdiscs(last)
    ]
    if not rows:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    table = Table(
        "qdiscs", _COLUMNS, tuple(row for row, _ in rows), sampled.PART, tuple(line for _, line in rows)
    )
    return Parsed(tables=(table,), facts=facts, warnings=warnings)


def _build_row(before: _Qdisc | None, after: _Qdisc, elapsed_s: float) -> tuple[Cell, ...]:
    since = before or _Qdisc(after.dev, after.kind, "", "", "", 0)
    drops, packets = (
        counter_increase(since.drops, after.drops),
        counter_increase(since.packets, after.packets),
    )
    return (
        *(after.dev, after.kind, after.handle, after.parent, after.options),
        *(number_or_none(after.loss_pct), number_or_none(after.delay_ms)),
        *(number_or_none(counter_rate(since.packets, after.packets, elapsed_s)), count_or_none(drops)),
        *(
            number_or_none(counter_rate(since.drops, after.drops, elapsed_s)),
            number_or_none(compute_pct(drops, drops + packets)),
        ),
        number_or_none(counter_rate(since.overlimits, after.overlimits, elapsed_s)),
        number_or_none(counter_rate(since.requeues, after.requeues, elapsed_s)),
        *(count_or_none(after.backlog_bytes), count_or_none(after.queue_packets), count_or_none(after.drops)),
    )


def _parse_qdiscs(snapshot: Snapshot) -> Iterator[_Qdisc]:
    if snapshot.body.lstrip()[:1] == b"[":
        for item, line in json_rows.iterate_objects(snapshot, _MAX_QDISCS):
            if "kind" in item and "dev" in item:
                yield _parse_object(item, line)
    else:
        yield from _parse_text(snapshot)


def _parse_object(item: Object, line: int) -> _Qdisc:
    options = json_rows.get_object(item, "options")
    flat = "; ".join(_flatten(options, "", 3))
    return _Qdisc(
        json_rows.get_text(item, "dev"),
        json_rows.get_text(item, "kind"),
        json_rows.get_text(item, "handle"),
        "root" if item.get("root") is True else json_rows.get_text(item, "parent"),
        flat[:_MAX_OPTIONS],
        line,
        loss_pct=json_rows.get_number(json_rows.get_object(options, "loss-random"), "loss") * 100.0,
        delay_ms=json_rows.get_number(json_rows.get_object(options, "delay"), "delay") * 1e3,
        packets=json_rows.get_number(item, "packets"),
        drops=json_rows.get_number(item, "drops"),
        overlimits=json_rows.get_number(item, "overlimits"),
        requeues=json_rows.get_number(item, "requeues"),
        backlog_bytes=json_rows.get_number(item, "backlog"),
        queue_packets=json_rows.get_number(item, "qlen"),
    )


def _flatten(options: Object, prefix: str, depth: int) -> Iterator[str]:
    """`name value` of every option; those inside others are named `outer.inner`."""
    for name in list(options)[:40]:
        value = options[name]
        displayed_prefix = prefix + to_text(name.encode("utf-8", "replace"), 40)
        if isinstance(value, Mapping) and depth:
            yield from _flatten(value, f"{displayed_prefix}.", depth - 1)
        elif isinstance(value, str):
            yield f"{displayed_prefix} {json_rows.get_text(options, name)}"
        elif isinstance(value, bool) or value is None:
            yield displayed_prefix
        elif (known_number := number_or_none(json_rows.get_number(options, name))) is not None:
            yield f"{displayed_prefix} {known_number:.12g}"


_HEAD = re.compile(
    rb"qdisc (\S{1,32}) (\S{1,32}) (?:dev (\S{1,32}) )?(root|parent \S{1,32}|ingress \S*)?(.*)\Z"
)
_SENT = re.compile(
    rb" *Sent (\d{1,20}) bytes (\d{1,20}) pkts? \(dropped (\d{1,20}), overlimits (\d{1,20}) requeues (\d{1,20})\)"
)
_BACKLOG = re.compile(rb" *backlog (\d{1,20})([KMG]?)b? (\d{1,20})p")
_LOSS = re.compile(rb"\bloss (?:random )?(\d{1,3}(?:\.\d{1,6})?)%")
_DELAY = re.compile(rb"\bdelay (\d{1,9}(?:\.\d{1,6})?)(us|ms|s)\b")
_TO_MS = {b"us": 1e-3, b"ms": 1.0, b"s": 1e3}
_UNIT = {b"": 1, b"K": 1 << 10, b"M": 1 << 20, b"G": 1 << 30}


def _parse_text(snapshot: Snapshot) -> Iterator[_Qdisc]:
    lines = snapshot.lines()
    heads = [at for at, line in enumerate(lines) if line.startswith(b"qdisc ")][:_MAX_QDISCS]
    for at, end in zip(heads, [*heads[1:], len(lines)], strict=False):
        head = _HEAD.match(lines[at][:2000])
        if head is None:
            continue
        sent = backlog = None
        for line in lines[at + 1 : min(end, at + 12)]:
            sent, backlog = sent or _SENT.match(line[:300]), backlog or _BACKLOG.match(line[:300])
        loss, delay = _LOSS.search(head[5]), _DELAY.search(head[5])
        packets, drops, overlimits, requeues = (parse_counter(sent[n]) if sent else NAN for n in (2, 3, 4, 5))
        yield _Qdisc(
            to_text(head[3] or b"", 32),
            to_text(head[1], 32),
            to_text(head[2], 32),
            to_text((head[4] or b"").removeprefix(b"parent "), 32),
            to_text(head[5].strip(), _MAX_OPTIONS),
            snapshot.line + at,
            loss_pct=parse_amount(loss[1]) if loss else NAN,
            delay_ms=parse_amount(delay[1]) * _TO_MS[delay[2]] if delay else NAN,
            packets=packets,
            drops=drops,
            overlimits=overlimits,
            requeues=requeues,
            backlog_bytes=parse_counter(backlog[1]) * _UNIT[backlog[2]] if backlog else NAN,
            queue_packets=parse_counter(backlog[3]) if backlog else NAN,
        )


COLLECTOR = Collector(
    id="qdisc",
    title=Text("Queueing disciplines", "排队规则"),
    why=Text(
        "Drops and delays that traffic control makes: no counter of the network card shows them.",
        "流量控制造成的丢包与延迟：网卡计数器里看不到。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "tc",
            Needs(tools=("tc",), remedy="iproute2"),
            sh=_SH,
            command_line="tc -s -j qdisc show, now and after {seconds} s, in the target's network namespace",
            version="tc -V",
            stop="TERM",
        ),
    ),
    parse=parse_qdisc,
    cost=Cost(0.1, 500, Text("Two short commands.", "两次短命令。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
