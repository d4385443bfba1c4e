"""What a provider says about a person, as a role, a name and a place here. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from culprit.auth.actor import rank

MOST_GROUPS = 2000
LONGEST_GROUP = 300
LONGEST_NEXT = 2000
LONGEST_NAME = 64


def groups_of(claim: object) -> list[str]:
    """The groups of a claim: a list of names, or one name. Whatever is no text is left out."""
    listed = claim if isinstance(claim, list) else [claim]
    found = [one for one in listed[:MOST_GROUPS] if isinstance(one, str) and 0 < len(one) <= LONGEST_GROUP]
    return sorted(set(found))


def role_of(groups: Iterable[str], roles: Sequence[Mapping[str, Any]], otherwise: str | None) -> str | None:
    """The highest role that a group brings, else `otherwise`; None where the person is not let in.

    Names of groups are compared letter by letter: `Admins` is another group than `admins`.
    """
    held = set(groups)
    matched = [str(one["role"]) for one in roles if one["group"] in held]
    return max(matched, key=rank) if matched else otherwise


def account_name(claims: Mapping[str, Any], claim: str, taken: Callable[[str], bool]) -> str:
    """A free name for a new account, out of the first claim that holds one.

    A name that is taken is somebody else's, whatever the provider says: a number makes the new one another.
    """
    candidates = (claims.get(one) for one in (claim, "preferred_username", "email", "name", "sub"))
    name = next((made for one in candidates if isinstance(one, str) and (made := _fitting(one))), "somebody")
    if not taken(name):
        return name
    numbered = (f"{name[: LONGEST_NAME - 6]}-{n}" for n in range(2, 100_000))
    return next(one for one in numbered if not taken(one))


def _fitting(text: str) -> str:
    """Only what the names of accounts may hold, beginning with a letter or a digit."""
    kept = re.sub(r"[^\w.@+ -]", "", text[:200])
    return re.sub(r"^[\W_]+", "", kept)[:LONGEST_NAME].strip()


def safe_next(wanted: str | None) -> str:
    """A place on this server, or its first page: never another server, never the login page again.

    Browsers read `\\` as `/` and skip tabs and line ends, so that `/\\host` and `/<tab>/host` lead elsewhere.
    """
    if not wanted or len(wanted) > LONGEST_NEXT or not wanted.startswith("/"):
        return "/"
    hidden = any(ord(one) < 0x21 or ord(one) == 0x7F or one == "\\" for one in wanted)
    if hidden or not wanted.isascii() or wanted.startswith("//"):
        return "/"
    return "/" if re.match(r"/(login|api)(?![\w-])", wanted) else wanted
