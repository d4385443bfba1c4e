"""Pictures of what was really captured, number by number.

The golden files are what the interface's mock shows, so that screens are tested with real server responses. After
a deliberate change: `UPDATE_GOLDEN=1 pytest backend/culprit/tests/domain/charts/test_golden.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from culprit.domain.charts.registry import BUILDERS, draw_charts
from culprit.domain.rules.view import HostView
from culprit.evidence.charts.schemas import ChartResponse
from culprit.evidence.charts.service import chart_to_json
from culprit.tests.domain.charts.fixtures import captured
from culprit.tests.domain.charts.hosts import HOSTS
from pydantic_core import to_json

GOLDEN = Path(__file__).parents[5] / "frontend" / "mock" / "captures" / "charts"
Case = Mapping[str, str] | Callable[[], HostView]
#: Builder → the captures that its picture is made of, or the view.
CASES: dict[str, Case] = {
    **HOSTS,
    "call-path": {"import.otlp": "otlp.json"},
    "connect-times": {"tcp_probe": "debian-12-faulty", "http_probe": "debian-12-faulty"},
    "drop-ladder": {
        "net_dev": "debian-12-kernel6.18",
        "softnet": "debian-12-kernel6.1-drops",
        "qdisc": "debian-12-faulty",
        "firewall": "debian-12-faulty",
        "links": "debian-12-e1000-flapping",
        "conntrack": "debian-12-table-full",
        "netstat_ext": "debian-12-kernel6.18",
        "ss_listen": "debian-12-faulty",
    },
    "listener-queues": {"ss_listen": "debian-12-faulty"},
    "load-stages": {"import.wrk": "wrk.txt"},
    "port-ranges": {"ss": "debian-12-faulty"},
    "routes": {"app_metrics": "debian-12-three-routes"},
    "tcp-states": {"ss": "debian-12-faulty"},
    "thread-calls": {"perf_trace": "debian-12-threads-and-pipes"},
    "thread-timeline": {"strace": "debian-12-http-server"},
    "wait-chain": {"strace": "debian-12-threads-and-pipes", "jstack": "debian-12-locks"},
}


def seen(case: Case) -> HostView:
    """What a case is about."""
    return case() if callable(case) else captured(case)


def render_items(builder: str, case: Case) -> list[dict[str, Any]]:
    [item] = draw_charts([BUILDERS[builder]], seen(case))
    return [json.loads(to_json(rounded(chart_to_json(item.builder, each)))) for each in item.charts]


def rounded(value: Any) -> Any:
    """Numbers to nine digits, times to a thousandth: the last bits of a float depend on the machine."""
    plain = json.loads(to_json(value))

    def walk(item: Any) -> Any:
        if isinstance(item, float):
            return float(f"{item:.9g}") if abs(item) < 1e12 else round(item, 3)
        if isinstance(item, dict):
            return {name: walk(each) for name, each in item.items()}
        return [walk(each) for each in item] if isinstance(item, list) else item

    return walk(plain)


@pytest.mark.parametrize("builder", BUILDERS)
def test_the_picture_of_a_real_capture(builder: str) -> None:
    result = render_items(builder, CASES[builder])
    file = GOLDEN / f"{builder}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        lines = [json.dumps(item, ensure_ascii=False) for item in result]
        file.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    assert result == json.loads(file.read_text())
    for item in result:
        ChartResponse.model_validate(item)
        assert item["state"] == "ok"


def numbers(value: Any) -> list[dict[str, Any]]:
    """Every number with its citation within a body."""
    if isinstance(value, dict):
        own = [value] if "citation" in value and "unit" in value else []
        return own + [each for item in value.values() for each in numbers(item)]
    return [each for item in value for each in numbers(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("builder", BUILDERS)
def test_every_number_has_a_unit_and_the_line_that_it_was_read_from(builder: str) -> None:
    for item in render_items(builder, CASES[builder]):
        result = numbers(item["body"])
        assert result or item["body"]["kind"] == "gantt"
        for track in item["body"].get("tracks", []):
            assert track["citation"]["artifact"]
            assert all(span["line"] > 0 for span in track.get("spans", []))
        for each in result:
            assert each["unit"] is not None
            assert each["citation"]["artifact"] and each["citation"]["collector"]
            lines = each["citation"]["lines"] or each.get("lines", [])
            # Events of the scheduler are found again by their time: a table of millions of them keeps no lines.
            by_time = each["citation"]["collector"] == "perf_sched"
            assert any(line > 0 for line in lines) or each["citation"]["profile"] or by_time, each
