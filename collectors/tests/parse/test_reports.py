"""Reports of other programs. Recorded: Prometheus 2.42, wrk 4.1, iperf3 3.12, and the OTLP and Zipkin exporters of
OpenTelemetry's Python SDK; vegeta, JMeter and Jaeger are synthetic, by their published formats.
"""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from collectors.contract import Parsed
from collectors.metrics.registry import METRICS
from collectors.parse.reports import prometheus_range, registry, trace_table
from collectors.parse.reports.trace_spans import TraceSpan
from collectors.tests.fixture_files import FIXTURES
from collectors.tests.support import BytesPart

FOLDER = FIXTURES / "reports"
KINDS = {
    "prometheus_rate.json": "prometheus", "prometheus_refused.json": "prometheus", "wrk.txt": "wrk",
    "iperf3_tcp.json": "iperf3", "iperf3_udp.json": "iperf3", "iperf3_refused.json": "iperf3",
    "otlp.json": "otlp", "zipkin.json": "zipkin",
}  # fmt: skip

VEGETA_REPORT = b"""{
 "latencies": {"total": 9000000, "mean": 3000000, "50th": 2000000, "90th": 4000000, "95th": 5000000, "99th": 6000000,
 "max": 7000000, "min": 1000000}, "bytes_in": {"total": 1, "mean": 1}, "bytes_out": {"total": 0, "mean": 0},
 "earliest": "2026-11-21T10:00:00Z", "latest": "2026-11-21T10:00:02Z", "end": "2026-11-21T10:00:02Z",
 "duration": 2000000000, "wait": 1, "requests": 200, "rate": 100, "throughput": 90, "success": 0.9,
 "status_codes": {"0": 4, "200": 180, "503": 16}, "errors": ["context deadline exceeded", "503 Service Unavailable"]}
"""
VEGETA_RESULTS = b"\n".join(
    json.dumps(
        {
            "attack": "steady", "seq": n, "code": 0 if n == 7 else 503 if n % 5 == 4 else 200,
            "timestamp": f"2026-11-21T10:00:0{n // 5}.{n % 5}00000001+02:00", "latency": (n + 1) * 1_000_000,
            "bytes_out": 0, "bytes_in": 3, "error": "net/http: timeout awaiting response" if n == 7 else "",
            "body": None, "method": "GET", "url": "http://h/orders?card=4111#x", "headers": None,
        }
    ).encode()
    for n in range(10)
)  # fmt: skip
JMETER = b"""timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes
1795295643000,12,"Home, page",200,OK,t 1-1,true,10
1795295643500,30,Checkout,500,Internal,t 1-1,false,10
1795295644000,5000,Checkout,Non HTTP response code: java.net.SocketTimeoutException,Read timed out,t 1-1,false,0
"""
JAEGER = json.dumps(
    {"data": [{"traceID": "t", "processes": {"p1": {"serviceName": "web"}, "p2": {"serviceName": "db"}}, "spans": [
        {"traceID": "t", "spanID": "a", "operationName": "GET /", "startTime": 1000, "duration": 100, "processID": "p1",
         "references": [], "tags": []},
        {"traceID": "t", "spanID": "b", "operationName": "SELECT", "startTime": 1010, "duration": 70,
         "processID": "p2", "references": [{"refType": "CHILD_OF", "traceID": "t", "spanID": "a"}],
         "tags": [{"key": "error", "type": "bool", "value": True}]},
    ]}]}, indent=1
).encode()  # fmt: skip
SYNTHETIC = {"vegeta": [VEGETA_REPORT, VEGETA_RESULTS], "jmeter": [JMETER], "jaeger": [JAEGER]}


def read(data: bytes) -> Parsed:
    kind = registry.detect_report(data[:65536])
    assert kind is not None
    return registry.READERS[kind](BytesPart(data), "file")


