"""Texts, structures and frames without what must not leave, by one map of pseudonyms."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from culprit.core.redaction import places, statements
from culprit.core.redaction.kinds import KINDS, NAMES, Rules, Span
from culprit.core.redaction.names import expression
from culprit.core.redaction.secrets import secrets

DEEPEST = 60
"""Levels of a structure; below there is nothing that a person reads, and what is there does not leave."""

TOO_DEEP = "…"
SHORTEST = 4
"""Characters of a name that is learned."""

FOREIGN = frozenset({"subject", "scope", "labels"})
_RANK = {kind: n for n, kind in enumerate(KINDS)}
#: What stands under these keys is of that kind, whatever it looks like.
_BY_KEY: Mapping[str, str] = {
    **dict.fromkeys(("host", "hostname", "host_name", "nodename", "server", "container", "pod"), "host"),
    **dict.fromkeys(("user", "username", "user_name", "owner", "login", "uname"), "user"),
    **dict.fromkeys(("path", "file", "filename", "cwd", "exe", "cgroup", "mount", "directory"), "path"),
    **dict.fromkeys(("args", "arguments", "argv", "cmdline", "command_line"), "argument"),
    **dict.fromkeys(("query", "sql", "statement"), "sql"),
    **dict.fromkeys(
        ("password", "passwd", "secret", "token", "api_key", "authorization", "cookie", "private_key"),
        "secret",
    ),
    **dict.fromkeys(("email", "mail"), "email"),
}
_CODE = frozenset({"frame", "frames", "function", "symbol"})
_FOLDED = frozenset({"host", "user", "email", "word"})

Names = Mapping[str, Mapping[str, str]]


class Redactor:
    """Replaces by `rules`. The same original gets the same pseudonym, also over several reports of one map.

    `names` is the private map, {kind: {original: pseudonym}}; it grows, and is never part of what leaves.
    """

    def __init__(self, rules: Rules, names: Names | None = None) -> None:
        self.rules = rules
        self.names: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for kind, known in (names or {}).items():
            self.names[kind] = dict(known)
        self.counts: Counter[str] = Counter()
        self._frames: dict[tuple[str, bool], str] = {}
        self._known = self._expressions(rules.hosts, rules.users)
        self._taken = {name.lower() for name in rules.hosts | rules.users | rules.words}
        self._last = {
            kind: max((_number(one) for one in known.values()), default=0)
            for kind, known in self.names.items()
        }

    def _expressions(self, hosts: Iterable[str], users: Iterable[str]) -> dict[str, re.Pattern[str]]:
        return {
            "host": expression({*hosts} - places.KEPT_HOSTS - places.KEPT_ADDRESSES),
            "user": expression({*users} - places.KEPT_USERS, alone=True),
            "word": expression(self.rules.words),
        }

    def learn(self) -> None:
        """Take what was found so far by its place (`user=`, a URL, mail) for known names, and count anew.

        A second pass then finds them where they stand alone in a sentence. What may be an ordinary word is not learned.
        """
        hosts = {name for name in self.names.get("host", ()) if len(name) >= SHORTEST and not name.isalpha()}
        users = {
            *self.names.get("user", ()),
            *(mail.partition("@")[0] for mail in self.names.get("email", ())),
        }
        users = {name for name in users if len(name) >= SHORTEST and name not in places.ORDINARY}
        self._known = self._expressions(self.rules.hosts | hosts, self.rules.users | users)
        self._frames.clear()
        self.counts.clear()

    def text(self, text: str, *, code: bool = False) -> str:
        """One text of any length. `code`: it names a function or a module, and is read with their grammar in mind."""
        if not text:
            return text
        pieces, at = [], 0
        for start, end, kind in self.spans(text, code=code):
            pieces += [text[at:start], self.pseudonym(kind, text[start:end])]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text

    def spans(self, text: str, *, code: bool = False) -> list[Span]:
        """What is replaced in a text, in order; what overlaps is one piece, called by the kind of higher right."""
        found = sorted(self._found(text, code=code))
        joined: list[Span] = []
        for one in found:
            if joined and one.start < joined[-1].end:
                before = joined[-1]
                kind = min(before.kind, one.kind, key=_RANK.__getitem__)
                joined[-1] = Span(before.start, max(before.end, one.end), kind)
            elif one.end > one.start:
                joined.append(one)
        return joined

    def _found(self, text: str, *, code: bool) -> Iterator[Span]:
        wanted = self.rules.kinds
        for kind, known in self._known.items():
            if kind in wanted:
                yield from (Span(*one.span(), kind) for one in known.finditer(text))
        if "secret" in wanted:
            yield from secrets(text, unlikely=not (code and text.startswith(_MANGLED)))
            yield from places.logins(text)
        if "path" in wanted:
            yield from places.paths(text)
        if "email" in wanted:
            yield from places.mails(text)
        if code:
            yield from self._in_code(text)
            return
        for kind, find in _IN_PROSE.items():
            if kind in wanted:
                yield from find(text)

    def _in_code(self, text: str) -> Iterator[Span]:
        """Addresses and hosts, but not what a language writes likewise: `a1::b2`, `github.com/team/package`."""
        if "address" in self.rules.kinds and "::" not in text:
            yield from places.addresses(text)
        if "host" in self.rules.kinds:
            yield from (one for one in places.hosts(text) if text[one.end : one.end + 1] != "/")

    def value(self, value: Any, key: str = "", own: Iterable[str] = ()) -> Any:
        """A structure as JSON has it; keys are names of fields and stay.

        Texts under `own` keys are Culprit's, but not below those of FOREIGN, whose keys are a host's own words.
        """
        return self._value(value, key, frozenset(own), 0)

    def _value(self, value: Any, key: str, own: frozenset[str], depth: int) -> Any:
        if depth > DEEPEST:
            return TOO_DEEP
        if isinstance(value, str):
            return self.field(key, value)
        if isinstance(value, Mapping):
            return {
                name: inside
                if name in own and _is_plain(inside)
                else self._value(inside, str(name), own - own if name in FOREIGN else own, depth + 1)
                for name, inside in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._value(one, key, own, depth + 1) for one in value]
        return value

    def field(self, key: str, text: str) -> str:
        """A text that stands under a key, which may say more than its form."""
        if key in _CODE:
            return self.frame(text)
        kind = _BY_KEY.get(key.lower())
        if not text or kind is None or kind not in self.rules.kinds or text in _ALWAYS:
            return self.text(text)
        if kind == "path" and places.kept_path(text):
            return self.text(text)
        if kind == "argument":
            program, space, _ = text.partition(" ")
            return self.text(program) + (f" {self.pseudonym(kind, text)}" if space else "")
        return self.pseudonym(kind, text)

    def frame(self, name: str, *, kernel: bool = False) -> str:
        """The name of a function or module; with `symbols`, functions that are not the kernel's are replaced whole."""
        known = self._frames.get((name, kernel))
        if known is None:
            if "symbol" in self.rules.kinds and not kernel and name:
                known = self.pseudonym("symbol", name)
            else:
                known = self.text(name, code=True)
            self._frames[name, kernel] = known
        return known

    def pseudonym(self, kind: str, original: str) -> str:
        """What is written instead; made up where it is new."""
        self.counts[kind] += 1
        known = self.names[kind]
        folded = original.lower() if kind in _FOLDED else original
        found = known.get(folded)
        if found is None:
            found = self._new(kind, folded)
            known[folded] = found
        return f"/{found}" if kind == "path" and original.startswith("/") else found

    def _new(self, kind: str, original: str) -> str:
        if kind == "host":
            first, dot, rest = original.partition(".")
            if dot and rest and first in self.rules.hosts:
                return f"{self.pseudonym('host', first)}.{self.pseudonym('host', rest)}"
        number = self._last.get(kind, 0) + 1
        while f"{NAMES[kind]}-{number}" in self._taken:
            number += 1
        self._last[kind] = number
        return f"{NAMES[kind]}-{number}"


_ALWAYS = places.KEPT_HOSTS | places.KEPT_USERS | places.KEPT_ADDRESSES | {"*", "-", "?"}
#: Names that C++ and Rust make: a hash is part of each.
_MANGLED = ("_Z", "_R", "__Z")
_IN_PROSE = {
    "address": places.addresses,
    "argument": statements.arguments,
    "sql": statements.literals,
    "host": places.hosts,
    "user": places.users,
}


def _is_plain(value: Any) -> bool:
    """Whether there is no structure in it, in which something of others could stand."""
    return not isinstance(value, Mapping) and not (
        isinstance(value, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in value)
    )


def _number(pseudonym: str) -> int:
    digits = pseudonym.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
