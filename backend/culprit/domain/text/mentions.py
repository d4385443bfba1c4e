"""Comments on an incident: clean the text without changing its meaning, and find mentions. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_LENGTH = 4000
MAX_MENTIONS = 10
#: Control characters except tab and line feed, and bidirectional control characters, which can make a text appear
#: different from its content.
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LINES = re.compile(r"\n{4,}")


@dataclass(frozen=True, slots=True)
class Mention:
    """`@name` at [begin, end) of a text."""

    begin: int
    end: int
    name: str


def clean_text(text: str) -> str:
    """Return the text with `\\n` as line end, with control characters replaced, and with at most two blank lines."""
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    return _LINES.sub("\n\n\n", _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", ends)).strip()


def find_mentions(text: str, names: Iterable[str]) -> list[Mention]:
    """Find mentions: `@` and the name of an account, the longest that matches; `a@b` is no mention.

    Names may contain spaces, dots and `@`, so the text is compared with the known names.
    """
    known: dict[str, list[str]] = {}
    for name in names:
        known.setdefault(name[:1].casefold(), []).append(name)
    mentions: list[Mention] = []
    at = text.find("@")
    while at >= 0:
        after = at + 1
        if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.+-@"):
            fits = [
                item
                for item in known.get(text[after : after + 1].casefold(), ())
                if _is_mention(text, after, item)
            ]
            if fits:
                name = max(fits, key=len)
                after += len(name)
                mentions.append(Mention(at, after, name))
        at = text.find("@", after)
    return mentions


def _is_mention(text: str, at: int, name: str) -> bool:
    """Return whether the text has the whole name at `at`, case-insensitive."""
    end = at + len(name)
    if text[at:end].casefold() != name.casefold():
        return False
    following = text[end : end + 1]
    return not (following.isalnum() or following in {"_", "@"})


def make_excerpt(text: str, most: int = 280) -> str:
    """Return the beginning of a text in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
