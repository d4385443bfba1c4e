"""Redaction of texts, structures and frames with one map of pseudonyms."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from culprit.domain.redaction import places, statements
from culprit.domain.redaction.kinds import KINDS, NAMES, RedactionRules, TextSpan
from culprit.domain.redaction.names import build_expression
from culprit.domain.redaction.secrets import find_secrets

MAX_DEPTH = 60
"""Maximum depth of a structure. Deeper values are replaced by TOO_DEEP."""

TOO_DEEP = "…"
MIN_NAME_LENGTH = 4
"""Minimum length of a learned name."""

FOREIGN_KEYS = frozenset({"subject", "scope", "labels"})
_RANK = {kind: n for n, kind in enumerate(KINDS)}
#: Values of these keys are of that kind in any format.
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
    """Replaces text by `rules`. One original always has the same pseudonym, also in several reports with the same map.

    `names` is the private map {kind: {original: pseudonym}}. It grows, and is never published.
    """

    def __init__(self, rules: RedactionRules, names: Names | None = None) -> None:
        self.rules = rules
        self.names: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for kind, known in (names or {}).items():
            self.names[kind] = dict(known)
        self.counts: Counter[str] = Counter()
        self._frames: dict[tuple[str, bool], str] = {}
        self._known = self._build_expressions(rules.hosts, rules.users)
        self._taken = {name.lower() for name in rules.hosts | rules.users | rules.words}
        self._last = {
            kind: max((_get_number(item) for item in known.values()), default=0)
            for kind, known in self.names.items()
        }

    def _build_expressions(self, hosts: Iterable[str], users: Iterable[str]) -> dict[str, re.Pattern[str]]:
        return {
            "host": build_expression({*hosts} - places.KEPT_HOSTS - places.KEPT_ADDRESSES),
            "user": build_expression({*users} - places.KEPT_USERS, alone=True),
            "word": build_expression(self.rules.words),
        }

    def learn_names(self) -> None:
        """Add names that were detected by context (`user=`, a URL, email) to the known names, and reset the counts.

        A second pass then detects them without context. Possible ordinary words are not added.
        """
        hosts = {
            name for name in self.names.get("host", ()) if len(name) >= MIN_NAME_LENGTH and not name.isalpha()
        }
        users = {
            *self.names.get("user", ()),
            *(mail.partition("@")[0] for mail in self.names.get("email", ())),
        }
        users = {name for name in users if len(name) >= MIN_NAME_LENGTH and name not in places.COMMON_NAMES}
        self._known = self._build_expressions(self.rules.hosts | hosts, self.rules.users | users)
        self._frames.clear()
        self.counts.clear()

    def redact_text(self, text: str, *, code: bool = False) -> str:
        """Redact a text. `code` marks a function or module name, which has a different grammar."""
        if not text:
            return text
        pieces, at = [], 0
        for start, end, kind in self.find_spans(text, code=code):
            pieces += [text[at:start], self.assign_pseudonym(kind, text[start:end])]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text

    def find_spans(self, text: str, *, code: bool = False) -> list[TextSpan]:
        """Return the parts of a text to replace, in order. Overlapping parts are merged under the kind of higher
        priority.
        """
        result = sorted(self._iter_spans(text, code=code))
        joined: list[TextSpan] = []
        for item in result:
            if joined and item.start < joined[-1].end:
                before = joined[-1]
                kind = min(before.kind, item.kind, key=_RANK.__getitem__)
                joined[-1] = TextSpan(before.start, max(before.end, item.end), kind)
            elif item.end > item.start:
                joined.append(item)
        return joined

    def _iter_spans(self, text: str, *, code: bool) -> Iterator[TextSpan]:
        kinds = self.rules.kinds
        for kind, known in self._known.items():
            if kind in kinds:
                yield from (TextSpan(*match.span(), kind) for match in known.finditer(text))
        if "secret" in kinds:
            yield from find_secrets(text, random_text=not (code and text.startswith(_MANGLED)))
            yield from places.find_logins(text)
        if "path" in kinds:
            yield from places.find_paths(text)
        if "email" in kinds:
            yield from places.find_emails(text)
        if code:
            yield from self._find_in_code(text)
            return
        for kind, find in _IN_PROSE.items():
            if kind in kinds:
                yield from find(text)

    def _find_in_code(self, text: str) -> Iterator[TextSpan]:
        """Return addresses and hosts, except similar syntax of languages: `a1::b2`, `github.com/team/package`."""
        if "address" in self.rules.kinds and "::" not in text:
            yield from places.find_addresses(text)
        if "host" in self.rules.kinds:
            yield from (item for item in places.find_hosts(text) if text[item.end : item.end + 1] != "/")

    def redact_value(self, value: Any, key: str = "", own: Iterable[str] = ()) -> Any:
        """Redact a JSON structure; keys do not change.

        Texts under `own` keys come from Culprit, except below the keys in FOREIGN_KEYS, whose keys come from a host.
        """
        return self._redact_value(value, key, frozenset(own), 0)

    def _redact_value(self, value: Any, key: str, own: frozenset[str], depth: int) -> Any:
        if depth > MAX_DEPTH:
            return TOO_DEEP
        if isinstance(value, str):
            return self.redact_field(key, value)
        if isinstance(value, Mapping):
            return {
                name: inside
                if name in own and _is_plain(inside)
                else self._redact_value(
                    inside, str(name), own - own if name in FOREIGN_KEYS else own, depth + 1
                )
                for name, inside in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._redact_value(item, key, own, depth + 1) for item in value]
        return value

    def redact_field(self, key: str, text: str) -> str:
        """Redact a text whose key determines its kind."""
        if key in _CODE:
            return self.redact_frame(text)
        kind = _BY_KEY.get(key.lower())
        if not text or kind is None or kind not in self.rules.kinds or text in _ALWAYS:
            return self.redact_text(text)
        if kind == "path" and places.is_standard_path(text):
            return self.redact_text(text)
        if kind == "argument":
            program, space, _ = text.partition(" ")
            return self.redact_text(program) + (f" {self.assign_pseudonym(kind, text)}" if space else "")
        return self.assign_pseudonym(kind, text)

    def redact_frame(self, name: str, *, kernel: bool = False) -> str:
        """Redact a function or module name. With `symbols`, all functions outside of the kernel are replaced."""
        known = self._frames.get((name, kernel))
        if known is None:
            if "symbol" in self.rules.kinds and not kernel and name:
                known = self.assign_pseudonym("symbol", name)
            else:
                known = self.redact_text(name, code=True)
            self._frames[name, kernel] = known
        return known

    def assign_pseudonym(self, kind: str, original: str) -> str:
        """Return the pseudonym of an original; create it if it is new."""
        self.counts[kind] += 1
        known = self.names[kind]
        folded = original.lower() if kind in _FOLDED else original
        result = known.get(folded)
        if result is None:
            result = self._create_pseudonym(kind, folded)
            known[folded] = result
        return f"/{result}" if kind == "path" and original.startswith("/") else result

    def _create_pseudonym(self, kind: str, original: str) -> str:
        if kind == "host":
            first, dot, rest = original.partition(".")
            if dot and rest and first in self.rules.hosts:
                return f"{self.assign_pseudonym('host', first)}.{self.assign_pseudonym('host', rest)}"
        number = self._last.get(kind, 0) + 1
        while f"{NAMES[kind]}-{number}" in self._taken:
            number += 1
        self._last[kind] = number
        return f"{NAMES[kind]}-{number}"


_ALWAYS = places.KEPT_HOSTS | places.KEPT_USERS | places.KEPT_ADDRESSES | {"*", "-", "?"}
#: Mangled names of C++ and Rust, which contain a hash.
_MANGLED = ("_Z", "_R", "__Z")
_IN_PROSE = {
    "address": places.find_addresses,
    "argument": statements.find_arguments,
    "sql": statements.find_literals,
    "host": places.find_hosts,
    "user": places.find_users,
}


def _is_plain(value: Any) -> bool:
    """Return whether the value contains no nested structure."""
    return not isinstance(value, Mapping) and not (
        isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value)
    )


def _get_number(pseudonym: str) -> int:
    digits = pseudonym.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
