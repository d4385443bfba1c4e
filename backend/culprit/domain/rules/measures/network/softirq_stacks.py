"""Work of the kernel in softirqs, by time: counts of events do not include how long each of them took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from collectors.contract import Sentence, Text
from culprit.domain.profiles.search import search_frames
from culprit.domain.profiles.stacks import SampleFilter
from culprit.domain.rules.finding import Measurement, MissingData, Reading
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView

#: Functions that run softirqs in all kernel versions, at the end of an interrupt and in ksoftirqd.
SOFTIRQ = r"^(handle_softirqs|__do_softirq|__softirqentry_text_start|do_softirq)"
RECEIVE = r"^net_rx_action"
#: Function of a vector → its name in /proc/softirqs. https://docs.kernel.org/core-api/kernel-api.html
HANDLERS = {
    r"^run_timer_softirq": "TIMER",
    r"^hrtimer_run_softirq": "HRTIMER",
    r"^net_tx_action": "NET_TX",
    r"^(blk_done_softirq|blk_complete_reqs)": "BLOCK",
    r"^irq_poll_softirq": "IRQ_POLL",
    r"^(tasklet_(hi_)?action|workqueue_softirq_action)": "TASKLET",
    r"^rcu_core_si": "RCU",
    r"^(sched_balance_softirq|run_rebalance_domains)": "SCHED",
}
#: Functions for a packet apart from its driver and its protocol: bridges, filters, forwarding and tunnels.
PATH = r"^(br_handle_frame|nf_hook_slow|nft_do_chain|ipt_do_table|ip6?_forward|vxlan_rcv|ipip_rcv|gre_rcv|geneve_)"


def _within(view: HostView, outer: str, inner: dict[str, str]) -> Reading:
    """Percent of the samples through `outer` that run through the greatest of `inner` (pattern → name)."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return MissingData(view.missing_reason(("perf_record",)))
    seen = stacks.profile.view(SampleFilter(hide_idle=True))
    whole = search_frames(seen, outer, regex=True)
    if not whole.weight:
        return MissingData(Sentence("missing.no_softirqs"))
    parts = {pattern: search_frames(seen, pattern, regex=True) for pattern in inner}
    most = max(parts, key=lambda pattern: parts[pattern].weight)
    share = min(1.0, parts[most].weight / whole.weight)
    samples = round(seen.samples * whole.share)
    detail: dict[str, str | int | float] = {
        "handler": inner[most], "frames": ", ".join(parts[most].frames[:4]), "samples": samples,
    }  # fmt: skip
    citation = replace(stacks.citation, frame=most)
    return [
        Measurement(
            100.0 * share,
            (),
            (citation,),
            samples,
            stacks.quality_issues(),
            detail,
            estimate_share(share, samples),
        )
    ]


def _of(outer: str, inner: dict[str, str]) -> Callable[[HostView], Reading]:
    return lambda view: _within(view, outer, inner)


_PERF = (("perf_record",),)
RECEIVING = Measure("stacks.softirq_receive_pct", "pct", Text("Softirq time in receiving", "收包占软中断时间"), _PERF,
                    _of(SOFTIRQ, {RECEIVE: "NET_RX"}))  # fmt: skip
OTHER_HANDLER = Measure("stacks.softirq_other_pct", "pct", Text("Softirq time in other handlers", "其他软中断"), _PERF,
                        _of(SOFTIRQ, HANDLERS))  # fmt: skip
PACKET_PATH = Measure("stacks.packet_path_pct", "pct", Text("Receiving on bridges and filters", "桥接过滤占比"), _PERF,
                      _of(RECEIVE, {PATH: "NET_RX"}))  # fmt: skip
