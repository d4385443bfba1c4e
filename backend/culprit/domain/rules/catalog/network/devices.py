"""Rules about network devices: their MTU, their errors, their speed."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network import related as details
from culprit.domain.rules.measures.network.drops import (
    FLAPS,
    HALF_DUPLEX,
    LINK_ERRORS,
    LINK_USE,
    MTU,
    MTU_GAP,
    TOO_LONG,
)
from culprit.domain.rules.measures.network.loss import DEVICE_DROP_PCT
from culprit.domain.rules.rule import MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_SENT_AGAIN = MetricReading("tcp.retrans_pct", "mean")

_MTU: tuple[Rule, ...] = (
    Rule(
        id="F-NET-MTU-SMALL",
        title=Text("An MTU below the minimum of every network", "MTU 低于网络最低要求"),
        summary=Text(
            "The MTU of the device is {value}. IPv6 needs 1280.",
            "该设备 MTU 为 {value}；IPv6 要求至少 1280。",
        ),
        measure=MTU,
        op="<",
        thresholds=(("critical", Threshold("critical", 1280.0, "RFC 8200 section 5")),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(TOO_LONG, details.PEER_MTU, _SENT_AGAIN, details.DEVICE_PACKETS),
        causes=("mtu-too-small",),
        refutes=("mtu-too-small",),
        caveats=Text(
            "Tunnels need 1280 to 1480 and are not checked.", "隧道的 MTU 本就在 1280～1480，不作检查。"
        ),
        source="RFC 8200",
    ),
    Rule(
        id="F-NET-MTU-TOO-LONG",
        title=Text("A device with a small MTU rejects packets", "小 MTU 设备拒收报文"),
        summary=Text(
            "The device has an MTU of {mtu} and rejected {value} % of the packets that reached it.",
            "该设备 MTU 为 {mtu}，拒收了到达的包的 {value} %。",
        ),
        measure=TOO_LONG,
        op=">",
        thresholds=(("critical", Threshold("critical", 0.0, "a healthy device below 1500 rejects none")),),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        related=(MTU, details.PEER_MTU, _SENT_AGAIN, details.DEVICE_PACKETS),
        causes=("mtu-too-small",),
        harm=True,
        caveats=Text("Frames of unknown protocols also count as dropped.", "未知协议的帧也计入丢弃。"),
        source="rx_dropped and rx_length_errors of devices with an MTU below 1500",
    ),
    Rule(
        id="F-NET-MTU-MISMATCH",
        title=Text("The MTU differs between two ends of a link", "两端 MTU 不一致"),
        summary=Text(
            "The MTU is {mtu} on this side and {peer} on the other side, which is {value} bytes less.",
            "本端 MTU {mtu}，对端 {peer}：少 {value} 字节。",
        ),
        measure=MTU_GAP,
        op=">",
        thresholds=(("warn", Threshold("warn", 0.0, "both ends must be equal")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        suspects=("mtu-too-small",),
        related=(MTU, details.PEER_MTU, TOO_LONG, _SENT_AGAIN),
        causes=("mtu-too-small",),
        source="ip link, both ends of a veth",
    ),
)

_LINKS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-IFACE-DROP",
        title=Text("A device drops packets", "网卡丢包"),
        summary=Text(
            "The device dropped {value} % of the packets it received.", "该设备丢弃了 {value} % 的接收包。"
        ),
        measure=DEVICE_DROP_PCT,
        op=">",
        thresholds=(("warn", Threshold("warn", 2.0, "Netdata")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        caveats=Text(
            "Frames of unknown protocols and VLANs count as dropped.", "未知协议或 VLAN 的帧也计入丢弃。"
        ),
        source="/proc/net/dev; other rules determine what dropped them",
    ),
    Rule(
        id="F-NET-LINK-ERRORS",
        title=Text("A link damages packets", "链路损坏报文"),
        summary=Text(
            "{value} of a thousand packets arrived damaged, mostly {kind}.",
            "每千个包有 {value} 个损坏，主要为 {kind}。",
        ),
        measure=LINK_ERRORS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 0.1, "a healthy link damages less than one in 10,000")),
            ("critical", Threshold("critical", 10.0, "1 %")),
        ),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(details.DAMAGED, details.DEVICE_PACKETS, _SENT_AGAIN, details.SPEED),
        causes=("nic-link-degraded",),
        refutes=("nic-link-degraded",),
        harm=True,
        source="ip -s -s link: crc, frame, length, carrier",
    ),
    Rule(
        id="F-NET-LINK-FLAP",
        title=Text("A link goes down and up", "链路抖动"),
        summary=Text("The carrier changed {value} times.", "载波变化 {value} 次。"),
        measure=FLAPS,
        op=">=",
        thresholds=(("critical", Threshold("critical", 2.0, "down and up once within a capture")),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(details.DEVICE_PACKETS, _SENT_AGAIN, details.SPEED, details.REFUSED),
        causes=("nic-link-degraded",),
        harm=True,
        source="carrier_changes",
    ),
    Rule(
        id="F-NET-LINK-HALF-DUPLEX",
        title=Text("A link runs half duplex", "链路为半双工"),
        summary=Text(
            "Half duplex ({value}): the two sides cannot send at the same time.",
            "半双工（{value}）：双方不能同时发送。",
        ),
        measure=HALF_DUPLEX,
        op=">=",
        thresholds=(("warn", Threshold("warn", 1.0, "a failed negotiation")),),
        strength=Strength.DIRECT,
        use=Use("network", "errors"),
        related=(details.SPEED, LINK_ERRORS, details.DEVICE_PACKETS),
        causes=("nic-link-degraded",),
        source="/sys/class/net/*/duplex",
    ),
    Rule(
        id="F-NET-UTIL",
        title=Text("A link is nearly full", "链路带宽将满"),
        summary=Text("{value} % of the link speed is used.", "链路速率已使用 {value} %。"),
        measure=LINK_USE,
        op=">",
        thresholds=(("warn", Threshold("warn", 90.0, "Netdata; resets below 85")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "utilization"),
        caveats=Text(
            "Virtual devices report no speed. Cloud limits are below the link speed.",
            "虚拟网卡没有速率；云上限速低于链路速率。",
        ),
        source="/proc/net/dev against the speed of the device",
    ),
)

RULES: tuple[Rule, ...] = (*_MTU, *_LINKS)
