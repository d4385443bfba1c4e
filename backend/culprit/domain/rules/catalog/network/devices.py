"""Rules about network devices: their MTU, their errors, their speed."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Condition, Grade, Guard, Limit, Over, Rule
from culprit.core.rules.measures import network_told as told
from culprit.core.rules.measures.network import (
    FLAPS,
    HALF_DUPLEX,
    LINK_ERRORS,
    LINK_USE,
    MTU,
    MTU_GAP,
    TOO_LONG,
)

_SENT_AGAIN = Over("tcp.retrans_pct", "mean")

_MTU: tuple[Rule, ...] = (
    Rule(
        id="F-NET-MTU-SMALL",
        title=Text("An MTU below what every network must carry", "MTU 低于网络最低要求"),
        says=Text(
            "The MTU of the device is {value}; IPv6 needs 1280.",
            "该设备 MTU 为 {value}；IPv6 要求至少 1280。",
        ),
        measure=MTU,
        op="<",
        levels=(("critical", Limit("critical", 1280.0, "RFC 8200 section 5")),),
        grade=Grade.DIRECT,
        beside=(TOO_LONG, told.PEER_MTU, _SENT_AGAIN, told.DEVICE_PACKETS),
        causes=("mtu-too-small",),
        refutes=("mtu-too-small",),
        traps=Text(
            "Tunnels need 1280 to 1480 and are not judged.", "隧道的 MTU 本就在 1280～1480，不作判断。"
        ),
        source="RFC 8200",
    ),
    Rule(
        id="F-NET-MTU-TOO-LONG",
        title=Text("A device with a small MTU refuses what arrives", "小 MTU 设备拒收报文"),
        says=Text(
            "The device has an MTU of {mtu} and refused {value} packets a second.",
            "该设备 MTU 为 {mtu}，每秒拒收 {value} 个包。",
        ),
        measure=TOO_LONG,
        op=">",
        levels=(("critical", Limit("critical", 0.5, "a healthy device below 1500 refuses none")),),
        grade=Grade.MECHANISM,
        beside=(MTU, told.PEER_MTU, _SENT_AGAIN, told.DEVICE_PACKETS),
        causes=("mtu-too-small",),
        traps=Text("Frames of unknown protocols count as dropped too.", "未知协议的帧也计入丢弃。"),
        source="rx_dropped and rx_length_errors of devices whose MTU is below 1500",
    ),
    Rule(
        id="F-NET-MTU-MISMATCH",
        title=Text("Two ends of a cable disagree on the MTU", "两端 MTU 不一致"),
        says=Text(
            "The MTU here is {mtu}, at the other end {peer}: {value} bytes less.",
            "本端 MTU {mtu}，对端 {peer}：少 {value} 字节。",
        ),
        measure=MTU_GAP,
        op=">",
        levels=(("warn", Limit("warn", 0.0, "both ends must agree")),),
        grade=Grade.CORRELATIONAL,
        beside=(MTU, told.PEER_MTU, TOO_LONG, _SENT_AGAIN),
        causes=("mtu-too-small",),
        source="ip link, both ends of a veth",
    ),
)

_LINKS: tuple[Rule, ...] = (
    Rule(
        id="F-NET-IFACE-DROP",
        title=Text("A device drops packets", "网卡丢包"),
        says=Text("The device dropped {value} % of what it received.", "该设备丢弃了 {value} % 的接收包。"),
        measure=Over("net.drop_ratio_pct", "mean"),
        op=">",
        levels=(("warn", Limit("warn", 2.0, "Netdata")),),
        guards=(
            Guard(
                Condition(
                    Over("net.rx_pps", "mean"), ">", Limit("packets", 100.0, "Netdata: 10,000 a minute")
                ),
                Sentence("doubt.few_packets"),
            ),
        ),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "Frames of unknown protocols and VLANs count as dropped.", "未知协议或 VLAN 的帧也计入丢弃。"
        ),
        source="/proc/net/dev; who dropped is for other rules to say",
    ),
    Rule(
        id="F-NET-LINK-ERRORS",
        title=Text("A link damages packets", "链路损坏报文"),
        says=Text(
            "{value} of a thousand packets came damaged, mostly {kind}.",
            "每千个包有 {value} 个损坏，主要为 {kind}。",
        ),
        measure=LINK_ERRORS,
        op=">",
        levels=(
            ("warn", Limit("warn", 0.1, "a sound link damages less than one of 10,000")),
            ("critical", Limit("critical", 10.0, "1 %")),
        ),
        grade=Grade.DIRECT,
        beside=(told.DAMAGED, told.DEVICE_PACKETS, _SENT_AGAIN, told.SPEED),
        causes=("nic-link-degraded",),
        refutes=("nic-link-degraded",),
        source="ip -s -s link: crc, frame, length, carrier",
    ),
    Rule(
        id="F-NET-LINK-FLAP",
        title=Text("A link goes down and up", "链路抖动"),
        says=Text("The carrier changed {value} times.", "载波变化 {value} 次。"),
        measure=FLAPS,
        op=">=",
        levels=(("critical", Limit("critical", 2.0, "down and up once within one capture")),),
        grade=Grade.DIRECT,
        beside=(told.DEVICE_PACKETS, _SENT_AGAIN, told.SPEED, told.REFUSED),
        causes=("nic-link-degraded",),
        source="carrier_changes",
    ),
    Rule(
        id="F-NET-LINK-HALF-DUPLEX",
        title=Text("A link runs half duplex", "链路为半双工"),
        says=Text(
            "Half duplex ({value}): both sides cannot send at once.", "半双工（{value}）：双方不能同时发送。"
        ),
        measure=HALF_DUPLEX,
        op=">=",
        levels=(("warn", Limit("warn", 1.0, "a failed negotiation")),),
        grade=Grade.DIRECT,
        beside=(told.SPEED, LINK_ERRORS, told.DEVICE_PACKETS),
        causes=("nic-link-degraded",),
        source="/sys/class/net/*/duplex",
    ),
    Rule(
        id="F-NET-UTIL",
        title=Text("A link is nearly full", "链路带宽将满"),
        says=Text("{value} % of the link's speed is used.", "链路速率已使用 {value} %。"),
        measure=LINK_USE,
        op=">",
        levels=(("warn", Limit("warn", 90.0, "Netdata; back below 85")),),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "Virtual devices have no speed; clouds limit below it.",
            "虚拟网卡没有速率；云上限速低于链路速率。",
        ),
        source="/proc/net/dev against the device's speed",
    ),
)

RULES: tuple[Rule, ...] = (*_MTU, *_LINKS)
