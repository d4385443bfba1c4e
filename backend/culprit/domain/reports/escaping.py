"""Escaping of untrusted text for HTML, Markdown and JSON inside HTML."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from culprit.domain.text.sanitize import replace_hidden

_MARKS = re.compile(r"([\\`*_\[\]<>|~&]|:(?=//)|^[#+=-])")
_LIST_NUMBER = re.compile(r"^(\s*\d+)([.)])(?=\s|$)")
_LINE_ENDS = re.compile(r"[\r\n\u2028\u2029\x85\x0b\x0c]+")


def remove_invisible(text: object) -> str:
    """Replace control characters and bidirectional marks; tabs become spaces, and line ends `\\n`."""
    return "\n".join(replace_hidden(line) for line in _LINE_ENDS.split(str(text).expandtabs()))


def escape_html(text: object) -> str:
    """Escape text between tags or inside a quoted attribute."""
    return escape(remove_invisible(text), quote=True)


def escape_markdown(text: object) -> str:
    """Escape one line so that no parser treats it as markup, a link, a table cell or the start of a block."""
    line = _MARKS.sub(r"\\\1", remove_invisible(_LINE_ENDS.sub(" ", str(text))))
    return _LIST_NUMBER.sub(r"\1\\\2", line)


def render_code_block(lines: list[str]) -> str:
    """Render lines as a code block whose fence is longer than any run of backticks inside."""
    body = "\n".join(remove_invisible(_LINE_ENDS.sub(" ", line)) for line in lines)
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def data_block(value: Any) -> str:
    """Render JSON for an inert script element; no content can end the element or start a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
