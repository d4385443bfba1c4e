"""Addresses, hosts, users, mail and paths in a text.

Every expression starts only where a run of its characters starts (a lookbehind), takes what it takes without giving
it back (possessive), or is bounded: a hostile text costs a few passes and never a power of its length.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

from culprit.core.redaction.kinds import Span

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
ORDINARY = _NOT_USERS | frozenset(
    """required unknown invalid none null true false default service services admin administrator server host hosts
    client clients guest test info support sales contact noreply mail postmaster webmaster team group error warning
    daemon nobody everyone anonymous public private local remote current same other another""".split()  # noqa: SIM905
)
"""Words that stand where names stand, and are none."""

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
_HOST_SAID = re.compile(
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
_USER_SAID = (
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

Find = Callable[[str], Iterator[Span]]


def addresses(text: str) -> Iterator[Span]:
    """IPv4, IPv6, hardware addresses, and addresses as /proc/net writes them; those that name nobody are kept."""
    if "." in text:
        for one in _IPV4.finditer(text):
            if one[0] not in KEPT_ADDRESSES and all(int(part) < 256 for part in one[0].split(".")):
                yield Span(*one.span(), "address")
    if ":" not in text and "-" not in text:
        return
    for one in _IPV6.finditer(text):
        if one[0] not in KEPT_ADDRESSES and any(map(str.isdigit, one[0])) and _is_address(one[0]):
            yield Span(*one.span(), "address")
    for pattern in (_MAC, _SOCKET):
        for one in pattern.finditer(text):
            if one[0].strip("0:-") and one[0] != "0100007F":
                yield Span(*one.span(), "address")


def _is_address(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def mails(text: str) -> Iterator[Span]:
    """Mail addresses, percent-encoded ones too."""
    if "@" in text or "%40" in text:
        for one in _MAIL.finditer(text):
            if one[0].rsplit(".", 1)[-1] not in _FILES:
                yield Span(*one.span(), "email")


def hosts(text: str) -> Iterator[Span]:
    """Names of hosts by their form (dotted, below a known top), or by what stands before them."""
    for one in _DOTTED.finditer(text):
        top, labels = one[1].lower(), one[0].count(".") + 1
        sure = top in _SURE or top.startswith("xn--")
        if (sure or (labels >= 3 and top in _COUNTRIES)) and one[0].lower() not in KEPT_HOSTS:
            yield Span(*one.span(), "host")
    for one in _NUMBERED.finditer(text):
        yield Span(*one.span(), "host")
    for pattern in (_HOST_SAID, _SYSLOG, _UNAME):
        for one in pattern.finditer(text):
            yield from _host(one, 1)
    for one in _AT.finditer(text):
        if not _is_no_host(one[2]):
            yield from _host(one, 2)
    for one in _URL.finditer(text):
        yield from _host(one, 2)


def _is_no_host(name: str) -> bool:
    """Whether what stands behind an @ is a unit of systemd or the version of a symbol."""
    return name.rsplit(".", 1)[-1] in _FILES or name.startswith(("GLIBC", "plt"))


def _host(found: re.Match[str], group: int) -> Iterator[Span]:
    name = found[group].rstrip(".").lower()
    if name in KEPT_HOSTS or name.strip("[]") in KEPT_ADDRESSES or name.replace(".", "").isdigit():
        return
    yield Span(found.start(group), found.start(group) + len(found[group].rstrip(".")), "host")


def users(text: str) -> Iterator[Span]:
    """Names of people and accounts, by what stands before them."""
    for pattern in _USER_SAID:
        for one in pattern.finditer(text):
            if one[1].lower() not in KEPT_USERS | _NOT_USERS:
                yield Span(*one.span(1), "user")
    for one in _AT.finditer(text):
        if one[1].lower() not in KEPT_USERS and not _is_no_host(one[2]):
            yield Span(*one.span(1), "user")


def paths(text: str) -> Iterator[Span]:
    """Paths, but those that every Linux has; what stands behind the host of a URL."""
    for one in _PATH.finditer(text):
        end = one.end() - (len(one[0]) - len(one[0].rstrip(".")))
        if end - one.start() > 1 and not kept_path(text[one.start() : end]):
            yield Span(one.start(), end, "path")
    for one in _WINDOWS.finditer(text):
        yield Span(*one.span(), "path")
    for one in _URL.finditer(text):
        if one[3] and len(one[3]) > 1:
            yield Span(*one.span(3), "path")


def kept_path(path: str) -> bool:
    """Whether every Linux has it, so that it tells of nobody."""
    return KEPT_PATHS.match(path) is not None and ".." not in path


def logins(text: str) -> Iterator[Span]:
    """What stands before the host of a URL: a name, and mostly a password."""
    for one in _URL.finditer(text):
        if one[1]:
            yield Span(*one.span(1), "secret")
