"""Applications and services."""

from __future__ import annotations

from collectors.contract import Text
from collectors.metric_rows.row import Lane, Metric, Unit


def _route(name: str, unit: Unit, order: int, title: Text, meaning: Text) -> Metric:
    """A metric of the requests to one route of a service."""
    return Metric(f"app.{name}", unit, "gauge", ("route",), None, title, meaning, Lane("app", order, "line"))


ROWS: tuple[Metric, ...] = (
    _route(
        "requests_per_s",
        "per_s",
        1200,
        Text("Requests", "请求速率"),
        Text("Requests per second.", "每秒请求数。"),
    ),
    _route(
        "errors_pct",
        "pct",
        1201,
        Text("Failed requests", "失败请求"),
        Text(
            "Share of requests that failed, as its source counts failures.",
            "失败请求占比，按数据来源的口径。",
        ),
    ),
    _route(
        "p50_ms", "ms", 1202, Text("Latency p50", "延迟 p50"), Text("Half were faster.", "一半的请求更快。")
    ),
    _route(
        "p90_ms",
        "ms",
        1203,
        Text("Latency p90", "延迟 p90"),
        Text("One in ten was slower.", "十分之一的请求更慢。"),
    ),
    _route(
        "p99_ms",
        "ms",
        1204,
        Text("Latency p99", "延迟 p99"),
        Text("One in 100 was slower.", "百分之一的请求更慢。"),
    ),
    _route(
        "p999_ms",
        "ms",
        1205,
        Text("Latency p99.9", "延迟 p99.9"),
        Text("One in 1000 was slower.", "千分之一的请求更慢。"),
    ),
)
