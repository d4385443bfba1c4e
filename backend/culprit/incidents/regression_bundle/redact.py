"""Remove host names from the text artifacts of a bundle. Binary recordings are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from culprit.infra.artifacts.stored_part import StoredPart

PROBE_BYTES = 1 << 13
LINE_MAX = 1 << 20
MIN_NAME_LENGTH = 4
"""Minimum length of a name that is replaced everywhere; `db` or `vm` would match unrelated words."""

_HEADER = re.compile(rb"^(# hostname : ?|Linux \S+ \()[^)\s]+")
"""Lines in which tools name the host: the header of perf, and the first line of sysstat."""


def redact_names(part: StoredPart, names: Mapping[str, str]) -> Iterator[bytes] | None:
    """Yield the lines of a part with `names` replaced as whole words; None for binary data.

    Raises the errors of the part if its bytes are altered or missing.
    """
    with part.open() as stream:
        if b"\0" in stream.read(PROBE_BYTES):
            return None
    return _redact_lines(part, names)


def _redact_lines(part: StoredPart, names: Mapping[str, str]) -> Iterator[bytes]:
    known = {name.encode(): status.encode() for name, status in names.items() if len(name) >= MIN_NAME_LENGTH}
    longest_first = sorted(known, key=len, reverse=True)
    words = re.compile(rb"(?<![\w-])(?:" + b"|".join(map(re.escape, longest_first)) + rb")(?![\w-])")
    with part.open() as stream:
        while line := stream.readline(LINE_MAX):
            displayed = _HEADER.sub(rb"\1host", line)
            yield words.sub(lambda result: known[result[0]], displayed) if known else displayed
