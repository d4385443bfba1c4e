"""What was tried out on the network: connections opened on purpose, and handshakes that were listened to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Measure, Measured, Missing, Reading
from culprit.core.rules.view import View

#: A host that opens connections to itself passes no network: what answers there says nothing of the way.
_ITSELF = re.compile(r"(127\.|\[?::1\]?:|localhost)")


def _probe_loss(view: View) -> Reading:
    """Percent of the connections to each target that lost a packet, with the interval that so many probes leave."""
    found, itself = [], False
    for row in view.rows("probes"):
        loss, low, high = (row.number(name) for name in ("loss_pct", "loss_low_pct", "loss_high_pct"))
        sent, target = int(row.number("sent") or 0), row.text("target")
        if row.text("kind") != "tcp" or loss is None or low is None or high is None:
            continue
        if not loss and _ITSELF.match(target):
            itself = True
            continue
        why = Sentence("doubt.between", {"samples": sent, "low": round(low, 1), "high": round(high, 1)})
        lost = int(row.number("lost") or 0)
        detail: dict[str, str | int | float] = {"target": target, "sent": sent, "lost": lost}
        found.append(Measured(loss, (("dst", target),), (row.cite,), sent, (), detail, (low, high, why)))
    if found:
        return found
    return Missing(Sentence("missing.probed_itself") if itself else view.why_not(("tcp_probe",)))


def _announced(view: View) -> Reading:
    """The smaller segment size that the two ends of each service announce, in bytes."""
    found = []
    for row in view.rows("tcp_handshakes"):
        ends = {name: row.number(f"mss_{name}_min") for name in ("client", "server")}
        told = {name: size for name, size in ends.items() if size}
        if told:
            side = min(told, key=lambda name: told[name])
            server = f"{row.text('server')}:{row.text('port')}"
            detail: dict[str, str | int | float] = {"side": side, "server": server}
            count = int(row.number("syn") or 0)
            found.append(Measured(told[side], (("dst", server),), (row.cite,), count, (), detail))
    return found or _unheard(view)


def _unheard(view: View) -> Missing:
    return Missing(Sentence("missing.no_handshakes") if view.has("pcap") else view.why_not(("pcap",)))


def _load_knee(view: View) -> Reading:
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
    found = []
    for name, stages in by_name.items():
        if len(stages) < LEAST_STAGES:
            continue
        flat = 0.9 * max(good for good, _, _ in stages)
        first = next(at for at, (good, _, _) in enumerate(stages) if good >= flat)
        good, took, line = stages[first]
        end = max(stages[first:], key=lambda one: one[1])
        cites = tuple(rows[at].cite for at in dict.fromkeys((line, end[2])))
        detail: dict[str, str | int | float] = {
            "stage": name, "good": round(good, 1), "before": round(took, 1), "after": round(end[1], 1),
        }  # fmt: skip
        found.append(Measured(end[1] / took, (), cites, len(stages), (), detail))
    if found:
        return found
    brought = any(view.has(one) for one in LOAD_TESTS)
    return Missing(Sentence("missing.no_stages") if brought else view.why_not(LOAD_TESTS))


#: Two points make no curve.
LEAST_STAGES = 3
LOAD_TESTS: Sequence[str] = ("import.wrk", "import.vegeta", "import.jmeter")
PROBE_LOSS = Measure("probe.loss_pct", "pct", Text("Probes that lost a packet", "丢包的探测占比"),
                     (("tcp_probe",),), _probe_loss)  # fmt: skip
ANNOUNCED_MSS = Measure("tcp.announced_mss_bytes", "bytes", Text("Announced segment size", "通告的最大分段"),
                        (("pcap",),), _announced)  # fmt: skip
LOAD_KNEE = Measure("load_test.latency_growth", "ratio", Text("Longer at no more throughput", "吞吐不增时的延迟倍数"),
                    (tuple(LOAD_TESTS),), _load_knee)  # fmt: skip
