"""Compare an unhealthy host with healthy peers that were captured at the same time.

Facts, settings, limits and cpusets are compared by equality, metrics by the modified z-score (five peers or more) or
against the median (fewer), stacks by their share of samples. Differences are ranked by their surprise score: a value
on which all peers agree comes first; a value in which the peers differ among themselves is noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from culprit.domain.profiles.search import list_top_functions
from culprit.domain.profiles.stacks import SampleFilter
from culprit.domain.rules.peers import score_outlier
from culprit.domain.rules.view import HostView
from culprit.json_types import Json

LEAST_SHARE_POINTS = 5.0
MAX_DIFFERENCES = 40
#: Facts that identify the host, or count since boot or during a capture. They always differ and are ignored.
_OWN = ("boot_id", "uptime_s", "target", "machine_id", "hostname", "perf_reference")
_COUNTING = (
    "fs.file-nr", "net.netfilter.nf_conntrack_count", "fs.aio-nr", "app_log_odd", "app_log_seen",
    "app_log_window_s", "proc_io_processes", "tcp_samples",
)  # fmt: skip
#: Tables of settings, with the columns that identify a row and the columns that are compared.
_SETTINGS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cgroup_cpu": (("path",), ("quota_cores",)),
    "cgroup_mem": (("path",), ("limit_kb",)),
    "cgroup_cpuset": (("path",), ("cpus", "mems", "mismatch")),
    "limits": (("name", "scope"), ("max",)),
    "block_devices": (("dev",), ("read_ahead_kb", "scheduler")),
    "links": (("dev",), ("mtu", "speed", "duplex", "operstate")),
    "qdiscs": (("dev", "handle"), ("kind", "options")),
}


def compare_with_peers(view: HostView, host_views: Mapping[str, HostView]) -> list[Json]:
    """Return the differences, most surprising first: {kind, name, local, peers, surprise_score, agreement}.

    `peers` has the values of the peers by name. `surprise_score` is 0..1; `agreement` is the share of equal peers.
    """
    results = [
        *_facts(view, host_views),
        *_settings(view, host_views),
        *_metrics(view, host_views),
        *_stacks(view, host_views),
    ]
    results.sort(key=lambda item: -item["surprise_score"])
    return results[:MAX_DIFFERENCES]


def _facts(view: HostView, host_views: Mapping[str, HostView]) -> Iterator[Json]:
    """Yield differences of the facts that both sides collected; peers take no part in later stages."""
    requested_host_views = {name for host_view in host_views.values() for name in host_view.facts}
    local = dict(_flat({name: fact for name, fact in view.facts.items() if name in requested_host_views}))
    peers = {name: dict(_flat(peer.facts)) for name, peer in host_views.items()}
    for key in sorted(local.keys() | {key for facts in peers.values() for key in facts}):
        yield from _unlike(
            "fact", key, local.get(key), {name: facts.get(key) for name, facts in peers.items()}
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


def _settings(view: HostView, host_views: Mapping[str, HostView]) -> Iterator[Json]:
    """Yield differences of settings that a peer has too; a group or device of another name is no difference."""
    local = _settings_of(view)
    peers = {name: _settings_of(peer) for name, peer in host_views.items()}
    for key in sorted(local.keys() & {key for settings in peers.values() for key in settings}):
        yield from _unlike("setting", key, local[key], {name: each.get(key) for name, each in peers.items()})


def _settings_of(view: HostView) -> dict[str, object]:
    results: dict[str, object] = {}
    for kind, (names, compared) in _SETTINGS.items():
        for row in view.rows(kind):
            at = "/".join(row.text(name) for name in names)
            results |= {f"{kind}[{at}].{name}": row.cells.get(name) for name in compared}
    return results


def _unlike(kind: str, name: str, local: object, peers: Mapping[str, object]) -> Iterator[Json]:
    """Yield the difference of a value that is compared by equality, if most peers agree."""
    values = list(peers.values())
    if local in values or not values:
        return
    most = max(values.count(value) for value in values)
    agreement = most / len(values)
    if agreement <= 0.5 and len(values) > 1:
        return
    yield {
        "kind": kind, "name": name, "local": local, "peers": dict(peers), "agreement": agreement,
        "surprise_score": 0.5 + agreement / 2,
    }  # fmt: skip


def _metrics(view: HostView, host_views: Mapping[str, HostView]) -> Iterator[Json]:
    local = _means(view)
    peers = {name: _means(peer) for name, peer in host_views.items()}
    for key, value in local.items():
        values = {name: each[key] for name, each in peers.items() if key in each}
        score = score_outlier(value, list(values.values()))
        if score > 1:
            yield {
                "kind": "metric", "name": key, "local": value, "peers": values, "agreement": 1.0,
                "surprise_score": 1 - math.exp(-score / 10),
            }  # fmt: skip


def _means(view: HostView) -> dict[str, float]:
    results: dict[str, float] = {}
    for series in view.series:
        values = series.values[~np.isnan(series.values)]
        labels = ",".join(f"{k}={v}" for k, v in sorted(series.labels.items()))
        if len(values):
            results[f"{series.metric}{{{labels}}}" if labels else series.metric] = float(values.mean())
    return results


def _stacks(view: HostView, host_views: Mapping[str, HostView]) -> Iterator[Json]:
    local = _shares(view)
    if not local:
        return
    peers = {name: shares for name, peer in host_views.items() if (shares := _shares(peer))}
    for frame, share in local.items():
        values = {name: shares.get(frame, 0.0) for name, shares in peers.items()}
        if values and share - max(values.values()) > LEAST_SHARE_POINTS:
            yield {
                "kind": "stack", "name": frame, "local": share, "peers": values, "agreement": 1.0,
                "surprise_score": min(0.99, (share - max(values.values())) / 50),
            }  # fmt: skip


def _shares(view: HostView) -> dict[str, float]:
    """Return the percentage of the busy samples per innermost function."""
    stacks = view.stacks.get("on_cpu")
    if stacks is None:
        return {}
    seen = stacks.profile.view(SampleFilter(hide_idle=True))
    return (
        {row.frame: 100.0 * row.own / seen.weight for row in list_top_functions(seen, 200)}
        if seen.weight
        else {}
    )
