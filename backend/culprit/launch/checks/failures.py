"""Why a test failed, in lines that one can read: out of what pytest, vitest and Playwright write into a JUnit file.

pytest      message: the exception;        text: the source of the test, `>` where it stands, `E` what it said
vitest      message: the exception;        text: it, the difference, and the places
Playwright  message: the place of the test; text: the error, its call log, the lines around, and attachments
"""

from __future__ import annotations

import re

MAX_LINES, LAST_LINES = 30, 12  # a call log stands first, the lines of code around it last
MAX_WIDTH = 200
#: Colours; pytest writes what XML may not hold as `#x1B`.
COLOUR = re.compile(r"(?:\x1b|#x1B)\[[0-9;?]*[A-Za-z]")
ATTACHMENT = re.compile(r"^ *attachment #\d+:.*?^ *─{10,} *$\n?", re.M | re.S)
#: Of pytest: the line that failed, what it said, and where.
TOLD = re.compile(r"(?:[>E](?:\s|$)|\S+\.py:\d+: )")
PLACE = re.compile(r"\S+:\d+:\d+\b")


def why(message: str, text: str) -> str:
    """At most MAX_LINES lines about a failure, the last of which are the last of `text`."""
    lines = told(plain(text))
    first = plain(message).strip().splitlines()
    if first and not repeated(first[0], lines):
        lines = [*first, *lines]
    if len(lines) > MAX_LINES:
        head = MAX_LINES - LAST_LINES - 1
        left = len(lines) - head - LAST_LINES
        lines = [*lines[:head], f"… {left} lines", *lines[-LAST_LINES:]]
    return "\n".join(line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 1]}…" for line in lines)


def plain(text: str) -> str:
    """Without colours."""
    return COLOUR.sub("", text)


def told(text: str) -> list[str]:
    """The lines of a text that say something: of pytest's, not the source of the test; of others', no attachments."""
    lines = ATTACHMENT.sub("", text).splitlines()
    if any(line.startswith("E  ") for line in lines):
        lines = [line for line in lines if TOLD.match(line)]
    kept = [line.rstrip(" ─") for line in lines]
    return [line for line, before in zip(kept, ["", *kept], strict=False) if line or before]


def repeated(message: str, lines: list[str]) -> bool:
    """Whether the lines say by themselves what the message says, or at least which test it is about."""
    place = PLACE.match(message)
    return any((place[0] if place else message) in line for line in lines)
