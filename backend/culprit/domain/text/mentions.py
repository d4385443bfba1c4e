"""What people write beside an incident: made harmless without changing what it says, and whom it names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 4000
MOST_MENTIONS = 10
#: Control characters but for tab and line end, and those that turn the direction of a text around: with these a text
#: shows otherwise than it is.
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LINES = re.compile(r"\n{4,}")


@dataclass(frozen=True, slots=True)
class Mention:
    """`@name` at [begin, end) of a text."""

    begin: int
    end: int
    name: str


def clean(text: str) -> str:
    """The text with `\\n` as its only line end, without characters that hide what it says, and without great holes."""
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    return _LINES.sub("\n\n\n", _HIDDEN.sub("\N{REPLACEMENT CHARACTER}", ends)).strip()


def mentions(text: str, names: Iterable[str]) -> list[Mention]:
    """Where a text names somebody by `@` and the account's name, the longest name that fits; `a@b` names nobody.

    Names may hold spaces, dots and `@`: therefore they are looked up and not guessed from the text.
    """
    known: dict[str, list[str]] = {}
    for name in names:
        known.setdefault(name[:1].casefold(), []).append(name)
    found: list[Mention] = []
    at = text.find("@")
    while at >= 0:
        after = at + 1
        if at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.+-@"):
            fits = [
                one for one in known.get(text[after : after + 1].casefold(), ()) if _stands(text, after, one)
            ]
            if fits:
                name = max(fits, key=len)
                after += len(name)
                found.append(Mention(at, after, name))
        at = text.find("@", after)
    return found


def _stands(text: str, at: int, name: str) -> bool:
    """Whether the name stands there as a whole, in whatever case."""
    end = at + len(name)
    if text[at:end].casefold() != name.casefold():
        return False
    following = text[end : end + 1]
    return not (following.isalnum() or following in {"_", "@"})


def excerpt(text: str, most: int = 280) -> str:
    """The beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
