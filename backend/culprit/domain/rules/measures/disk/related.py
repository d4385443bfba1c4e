"""What is told beside the errors of disks; none of these is compared with anything."""

from __future__ import annotations

from collections import defaultdict

from culprit.core.rules.contract import Citation, Measured, Subject
from culprit.core.rules.measures.derived import derived
from culprit.core.rules.view import View


def _lines(view: View, *kinds: str) -> list[Measured]:
    """Lines of the kernel's log about each device: like ones within a minute are one error of many lines."""
    counted: defaultdict[str, float] = defaultdict(float)
    cites: defaultdict[str, list[Citation]] = defaultdict(list)
    for one in view.happened(*kinds):
        dev, told = str(one.params.get("dev", "")), one.params.get("count", 1)
        counted[dev] += float(told) if isinstance(told, int | float) else 1.0
        cites[dev].append(one.cite)
    return [
        Measured(count, (("dev", dev),), tuple(cites[dev][:4]), int(count)) for dev, count in counted.items()
    ]


def _refused(view: View) -> list[Measured]:
    """Commands that a disk refused in the window, by its driver's count."""
    return [
        Measured(grown, (("dev", row.text("device")),), (row.cite,))
        for row in view.rows("disks_health")
        if row.text("source") == "ioerr" and (grown := row.number("delta")) is not None
    ]


def _counted(view: View) -> list[Measured]:
    """What the source that calls a disk or an array ill has counted: members that an array lacks."""
    found: dict[Subject, Measured] = {}
    for row in view.rows("disks_health"):
        errors, subject = row.number("errors"), (("dev", row.text("device")),)
        if errors is not None and (subject not in found or errors > found[subject].value):
            found[subject] = Measured(errors, subject, (row.cite,))
    return list(found.values())


ERROR_LINES = derived(
    "disk.error_lines",
    "count",
    "Lines about errors of the disk",
    "磁盘错误日志行数",
    (("kmsg",),),
    lambda view: _lines(view, "io_error", "io_timeout"),
)
FS_ERROR_LINES = derived(
    "fs.error_lines",
    "count",
    "Lines about errors of the file system",
    "文件系统错误日志行数",
    (("kmsg",),),
    lambda view: _lines(view, "fs_error"),
)
REFUSED_COMMANDS = derived(
    "disk.refused_commands",
    "count",
    "Commands that the disk refused",
    "磁盘拒绝的命令数",
    (("disks_health",),),
    _refused,
)
COUNTED_ERRORS = derived(
    "disk.counted_errors",
    "count",
    "Errors or lost members that were counted",
    "累计错误数或缺失成员数",
    (("disks_health",),),
    _counted,
)
