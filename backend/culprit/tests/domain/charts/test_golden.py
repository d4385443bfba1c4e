"""Pictures of what was really captured, number by number.

The golden files are what the interface's mock shows, so that screens are tried on what the server really says. After
a deliberate change: `UPDATE_GOLDEN=1 pytest backend/culprit/tests/core/visuals/test_golden.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from culprit.core.rules.view import View
from culprit.core.visuals.registry import BUILDERS, draw
from culprit.tests.core.visuals.fixtures import captured
from culprit.tests.core.visuals.hosts import HOSTS
from culprit.visuals.schemas import VisualRead
from culprit.visuals.service import visual_form
from pydantic_core import to_json

GOLDEN = Path(__file__).parents[5] / "frontend" / "mock" / "visuals"
Case = Mapping[str, str] | Callable[[], View]
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


def seen(case: Case) -> View:
    """What a case is about."""
    return case() if callable(case) else captured(case)


def drawn(builder: str, case: Case) -> list[dict[str, Any]]:
    [one] = draw([BUILDERS[builder]], seen(case))
    return [json.loads(to_json(rounded(visual_form(one.builder, each)))) for each in one.visuals]


def rounded(value: Any) -> Any:
    """Numbers to nine digits, times to a thousandth: the last bits of a float depend on the machine."""
    plain = json.loads(to_json(value))

    def walk(one: Any) -> Any:
        if isinstance(one, float):
            return float(f"{one:.9g}") if abs(one) < 1e12 else round(one, 3)
        if isinstance(one, dict):
            return {name: walk(each) for name, each in one.items()}
        return [walk(each) for each in one] if isinstance(one, list) else one

    return walk(plain)


@pytest.mark.parametrize("builder", BUILDERS)
def test_the_picture_of_a_real_capture(builder: str) -> None:
    found = drawn(builder, CASES[builder])
    file = GOLDEN / f"{builder}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        lines = [json.dumps(one, ensure_ascii=False) for one in found]
        file.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    assert found == json.loads(file.read_text())
    for one in found:
        VisualRead.model_validate(one)
        assert one["state"] == "ok"


def numbers(value: Any) -> list[dict[str, Any]]:
    """Every number with its citation within a body."""
    if isinstance(value, dict):
        own = [value] if "cite" in value and "unit" in value else []
        return own + [each for one in value.values() for each in numbers(one)]
    return [each for one in value for each in numbers(one)] if isinstance(value, list) else []


@pytest.mark.parametrize("builder", BUILDERS)
def test_every_number_has_a_unit_and_the_line_that_it_was_read_from(builder: str) -> None:
    for one in drawn(builder, CASES[builder]):
        found = numbers(one["body"])
        assert found or one["body"]["kind"] == "gantt"
        for lane in one["body"].get("lanes", []):
            assert lane["cite"]["artifact"]
            assert all(span["line"] > 0 for span in lane["spans"])
        for each in found:
            assert each["unit"] is not None
            assert each["cite"]["artifact"] and each["cite"]["collector"]
            lines = each["cite"]["lines"] or each.get("lines", [])
            # Events of the scheduler are found again by their time: a table of millions of them keeps no lines.
            by_time = each["cite"]["collector"] == "perf_sched"
            assert any(line > 0 for line in lines) or each["cite"]["profile"] or by_time, each
