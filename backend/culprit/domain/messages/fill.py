"""How a text with `{parameters}` is filled, so that an empty value leaves no hole in the sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: Replaces a value that is empty, as in the interface.
NO_VALUE = "\N{EN DASH}"
_PLACE = re.compile(r"\{(\w+)\}")
#: Round brackets and those of Chinese text, with the space before them.
_BRACKETS = re.compile(r"\s*[(\uff08]([^()\uff08\uff09]*)[)\uff09]")
_WORD = re.compile(r"\w")


def fill_text(template: str, params: Mapping[str, object]) -> str:
    """Return the text with its parameters. A place without a parameter stays visible.

    Brackets that would hold nothing but empty values are left out. Elsewhere a dash replaces an empty value.
    """

    def fill(place: re.Match[str]) -> str:
        name = place[1]
        return place[0] if name not in params else NO_VALUE if _is_empty(params[name]) else str(params[name])

    def drop_empty(group: re.Match[str]) -> str:
        names = _PLACE.findall(group[1])
        is_hole = all(name in params and _is_empty(params[name]) for name in names)
        has_words = _WORD.search(_PLACE.sub("", group[1])) is not None
        return "" if names and is_hole and not has_words else group[0]

    return _PLACE.sub(fill, _BRACKETS.sub(drop_empty, template))


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
