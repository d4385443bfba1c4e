"""What a line of somebody's list says about a host."""

from __future__ import annotations

from dataclasses import dataclass, field

from culprit.kit.errors import Invalid

MAX_ROWS = 2000
MAX_LINE = 8192


@dataclass(frozen=True, slots=True)
class Candidate:
    """One host as the text names it; what the text leaves open is None.

    `line` is 1-based. `jump` is the name of another host. `host_key` is "type base64". `problem` is the key
    of a sentence where the line cannot be used, and `incomplete` where something is missing.
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


def lines_of(text: str) -> list[str]:
    """The lines of a text. Raises Invalid for a line that no such file has."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            raise Invalid("import.line_too_long", line=number, limit=MAX_LINE)
        if "\0" in line:
            raise Invalid("import.not_text", line=number)
    return lines


def bounded(found: list[Candidate]) -> list[Candidate]:
    """The candidates. Raises Invalid for more than a person can look through."""
    if len(found) > MAX_ROWS:
        raise Invalid("import.too_many", limit=MAX_ROWS)
    return found


def port_of(text: str) -> int | None:
    """A port number; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65535 else None
