"""What is unusual in a bad host beside healthy twins that were captured at the same time.

Facts, settings, limits and cpusets are compared by equality, metrics by the modified z-score (five twins or more) or
against the median (fewer), stacks by their share of samples. What differs is ranked by surprise: something that all
twins agree on and the bad host does not comes first; something in which the twins differ among themselves is noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from culprit.core.rules.peers import outlying
from culprit.core.rules.view import View
from culprit.core.stack_search import top
from culprit.core.stacks import Filter

Json = dict[str, Any]
LEAST_SHARE_POINTS = 5.0
MAX_DIFFERENCES = 40
#: Facts that name the machine itself, or count since boot or during a capture: they differ always and mean nothing.
_OWN = ("boot_id", "uptime_s", "target", "machine_id", "hostname", "perf_reference")
_COUNTING = (
    "fs.file-nr", "net.netfilter.nf_conntrack_count", "fs.aio-nr", "app_log_odd", "app_log_seen",
    "app_log_window_s", "proc_io_processes", "tcp_looks",
)  # fmt: skip
#: Tables that say how things are set up, with the columns that name a row and those that are compared.
_SETTINGS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cgroup_cpu": (("path",), ("quota_cores",)),
    "cgroup_mem": (("path",), ("limit_kb",)),
    "cgroup_cpuset": (("path",), ("cpus", "mems", "mismatch")),
    "limits": (("name", "scope"), ("max",)),
    "block_devices": (("dev",), ("read_ahead_kb", "scheduler")),
    "links": (("dev",), ("mtu", "speed", "duplex", "operstate")),
    "qdiscs": (("dev", "handle"), ("kind", "options")),
}


def differences(view: View, twins: Mapping[str, View]) -> list[Json]:
    """Differences, the most surprising first: {kind, name, here, there, surprise, agree}.

    `there` holds the values of the twins by name; `agree` of `surprise` in 0..1 is how alike the twins are.
    """
    found = [*_facts(view, twins), *_settings(view, twins), *_metrics(view, twins), *_stacks(view, twins)]
    found.sort(key=lambda one: -one["surprise"])
    return found[:MAX_DIFFERENCES]


def _facts(view: View, twins: Mapping[str, View]) -> Iterator[Json]:
    """What both sides were asked for: twins take no part in later stages."""
    asked = {name for twin in twins.values() for name in twin.facts}
    here = dict(_flat({name: fact for name, fact in view.facts.items() if name in asked}))
    there = {name: dict(_flat(twin.facts)) for name, twin in twins.items()}
    for key in sorted(here.keys() | {key for facts in there.values() for key in facts}):
        yield from _unlike(
            "fact", key, here.get(key), {name: facts.get(key) for name, facts in there.items()}
        )


def _flat(facts: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in facts.items():
        if key in _OWN or key in _COUNTING:
            continue
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, str | int | bool):
            yield name, value


def _settings(view: View, twins: Mapping[str, View]) -> Iterator[Json]:
    """Only of what some twin has too: a group or a device of another name is not set up differently."""
    here = _settings_of(view)
    there = {name: _settings_of(twin) for name, twin in twins.items()}
    for key in sorted(here.keys() & {key for settings in there.values() for key in settings}):
        yield from _unlike("setting", key, here[key], {name: each.get(key) for name, each in there.items()})


def _settings_of(view: View) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind, (names, compared) in _SETTINGS.items():
        for row in view.rows(kind):
            at = "/".join(row.text(name) for name in names)
            found |= {f"{kind}[{at}].{name}": row.cells.get(name) for name in compared}
    return found


def _unlike(kind: str, name: str, here: object, there: Mapping[str, object]) -> Iterator[Json]:
    """A difference in something that is equal or not: surprising where all twins agree."""
    values = list(there.values())
    if here in values or not values:
        return
    most = max(values.count(one) for one in values)
    agree = most / len(values)
    if agree <= 0.5 and len(values) > 1:
        return
    yield {
        "kind": kind, "name": name, "here": here, "there": dict(there), "agree": agree, "surprise": 0.5 + agree / 2,
    }  # fmt: skip


def _metrics(view: View, twins: Mapping[str, View]) -> Iterator[Json]:
    here = _means(view)
    there = {name: _means(twin) for name, twin in twins.items()}
    for key, value in here.items():
        values = {name: each[key] for name, each in there.items() if key in each}
        score = outlying(value, list(values.values()))
        if score > 1:
            yield {
                "kind": "metric", "name": key, "here": value, "there": values, "agree": 1.0,
                "surprise": 1 - math.exp(-score / 10),
            }  # fmt: skip


def _means(view: View) -> dict[str, float]:
    found: dict[str, float] = {}
    for lane in view.lanes:
        values = lane.values[~np.isnan(lane.values)]
        labels = ",".join(f"{k}={v}" for k, v in sorted(lane.labels.items()))
        if len(values):
            found[f"{lane.metric}{{{labels}}}" if labels else lane.metric] = float(values.mean())
    return found


def _stacks(view: View, twins: Mapping[str, View]) -> Iterator[Json]:
    here = _shares(view)
    if not here:
        return
    there = {name: shares for name, twin in twins.items() if (shares := _shares(twin))}
    for frame, share in here.items():
        values = {name: shares.get(frame, 0.0) for name, shares in there.items()}
        if values and share - max(values.values()) > LEAST_SHARE_POINTS:
            yield {
                "kind": "stack", "name": frame, "here": share, "there": values, "agree": 1.0,
                "surprise": min(0.99, (share - max(values.values())) / 50),
            }  # fmt: skip


def _shares(view: View) -> dict[str, float]:
    """Percent of the busy samples in which a function is innermost."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return {}
    seen = stacks.profile.view(Filter(hide_idle=True))
    return {row.frame: 100.0 * row.own / seen.weight for row in top(seen, 200)} if seen.weight else {}
