"""Sanitize external text so that it can be displayed next to measured data. Pure."""

from __future__ import annotations

import re

from collectors.profiles.limits import to_printable

REPLACEMENT = "\ufffd"
#: Marks and controls of direction, and the byte order mark: they are not displayed and change the text around them.
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def replace_hidden(text: str) -> str:
    """Replace control characters, marks of direction and what XML cannot contain; white space is replaced too."""
    return _DIRECTION.sub(REPLACEMENT, to_printable(text))


def sanitize_line(text: str, most: int) -> str:
    """Return one line of at most `most` characters with collapsed white space and replaced unprintable characters.

    These are control characters, bidirectional control characters and lone surrogates, which could change the
    appearance of the surrounding text.
    """
    return _limit_length(_replace_unprintable(" ".join(text.split())), most)


def sanitize_lines(text: str, most: int) -> str:
    """Sanitize a text as `sanitize_line`, but keep line breaks and spaces. `most` limits the whole text."""
    lines = (
        _replace_unprintable(line.replace("\t", "    ").rstrip())
        for line in text.replace("\r\n", "\n").split("\n")
    )
    return _limit_length("\n".join(lines).strip("\n"), most)


def _replace_unprintable(text: str) -> str:
    return "".join(item if item.isprintable() else REPLACEMENT for item in text)


def _limit_length(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
