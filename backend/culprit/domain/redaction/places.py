"""Detection of addresses, hosts, users, email addresses and paths.

Each expression starts only at the start of a run of its characters (lookbehind), is possessive or bounded. The cost
of a hostile text is linear.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

from culprit.domain.redaction.kinds import TextSpan

KEPT_USERS = frozenset({"root", "nobody"})
KEPT_HOSTS = frozenset({"localhost", "localhost.localdomain", "localhost6"})
KEPT_ADDRESSES = frozenset({"0.0.0.0", "127.0.0.1", "::", "::1", "255.255.255.255", "255.255.255.0"})  # noqa: S104
KEPT_PATHS = re.compile(
    r"/(?:proc|dev|boot|lib|lib32|lib64|bin|sbin|usr/(?:lib|lib32|lib64|libexec|bin|sbin|share|include))(?:/|$)"
    r"|/sys(?:$|/(?!fs/cgroup/.))|/etc(?:/(?:hosts|passwd|fstab|resolv\.conf|sysctl\.conf|nsswitch\.conf))?$"
    r"|/(?:tmp|var|opt|srv|home|run|mnt|etc)?/?$"
)
_SURE = frozenset(
    """com net org edu gov mil int io dev app cloud info biz tech online site systems internal intranet local
    localdomain lan corp intra home private arpa test example invalid cluster consul svc onion""".split()  # noqa: SIM905
)
_COUNTRIES = frozenset(
    """ac ae ai am ar at au ba be bg bo br by ca ch ci cl cn co cr cz de dk ee eg es eu fi fr ge gr hk hr hu id ie il
    in ir is it jp ke kr kz li lt lu lv ma me mx my ng nl no nu nz pe ph pk pt ro rs ru sa se sg si sk th tr tw ua uk
    us uy uz ve vn za""".split()  # noqa: SIM905
)
_FILES = frozenset(
    ("service", "socket", "timer", "slice", "scope", "mount", "target", "path", "device", "swap")
)
_NOT_USERS = frozenset(
    """time space mode cpu code stack land frame frames thread threads process processes level name id ids seconds
    nice system and or is was has had with in of to from the can may who that data input agent request requests fault
    faults side page pages memory function functions symbol symbols for on by at not be""".split()  # noqa: SIM905
)
COMMON_NAMES = _NOT_USERS | frozenset(
    """required unknown invalid none null true false default service services admin administrator server host hosts
    client clients guest test info support sales contact noreply mail postmaster webmaster team group error warning
    daemon nobody everyone anonymous public private local remote current same other another""".split()  # noqa: SIM905
)
"""Ordinary words that occur in the place of a name and are not redacted."""

_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])[0-9A-Fa-f]{0,4}+(?::[0-9A-Fa-f]{0,4}+){2,8}+(?:(?:\.\d{1,3}+){3})?+(?![\w:])"
)
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
_SOCKET = re.compile(r"(?<!\w)(?:[0-9A-F]{8}|[0-9A-F]{32})(?=:[0-9A-F]{4}(?!\w))")
_MAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}+(?:@|%40)(?:[\w-]{1,63}+\.){1,20}+[A-Za-z]{2,24}(?![\w-])")
_AT = re.compile(r"(?<![\w.+@-])([\w.+-]{1,64}+)@([A-Za-z0-9][\w.-]{0,252}+)(?!@)")
_DOTTED = re.compile(
    r"(?<![\w.-])(?:[\w-]{1,63}+\.){1,30}+([A-Za-z]{2,24}|xn--[a-z0-9-]{1,59})(?![\w-]|\.\w)"
)
_NUMBERED = re.compile(r"(?<!\w)(?:ip|ec2|host|node)(?:-\d{1,3}){4}(?!\w)", re.IGNORECASE)
_HOST_PHRASE = re.compile(
    r"(?<![A-Za-z])(?:host(?:_?name)?|server|node|peer|upstream|machine|nodename)[\"']?\s{0,4}[=:]\s{0,4}[\"']?"
    r"([A-Za-z0-9][\w.-]{1,252}+)",
    re.IGNORECASE,
)
_SYSLOG = re.compile(
    r"^(?:<\d{1,3}>\d? ?)?(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,40}+) "
    r"([\w.-]{1,253}+) (?=[^\s:\[]{1,80}(?:\[|:))",
    re.MULTILINE,
)
_UNAME = re.compile(r"(?<!\w)Linux ([\w.-]{1,253}+) \d{1,3}\.\d{1,3}")
_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,15}+://(?:([^\s/@\"'<>]{1,256}+)@)?"
    r"(\[[0-9A-Fa-f:.%]{2,60}+\]|[^\s/:?#\"'<>,;()\[\]{}|\\]{1,253}+)(?::\d{1,5})?([/?#][^\s\"'<>]{0,2048}+)?"
)
_USER_PHRASES = (
    re.compile(
        r"(?<![A-Za-z])(?:user(?:_?name)?|login|log_?name|owner|uname|ruser|sudo_user)[\"']?\s{0,4}[=:]\s{0,4}[\"']?"
        r"([A-Za-z_][\w.\\-]{0,63}+)(?!\()",
        re.IGNORECASE,
    ),
    re.compile(r"(?:Accepted|Failed) \S{1,40} for (?:invalid user )?([\w.\\-]{1,64}+)"),
    re.compile(r"(?<!\w)[ug]id=\d{1,10}\(([\w.\\-]{1,64}+)\)"),
    re.compile(r"(?<!\S)(?:sudo -u|su -|su|chown|-[uU]) {1,3}([A-Za-z_][\w.\\-]{0,63}+)"),
    re.compile(r"(?<![\w.-])[Uu]ser {1,3}([A-Za-z_][\w.\\-]{1,63}+)"),
)
_PATH = re.compile(r"(?<![\w.~/<-])(?:~[\w-]{0,64}+|\.{1,2})?/(?!/)[^\s\"'`,;:|<>()\[\]{}=&?*!\\]{1,4096}+")
_WINDOWS = re.compile(r"(?<!\w)(?:[A-Za-z]:|\\)\\[^\s\"'<>|]{1,1024}+")

Find = Callable[[str], Iterator[TextSpan]]


def find_addresses(text: str) -> Iterator[TextSpan]:
    """Find IPv4, IPv6 and hardware addresses, also in the format of /proc/net. Generic addresses are skipped."""
    if "." in text:
        for match in _IPV4.finditer(text):
            if match[0] not in KEPT_ADDRESSES and all(int(part) < 256 for part in match[0].split(".")):
                yield TextSpan(*match.span(), "address")
    if ":" not in text and "-" not in text:
        return
    for match in _IPV6.finditer(text):
        if match[0] not in KEPT_ADDRESSES and any(map(str.isdigit, match[0])) and _is_address(match[0]):
            yield TextSpan(*match.span(), "address")
    for pattern in (_MAC, _SOCKET):
        for match in pattern.finditer(text):
            if match[0].strip("0:-") and match[0] != "0100007F":
                yield TextSpan(*match.span(), "address")


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def find_emails(text: str) -> Iterator[TextSpan]:
    """Find email addresses, including percent-encoded ones."""
    if "@" in text or "%40" in text:
        for match in _MAIL.finditer(text):
            if match[0].rsplit(".", 1)[-1] not in _FILES:
                yield TextSpan(*match.span(), "email")


def find_hosts(text: str) -> Iterator[TextSpan]:
    """Find host names by their form (dotted, with a known top-level domain) or by the preceding word."""
    for match in _DOTTED.finditer(text):
        top, labels = match[1].lower(), match[0].count(".") + 1
        sure = top in _SURE or top.startswith("xn--")
        if (sure or (labels >= 3 and top in _COUNTRIES)) and match[0].lower() not in KEPT_HOSTS:
            yield TextSpan(*match.span(), "host")
    for match in _NUMBERED.finditer(text):
        yield TextSpan(*match.span(), "host")
    for pattern in (_HOST_PHRASE, _SYSLOG, _UNAME):
        for match in pattern.finditer(text):
            yield from _find_host(match, 1)
    for match in _AT.finditer(text):
        if not _is_no_host(match[2]):
            yield from _find_host(match, 2)
    for match in _URL.finditer(text):
        yield from _find_host(match, 2)


def _is_no_host(name: str) -> bool:
    """Return whether the text after an @ is a systemd unit or a symbol version."""
    return name.rsplit(".", 1)[-1] in _FILES or name.startswith(("GLIBC", "plt"))


def _find_host(match: re.Match[str], group: int) -> Iterator[TextSpan]:
    name = match[group].rstrip(".").lower()
    if name in KEPT_HOSTS or name.strip("[]") in KEPT_ADDRESSES or name.replace(".", "").isdigit():
        return
    yield TextSpan(match.start(group), match.start(group) + len(match[group].rstrip(".")), "host")


def find_users(text: str) -> Iterator[TextSpan]:
    """Find names of people and accounts by the preceding word."""
    for pattern in _USER_PHRASES:
        for match in pattern.finditer(text):
            if match[1].lower() not in KEPT_USERS | _NOT_USERS:
                yield TextSpan(*match.span(1), "user")
    for match in _AT.finditer(text):
        if match[1].lower() not in KEPT_USERS and not _is_no_host(match[2]):
            yield TextSpan(*match.span(1), "user")


def find_paths(text: str) -> Iterator[TextSpan]:
    """Find paths except standard Linux paths, and the part after the host of a URL."""
    for match in _PATH.finditer(text):
        end = match.end() - (len(match[0]) - len(match[0].rstrip(".")))
        if end - match.start() > 1 and not is_standard_path(text[match.start() : end]):
            yield TextSpan(match.start(), end, "path")
    for match in _WINDOWS.finditer(text):
        yield TextSpan(*match.span(), "path")
    for match in _URL.finditer(text):
        if match[3] and len(match[3]) > 1:
            yield TextSpan(*match.span(3), "path")


def is_standard_path(path: str) -> bool:
    """Return whether the path is a standard Linux path, which identifies no one."""
    return KEPT_PATHS.match(path) is not None and ".." not in path


def find_logins(text: str) -> Iterator[TextSpan]:
    """Find the user name and password before the host of a URL."""
    for match in _URL.finditer(text):
        if match[1]:
            yield TextSpan(*match.span(1), "secret")
