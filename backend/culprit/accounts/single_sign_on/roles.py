"""Map a provider's claims to a role, an account name and a redirect. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from culprit.accounts.actor import rank_role

MAX_GROUPS = 2000
MAX_GROUP = 300
MAX_NEXT = 2000
MAX_NAME = 64


def parse_groups(claim: object) -> list[str]:
    """Return the groups of a claim: a list of names, or one name. Other values are ignored."""
    listed = claim if isinstance(claim, list) else [claim]
    groups = [item for item in listed[:MAX_GROUPS] if isinstance(item, str) and 0 < len(item) <= MAX_GROUP]
    return sorted(set(groups))


def map_role(
    groups: Iterable[str], roles: Sequence[Mapping[str, Any]], default_role: str | None
) -> str | None:
    """Return the highest role of the groups, otherwise `default_role`; None refuses the user.

    Group names are case-sensitive.
    """
    held = set(groups)
    matched = [str(role["role"]) for role in roles if role["group"] in held]
    return max(matched, key=rank_role) if matched else default_role


def choose_account_name(claims: Mapping[str, Any], claim: str, taken: Callable[[str], bool]) -> str:
    """Return a free name for a new account, from the first claim that contains one.

    A taken name belongs to another account, so a number is added.
    """
    candidates = (claims.get(claim) for claim in (claim, "preferred_username", "email", "name", "sub"))
    name = next(
        (
            result
            for candidate in candidates
            if isinstance(candidate, str) and (result := _clean_name(candidate))
        ),
        "somebody",
    )
    if not taken(name):
        return name
    numbered = (f"{name[: MAX_NAME - 6]}-{n}" for n in range(2, 100_000))
    return next(item for item in numbered if not taken(item))


def _clean_name(text: str) -> str:
    """Keep only characters that account names allow, starting with a letter or a digit."""
    stored = re.sub(r"[^\w.@+ -]", "", text[:200])
    return re.sub(r"^[\W_]+", "", stored)[:MAX_NAME].strip()


def sanitize_next(requested: str | None) -> str:
    r"""Return a path on this server, or the start page; never another server or the login page.

    Browsers read `\` as `/` and skip tabs and line ends, so `/\host` and `/<tab>/host` address another
    server.
    """
    if not requested or len(requested) > MAX_NEXT or not requested.startswith("/"):
        return "/"
    hidden = any(ord(item) < 0x21 or ord(item) == 0x7F or item == "\\" for item in requested)
    if hidden or not requested.isascii() or requested.startswith("//"):
        return "/"
    return "/" if re.match(r"/(login|api)(?![\w-])", requested) else requested
