"""Output of `./culprit diagnose`."""

from __future__ import annotations

import pytest
from culprit.cli.commands.diagnose import _print_result

RULE = {
    "id": "F-X", "title": {"en": "Killed at the limit"},
    "related": [{"measure": "cgroup.memory_limit_mb", "title": {"en": "Memory limit of the group"}, "unit": "mb"}],
}  # fmt: skip
CAUSE = {"id": "c", "title": {"en": "Out of memory"}, "fix": {"en": "Raise it."}, "risk": {"en": "None."}}


class Answers:
    """A server with the catalogs of rules and causes."""

    @staticmethod
    def get(path: str) -> list[dict]:
        return [RULE] if path == "/rules" else [CAUSE]


def number(metric: str, value: float, unit: str, op: str | None, threshold: float | None) -> dict:
    where = {"collector": "cgroup_mem", "part": "stdout", "lines": [15]}
    return {"finding": "F-X", "metric": metric, "value": value, "unit": unit, "op": op, "threshold": threshold,
            "subject": {"cgroup": "/app"}, "locator": where}  # fmt: skip


EMPTY: dict[str, list[object]] = {
    name: []
    for name in (
        "ruled_out", "not_checked", "not_collected", "inconclusive", "differences", "context",
        "consumers", "deeper",
    )
}  # fmt: skip


def test_a_number_that_was_compared_with_nothing_is_printed_under_its_own_name(capsys) -> None:
    reported = [
        number("cgroup.kills", 2, "count", ">", 0),
        number("cgroup.memory_limit_mb", 256, "mb", None, None),
    ]
    named = {"id": "c", "confidence": "likely", "scope": {}, "evidence": reported, "explains": []}
    result = {"causes": [named], "link": "https://x/1", **EMPTY}
    _print_result(Answers(), {"result": result, "host": {"name": "h"}, "elapsed_s": 9.0, "stages": []})  # type: ignore[arg-type]
    out = capsys.readouterr().out.splitlines()
    assert out[1:3] == [
        "  Killed at the limit cgroup=/app: cgroup.kills = 2 count > 0 [cgroup_mem:stdout:15]",
        "  Memory limit of the group cgroup=/app: cgroup.memory_limit_mb = 256 mb [cgroup_mem:stdout:15]",
    ]


def test_answer_without_cause_prints_leads(capsys: pytest.CaptureFixture[str]) -> None:
    result = {
        "causes": [],
        "link": "https://x/1",
        **EMPTY,
        "consumers": [
            {"resource": "cpu", "name": "zstd", "pid": 7, "amount": 133.0, "unit": "pct", "share_pct": 81.0}
        ],
        "deeper": [
            {"collector": "perf_record", "seconds": 8, "tier": "standard", "cpu_pct": 1.5, "decides": ["hot"]}
        ],
    }
    _print_result(Answers(), {"result": result, "host": {"name": "h"}, "elapsed_s": 9.0, "stages": []})  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines()[:3] == [
        "No cause found on h.",
        "uses most cpu: zstd (7), 133 pct, 81 %",
        "deeper look: perf_record (8 s, tier standard, 1.5 % of a CPU) decides hot",
    ]


def test_time_of_services_is_printed_with_what_is_unexplained(capsys: pytest.CaptureFixture[str]) -> None:
    share = {"pct": 92.9, "low_pct": 88.1, "high_pct": 96.0}
    named = {"id": "c", "confidence": "likely", "scope": {}, "evidence": [], "explains": [], "share": share}
    account = {
        "service": "items", "subject": {"pid": "7"}, "sample_count": 1280,
        "shares": [{"activity": "lock", "target": "0x7f", "share": share}],
    }  # fmt: skip
    result = {"causes": [named], "link": "x", **EMPTY, "time_accounts": [account], "unexplained_pct": 7.1}
    _print_result(Answers(), {"result": result, "host": {"name": "h"}, "elapsed_s": 9.0, "stages": []})  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines()[:3] == [
        "time of items (pid=7): lock 0x7f 93 % [88, 96]; 1280 samples",
        "not explained by a likely cause: 7 % of the time of the most harmed service",
        "LIKELY: Out of memory [c], explains 93 % [88, 96] of the time",
    ]
