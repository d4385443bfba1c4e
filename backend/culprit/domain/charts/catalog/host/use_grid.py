"""Chart of utilization, saturation and errors of each resource of the host, from the findings of the rules."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.domain.charts.chart import ChartBuilder, RunChart
from culprit.domain.charts.use_grid import build_use_grid
from culprit.domain.rules.view import HostView, request_view

_TITLE = Text("Utilization, saturation, errors", "利用率、饱和度、错误")


def _build_charts(view: HostView) -> Sequence[RunChart]:
    if not view.findings:
        return ()
    return [RunChart("use-grid", "use-grid", _TITLE, body=build_use_grid(view.findings))]


BUILDER = ChartBuilder(
    id="use-grid",
    title=_TITLE,
    summary=Text(
        "Each cell shows its most important finding. Hatched cells were not checked, so they may be unhealthy."
        " Saturation and errors count for more than utilization, which may be high and harmless.",
        "每格是最能说明该格的发现。斜线格未检查，不代表正常。饱和度与错误比利用率更能说明问题；利用率高未必有害。",
    ),
    reads=request_view(findings=True),
    collectors=("cpu_stat", "meminfo", "iostat", "net_dev"),
    rules=(),
    build=_build_charts,
)
