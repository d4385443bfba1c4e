"""Numbers about what happens below file systems: deleted files, arrays, sessions, ceilings of a volume."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from collectors.contract import Values
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure
from culprit.domain.rules.readings import measure_spans_s
from culprit.domain.rules.view import HostView, TableRow, ViewSeries

#: Readings that show a ceiling, and the queue that shows that the device had enough to do in each of them.
_MIN_READINGS = 10
_MIN_QUEUE = 2.0
#: Fewer readings show it too if requests are more regular than chance. Of so few, chance makes 1 in 100 as regular.
_FEW_READINGS = 5
_REGULAR_Z = -2.326


def _deleted(view: HostView) -> list[Measurement]:
    """Measure what deleted files hold of each file system that was checked."""
    held: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("deleted_files"):
        held[row.text("mount")].append(row)
    results = []
    for row in view.rows("checked_mounts"):
        mount, size_kb = row.text("mount"), row.number("size_kb")
        if not size_kb:
            continue
        rows = sorted(held.get(mount, ()), key=lambda item: -(item.number("held_kb") or 0.0))
        total_kb = sum(item.number("held_kb") or 0.0 for item in rows)
        detail: Detail = {
            "mount": mount,
            "held_mb": round(total_kb / 1024),
            "comm": rows[0].text("comm") if rows else "",
            "pid": rows[0].text("pid") if rows else "",
            "largest": rows[0].text("largest") if rows else "",
        }
        cites = (row.citation, *(item.citation for item in rows))
        results.append(Measurement(100.0 * total_kb / size_kb, (("mount", mount),), cites, 1, (), detail))
    return results


def _used(view: HostView) -> list[Measurement]:
    return [
        Measurement(100.0 * used / size, (("mount", row.text("mount")),), (row.citation,), 1)
        for row in view.rows("checked_mounts")
        if (size := row.number("size_kb")) and (used := row.number("used_kb")) is not None
    ]


def _rebuilding(view: HostView) -> list[Measurement]:
    """Measure 1 for an array that copies or checks its members; one whose turn has not come is idle."""
    return [
        Measurement(
            float(row.number("done_pct") is not None),
            (("array", row.text("array")),),
            (row.citation,),
            1,
            (),
            {
                "array": row.text("array"),
                "action": row.text("action"),
                "done_pct": row.text("done_pct") or "?",
                "mb_per_s": round((row.number("speed") or 0.0) / 1024),
            },
        )
        for row in view.rows("arrays")
    ]


def _lost_sessions(view: HostView) -> list[Measurement]:
    return [
        Measurement(
            row.number("failed") or 0.0,
            (("device", row.text("name")),),
            (row.citation,),
            1,
            (),
            {"device": row.text("name"), "kind": row.text("kind"), "state": row.text("state")},
        )
        for row in view.rows("block_sessions")
    ]


def _ceilings(view: HostView) -> list[Measurement]:
    """Measure how little the throughput of a device varies while requests queue, in percent of its mean.

    Requests or bytes, the one that varies less: a volume is limited in one of them. Only readings count in which the
    device had a queue; a load that varies then shows in the queue and not in the throughput. Few readings count if the
    number of requests varies less than that of independent ones would (index of dispersion: Cox and Lewis 1966).
    """
    results = []
    for queue in view.series_of("disk.aqu"):
        dev = queue.labels.get("dev", "")
        rates = {
            "requests": _sum_series(view, dev, ("disk.r_iops", "disk.w_iops"), len(queue.t_ns)),
            "MB": _sum_series(view, dev, ("disk.read_mb_s", "disk.write_mb_s"), len(queue.t_ns)),
        }
        waiting = queue.values[:, 0] >= _MIN_QUEUE
        count = int(waiting.sum())
        if count < _MIN_READINGS:
            rate, spans_s = rates["requests"], measure_spans_s(queue.t_ns)
            if count < _FEW_READINGS or rate is None or not _is_regular((rate * spans_s)[waiting]):
                continue
        spreads = {
            name: (
                100.0 * float(values[waiting].std() / values[waiting].mean()),
                float(values[waiting].mean()),
            )
            for name, values in rates.items()
            if values is not None and np.isfinite(values[waiting]).all() and values[waiting].mean() > 0
        }
        if not spreads:
            continue
        name = min(spreads, key=lambda item: spreads[item][0])
        detail: Detail = {"dev": dev, "rate": round(spreads[name][1], 1), "of": name}
        results.append(
            Measurement(
                spreads[name][0], (("dev", dev),), (_cite_all(queue),), int(waiting.sum()), (), detail
            )
        )
    return results


def _is_regular(requests: Values) -> bool:
    """Return whether numbers of requests vary less than independent requests would, by chance in 1 of 100 cases.

    The bound is that of the chi-square distribution, by the approximation of Wilson and Hilferty (1931).
    """
    mean, freedom = float(requests.mean()), len(requests) - 1
    if not mean > 0:
        return False
    dispersion = float(((requests - mean) ** 2).sum()) / mean
    spread = 2.0 / (9.0 * freedom)
    return dispersion <= freedom * (1.0 - spread + _REGULAR_Z * math.sqrt(spread)) ** 3


def _sum_series(view: HostView, dev: str, metrics: tuple[str, ...], count: int) -> Values | None:
    columns = [
        series.values[:, 0]
        for metric in metrics
        for series in view.series_of(metric, {"dev": dev})
        if len(series.t_ns) == count
    ]
    return np.asarray(np.sum(columns, axis=0), np.float64) if columns else None


def _cite_all(series: ViewSeries) -> Citation:
    lines = () if series.lines is None else tuple(int(line) for line in series.lines)
    citation = series.citation
    return Citation(citation.run, citation.collector, citation.artifact, citation.part, lines)


DELETED = build_measure(
    "mount.deleted_pct",
    "pct",
    "Space that deleted files hold",
    "已删除文件占用的空间",
    (("deleted_files",),),
    _deleted,
)
USED = build_measure(
    "mount.checked_used_pct", "pct", "Space used", "空间使用率", (("deleted_files",),), _used
)
REBUILDING = build_measure(
    "arrays.rebuilding", "count", "Arrays that rebuild", "正在重建的阵列", (("kernel_state",),), _rebuilding
)
LOST_SESSIONS = build_measure(
    "disks.sessions_lost",
    "count",
    "Disks whose connection is lost",
    "连接已断开的磁盘",
    (("kernel_state",),),
    _lost_sessions,
)
CEILING = build_measure(
    "disk.throughput_variation_pct",
    "pct",
    "Variation of the throughput while requests queue",
    "排队时的吞吐波动",
    (("iostat",),),
    _ceilings,
)
