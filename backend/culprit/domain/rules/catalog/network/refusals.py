"""Rules about connections of this host that fail at once."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network.sockets import REFUSED_PCT
from culprit.domain.rules.rule import MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NET-CONNECTS-REFUSED",
        title=Text("Connections of this host are refused", "本机发起的连接被拒绝"),
        summary=Text(
            "{value} % of the connections that this host opens fail at once ({per_s} a second, {routeless} % without a "
            "route). This host sends as many resets as {local} % of them: so many can be to services of its own.",
            "本机发起的连接有 {value} % 立即失败（每秒 {per_s} 个，{routeless} % 无路由）。"
            "本机发出的 RST 相当于其中 {local} %：至多这么多是连向本机服务的。",
        ),
        measure=REFUSED_PCT,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "every hundredth connection")),
            ("critical", Threshold("critical", 10.0, "every tenth connection")),
        ),
        strength=Strength.MECHANISM,
        use=Use("network", "errors"),
        suspects=("connections-refused",),
        related=(MetricReading("tcp.active_opens_per_s"), MetricReading("tcp.out_rsts_per_s")),
        causes=("connections-refused",),
        refutes=("connections-refused",),
        caveats=Text(
            "Health checks of a service that is meant to be down, and IPv6 that is tried first, are refused too.",
            "对有意停用的服务的健康检查，以及优先尝试的 IPv6，也会被拒绝。",
        ),
        source="Tcp.AttemptFails without TcpExt.EmbryonicRsts, Ip.OutNoRoutes, Tcp.ActiveOpens, Tcp.OutRsts",
    ),
)
