"""Utilisation, saturation and errors of each resource of the host, as the rules see them."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.contract import Text
from culprit.core.rules.view import View, reads
from culprit.core.visuals.contract import Builder, Visual
from culprit.core.visuals.use import grid

_TITLE = Text("Utilisation, saturation, errors", "利用率、饱和度、错误")


def _build(view: View) -> Sequence[Visual]:
    if not view.findings:
        return ()
    return [Visual("use-grid", "use-grid", _TITLE, body=grid(view.findings))]


BUILDER = Builder(
    id="use-grid",
    title=_TITLE,
    says=Text(
        "Each cell is the finding that says most about it. Hatched cells were not looked at: they are not known to be"
        " well. Saturation and errors count for more than utilisation, which may be high and harmless.",
        "每格是最能说明该格的发现。斜线格没有查看，并不代表正常。饱和度与错误比利用率更能说明问题；利用率高未必有害。",
    ),
    reads=reads(findings=True),
    collectors=("cpu_stat", "meminfo", "iostat", "net_dev"),
    rules=(),
    build=_build,
)
