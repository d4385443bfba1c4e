"""The error of a refused sign-in."""

from __future__ import annotations

from typing import Literal

SignInErrorReason = Literal[
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


class SignInError(Exception):
    """A refused sign-in. `why` selects the message to the user, `detail` is for the audit log. No secrets."""

    def __init__(self, why: SignInErrorReason, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail
