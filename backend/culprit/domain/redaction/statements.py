"""What was asked and called: literals of SQL, arguments of commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from culprit.core.redaction.kinds import Span

_WORDS = re.compile(
    r"(?<![\w.])(?:(select|insert|update|delete|replace|merge|call|execute|with|prepare)"
    r"|(from|into|set|where|values|identified|having))(?!\w)|;",
    re.IGNORECASE,
)
#: A literal that is never closed ends with the text, so that no quote is looked for twice.
_LITERAL = re.compile(
    r"'(?:[^'\\]|\\.|'')*+(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|\$\$.*?(?:\$\$|\Z)"
    r"|(?<![\w.$])-?(?:0x[0-9A-Fa-f]{1,64}+|\d{1,40}+(?:\.\d{1,40}+)?)(?![\w.])",
    re.DOTALL,
)
_OPTION = re.compile(
    r"(?<!\S)--[A-Za-z][\w.-]{0,80}+(?:=|\s{1,4}(?!-))(\"[^\"\n]{0,4096}+\"?|'[^'\n]{0,4096}+'?|[^\s\"']{1,4096}+)"
)
_PROPERTY = re.compile(r"(?<!\S)-[DX][\w.:-]{0,120}+=(\S{1,4096}+)")


def literals(text: str) -> Iterator[Span]:
    """The literals of SQL statements; a statement is a verb with one of its companions behind it."""
    for start, end in statements(text):
        for one in _LITERAL.finditer(text, start, end):
            if one.end() - one.start() > 2 or one[0][0] not in "\"'":
                yield Span(*one.span(), "sql")


def statements(text: str) -> Iterator[tuple[int, int]]:
    """Where statements stand, from the verb to the semicolon or the end."""
    start, sure = -1, False
    for one in _WORDS.finditer(text):
        if one[1]:
            start = start if start >= 0 else one.start()
        elif one[2]:
            sure = sure or start >= 0
        elif sure:
            yield start, one.start()
            start, sure = -1, False
    if sure:
        yield start, len(text)


def arguments(text: str) -> Iterator[Span]:
    """The values of options and of properties of a Java machine."""
    if "-" in text:
        for pattern in (_OPTION, _PROPERTY):
            for one in pattern.finditer(text):
                yield Span(*one.span(1), "argument")
