"""Write a flame graph as SVG. Names are untrusted; every text is escaped.

The file is generated in pieces, so that it is never in memory as a whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from xml.sax.saxutils import escape

from culprit.domain.profiles.tree import PRUNED, RenderedTree
from culprit.domain.text.sanitize import replace_hidden

_ROW_PX, _CHAR_PX, _PAD_PX = 16, 6.6, 10
_HUES = {"kernel": 28, "user": 8, "jit": 105, "unknown": 0, "idle": 205, "comm": 45, "root": 45, PRUNED: 0}


def write_svg(rendered_tree: RenderedTree, title: str, width: int = 1200) -> Iterator[str]:
    """Yield a static flame graph with the root at the bottom: rectangles, labels and tooltips.

    It has no script, link or style sheet. The text is well-formed XML for any name: markup is escaped, and characters
    that XML forbids become U+FFFD.
    """
    rows = max(rendered_tree.level, default=0) + 1
    height = rows * _ROW_PX + 2 * _PAD_PX + 24
    usable = width - 2 * _PAD_PX
    total = max(rendered_tree.value[0], 1)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="11">\n'
    )
    yield f"<title>{_escape_text(title)}</title>\n"
    yield f'<rect x="0" y="0" width="{width}" height="{height}" fill="#ffffff"/>\n'
    yield f'<text x="{_PAD_PX}" y="{_PAD_PX + 10}">{_escape_text(title)}</text>\n'
    starts = _compute_starts(rendered_tree)
    for i, level in enumerate(rendered_tree.level):
        x, w = _PAD_PX + starts[i] / total * usable, rendered_tree.value[i] / total * usable
        y = height - _PAD_PX - (level + 1) * _ROW_PX
        name = rendered_tree.name[i]
        module = f" ({rendered_tree.module[i]})" if rendered_tree.module[i] else ""
        share = f"{rendered_tree.value[i]} ({100 * rendered_tree.value[i] / total:.2f}%)"
        yield f"<g><title>{_escape_text(f'{name}{module} {share}')}</title>"
        fill = _choose_color(name, rendered_tree.kind[i])
        yield f'<rect x="{x:.2f}" y="{y}" width="{w:.2f}" height="{_ROW_PX - 1}" fill="{fill}"/>'
        room = int(w / _CHAR_PX)
        if room >= 3:
            label = name if len(name) <= room else name[: room - 2] + ".."
            yield f'<text x="{x + 2:.2f}" y="{y + 11}">{_escape_text(label)}</text>'
        yield "</g>\n"
    yield "</svg>\n"


def _compute_starts(rendered_tree: RenderedTree) -> list[int]:
    """Return the weight to the left of each node, [nodes]."""
    starts: list[int] = []
    edge: list[int] = []  # per level: where the next child of the open node begins
    for level, value in zip(rendered_tree.level, rendered_tree.value, strict=True):
        del edge[level + 1 :]
        start = edge[level] if level < len(edge) else 0
        starts.append(start)
        if level < len(edge):
            edge[level] += value
        else:
            edge.append(start + value)
        edge.append(start)
    return starts


def _escape_text(text: str) -> str:
    return escape(replace_hidden(text), {'"': "&quot;", "'": "&apos;"})


def _choose_color(name: str, kind: str) -> str:
    """Return the constant color of a name; the hue shows the kind. Unknown and pruned frames are gray."""
    shade = zlib.crc32(name.encode("utf-8", "replace")) & 0xFF
    if kind in (PRUNED, "unknown"):
        return f"hsl(0,0%,{78 + shade % 8}%)"
    return f"hsl({_HUES.get(kind, 8) + shade % 20},{70 + shade % 20}%,{64 + shade // 16 % 12}%)"