def rows(parsed: Parsed) -> list[dict[str, object]]:
    (table,) = parsed.tables
    assert len(table.lines) == len(table.rows)
    names = [column.id for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_known_by_its_content(name: str) -> None:
    assert registry.detect_report((FOLDER / name).read_bytes()) == KINDS[name]


def test_what_is_no_report_is_none() -> None:
    for data in (
        b"",
        b"{}",
        b"[]",
        b"a;b 1\n",
        b"PERFILE2",
        b'{"status": "ok"}',
        b"web 1 [000] 1.0: cpu-clock:\n",
    ):
        assert registry.detect_report(data) is None
    for kind, documents in SYNTHETIC.items():
        assert {registry.detect_report(document) for document in documents} == {kind}


def test_wrk_run_after_run() -> None:
    first, second = rows(read((FOLDER / "wrk.txt").read_bytes()))
    assert first["stage"] == "http://127.0.0.1:18731/api/orders"
    assert (first["requests"], first["rps"], first["p50_ms"], first["p99_ms"]) == (392, 78.32, 44.01, 56.04)
    assert first["non2xx_pct"] == pytest.approx(100 * 3 / 392, abs=1e-3)
    assert first["goodput_per_s"] == pytest.approx(78.32 * 389 / 392, abs=1e-3)
    assert (first["errors"], first["timeouts"], first["p999_ms"]) == (0, 0, None)
    assert second["requests"] == 1625 and second["p50_ms"] is None, (
        "without --latency there are no percentiles"
    )
    assert read((FOLDER / "wrk.txt").read_bytes()).tables[0].lines == (1, 15)


def test_wrk_with_socket_errors_and_the_percentiles_of_wrk2() -> None:
    text = b"""Running 30s test @ http://h/
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.23ms
 99.900%    1.50s
  100 requests in 30.00s, 1MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
Requests/sec:      3.33
"""
    (row,) = rows(read(text))
    assert (row["p50_ms"], row["p999_ms"], row["errors"], row["timeouts"]) == (1.23, 1500, 10, 4)


def test_iperf3_by_interval() -> None:
    parsed = read((FOLDER / "iperf3_tcp.json").read_bytes())
    *intervals, whole = rows(parsed)
    assert [row["stage"] for row in intervals] == ["0.0-1.0 s", "1.0-2.0 s", "2.0-3.0 s"]
    text = (FOLDER / "iperf3_tcp.json").read_text().splitlines()
    assert all('"sum"' in text[line - 1] for line in parsed.tables[0].lines[:-1])
    assert '"sum_received"' in text[parsed.tables[0].lines[-1] - 1]
    assert whole["mbit_per_s"] == pytest.approx(500, rel=0.01) and whole["retransmits"] == 0
    udp = rows(read((FOLDER / "iperf3_udp.json").read_bytes()))[-1]
    assert udp["lost_pct"] == 0 and udp["jitter_ms"] == pytest.approx(0.0039, abs=1e-4)


def test_failed_iperf3_reports_its_error() -> None:
    parsed = read((FOLDER / "iperf3_refused.json").read_bytes())
    assert not parsed.readable
    assert parsed.warnings[0].params["message"] == "unable to connect to server: Connection refused"


def test_a_report_of_vegeta() -> None:
    (row,) = rows(read(VEGETA_REPORT))
    assert (row["rps"], row["goodput_per_s"], row["p99_ms"], row["errors"]) == (100, 90, 6, 4)
    assert row["non2xx_pct"] == pytest.approx(100 * 16 / 196, abs=1e-3)
    assert row["timeouts"] is None, "a report lists errors without a count of each"


def test_results_of_vegeta_become_series() -> None:
    parsed = read(VEGETA_RESULTS)
    (row,) = rows(parsed)
    assert (row["stage"], row["requests"], row["timeouts"], row["errors"]) == ("steady", 10, 1, 1)
    by_metric = {series.metric: series for series in parsed.series}
    assert set(by_metric) <= set(METRICS)
    rate = by_metric["app.requests_per_s"]
    assert rate.labels == {"route": "GET /orders"}, "the query of a URL may hold personal data"
    assert rate.values[:, 0].tolist() == [5, 5]
    assert rate.t_ns[0] == 1795248001 * 10**9, "08:00:01 UTC"
    assert by_metric["app.errors_pct"].values[:, 0].tolist() == [20, 40]
    assert rate.lines is not None and rate.lines.tolist() == [1, 6]


def test_results_of_jmeter() -> None:
    parsed = read(JMETER)
    home, checkout = rows(parsed)
    assert (home["stage"], home["non2xx_pct"]) == ("Home, page", 0)
    assert (checkout["requests"], checkout["errors"], checkout["timeouts"], checkout["non2xx_pct"]) == (
        2,
        1,
        1,
        100,
    )
    assert parsed.tables[0].lines == (2, 3)


@pytest.mark.parametrize("name", ["otlp.json", "zipkin.json"])
def test_spans_of_a_real_sdk(name: str) -> None:
    results = {row["operation"]: row for row in rows(read((FOLDER / name).read_bytes()))}
    assert {key: (row["service"], row["count"], row["errors"]) for key, row in results.items()} == {
        "SELECT orders": ("postgres", 24, 0),
        "list orders": ("orders", 12, 2),
        "GET /orders": ("web", 12, 0),
    }
    dominant = read((FOLDER / name).read_bytes()).facts["dominant"]
    assert (
        isinstance(dominant, dict)
        and dominant["operation"] == "SELECT orders"
        and dominant["self_share_pct"] > 60
    )
    assert sum(float(str(row["self_share_pct"])) for row in results.values()) == pytest.approx(100, abs=0.01)
    assert 2 < float(str(results["list orders"]["self_p50_ms"])) < 4, "it slept 2 ms next to its children"


def test_spans_of_jaeger() -> None:
    parsed = read(JAEGER)
    select, get = rows(parsed)
    assert (select["service"], select["self_total_ms"], select["errors"]) == ("db", 0.07, 1)
    assert (get["service"], get["self_total_ms"], get["self_share_pct"]) == ("web", 0.03, 30)
    lines = JAEGER.decode().splitlines()
    assert '"SELECT"' in lines[parsed.tables[0].lines[0] - 1]


def test_children_that_overlap_or_outlive_their_parent_count_once() -> None:
    span = lambda name, parent, start, end: TraceSpan("t", name, parent, "s", name, start, end, False)  # noqa: E731
    spans = [span("p", "", 0, 100), span("a", "p", 10, 50), span("b", "p", 40, 60), span("c", "p", 90, 300)]
    assert trace_table.compute_self_times(spans) == [40, 40, 20, 210]
    assert trace_table.compute_self_times([span("x", "x", 0, 5)]) == [5], "its own parent"


def test_the_numbers_of_prometheus_and_their_lines() -> None:
    body = (FOLDER / "prometheus_rate.json").read_bytes()
    lined = prometheus_range.split_into_lines(body)
    assert lined.replace(b"\n", b"") == body.replace(b"\n", b"") and json.loads(lined) == json.loads(body)
    series_list = prometheus_range.parse_range_answer(lined.decode()).series
    assert {series.route for series in series_list} == {"/api/orders", "/api/search"}
    lines = lined.decode().splitlines()
    for series, raw in zip(series_list, json.loads(body)["data"]["result"], strict=True):
        assert len(series.lines) == len(raw["values"])
        for t_ns, value, line, (second, text) in zip(
            series.t_ns, series.values, series.lines, raw["values"], strict=True
        ):
            assert (t_ns, value) == (second * 10**9, float(text))
            assert f'[{second},"{text}"]' in lines[line - 1]


def test_errors_of_prometheus_as_a_share() -> None:
    answers = [
        prometheus_range.parse_range_answer((FOLDER / f"prometheus_{name}.json").read_text())
        for name in ("errors", "rate")
    ]
    *_, share = prometheus_range.compute_share_pct("app.errors_pct", *answers, "errors.json")
    rate = answers[1].series[-1].values
    assert np.array_equal(np.isnan(share.values[:, 0]), rate <= 0), "nothing of nothing is no data"
    assert share.values[-1, 0] == pytest.approx(100 * answers[0].series[-1].values[-1] / rate[-1])
    *_, silent = prometheus_range.compute_share_pct(
        "app.errors_pct", prometheus_range.RangeAnswer(), answers[1], "errors.json"
    )
    assert silent.values[-1, 0] == 0, "a route that never failed"


def test_a_refusal_of_prometheus_is_repeated() -> None:
    parsed = read((FOLDER / "prometheus_refused.json").read_bytes())
    assert not parsed.readable and "unclosed left parenthesis" in str(parsed.warnings[0].params["message"])


def test_labels_that_look_like_values_break_no_line() -> None:
    name = '"],[5,"7"],['
    body = json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": [
            {"metric": {"a": name}, "values": [[1795295643, "NaN"], [1795295644.5, "+Inf"], [1795295645, "3"]]}]}},
        separators=(",", ":"),
    ).encode()  # fmt: skip
    lined = prometheus_range.split_into_lines(body)
    (series,) = prometheus_range.parse_range_answer(lined.decode()).series
    assert series.labels == {"a": name} and series.lines.tolist() == [1, 2, 3]
    assert [math.isnan(value) for value in series.values] == [True, True, False]


def test_damaged_files_raise_nothing() -> None:
    rng = random.Random(7)
    whole = [(FOLDER / name).read_bytes() for name in KINDS] + [
        item for some in SYNTHETIC.values() for item in some
    ]
    for data in whole:
        kind = registry.detect_report(data[:65536])
        assert kind is not None
        for _ in range(25):
            cut = bytearray(data[: rng.randrange(len(data))])
            for _ in range(rng.randrange(4)):
                if cut:
                    cut[rng.randrange(len(cut))] = rng.choice(b'0"[]{},\\\xff\n')
            registry.READERS[kind](BytesPart(bytes(cut)), "file")
        for strange in (b"[" * 100_000, b"null", b'[{"traceId": 5}]', b'{"data": [5], "latencies": 7}'):
            registry.READERS[kind](BytesPart(strange), "file")
