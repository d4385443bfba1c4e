"""Why somebody was not let in."""

from __future__ import annotations

from typing import Literal

Why = Literal[
    "away",
    "claims",
    "code",
    "denied",
    "discovery",
    "issuer",
    "keys",
    "no_role",
    "not_fresh",
    "off",
    "other_person",
    "over",
    "state",
    "token",
    "withdrawn",
]


class Refused(Exception):
    """`why` is told to the person (sentence `signon.<why>`), `detail` is for the audit log. Neither holds a secret."""

    def __init__(self, why: Why, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail
