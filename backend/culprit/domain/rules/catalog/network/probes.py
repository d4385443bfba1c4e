"""Rules about active probes: test connections, recorded handshakes and load tests."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.network import probes
from culprit.domain.rules.rule import MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-TLS-CERTIFICATE-INVALID",
        title=Text("A service presents a certificate outside of its validity", "服务使用不在有效期内的证书"),
        summary=Text(
            "The certificate of {name} at {address} is not valid ({limit}), and {value} connections of clients were "
            "seen within seconds.",
            "{name}（{address}）的证书不在有效期内（{limit}），数秒内观察到 {value} 个客户端连接。",
        ),
        measure=probes.INVALID_CERTIFICATES,
        op=">=",
        thresholds=(("critical", Threshold("critical", 1.0, "each client that checks it goes away")),),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("certificate-expired",),
        causes=("certificate-expired",),
        harm=True,
        caveats=Text(
            "Clients that do not check it are served. A server with several names may present another certificate to "
            "clients that state a name (SNI).",
            "不校验证书的客户端仍可访问；多域名服务器可能向指明域名（SNI）的客户端出示其他证书。",
        ),
        source="openssl s_client: X509_V_ERR_CERT_HAS_EXPIRED, CERT_NOT_YET_VALID; RFC 5280, 4.1.2.5",
    ),
    Rule(
        id="F-NET-PROBE-LOSS",
        title=Text("Probes of a service are lost", "对服务的探测丢包"),
        summary=Text(
            "{lost} of {sent} connections to {target} lost a packet ({value} %).",
            "到 {target} 的 {sent} 次连接中有 {lost} 次丢包（{value} %）。",
        ),
        measure=probes.PROBE_LOSS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 2.0, "200 probes without a loss still allow up to 1.9 %")),
            ("critical", Threshold("critical", 20.0, "one connection in five: every client notices")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        harm=True,
        caveats=Text(
            "A full accept queue also drops handshakes, without any loss on the path.",
            "全连接队列满时也会丢弃握手，此时途中并未丢包。",
        ),
        source="TCP probe: timeouts and connections of 900 ms or more; 95 % interval (Wilson)",
    ),
    Rule(
        id="F-NET-MSS-SMALL",
        title=Text("One side announces a very small segment size", "一端通告的最大分段过小"),
        summary=Text(
            "The {side} of {server} announces segments of at most {value} bytes.",
            "{server} 的 {side} 端通告最大分段仅 {value} 字节。",
        ),
        measure=probes.ANNOUNCED_MSS,
        op="<",
        thresholds=(
            ("warn", Threshold("warn", 536.0, "RFC 9293 3.7.1: the default that every IPv4 host accepts")),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "errors"),
        related=(MetricReading("tcp.retrans_pct", "mean"), MetricReading("tcp.out_segs_per_s", "mean")),
        causes=("mtu-too-small",),
        caveats=Text(
            "Small devices with little memory announce 536 or less by design.",
            "内存很小的嵌入式设备会有意通告 536 或更小。",
        ),
        source="MSS option of SYN and SYN-ACK; a case study measured 256",
    ),
    Rule(
        id="F-APP-KNEE",
        title=Text("More load increases only the latency", "加压只增加延迟"),
        summary=Text(
            "Above {good} successful responses a second, the throughput does not grow, and the "
            "latency is {value} times as high ({before} ms, then {after} ms).",
            "有效吞吐达到每秒 {good} 后不再增长，而延迟变为 {value} 倍（{before} ms → {after} ms）。",
        ),
        measure=probes.LOAD_KNEE,
        op=">=",
        thresholds=(("info", Threshold("info", 1.5, "50 % more latency without more throughput")),),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        caveats=Text(
            "A generator that waits for each response slows down with the service, so real users "
            "see higher latency.",
            "等待应答后再发下一个请求的压测工具会随服务变慢，用户实际感受更差。",
        ),
        source="stages of one imported load test, at least three",
    ),
)
