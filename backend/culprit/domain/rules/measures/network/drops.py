"""What devices, queueing disciplines and firewalls of a host drop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Citation, Measurement, Subject
from culprit.domain.rules.intervals import estimate_event_share
from culprit.domain.rules.measures.derived import Detail, merge_citations
from culprit.domain.rules.measures.network.rates import EventRate, list_column_rates, read_event_rate
from culprit.domain.rules.readings import cite_series
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

#: They drop to tell senders to slow down; that is their work (RFC 7567), up to a point.
AQM = frozenset({"fq_codel", "codel", "cake", "fq_pie", "pie", "red", "sfb", "choke", "dualpi2"})
#: Devices that wrap packets in others have a smaller MTU by design.
TUNNELS = frozenset(
    {"ipip", "sit", "gre", "gretap", "vxlan", "geneve", "wireguard", "ip6tnl", "ip6gre", "vti", "tun", "xfrm"}
)
FULL_MTU = 1500
#: A rule that drops without counting: what it dropped is not known to be nothing.
UNCOUNTED_RULE = Sentence("doubt.uncounted_drop_rule")
#: Speeds of links are in millions of bits, rates of devices in units of 2^20 bytes.
MIB_BITS = 8 * 2**20
DROPS = frozenset({"DROP", "REJECT", "TARPIT"})
_PORT = re.compile(r"(?:--dport|--dports|dport) \{? ?(\d{1,5})\b")
_LIMITED = re.compile(r"limit rate over|--hashlimit-above|--connlimit-above|ct count over")
#: How much a rule lets pass: `limit rate over 58/second`, `--hashlimit-above 50/sec`.
_RATE = re.compile(r"(?:limit rate over|--hashlimit-above) (\d{1,9})/(sec|min|hour|day)")
_SECONDS = {"sec": 1.0, "min": 60.0, "hour": 3600.0, "day": 86400.0}
#: The rate of a token bucket, as tc(8) writes it.
_SHAPED = re.compile(r"(?:^|; |\s)rate (\d{1,15}(?:\.\d{1,6})?)([KMGT]?)(bit)?\b")
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
#: Options that match certain senders or states: a rule with one of these drops specific traffic on purpose.
_AIMED = re.compile(r"saddr|(?:^| )-s |--match-set|--ctstate INVALID|ct state invalid|--src-")


def _about(row: TableRow) -> Subject:
    return (("dev", row.text("dev")),)


def read_cell(row: TableRow, name: str) -> float:
    """A number of a row; 0 where it has none."""
    return row.number(name) or 0.0


def keep_worst(measurements: Iterable[Measurement]) -> list[Measurement]:
    """The greatest for each subject."""
    best: dict[Subject, Measurement] = {}
    for measurement in measurements:
        if measurement.subject not in best or measurement.value > best[measurement.subject].value:
            best[measurement.subject] = measurement
    return list(best.values())


def measure_event_share(  # noqa: PLR0917 - the order of a measurement
    count: float,
    total: float,
    subject: Subject,
    citations: tuple[Citation, ...],
    scale: float,
    doubts: tuple[Sentence, ...] = (),
    detail: Mapping[str, str | int | float] | None = None,
) -> Measurement:
    """Return the share of rare events among `total` packets or requests, 0 where there were none."""
    share = scale * count / total if total > 0 else 0.0
    interval = estimate_event_share(count, total, scale)
    return Measurement(share, subject, citations, round(total), doubts, detail or {}, interval)


def _queue_drops(view: HostView, aqm: bool) -> Sequence[Measurement]:
    """Of each device the discipline that drops most; classes have disciplines of their own below the root's."""
    return keep_worst(
        _queue_share(view, row) for row in view.rows("qdiscs") if (row.text("kind") in AQM) is aqm
    )


def _queue_share(view: HostView, row: TableRow) -> Measurement:
    drops, share = read_cell(row, "drops"), read_cell(row, "drop_pct")
    sent = read_cell(row, "packets_per_s") * view.covered_seconds("qdisc")
    total = 100.0 * drops / share if share > 0 else sent
    detail: Detail = {"kind": row.text("kind"), "drops": int(drops), "options": row.text("options")}
    interval = estimate_event_share(drops, total)
    return Measurement(share, _about(row), (row.citation,), round(total), (), detail, interval)


def _queue_rates(view: HostView) -> Sequence[Measurement]:
    return keep_worst(
        Measurement(read_cell(row, "drops_per_s"), _about(row), (row.citation,), int(read_cell(row, "drops")))
        for row in view.rows("qdiscs")
    )


