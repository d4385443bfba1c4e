"""Rules about queues of listening sockets."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Grade, Limit, Over, Rule

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-LISTEN-OVERFLOW",
        title=Text("A listen queue overflows", "监听队列溢出"),
        says=Text(
            "{value} connections a second found their accept queue full and were not taken.",
            "每秒 {value} 个连接因接受队列已满而未被接收。",
        ),
        measure=Over("tcp.listen_overflows_per_s", "mean"),
        op=">",
        levels=(
            ("warn", Limit("warn", 0.0, "a counter that should stand still")),
            (
                "critical",
                Limit("critical", 5.0, "Netdata: 5 a minute critical; a burst after a restart is less"),
            ),
        ),
        grade=Grade.DIRECT,
        causes=("listen-queue-overflow",),
        refutes=("listen-queue-overflow",),
        traps=Text(
            "The counter is of the whole network namespace; a restart causes a short burst.",
            "该计数属于整个网络命名空间；服务重启会造成短暂突增。",
        ),
        source="linux/snmp.h TcpExt.ListenOverflows",
    ),
)
