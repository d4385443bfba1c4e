"""Detection of SQL literals and command arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from culprit.domain.redaction.kinds import TextSpan

_WORDS = re.compile(
    r"(?<![\w.])(?:(select|insert|update|delete|replace|merge|call|execute|with|prepare)"
    r"|(from|into|set|where|values|identified|having))(?!\w)|;",
    re.IGNORECASE,
)
#: An unclosed literal extends to the end of the text, so that no quote is scanned twice.
_LITERAL = re.compile(
    r"'(?:[^'\\]|\\.|'')*+(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|\$\$.*?(?:\$\$|\Z)"
    r"|(?<![\w.$])-?(?:0x[0-9A-Fa-f]{1,64}+|\d{1,40}+(?:\.\d{1,40}+)?)(?![\w.])",
    re.DOTALL,
)
_OPTION = re.compile(
    r"(?<!\S)--[A-Za-z][\w.-]{0,80}+(?:=|\s{1,4}(?!-))(\"[^\"\n]{0,4096}+\"?|'[^'\n]{0,4096}+'?|[^\s\"']{1,4096}+)"
)
_PROPERTY = re.compile(r"(?<!\S)-[DX][\w.:-]{0,120}+=(\S{1,4096}+)")


def find_literals(text: str) -> Iterator[TextSpan]:
    """Find the literals of SQL statements; a statement is a verb followed by one of its keywords."""
    for start, end in find_statements(text):
        for match in _LITERAL.finditer(text, start, end):
            if match.end() - match.start() > 2 or match[0][0] not in "\"'":
                yield TextSpan(*match.span(), "sql")


def find_statements(text: str) -> Iterator[tuple[int, int]]:
    """Find SQL statements, from the verb to the semicolon or the end."""
    start, sure = -1, False
    for match in _WORDS.finditer(text):
        if match[1]:
            start = start if start >= 0 else match.start()
        elif match[2]:
            sure = sure or start >= 0
        elif sure:
            yield start, match.start()
            start, sure = -1, False
    if sure:
        yield start, len(text)


def find_arguments(text: str) -> Iterator[TextSpan]:
    """Find values of command options and Java system properties."""
    if "-" in text:
        for pattern in (_OPTION, _PROPERTY):
            for match in pattern.finditer(text):
                yield TextSpan(*match.span(1), "argument")
