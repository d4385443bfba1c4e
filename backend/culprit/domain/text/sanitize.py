"""Text that somebody outside wrote, made fit to be shown beside what was measured. Pure."""

from __future__ import annotations

REPLACED = "\ufffd"


def line(text: str, most: int) -> str:
    """One line of at most `most` characters: white space becomes one space; what cannot be seen is replaced.

    That takes control characters, characters that turn the direction of writing, and halves of surrogate pairs:
    none of them may change how the text beside it is read.
    """
    return _cut(_seen(" ".join(text.split())), most)


def lines(text: str, most: int) -> str:
    """The same with its line breaks kept; `most` counts all characters."""
    kept = (_seen(one.replace("\t", "    ").rstrip()) for one in text.replace("\r\n", "\n").split("\n"))
    return _cut("\n".join(kept).strip("\n"), most)


def _seen(text: str) -> str:
    return "".join(one if one.isprintable() else REPLACED for one in text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
