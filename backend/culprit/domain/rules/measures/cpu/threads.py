"""Single threads by CPU."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.contract import Text
from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView


def _hot(view: HostView) -> Iterator[Measurement]:
    """Percent of one CPU of each thread that was looked at."""
    for row in view.rows("threads"):
        cpu, pid, tid = (row.number(name) for name in ("cpu_pct", "pid", "tid"))
        if cpu is not None and pid is not None and tid is not None:
            subject = (("pid", str(int(pid))), ("tid", str(int(tid))))
            detail: dict[str, str | int | float] = {"tid": int(tid), "name": row.text("comm")}
            yield Measurement(cpu, subject, (row.citation,), int(row.number("samples") or 0), (), detail)


HOT_THREAD = Measure(
    id="proc.thread_cpu_pct",
    unit="pct",
    title=Text("CPU of one thread", "单个线程的 CPU 占用"),
    needs=(("proc_threads",),),
    read=lambda view: list(_hot(view)),
)
