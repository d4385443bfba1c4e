"""Applications and services."""

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, Nature, TrackStyle, Unit


def _app_metric(  # noqa: PLR0917 - a table of rows reads better by position
    metric: str, unit: Unit, order: int, title: Text, meaning: Text, nature: Nature = "counter"
) -> Metric:
    return Metric(metric, unit, nature, ("route",), None, title, meaning, TrackStyle("app", order, "line"))


def _latency_metric(name: str, label: str, order: int) -> Metric:
    return _app_metric(
        f"app.{name}_ms",
        "ms",
        order,
        Text(f"Latency, {label}", f"延迟 {label}"),
        Text(
            f"{label} of the latencies that the access log notes, within 1 %.",
            f"访问日志所记延迟的 {label}，误差 1% 以内。",
        ),
        "gauge",
    )


ROWS: tuple[Metric, ...] = (
    _app_metric(
        "app.requests_per_s",
        "per_s",
        2000,
        Text("Requests", "请求数"),
        Text("Requests a second in the access log.", "访问日志中每秒的请求数。"),
    ),
    _app_metric(
        "app.errors_pct",
        "pct",
        2001,
        Text("Failed requests", "失败请求占比"),
        Text(
            "Requests that were answered with 500 or above, or not at all.",
            "应答状态码不低于 500 或没有应答的请求占比。",
        ),
    ),
    _latency_metric("p50", "p50", 2002),
    _latency_metric("p90", "p90", 2003),
    _latency_metric("p99", "p99", 2004),
    _latency_metric("p999", "p99.9", 2005),
    Metric(
        "app.accepts_per_s",
        "per_s",
        "counter",
        ("proxy",),
        None,
        Text("Connections accepted (proxy)", "接受的连接数（代理指标）"),
        Text(
            "Connections accepted on the service's port: a proxy of its request rate, as each may carry many requests.",
            "服务端口接受的连接数：仅代表请求速率，每个连接可承载多个请求。",
        ),
        TrackStyle("app", 2006, "line"),
    ),
)
