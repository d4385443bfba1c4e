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
from collectors.net_shell import PRELUDE
from collectors.parse import json_rows, netns, sampled
from collectors.parse.cells import Cell, count, grown, known, pct, per_s
from collectors.parse.json_rows import Object
from collectors.parse.sampled import Snapshot
from collectors.parse.tokens import NAN, amount, counter, words

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


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates between the two readings; drops as a share of what was sent or dropped in the meantime.

    tc prints JSON since iproute2 4.17, and text that has hardly changed since 2.6.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    facts, warnings = netns.seen(samples)
    readings = samples.of("tc")
    if not readings:
        return Parsed(facts=facts, warnings=warnings, readable=False)
    first, last = readings[0], readings[-1]
    elapsed_s = (last.boot_ns - first.boot_ns) / 1e9
    earlier = {one.key: one for one in _qdiscs(first)} if last is not first else {}
    rows = [(_row(earlier.get(one.key), one, elapsed_s), one.line) for one in _qdiscs(last)]
    if not rows:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    table = Table(
        "qdiscs", _COLUMNS, tuple(row for row, _ in rows), sampled.PART, tuple(line for _, line in rows)
    )
    return Parsed(tables=(table,), facts=facts, warnings=warnings)


def _row(before: _Qdisc | None, after: _Qdisc, elapsed_s: float) -> tuple[Cell, ...]:
    since = before or _Qdisc(after.dev, after.kind, "", "", "", 0)
    drops, packets = grown(since.drops, after.drops), grown(since.packets, after.packets)
    return (
        *(after.dev, after.kind, after.handle, after.parent, after.options),
        *(known(after.loss_pct), known(after.delay_ms)),
        *(known(per_s(since.packets, after.packets, elapsed_s)), count(drops)),
        *(known(per_s(since.drops, after.drops, elapsed_s)), known(pct(drops, drops + packets))),
        known(per_s(since.overlimits, after.overlimits, elapsed_s)),
        known(per_s(since.requeues, after.requeues, elapsed_s)),
        *(count(after.backlog_bytes), count(after.queue_packets), count(after.drops)),
    )


def _qdiscs(snapshot: Snapshot) -> Iterator[_Qdisc]:
    if snapshot.body.lstrip()[:1] == b"[":
        for one, line in json_rows.objects(snapshot, _MAX_QDISCS):
            if "kind" in one and "dev" in one:
                yield _from_object(one, line)
    else:
        yield from _from_text(snapshot)


def _from_object(one: Object, line: int) -> _Qdisc:
    options = json_rows.inner(one, "options")
    flat = "; ".join(_flat(options, "", 3))
    return _Qdisc(
        json_rows.text(one, "dev"),
        json_rows.text(one, "kind"),
        json_rows.text(one, "handle"),
        "root" if one.get("root") is True else json_rows.text(one, "parent"),
        flat[:_MAX_OPTIONS],
        line,
        loss_pct=json_rows.number(json_rows.inner(options, "loss-random"), "loss") * 100.0,
        delay_ms=json_rows.number(json_rows.inner(options, "delay"), "delay") * 1e3,
        packets=json_rows.number(one, "packets"),
        drops=json_rows.number(one, "drops"),
        overlimits=json_rows.number(one, "overlimits"),
        requeues=json_rows.number(one, "requeues"),
        backlog_bytes=json_rows.number(one, "backlog"),
        queue_packets=json_rows.number(one, "qlen"),
    )


def _flat(options: Object, prefix: str, depth: int) -> Iterator[str]:
    """`name value` of every option; those inside others are named `outer.inner`."""
    for name in list(options)[:40]:
        value = options[name]
        shown = prefix + words(name.encode("utf-8", "replace"), 40)
        if isinstance(value, Mapping) and depth:
            yield from _flat(value, f"{shown}.", depth - 1)
        elif isinstance(value, str):
            yield f"{shown} {json_rows.text(options, name)}"
        elif isinstance(value, bool) or value is None:
            yield shown
        elif (known_number := known(json_rows.number(options, name))) is not None:
            yield f"{shown} {known_number:.12g}"


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


def _from_text(snapshot: Snapshot) -> Iterator[_Qdisc]:
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
        packets, drops, overlimits, requeues = (counter(sent[n]) if sent else NAN for n in (2, 3, 4, 5))
        yield _Qdisc(
            words(head[3] or b"", 32),
            words(head[1], 32),
            words(head[2], 32),
            words((head[4] or b"").removeprefix(b"parent "), 32),
            words(head[5].strip(), _MAX_OPTIONS),
            snapshot.line + at,
            loss_pct=amount(loss[1]) if loss else NAN,
            delay_ms=amount(delay[1]) * _TO_MS[delay[2]] if delay else NAN,
            packets=packets,
            drops=drops,
            overlimits=overlimits,
            requeues=requeues,
            backlog_bytes=counter(backlog[1]) * _UNIT[backlog[2]] if backlog else NAN,
            queue_packets=counter(backlog[3]) if backlog else NAN,
        )


COLLECTOR = Collector(
    id="qdisc",
    title=Text("Queueing disciplines", "排队规则"),
    why=Text(
        "Drops and delays that traffic control makes: no counter of the network card shows them.",
        "流量控制造成的丢包与延迟：网卡计数器里看不到。",
    ),
    tier=Tier.LIGHT,
    ways=(
        Script(
            "tc",
            Needs(tools=("tc",), mend="iproute2"),
            sh=_SH,
            shows="tc -s -j qdisc show, now and after {seconds} s, in the target's network namespace",
            version="tc -V",
            stop="TERM",
        ),
    ),
    parse=parse,
    cost=Cost(0.1, 500, Text("Two short commands.", "两次短命令。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
