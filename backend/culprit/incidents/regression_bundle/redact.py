"""Artifacts as they leave with a bundle: text without the names of hosts; recordings, which name theirs, stay here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from culprit.infra.parts import StoredPart

LOOKED_AT = 1 << 13
LINE_MAX = 1 << 20
SHORTEST = 4
"""Characters of a name that is taken out wherever it stands: `db` or `vm` would be taken out of other words' places."""

_HEADER = re.compile(rb"^(# hostname : ?|Linux \S+ \()[^)\s]+")
"""Where tools name the host themselves: perf's header, and the first line of sysstat's."""


def without_names(part: StoredPart, names: Mapping[str, str]) -> Iterator[bytes] | None:
    """The lines of a part, `names` replaced as whole words; None for what is no text.

    Raises what a part raises that is not what came home, here or on the way.
    """
    with part.open() as stream:
        if b"\0" in stream.read(LOOKED_AT):
            return None
    return _lines(part, names)


def _lines(part: StoredPart, names: Mapping[str, str]) -> Iterator[bytes]:
    known = {name.encode(): stands.encode() for name, stands in names.items() if len(name) >= SHORTEST}
    longest_first = sorted(known, key=len, reverse=True)
    words = re.compile(rb"(?<![\w-])(?:" + b"|".join(map(re.escape, longest_first)) + rb")(?![\w-])")
    with part.open() as stream:
        while line := stream.readline(LINE_MAX):
            shown = _HEADER.sub(rb"\1host", line)
            yield words.sub(lambda found: known[found[0]], shown) if known else shown
