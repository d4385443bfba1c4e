"""Text that is data, in HTML, in Markdown and in a block of JSON inside HTML."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from collectors.parse.limits import printable

_MARKS = re.compile(r"([\\`*_\[\]<>|~&]|:(?=//)|^(?:[#+=-]|\d+(?=[.)])))")
_TURNS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile(r"[\r\n\u2028\u2029\x85\x0b\x0c]+")


def plain(text: object) -> str:
    """Text without what cannot be seen: control characters, and marks that turn the direction of writing around."""
    return _TURNS.sub("\ufffd", printable(str(text)))


def html(text: object) -> str:
    """Between tags or inside a quoted attribute."""
    return escape(plain(text), quote=True)


def markdown(text: object) -> str:
    """One line that no reader takes for markup, a link, a table cell or the beginning of a block."""
    return _MARKS.sub(r"\\\1", plain(_LINE_ENDS.sub(" ", str(text))))


def fenced(lines: list[str]) -> str:
    """Lines as a block of code: the fence is longer than any run of backticks inside."""
    body = "\n".join(plain(_LINE_ENDS.sub(" ", line)) for line in lines)
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def data_block(value: Any) -> str:
    """JSON for a script element that is never run: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
