"""Sanitize external text so that it can be displayed next to measured data. Pure."""

from __future__ import annotations

REPLACED = "\ufffd"


def sanitize_line(text: str, most: int) -> str:
    """Return one line of at most `most` characters with collapsed white space and replaced unprintable characters.

    These are control characters, bidirectional control characters and lone surrogates, which could change the
    appearance of the surrounding text.
    """
    return _cut(_printable(" ".join(text.split())), most)


def sanitize_lines(text: str, most: int) -> str:
    """Sanitize a text as `sanitize_line`, but keep line breaks and spaces. `most` limits the whole text."""
    lines = (
        _printable(line.replace("\t", "    ").rstrip()) for line in text.replace("\r\n", "\n").split("\n")
    )
    return _cut("\n".join(lines).strip("\n"), most)


def _printable(text: str) -> str:
    return "".join(item if item.isprintable() else REPLACED for item in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