def _netem(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("qdiscs"):
        if row.text("kind") == "netem":
            reported = {
                "loss_pct": read_cell(row, "netem_loss_pct"),
                "delay_ms": read_cell(row, "netem_delay_ms"),
            }
            yield Measurement(1.0, _about(row), (row.citation,), 1, detail=reported)


def _share(traffic: EventRate, row: TableRow) -> Measurement:
    """Return the share of a rule's drops in all packets that devices received and sent."""
    dropped, count = read_cell(row, "packets_per_s"), read_cell(row, "packets")
    everything = traffic.value + dropped
    share = 100.0 * dropped / everything if everything > 0 else 0.0
    total = 100.0 * count / share if share > 0 else traffic.count
    return Measurement(
        share,
        (("chain", f"{row.text('table')}/{row.text('chain')}"),),
        merge_citations((row.citation, *traffic.citations)),
        round(total),
        (UNCOUNTED_RULE,) if row.number("packets_total") is None else (),
        {"rule": row.text("matches")[:120], "packets": int(count)},
        estimate_event_share(count, total),
    )


def hits_service(row: TableRow, ports: frozenset[int]) -> bool:
    """Whether a rule throws away what others of its kind let pass: by chance, beyond a rate, or to a service of ours.

    A rule that drops all that came so far is a default, and one that names senders or broken states was meant.
    """
    matches = row.text("matches")
    if row.number("random_probability") is not None or _LIMITED.search(matches):
        return True
    return not _AIMED.search(matches) and any(int(port) in ports for port in _PORT.findall(matches))


def listened_ports(view: HostView) -> frozenset[int]:
    """The ports that programs of this host listen on."""
    return frozenset(int(read_cell(row, "port")) for row in view.rows("listeners"))


def _drop_rules(view: HostView, serving: bool) -> Sequence[Measurement]:
    ports = listened_ports(view)
    traffic = read_event_rate(view, "net.rx_pps", "net.tx_pps")
    return keep_worst(
        _share(traffic, row)
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS and hits_service(row, ports) is serving
    )


def _random_drops(view: HostView) -> Sequence[Measurement]:
    return keep_worst(
        Measurement(
            read_cell(row, "packets_per_s"),
            (("chain", f"{row.text('table')}/{row.text('chain')}"),),
            (row.citation,),
            int(read_cell(row, "packets")),
            detail={"rule": row.text("matches")[:120], "probability": read_cell(row, "random_probability")},
        )
        for row in view.rows("firewall_rules")
        if row.text("verdict") in DROPS and row.number("random_probability") is not None
    )


def _reverse_path(view: HostView) -> Sequence[Measurement]:
    """Percent of the received packets that the check of the way back dropped."""
    dropped, received = (
        read_event_rate(view, metric) for metric in ("net.reverse_path_drops_per_s", "net.rx_pps")
    )
    if not dropped.citations:
        return ()
    cites = merge_citations((*dropped.citations, *received.citations))
    detail: Detail = {"per_s": round(dropped.value, 1)}
    total = max(received.count, dropped.count)
    return (measure_event_share(dropped.count, total, (), cites, 100.0, (), detail),)


def _uncounted(view: HostView) -> Iterator[Measurement]:
    for row in view.rows("firewall_rules"):
        if row.text("verdict") in DROPS and row.number("packets_total") is None:
            about = (("chain", f"{row.text('table')}/{row.text('chain')}"),)
            yield Measurement(1.0, about, (row.citation,), 1, detail={"rule": row.text("matches")[:120]})


def rate_limit(row: TableRow) -> float | None:
    """Return the rate limit of a rule per second; None if it has none."""
    match = _RATE.search(row.text("matches"))
    return int(match[1]) / _SECONDS[match[2]] if match and int(match[1]) else None


def _uncounted_limit(view: HostView) -> Iterator[Measurement]:
    """How near new connections came to what an uncounted rule lets pass, in percent; 100 where it drops by chance."""
    opened = [
        series for series in view.series_of("tcp.passive_opens_per_s") if np.isfinite(series.values).any()
    ]
    most = max((float(np.nanmax(series.values)) for series in opened), default=0.0)
    cites = merge_citations(
        cite_series(series, series.values[:, 0], np.flatnonzero(np.isfinite(series.values[:, 0])), "max")
        for series in opened
    )
    for row in view.rows("firewall_rules"):
        if row.text("verdict") not in DROPS or row.number("packets_total") is not None:
            continue
        limit = rate_limit(row)
        by_chance = row.number("random_probability") is not None
        if not by_chance and limit is None:
            continue
        near = 100.0 if by_chance or limit is None else 100.0 * most / limit
        about = (("chain", f"{row.text('table')}/{row.text('chain')}"),)
        detail: Detail = {"rule": row.text("matches")[:120], "opened_per_s": round(most, 1)}
        yield Measurement(near, about, (row.citation, *cites), 1, detail=detail)


def list_devices(view: HostView) -> Iterator[TableRow]:
    """Devices that carry packets of their own: neither the loopback nor what wraps packets in others."""
    for row in view.rows("links"):
        kind = row.text("kind")
        if kind != "loopback" and kind not in TUNNELS and not row.text("dev").startswith("lo"):
            yield row


def _mtu(view: HostView) -> Iterator[Measurement]:
    """Only of devices that carry anything."""
    for row in list_devices(view):
        packets = read_cell(row, "rx_packets_per_s") + read_cell(row, "tx_packets_per_s")
        if row.number("mtu") is not None and packets > 0:
            yield Measurement(read_cell(row, "mtu"), _about(row), (row.citation,), 1)


def _mtu_gap(view: HostView) -> Iterator[Measurement]:
    for row in list_devices(view):
        mtu, peer = row.number("mtu"), row.number("peer_mtu")
        if mtu is not None and peer is not None:
            yield Measurement(
                peer - mtu, _about(row), (row.citation,), 1, detail={"mtu": int(mtu), "peer": int(peer)}
            )


def _too_long(view: HostView) -> Iterator[Measurement]:
    """What a device below the usual MTU refuses on arrival; nothing else makes it refuse good packets so early."""
    for row in list_devices(view):
        mtu = row.number("mtu")
        if mtu is not None and mtu < FULL_MTU:
            refused = read_cell(row, "rx_dropped_per_s") + read_cell(row, "rx_length_errors_per_s")
            seconds, detail = view.covered_seconds("links"), {"mtu": int(mtu)}
            count, received = refused * seconds, read_cell(row, "rx_packets_per_s") * seconds
            yield measure_event_share(
                count, count + received, _about(row), (row.citation,), 100.0, (), detail
            )


LINK_ERROR_COLUMNS = (
    *("rx_crc_errors_per_s", "rx_frame_errors_per_s", "rx_length_errors_per_s"),
    *("tx_carrier_errors_per_s",),
)


def _link_errors(view: HostView) -> Iterator[Measurement]:
    for row in list_devices(view):
        kinds = {name: read_cell(row, name) for name in LINK_ERROR_COLUMNS}
        packets = read_cell(row, "rx_packets_per_s") + read_cell(row, "tx_packets_per_s")
        bad = sum(kinds.values())
        most = max(kinds, key=lambda name: kinds[name]).removesuffix("_per_s")
        detail: Detail = {"kind": most, "per_s": bad}
        seconds = view.covered_seconds("links")
        count, total = bad * seconds, (bad + packets) * seconds
        yield measure_event_share(count, total, _about(row), (row.citation,), 1000.0, (), detail)


def _flaps(view: HostView) -> Iterator[Measurement]:
    for row in list_devices(view):
        if row.number("carrier_changes") is not None:
            yield Measurement(read_cell(row, "carrier_changes"), _about(row), (row.citation,), 1)


def _half_duplex(view: HostView) -> Iterator[Measurement]:
    for row in list_devices(view):
        if row.text("duplex") in {"half", "full"}:
            yield Measurement(float(row.text("duplex") == "half"), _about(row), (row.citation,), 1)


def _use(view: HostView) -> Iterator[Measurement]:
    """The busier direction of each device as a share of its speed; virtual devices have none worth the name.

    A token bucket at the root of a device is its speed for sending.
    """
    speeds = {row.text("dev"): (read_cell(row, "speed"), row) for row in view.rows("links")}
    shaped = {
        row.text("dev"): (speed, row) for row in view.rows("qdiscs") if (speed := _read_shaped_rate(row)) > 0
    }
    for metric, limits in (("net.rx_mb_s", speeds), ("net.tx_mb_s", speeds | shaped)):
        for series in view.series_of(metric):
            speed, row = limits.get(series.labels.get("dev", ""), (0.0, None))
            if row is None or not speed > 0:
                continue
            for _, rate in list_column_rates(view, series):
                used = MIB_BITS * rate.value / 1e6 / speed
                cites = merge_citations((row.citation, *rate.citations))
                yield Measurement(100.0 * used, _about(row), cites, len(series.values))


def _read_shaped_rate(row: TableRow) -> float:
    """Return the rate of a token bucket at the root of a device, Mbit/s; 0 for other queues.

    tc prints bytes per second in JSON, and bits with a prefix in text (tc(8)).
    """
    match = _SHAPED.search(row.text("options")) if row.text("kind") == "tbf" else None
    if match is None or row.text("parent") != "root":
        return 0.0
    number, prefix, bits = float(match[1]), match[2], match[3]
    return number * _PREFIX[prefix] / 1e6 if bits else number * 8 / 1e6


def _link_use(view: HostView) -> Sequence[Measurement]:
    return keep_worst(_use(view))


def _measure(name: str, unit: str, en: str, zh: str, *needs: str) -> Measure:
    return Measure(name, unit, Text(en, zh), tuple((need,) for need in needs), _READERS[name])


_READERS = {
    "qdisc.drop_pct": lambda view: _queue_drops(view, aqm=False),
    "qdisc.aqm_drop_pct": lambda view: _queue_drops(view, aqm=True),
    "qdisc.drops_per_s": _queue_rates,
    "qdisc.netem": lambda view: list(_netem(view)),
    "firewall.service_drop_pct": lambda view: _drop_rules(view, serving=True),
    "firewall.default_drop_pct": lambda view: _drop_rules(view, serving=False),
    "firewall.random_drops_per_s": _random_drops,
    "firewall.reverse_path_pct": _reverse_path,
    "firewall.uncounted": lambda view: list(_uncounted(view)),
    "firewall.uncounted_limit_pct": lambda view: keep_worst(_uncounted_limit(view)),
    "links.mtu_bytes": lambda view: list(_mtu(view)),
    "links.mtu_below_peer_bytes": lambda view: list(_mtu_gap(view)),
    "links.too_long_pct": lambda view: list(_too_long(view)),
    "links.errors_per_1000": lambda view: list(_link_errors(view)),
    "links.carrier_changes": lambda view: list(_flaps(view)),
    "links.half_duplex": lambda view: list(_half_duplex(view)),
    "links.use_pct": _link_use,
}

QUEUE_DROP_PCT = _measure("qdisc.drop_pct", "pct", "Dropped by a queue", "队列丢弃比例", "qdisc")
AQM_DROP_PCT = _measure("qdisc.aqm_drop_pct", "pct", "Dropped by a managed queue", "AQM 丢弃比例", "qdisc")
QUEUE_DROPS = _measure("qdisc.drops_per_s", "per_s", "Dropped by a queue", "队列丢弃速率", "qdisc")
NETEM = _measure("qdisc.netem", "count", "netem disciplines", "netem 队列规则", "qdisc")
SERVICE_DROP_PCT = _measure(
    "firewall.service_drop_pct", "pct", "Traffic that rules drop", "规则丢弃的流量比例", "firewall", "net_dev"
)
DEFAULT_DROP_PCT = _measure(
    "firewall.default_drop_pct", "pct", "Dropped by default", "默认策略丢弃比例", "firewall", "net_dev"
)
RANDOM_DROPS = _measure(
    "firewall.random_drops_per_s", "packets_per_s", "Dropped at random", "随机丢弃", "firewall"
)
REVERSE_PATH_PCT = _measure(
    "firewall.reverse_path_pct",
    "pct",
    "Dropped for the way back",
    "反向路径检查丢弃比例",
    "netstat_ext",
    "net_dev",
)
UNCOUNTED = _measure("firewall.uncounted", "count", "Rules that count nothing", "无计数器的规则", "firewall")
UNCOUNTED_LIMIT = _measure(
    "firewall.uncounted_limit_pct",
    "pct",
    "New connections against the limit of an uncounted rule",
    "新建连接相对无计数规则的限速",
    "firewall",
    "snmp",
)
MTU = _measure("links.mtu_bytes", "bytes", "MTU", "MTU", "links")
MTU_GAP = _measure(
    "links.mtu_below_peer_bytes", "bytes", "MTU below the other end's", "MTU 低于对端", "links"
)
TOO_LONG = _measure("links.too_long_pct", "pct", "Refused for their length", "因过长被拒的包", "links")
LINK_ERRORS = _measure(
    "links.errors_per_1000", "count", "Damaged packets of a thousand", "每千包损坏数", "links"
)
FLAPS = _measure("links.carrier_changes", "count", "Carrier changes", "链路状态变化", "links")
HALF_DUPLEX = _measure("links.half_duplex", "count", "Half duplex", "半双工", "links")
LINK_USE = _measure("links.use_pct", "pct", "Use of the link", "链路利用率", "links", "net_dev")
