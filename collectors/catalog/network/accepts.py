"""Connections accepted on one listening port: a substitute for requests if they are not counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Option,
    Parsed,
    Part,
    Script,
    Sentence,
    Series,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.network import namespaces
from collectors.parse.proc import sampled
from collectors.parse.tables.tokens import NAN, parse_whole
from collectors.shell.network import PRELUDE

_MAX_BYTES = 1 << 20
_METRIC = "app.accepts_per_s"

#: The kernel counts accepted connections for all ports of a namespace together (PassiveOpens). The port is
#: known from the sockets that the previous sample did not have. Listeners come first in /proc/net/tcp. A sample
#: that took more than two seconds is the last one.
_SH = (
    PRELUDE
    + r"""
[ -n "${OPT_PORT-}" ] || { echo "name a port" >&2; exit 69; }
port=$(printf '%04X' "$OPT_PORT")
echo > .seen
sample() {
    read -r then rest < /proc/uptime
    [ -n "$slow" ] || $ns cat /proc/net/tcp /proc/net/tcp6 2> .err | awk -v port="$port" '
        BEGIN { while ((getline k < ".seen") > 0) old[k] = 1; close(".seen") }
        $4 == "0A" { listens[substr($2, length($2) - 3)] = 1; next }
        { o = substr($2, length($2) - 3) }
        o in listens && $4 != "03" && ++all <= 200000 {
            k = $2 " " $3
            print k > ".seen"
            if (!(k in old)) { if (o == port) mine++; else others++ }
        }
        END { print (port in listens) + 0, mine + 0, others + 0; if (!all) printf "" > ".seen" }' > .new
    opens=$($ns awk '/^Tcp:/ && !k { for (i = 2; i <= NF; i++) if ($i == "PassiveOpens") k = i; next }
        /^Tcp:/ { print $k }' /proc/net/snmp)
    at "$1" accepts
    [ -n "$slow" ] || read -r new < .new
    echo "opens $opens${slow:- new $new}"
    read -r now rest < /proc/uptime
    [ $((${now%.*} - ${then%.*})) -le 2 ] || slow=' '
}
slow= n=0
read -r up rest < /proc/uptime
end=$((${up%.*} + SECS))
while sample "$n" >> samples; [ -z "$over" ] && [ "${now%.*}" -lt "$end" ]; do
    n=$((n + 1))
    nap 1
done
exit 0
"""
)


@dataclass(frozen=True, slots=True)
class _Look:
    """`opens` is the kernel's count so far; `mine` and `others` are sockets that the previous sample did not have."""

    boot_ns: int
    line: int
    opens: float
    listens: bool | None
    mine: float
    others: float


def parse_accepts(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Accepted connections of the port a second: the kernel's count, less what belongs to other ports.

    Where no other port of the namespace took a connection, the count is the port's. Where others did, it is divided
    like the new sockets that were seen; of a port of which none was seen, what the others cannot explain. Connections
    that are kept alive carry many requests: this is a proxy and is labelled one.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    facts, warnings = namespaces.read_namespace(samples)
    checks = [sample for snapshot in samples.of("accepts") if (sample := _parse_sample(snapshot)) is not None]
    if len(checks) < 2:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    if not any(sample.listens for sample in checks):
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.nobody_listens")), readable=False)
    mine, others = (sum(known) for known in _sample_after(checks))
    facts = {**facts, "port_alone": others == 0}
    return Parsed(series=tuple(_build_series(context, checks, mine, others)), facts=facts, warnings=warnings)


def _parse_sample(snapshot: sampled.Snapshot) -> _Look | None:
    """`opens N[ new LISTENS MINE OTHERS]`."""
    tokens = (snapshot.lines() or [b""])[0][:200].split()
    numbers = [parse_whole(token) for token in tokens if token not in (b"opens", b"new")]
    if tokens[:1] != [b"opens"] or len(numbers) not in (1, 4) or None in numbers:
        return None
    opens, *new = (float(number or 0) for number in numbers)
    listens, mine, others = (bool(new[0]), new[1], new[2]) if new else (None, NAN, NAN)
    return _Look(snapshot.boot_ns, snapshot.line, opens, listens, mine, others)


def _sample_after(checks: Sequence[_Look]) -> tuple[list[float], list[float]]:
    """New sockets of the port and of others, without the first sample, in which all are new."""
    known = [item for item in checks[1:] if item.listens is not None]
    return [item.mine for item in known], [item.others for item in known]


def _build_series(context: Context, checks: Sequence[_Look], mine: float, others: float) -> list[Series]:
    boot_ns = np.array([item.boot_ns for item in checks], np.int64)
    opened = np.diff(np.array([item.opens for item in checks]))
    seconds = np.diff(boot_ns) / 1e9
    if mine or not others:
        opened = opened * (mine / (mine + others) if others else 1.0)
    else:
        opened = opened - np.array([0.0 if np.isnan(item.others) else item.others for item in checks[1:]])
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.where(
            (seconds > 0) & (np.diff([item.opens for item in checks]) >= 0), opened / seconds, np.nan
        )
    return sampled.build_series(
        context,
        _METRIC,
        boot_ns[1:],
        np.maximum(rates, 0.0)[:, None],
        lines=np.array([item.line for item in checks[1:]], np.int32),
        labels={"proxy": "accepts"},
    )


COLLECTOR = Collector(
    id="accepts",
    title=Text("Connections accepted on a port", "端口接受的连接"),
    why=Text(
        "How many connections a service accepts, where no log counts its requests. A proxy without errors and latency.",
        "没有请求日志时，以服务接受的连接数代替请求数；不含错误与延迟。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    methods=(
        Script(
            "proc",
            Needs(
                tools=("awk",), files=("/proc/net/tcp", "/proc/net/snmp"), remedy="mount -t proc proc /proc"
            ),
            sh=_SH,
            command_line="PassiveOpens of /proc/net/snmp and new sockets of /proc/net/tcp, once "
            "a second for {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_accepts,
    cost=Cost(
        0.5,
        60,
        Text(
            "One pass over all TCP sockets per second. It stops when a pass takes more than two seconds.",
            "每秒遍历一次全部 TCP 套接字；单次超过两秒即停止。",
        ),
    ),
    yields=(_METRIC,),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(Option("port", r"[1-9][0-9]{0,4}", Text("Listening port", "监听端口"), required=True),),
    messages={
        "warning.nobody_listens": Text(
            "No process listens on this port.",
            "没有进程监听该端口。",
        ),
    },
    touches=frozenset({TargetAccess.COUNTERS}),
)
