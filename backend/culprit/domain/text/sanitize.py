"""Sanitize external text so that it can be displayed next to measured data. Pure."""

from __future__ import annotations

REPLACED = "\ufffd"


def sanitize_line(text: str, most: int) -> str:
    """One line of at most `most` characters: white space becomes one space; what cannot be seen is replaced.

    That takes control characters, characters that turn the direction of writing, and halves of surrogate pairs:
    none of them may change how the surrounding text is read.
    """
    return _cut(_printable(" ".join(text.split())), most)


def sanitize_lines(text: str, most: int) -> str:
    """The same with its line breaks kept; `most` counts all characters."""
    stored = (
        _printable(item.replace("\t", "    ").rstrip()) for item in text.replace("\r\n", "\n").split("\n")
    )
    return _cut("\n".join(stored).strip("\n"), most)


def _printable(text: str) -> str:
    return "".join(item if item.isprintable() else REPLACED for item in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
