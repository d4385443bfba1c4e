"""A host as described by one entry of a list."""

from __future__ import annotations

from dataclasses import dataclass, field

from culprit.web.errors import InvalidRequestError

MAX_ROWS = 2000
MAX_LINE = 8192


@dataclass(frozen=True, slots=True)
class Candidate:
    """One host; fields that the text does not contain are None.

    `line` is 1-based. `jump` is the name of another host. `host_key` is "type base64". `problem` is the
    message key if the line cannot be used, `incomplete` if something is missing.
    """

    line: int
    name: str
    address: str = ""
    port: int | None = None
    username: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    jump: str | None = None
    host_key: str | None = None
    fingerprint: str | None = None
    problem: str | None = None
    incomplete: bool = False


def split_lines(text: str) -> list[str]:
    """Return the lines of a text. Raises InvalidRequestError for a line that is too long."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise InvalidRequestError("import.line_too_long", line=number, limit=MAX_LINE)
        if "\0" in line:
            raise InvalidRequestError("import.not_text", line=number)
    return lines


def limit_candidates(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates. Raises InvalidRequestError if there are too many."""
    if len(candidates) > MAX_ROWS:
        raise InvalidRequestError("import.too_many", limit=MAX_ROWS)
    return candidates


def parse_port(text: str) -> int | None:
    """Return a port number, or None."""
    return int(text) if text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65535 else None
