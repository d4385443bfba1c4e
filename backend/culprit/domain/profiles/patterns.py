"""Match frame names with patterns of users: a substring or an RE2 expression, which needs linear time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import re2  # type: ignore[import-untyped]

from collectors.contract import Sentence

MAX_PATTERN_CHARS = 200


class SearchPatternError(Exception):
    """The pattern cannot be searched for."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence.key)
        self.sentence = sentence


def match_names(names: list[str], query: str, *, regex: bool = False) -> npt.NDArray[np.bool_]:
    """Return whether each name matches, bool [names]. `query` is a substring or an RE2 pattern, case-insensitive.

    Raises SearchPatternError for an empty, too long or malformed query.
    """
    if not query or len(query) > MAX_PATTERN_CHARS:
        raise SearchPatternError(Sentence("profile.pattern_length", {"limit": MAX_PATTERN_CHARS}))
    if not regex:
        folded = query.casefold()
        return np.fromiter((folded in name.casefold() for name in names), bool, len(names))
    options = re2.Options()
    options.max_mem, options.log_errors, options.case_sensitive = 8 << 20, False, False
    try:
        pattern = re2.compile(query, options)
    except re2.error as error:
        raise SearchPatternError(Sentence("profile.pattern", {"why": str(error)[:120]})) from error
    return np.fromiter((pattern.search(name) is not None for name in names), bool, len(names))
