"""Connections accepted on one listening port: what stands for requests where nobody counts those."""

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
from collectors.net_shell import PRELUDE
from collectors.parse import netns, sampled
from collectors.parse.tokens import NAN, whole

_MAX_BYTES = 1 << 20
_METRIC = "app.accepts_per_s"

#: The kernel counts accepted connections for all ports of a namespace together (PassiveOpens). Which port they were
#: for is told by the sockets: those that the look before did not have. Listeners come first in /proc/net/tcp. A look
#: that took more than two seconds is the last one.
_SH = (
    PRELUDE
    + r"""
[ -n "${OPT_PORT-}" ] || { echo "name a port" >&2; exit 69; }
port=$(printf '%04X' "$OPT_PORT")
echo > .seen
look() {
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
while look "$n" >> samples; [ -z "$over" ] && [ "${now%.*}" -lt "$end" ]; do
    n=$((n + 1))
    nap 1
done
exit 0
"""
)


@dataclass(frozen=True, slots=True)
class _Look:
    """`opens` is the kernel's count so far; `mine` and `others` are sockets that the look before did not have."""

    boot_ns: int
    line: int
    opens: float
    listens: bool | None
    mine: float
    others: float


def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Accepted connections of the port a second: the kernel's count, less what belongs to other ports.

    Where no other port of the namespace took a connection, the count is the port's. Where others did, it is divided
    like the new sockets that were seen; of a port of which none was seen, what the others cannot explain. Connections
    that are kept alive carry many requests: this is a proxy and is labelled one.
    """
    samples = sampled.read(parts, _MAX_BYTES)
    facts, warnings = netns.seen(samples)
    looks = [one for snapshot in samples.of("accepts") if (one := _look(snapshot)) is not None]
    if len(looks) < 2:
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.too_few_samples")), readable=False)
    if not any(one.listens for one in looks):
        return Parsed(facts=facts, warnings=(*warnings, Sentence("warning.nobody_listens")), readable=False)
    mine, others = (sum(known) for known in _seen_after(looks))
    facts = {**facts, "port_alone": others == 0}
    return Parsed(series=tuple(_series(context, looks, mine, others)), facts=facts, warnings=warnings)


def _look(snapshot: sampled.Snapshot) -> _Look | None:
    """`opens N[ new LISTENS MINE OTHERS]`."""
    tokens = (snapshot.lines() or [b""])[0][:200].split()
    numbers = [whole(token) for token in tokens if token not in (b"opens", b"new")]
    if tokens[:1] != [b"opens"] or len(numbers) not in (1, 4) or None in numbers:
        return None
    opens, *new = (float(one or 0) for one in numbers)
    listens, mine, others = (bool(new[0]), new[1], new[2]) if new else (None, NAN, NAN)
    return _Look(snapshot.boot_ns, snapshot.line, opens, listens, mine, others)


def _seen_after(looks: Sequence[_Look]) -> tuple[list[float], list[float]]:
    """New sockets of the port and of others, after the first look, to which all are new."""
    known = [one for one in looks[1:] if one.listens is not None]
    return [one.mine for one in known], [one.others for one in known]


def _series(context: Context, looks: Sequence[_Look], mine: float, others: float) -> list[Series]:
    boot_ns = np.array([one.boot_ns for one in looks], np.int64)
    opened = np.diff(np.array([one.opens for one in looks]))
    seconds = np.diff(boot_ns) / 1e9
    if mine or not others:
        opened = opened * (mine / (mine + others) if others else 1.0)
    else:
        opened = opened - np.array([0.0 if np.isnan(one.others) else one.others for one in looks[1:]])
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.where(
            (seconds > 0) & (np.diff([one.opens for one in looks]) >= 0), opened / seconds, np.nan
        )
    return sampled.series(
        context,
        _METRIC,
        boot_ns[1:],
        np.maximum(rates, 0.0)[:, None],
        lines=np.array([one.line for one in looks[1:]], np.int32),
        labels={"proxy": "accepts"},
    )


COLLECTOR = Collector(
    id="accepts",
    title=Text("Connections accepted on a port", "端口接受的连接"),
    why=Text(
        "How much a service is asked, where nobody counts requests: a proxy, without errors and latency.",
        "无人统计请求时，服务被访问的频度：仅为代理指标，不含错误与延迟。",
    ),
    tier=Tier.LIGHT,
    on_demand=True,
    ways=(
        Script(
            "proc",
            Needs(tools=("awk",), files=("/proc/net/tcp", "/proc/net/snmp"), mend="mount -t proc proc /proc"),
            sh=_SH,
            shows="PassiveOpens of /proc/net/snmp and new sockets of /proc/net/tcp, once a second for {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse,
    cost=Cost(
        0.5,
        60,
        Text(
            "One pass over all TCP sockets a second; given up where one takes more than two seconds.",
            "每秒遍历一次全部 TCP 套接字；单次超过两秒即停止。",
        ),
    ),
    yields=(_METRIC,),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    options=(Option("port", r"[1-9][0-9]{0,4}", Text("Listening port", "监听端口"), required=True),),
    touches=frozenset({TargetAccess.COUNTERS}),
)
