"""What was tried out on the network: connections opened on purpose, and handshakes that were listened to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.derived import cite_rows
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

#: A host that opens connections to itself uses no network: the response does not describe the path.
_ITSELF = re.compile(r"(127\.|\[?::1\]?:|localhost)")


def _probe_loss(view: HostView) -> Reading:
    """Percent of the connections to each target that lost a packet, with the interval that so many probes leave."""
    result, itself = [], False
    for row in view.rows("probes"):
        loss, low, high = (row.number(name) for name in ("loss_pct", "loss_low_pct", "loss_high_pct"))
        sent, target = int(row.number("sent") or 0), row.text("target")
        if row.text("kind") != "tcp" or loss is None or low is None or high is None:
            continue
        if not loss and _ITSELF.match(target):
            itself = True
            continue
        lost = int(row.number("lost") or 0)
        detail: dict[str, str | int | float] = {"target": target, "sent": sent, "lost": lost}
        result.append(
            Measurement(
                loss, (("dst", target),), (row.citation,), sent, (), detail, Interval("sampled", low, high)
            )
        )
    if result:
        return result
    return MissingData(Sentence("missing.probed_itself") if itself else view.missing_reason(("tcp_probe",)))


def _announced(view: HostView) -> Reading:
    """The smaller segment size that the two ends of each service announce, in bytes."""
    results = []
    for row in view.rows("tcp_handshakes"):
        ends = {name: row.number(f"mss_{name}_min") for name in ("client", "server")}
        reported = {name: size for name, size in ends.items() if size}
        if reported:
            side = min(reported, key=lambda name: reported[name])
            server = f"{row.text('server')}:{row.text('port')}"
            detail: dict[str, str | int | float] = {"side": side, "server": server}
            count = int(row.number("syn") or 0)
            results.append(
                Measurement(reported[side], (("dst", server),), (row.citation,), count, (), detail)
            )
    return results or _explain_missing_replies(view)


def _explain_missing_replies(view: HostView) -> MissingData:
    return MissingData(
        Sentence("missing.no_handshakes") if view.has_data("pcap") else view.missing_reason(("pcap",))
    )


def _load_knee(view: HostView) -> Reading:
    """How many times longer requests take at no more throughput, in a test that was repeated at growing load.

    Stages of one name are steps of load on the same thing, in the order of the report; the knee is where goodput first
    comes within a tenth of its greatest.
    """
    by_name: dict[str, list[tuple[float, float, int]]] = {}
    rows = view.rows("load_test")
    for at, row in enumerate(rows):
        good = row.number("goodput_per_s")
        took = row.number("p50_ms") or row.number("p99_ms")
        if good and took:
            by_name.setdefault(row.text("stage"), []).append((good, took, at))
    results = []
    for name, stages in by_name.items():
        if len(stages) < LEAST_STAGES:
            continue
        flat = 0.9 * max(good for good, _, _ in stages)
        first = next(at for at, (good, _, _) in enumerate(stages) if good >= flat)
        good, took, _ = stages[first]
        end = max(stages[first:], key=lambda stage: stage[1])
        cites = cite_rows(rows[at] for _, _, at in stages)
        detail: dict[str, str | int | float] = {
            "stage": name, "good": round(good, 1), "before": round(took, 1), "after": round(end[1], 1),
        }  # fmt: skip
        results.append(Measurement(end[1] / took, (), cites, len(stages), (), detail))
    if results:
        return results
    imported = any(view.has_data(load_test) for load_test in LOAD_TESTS)
    return MissingData(Sentence("missing.no_stages") if imported else view.missing_reason(LOAD_TESTS))


def _clients_of_invalid(view: HostView) -> Reading:
    """Clients that connected to each listener whose certificate is outside of its time of validity.

    A self-signed certificate is trusted where it was copied to, or not checked at all: its dates refuse
    none that is known.
    """
    if not view.has_data("certificates"):
        return MissingData(view.missing_reason(("certificates",)))
    rows = view.rows("certificates")
    invalid = [row for row in rows if row.number("error") and not row.number("own_issuer")]
    if not invalid:
        return [Measurement(0.0, (), cite_rows(rows), len(rows))] if rows else []
    results = []
    for row in invalid:
        detail: dict[str, str | int | float] = {
            "name": row.text("comm"), "address": row.text("address"), "limit": row.text("limit"),
        }  # fmt: skip
        place = (("pid", row.text("pid")),)
        results.append(Measurement(row.number("clients") or 0.0, place, (row.citation,), 1, (), detail))
    return results


#: Two points make no curve.
LEAST_STAGES = 3
LOAD_TESTS: Sequence[str] = ("import.wrk", "import.vegeta", "import.jmeter")
PROBE_LOSS = Measure("probe.loss_pct", "pct", Text("Probes that lost a packet", "丢包的探测占比"),
                     (("tcp_probe",),), _probe_loss)  # fmt: skip
ANNOUNCED_MSS = Measure("tcp.announced_mss_bytes", "bytes", Text("Announced segment size", "通告的最大分段"),
                        (("pcap",),), _announced)  # fmt: skip
LOAD_KNEE = Measure("load_test.latency_growth", "ratio", Text("Longer at no more throughput", "吞吐不增时的延迟倍数"),
                    (tuple(LOAD_TESTS),), _load_knee)  # fmt: skip
INVALID_CERTIFICATES = Measure("certificate.clients_count", "count",
                               Text("Clients of an invalid certificate", "连接到无效证书的客户端"),
                               (("certificates",),), _clients_of_invalid)  # fmt: skip
