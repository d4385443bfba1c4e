"""Related numbers of disk errors, without thresholds."""

from __future__ import annotations

from collections import defaultdict

from culprit.domain.rules.finding import Citation, Measurement, Subject
from culprit.domain.rules.measures.derived import build_measure, merge_citations
from culprit.domain.rules.view import HostView


def _lines(view: HostView, *kinds: str) -> list[Measurement]:
    """Lines of the kernel's log about each device: like ones within a minute are one error of many lines."""
    counted: defaultdict[str, float] = defaultdict(float)
    cites: defaultdict[str, list[Citation]] = defaultdict(list)
    for item in view.events_of(*kinds):
        dev, reported = str(item.params.get("dev", "")), item.params.get("count", 1)
        counted[dev] += float(reported) if isinstance(reported, int | float) else 1.0
        cites[dev].append(item.citation)
    return [
        Measurement(count, (("dev", dev),), merge_citations(cites[dev]), int(count))
        for dev, count in counted.items()
    ]


def _refused(view: HostView) -> list[Measurement]:
    """Commands that a disk refused in the window, by its driver's count."""
    return [
        Measurement(grown, (("dev", row.text("device")),), (row.citation,))
        for row in view.rows("disks_health")
        if row.text("source") == "ioerr" and (grown := row.number("delta")) is not None
    ]


def _counted(view: HostView) -> list[Measurement]:
    """What the source that calls a disk or an array ill has counted: members that an array lacks."""
    measurements: dict[Subject, Measurement] = {}
    for row in view.rows("disks_health"):
        errors, subject = row.number("errors"), (("dev", row.text("device")),)
        if errors is not None and (subject not in measurements or errors > measurements[subject].value):
            measurements[subject] = Measurement(errors, subject, (row.citation,))
    return list(measurements.values())


ERROR_LINES = build_measure(
    "disk.error_lines",
    "count",
    "Lines about errors of the disk",
    "磁盘错误日志行数",
    (("kmsg",),),
    lambda view: _lines(view, "io_error", "io_timeout"),
)
FS_ERROR_LINES = build_measure(
    "fs.error_lines",
    "count",
    "Lines about errors of the file system",
    "文件系统错误日志行数",
    (("kmsg",),),
    lambda view: _lines(view, "fs_error"),
)
REFUSED_COMMANDS = build_measure(
    "disk.refused_commands",
    "count",
    "Commands that the disk refused",
    "磁盘拒绝的命令数",
    (("disks_health",),),
    _refused,
)
COUNTED_ERRORS = build_measure(
    "disk.counted_errors",
    "count",
    "Errors or lost members that were counted",
    "累计错误数或缺失成员数",
    (("disks_health",),),
    _counted,
)
