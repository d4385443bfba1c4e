"""The formats of profiles: which one a file is, and what reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Literal, get_args

from collectors.parse.profile_formats.bpftrace import parse_bpftrace
from collectors.parse.profile_formats.chrome_trace import parse_chrome_trace
from collectors.parse.profile_formats.cpuprofile import parse_cpuprofile
from collectors.parse.profile_formats.firefox import parse_firefox
from collectors.parse.profile_formats.pprof import parse_pprof
from collectors.parse.profile_formats.protobuf_fields import read_varint
from collectors.parse.profile_formats.speedscope import parse_speedscope
from collectors.profiles.limits import Readable
from collectors.profiles.samples import SampleTable

ProfileFormat = Literal["pprof", "speedscope", "chrome_trace", "cpuprofile", "firefox", "bpftrace"]
PROFILE_FORMATS: tuple[ProfileFormat, ...] = get_args(ProfileFormat)

READERS: Mapping[str, Callable[[Readable], list[SampleTable]]] = {
    "pprof": parse_pprof,
    "speedscope": parse_speedscope,
    "chrome_trace": parse_chrome_trace,
    "cpuprofile": parse_cpuprofile,
    "firefox": parse_firefox,
    "bpftrace": parse_bpftrace,
}
"""Format → reader of the unpacked bytes; a table for each event and unit, the most important first."""

# The names that only this format has, among the first bytes of a file.
_JSON_MARKS: tuple[tuple[ProfileFormat, tuple[bytes, ...]], ...] = (
    ("speedscope", (b"speedscope.app/file-format-schema.json",)),
    ("firefox", (b'"preprocessedProfileVersion"',)),
    ("firefox", (b'"meta"', b'"interval"', b'"stackwalk"')),
    ("chrome_trace", (b'"traceEvents"',)),
    ("cpuprofile", (b'"nodes"', b'"callFrame"', b'"functionName"')),
)
_TRACE_LIST = re.compile(rb'\[\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*"ph"\s*:\s*"[A-Za-z]"')
_MAP = re.compile(rb"(?:^|\n)@\w*\[")
# Fields of pprof's Profile by wire type: lengths of messages and texts, and numbers.
_MESSAGES, _NUMBERS = {1, 2, 3, 4, 5, 6, 11, 13}, {7, 8, 9, 10, 12, 14, 15}


def detect_profile_format(head: bytes) -> ProfileFormat | None:
    """Return the format that the first unpacked bytes indicate, or None."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] == b"{":
        return next((name for name, marks in _JSON_MARKS if all(mark in head for mark in marks)), None)
    if start[:1] == b"[" and _TRACE_LIST.match(start[:4096]):
        return "chrome_trace"
    if start[:1] in {b"@", b"A"} and _MAP.search(start[:4096]):
        return "bpftrace"
    return "pprof" if _is_pprof(head) else None


def detect_json_format(text: bytes) -> ProfileFormat | None:
    """Return the format of a whole JSON file by the names of its outermost object, or None."""
    try:
        whole = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(whole, dict):
        return None
    names = whole.keys()
    if names >= {"shared", "profiles"}:
        return "speedscope"
    if names >= {"meta", "threads"}:
        return "firefox"
    if "traceEvents" in names:
        return "chrome_trace"
    return "cpuprofile" if names >= {"nodes", "startTime"} else None


def _is_pprof(head: bytes) -> bool:
    """Return whether the bytes are fields of pprof's Profile, which text is not: types have bytes below 9."""
    if not head or not re.search(rb"[\x00-\x08]", head[:4096]):
        return False
    at, fields = 0, 0
    try:
        while at < len(head):
            key, at = read_varint(head, at)
            number, wire = key >> 3, key & 7
            if (wire == 2 and number in _MESSAGES) or (wire == 0 and number in _NUMBERS):
                value, at = read_varint(head, at)
                at += value if wire == 2 else 0
                fields += 1
            else:
                return False
    except (IndexError, ValueError):
        return fields > 0
    return fields > 0
