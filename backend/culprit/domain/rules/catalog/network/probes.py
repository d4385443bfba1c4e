"""Rules about what was tried out: connections opened on purpose, handshakes that were listened to, loads that grew."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Grade, Limit, Over, Rule
from culprit.core.rules.measures import probes

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-PROBE-LOSS",
        title=Text("Probes of a service get lost", "对服务的探测丢包"),
        says=Text(
            "{lost} of {sent} connections to {target} lost a packet ({value} %).",
            "到 {target} 的 {sent} 次连接中有 {lost} 次丢包（{value} %）。",
        ),
        measure=probes.PROBE_LOSS,
        op=">",
        levels=(
            ("warn", Limit("warn", 2.0, "200 probes without a loss leave up to 1.9 % possible")),
            ("critical", Limit("critical", 20.0, "one connection in five: every client notices")),
        ),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "A full accept queue drops handshakes as well: with no loss on the way.",
            "全连接队列满时也会丢弃握手，此时途中并未丢包。",
        ),
        source="the TCP probe: what timed out or took 900 ms and more; interval of 95 % (Wilson)",
    ),
    Rule(
        id="F-NET-MSS-SMALL",
        title=Text("One side announces a tiny segment size", "一端通告的最大分段过小"),
        says=Text(
            "The {side} of {server} announces segments of at most {value} bytes.",
            "{server} 的 {side} 端通告最大分段仅 {value} 字节。",
        ),
        measure=probes.ANNOUNCED_MSS,
        op="<",
        levels=(("warn", Limit("warn", 536.0, "RFC 9293 3.7.1: what every IPv4 host takes unasked")),),
        grade=Grade.CORRELATIONAL,
        beside=(Over("tcp.retrans_pct", "mean"), Over("tcp.out_segs_per_s", "mean")),
        causes=("mtu-too-small",),
        traps=Text(
            "Small devices with little memory announce 536 or less on purpose.",
            "内存很小的嵌入式设备会有意通告 536 或更小。",
        ),
        source="the MSS option of SYN and SYN-ACK; a case study saw 256",
    ),
    Rule(
        id="F-APP-KNEE",
        title=Text("More load only means longer answers", "加压只增加延迟"),
        says=Text(
            "Beyond {good} good answers a second there are no more of them, and they take {value} times as long"
            " ({before} ms, then {after} ms).",
            "有效吞吐到达每秒 {good} 后不再增长，而延迟变为 {value} 倍（{before} ms → {after} ms）。",
        ),
        measure=probes.LOAD_KNEE,
        op=">=",
        levels=(("info", Limit("info", 1.5, "half as long again, at no more throughput")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "A generator that waits for each answer slows down with the service: what users see is worse.",
            "等待应答后再发下一个请求的压测工具会随服务变慢，用户实际感受更差。",
        ),
        source="stages of one load test that was brought, three at least",
    ),
)
