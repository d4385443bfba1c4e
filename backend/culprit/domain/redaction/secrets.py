"""Detection of passwords, keys and tokens by form, preceding word or randomness."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from culprit.domain.redaction.kinds import TextSpan

_PEM_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|MESSAGE|CERTIFICATE)[A-Z ]{0,20}-----")
_TOKEN_FORMATS = re.compile(
    r"(?<![A-Za-z0-9])(?:eyJ[\w-]{8,4096}+\.[\w-]{4,4096}+(?:\.[\w-]{0,4096}+){0,3}+"
    r"|(?:AKIA|ASIA|AROA|AIDA|ABIA)[A-Z0-9]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,255}+|github_pat_\w{20,255}+|glpat-[\w-]{15,255}+|npm_[A-Za-z0-9]{30,255}+"
    r"|pypi-[\w-]{30,512}+|xox[abeprs]-[\w-]{10,512}+|xapp-[\w-]{10,512}+|AIza[\w-]{30,255}+|ya29\.[\w-]{20,2048}+"
    r"|[srp]k_(?:live|test)_\w{10,255}+|whsec_[\w+/=]{16,255}+|sk-[\w-]{20,255}+|hv[sb]\.[\w-]{20,512}+"
    r"|SG\.[\w-]{16,255}+\.[\w-]{16,255}+|dop_v1_[0-9a-f]{20,255}+|AGE-SECRET-KEY-1[0-9A-Z]{20,255}+"
    r"|culprit_[\w-]{20,255}+|shp(?:at|ss|ca)_[0-9a-f]{16,255}+|ATATT3[\w=-]{20,512}+)"
)
_AUTH_SCHEME = re.compile(
    r"(?<![A-Za-z])(?:Bearer|Basic|Digest|Negotiate|ApiKey|Token)[ :]{1,3}([\w+/=.~:-]{6,8192}+)",
    re.IGNORECASE,
)
_VALUE = r"(\"[^\"\n]{1,4096}+\"?|'[^'\n]{1,4096}+'?|[^\s\"',;&|)}\]>]{1,4096}+)"
_KEY_VALUE = re.compile(
    r"(?:passw(?:or)?d|passphrase|passwd|pwd|secret|token|api[_-]?+key|access[_-]?+key|private[_-]?+key|account[_-]?+key"
    r"|encryption[_-]?+key|credentials?|authorization|set-cookie|cookie|session[_-]?+id|sessid|signature|sas|requirepass"
    r"|masterauth|otp|pin[_-]?+code)(?:[_-][a-z0-9]{1,16}+){0,3}+[\"']?+\s{0,8}+(?:=>|:=|[:=])\s{0,8}+"
    + _VALUE,
    re.IGNORECASE,
)
_WORD_VALUE = re.compile(
    r"(?<![A-Za-z])(?:(?i:password|passwd|requirepass|masterauth|identified by)|AUTH)\s{1,4}+(?:is\s{1,4}+)?"
    + _VALUE
)
_SECRET_OPTION = re.compile(
    r"(?<!\S)-{1,2}+[\w-]{0,24}?(?:pass|secret|token|key|auth)[\w-]{0,24}+(?:\s{1,4}+|=)" + _VALUE,
    re.IGNORECASE,
)
_USER_OPTION = re.compile(r"(?<!\S)(?:-u|--user)[ =]{1,3}([^\s:]{1,64}+:\S{1,256}+)")
_ATTACHED_OPTION = re.compile(
    r"(?<!\S)(?:mysql|mysqldump|mariadb|sshpass|redis-cli)\b[^\n|;]{0,200}?\s-(?:p|a) ?+(\S{1,256}+)"
)
_COOKIE = re.compile(r"(?<![A-Za-z])(?:Set-)?Cookie:\s{0,4}([^\r\n]{1,8192}+)", re.IGNORECASE)
_NOT_SECRET = frozenset(
    """for is was of must from not and in to the has be on expired wrong authentication prompt file hash
    failed""".split()  # noqa: SIM905
)
_LONG_WORD = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{20,8192}")
_SEPARATORS = re.compile(r"[+/=_-]{1,64}+")
#: 32 or more hexadecimal digits are a key or a hash, regardless of the changes between letter and digit.
_HEX = re.compile(r"[0-9a-f]{32,8192}+|[0-9A-F]{32,8192}+")

MIN_CHANGE_SHARE, MIN_CHANGE_SHARE_WITH_DIGITS = 0.4, 0.22
"""Minimum share of adjacent characters with a change of letter case or between letter and digit; the second is for text
with several digits. Random text has 40 to 60 %, names of functions and files have less than 25 %."""

MIN_LENGTH, MIN_MEAN_PIECE = 20, 6.5
"""Minimum length of random text, and of its pieces on average: a UUID has 6.4 and is no secret."""

MIN_PIECE, MIN_RARE_PAIRS, MIN_RARE_SHARE = 18, 3, 0.12
"""Minimum length of a piece with a digit, and minimum number and share of its letter pairs in RARE_PAIRS. A quarter of
the pairs of random text are. Of 28,000 long names of the Linux kernel 33 reach the limit, all with shorter pieces."""

#: Letters that follow a letter less than once in 10,000 pairs in the names of the Linux kernel and its headers.
_RARE_FOLLOWERS = {
    "a": "aoqz", "b": "qwxz", "c": "jwz", "d": "hkxz", "e": "j", "f": "bhjkvxz", "g": "jkqxz", "h": "hjkqx",
    "i": "hjquwy", "j": "bcdfghjklmnpqrstvwxyz", "k": "jkqxyz", "l": "hjqx", "m": "hjqxyz", "n": "qxz", "o": "jqz",
    "p": "jqxz", "q": "abcefghjkmnopqtvwxyz", "r": "jz", "s": "jxz", "t": "jqz", "u": "hjkquvwyz", "v": "hjkquvxyz",
    "w": "jkvwxyz", "x": "bdgjknquvwz", "y": "dfghjkquvwxyz", "z": "bcdfghijklnpqrtuvwxyz",
}  # fmt: skip
RARE_PAIRS = frozenset(first + second for first, seconds in _RARE_FOLLOWERS.items() for second in seconds)


def find_secrets(text: str, *, random_text: bool = True) -> Iterator[TextSpan]:
    """Find secrets. Without `random_text`, text that looks random is not a secret: function names can look random."""
    read = 0
    for match in _PEM_BLOCK.finditer(text):
        if match.start() < read:
            continue
        stop = text.find("-----END", match.end())
        line = text.find("\n", stop) if stop >= 0 else -1
        read = line if line >= 0 else len(text)
        yield TextSpan(match.start(), read, "secret")
    for match in _TOKEN_FORMATS.finditer(text):
        yield TextSpan(*match.span(), "secret")
    for pattern in (_AUTH_SCHEME, _KEY_VALUE, _SECRET_OPTION, _USER_OPTION, _ATTACHED_OPTION, _COOKIE):
        for match in pattern.finditer(text):
            yield _strip_quotes(text, *match.span(1))
    for match in _WORD_VALUE.finditer(text):
        if match[1].lower() not in _NOT_SECRET:
            yield _strip_quotes(text, *match.span(1))
    if random_text:
        for match in _LONG_WORD.finditer(text):
            if is_random(match[0]):
                yield TextSpan(*match.span(), "secret")


def _strip_quotes(text: str, start: int, end: int) -> TextSpan:
    """Return the text without surrounding quotes."""
    quote = text[start]
    if quote in "\"'" and end - start > 1:
        start += 1
        end -= text[end - 1] == quote
    return TextSpan(start, end, "secret")


def is_random(run: str) -> bool:
    """Return whether a text looks random: by changes between letters and digits, or by rare pairs of letters."""
    pieces = [piece for piece in _SEPARATORS.split(run) if piece]
    joined = "".join(pieces)
    if len(joined) < MIN_LENGTH - 2 or len(set(joined)) < 9:
        return False
    digits = sum(map(str.isdigit, joined))
    if digits == len(joined):
        return False
    classes = [0 if item.isdigit() else 1 if item.islower() else 2 for item in joined]
    share = sum(a != b for a, b in pairwise(classes)) / (len(classes) - 1)
    if len(joined) / len(pieces) < MIN_MEAN_PIECE:
        return (
            share >= MIN_CHANGE_SHARE and len(set(classes)) == 3
        )  # base64, in which + and / are not separators
    if share >= MIN_CHANGE_SHARE or (share >= MIN_CHANGE_SHARE_WITH_DIGITS and digits >= 2):
        return True
    longest = max(pieces, key=len)
    return bool(digits) and (_HEX.fullmatch(longest) is not None or _has_rare_pairs(longest))


def _has_rare_pairs(piece: str) -> bool:
    """Return whether a long text consists of rare pairs of letters."""
    if len(piece) < MIN_PIECE:
        return False
    pairs = [a + b for a, b in pairwise(piece.lower()) if a.isalpha() and b.isalpha()]
    rare = sum(pair in RARE_PAIRS for pair in pairs)
    return rare >= MIN_RARE_PAIRS and rare >= MIN_RARE_SHARE * len(pairs)
