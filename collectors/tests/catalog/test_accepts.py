"""Accepted connections of one port among others. The texts are synthetic."""

from __future__ import annotations

import pytest

from collectors.catalog.network.accepts import COLLECTOR
from collectors.contract import Context, Parsed
from collectors.tests.support import SIMPLE, part


def parsed(*checks: str) -> Parsed:
    text = "".join(f"@ {at} {1000 + at}000000000 accepts\n{check}\n" for at, check in enumerate(checks))
    return COLLECTOR.parse({"samples": part(text)}, Context(SIMPLE, "proc", 8.0, {}))


@pytest.mark.parametrize(
    ("samples", "per_s"),
    [
        pytest.param(("opens 0 new 1 9 0", "opens 40 new 1 3 0"), 40.0, id="the-only-port-has-all-of-them"),
        pytest.param(("opens 0 new 1 9 9", "opens 40 new 1 3 1"), 30.0, id="as-the-new-sockets-are-divided"),
        pytest.param(("opens 0 new 1 0 9", "opens 40 new 1 0 10"), 30.0, id="too-short-to-be-seen"),
        pytest.param(("opens 0 new 1 0 9", "opens 4 new 1 0 10"), 0.0, id="never-less-than-none"),
        pytest.param(("opens 0 new 1 0 9", "opens 40 "), 40.0, id="sampling-was-stopped"),
        pytest.param(
            ("opens 5000 new 1 0 0", "opens 40 new 1 9 0", "opens 50 new 1 9 0"), 10.0, id="counted-anew"
        ),
    ],
)
def test_accept_rate_of_port(samples: tuple[str, ...], per_s: float) -> None:
    result = parsed(*samples)
    (series,) = result.series
    assert series.values[-1, 0] == per_s
    assert series.labels == {"proxy": "accepts"}
    assert result.facts["port_alone"] == (samples[-1].endswith(" 0") or samples[-1].endswith("40 "))


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (("opens 0 new 0 0 9", "opens 40 new 0 0 9"), "warning.nobody_listens"),
        (("opens 0 new 1 0 9",), "warning.too_few_samples"),
        (("opens x", "opens 1 2 3", "", "opens -1"), "warning.too_few_samples"),
    ],
)
def test_accept_rate_unreadable(samples: tuple[str, ...], why: str) -> None:
    result = parsed(*samples)
    assert (result.readable, result.warnings[-1].key) == (False, why)
