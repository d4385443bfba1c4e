"""The forecast follows the size of the host and its speed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from collectors.contract import Script, Tier
from collectors.cost import WORK, HostSize, count_starts, forecast_cpu_pct, forecast_cpu_s
from collectors.parse.proc.preflight import parse_preflight
from collectors.plans import PLANS
from collectors.registry import COLLECTORS
from collectors.runner import preflight

LOOK = {item.id: 10 for item in PLANS["triage"].collectors}
SMALL = HostSize()


def test_work_is_of_known_collectors_and_shares() -> None:
    shares = {m.share for item in COLLECTORS.values() for m in item.methods if isinstance(m, Script)}
    assert WORK.keys() <= COLLECTORS.keys() | shares


def test_programs_are_counted_outside_of_awk_text() -> None:
    assert count_starts("grep -s x /proc/*/stat | awk '{ sort = cat; print | \"sort\" }' | head -n 3") == 3
    assert count_starts("echo /bin/cat; cat_x=1; $cat") == 0


@pytest.mark.parametrize(
    "field", ["processes", "threads", "sockets", "open_files", "cgroups", "start_us", "read_us"]
)
def test_a_larger_or_slower_host_costs_more_and_no_more_than_in_proportion(field: str) -> None:
    large = replace(SMALL, **{field: 10 * getattr(SMALL, field)})
    small_s, large_s = (sum(forecast_cpu_s(LOOK, size).values()) for size in (SMALL, large))
    assert small_s < large_s < 10 * small_s


def test_the_correction_of_the_last_run_is_applied() -> None:
    twice = replace(SMALL, correction=2.0)
    assert forecast_cpu_pct(LOOK, twice) == pytest.approx(2 * forecast_cpu_pct(LOOK, SMALL))


def test_a_shared_script_is_counted_once() -> None:
    together = sum(forecast_cpu_s({"ss": 10, "calls": 10, "ss_listen": 10}, SMALL).values())
    alone = sum(forecast_cpu_s({"ss": 10}, SMALL).values())
    assert together == pytest.approx(alone)


def test_other_tiers_cost_what_they_state() -> None:
    name = next(item.id for item in COLLECTORS.values() if item.tier is Tier.STANDARD)
    stated = COLLECTORS[name].cost.cpu_pct
    runner = forecast_cpu_pct({"meminfo": 10}, SMALL)
    assert stated < forecast_cpu_pct({name: 10}, SMALL) < stated + runner + 1


def test_the_preflight_check_measures_the_size_of_this_host() -> None:
    done = subprocess.run(["/bin/sh", "-s"], input=preflight.PROGRAM, capture_output=True, check=True)
    facts = parse_preflight(done.stdout)
    processes = sum(path.name.isdigit() for path in Path("/proc").iterdir())
    assert 0.5 * processes < HostSize.of(facts).processes < 2 * processes
    assert 50 < HostSize.of(facts).start_us < 50_000
    assert facts["threads"] >= facts["processes"] * 0.9 or os.getpid() == 1
    assert sys.maxsize > facts["sockets"] >= 0 < facts["cgroups"]
    assert facts["open_files"] > 100
    assert facts["took_ms"] < 10_000
