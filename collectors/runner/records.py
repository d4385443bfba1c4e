"""Parse the frames of a runner: outcomes of collectors, clock readings, and lines of keys and values.

Pure and total: hostile text yields a record with less in it, never an exception. Format: host/PROTOCOL.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from collectors.contract import Sentence
from collectors.runner.frames import STATES, Frame
from collectors.runner.host_values import (
    INT4_MAX,
    INT8_MAX,
    RejectedFieldError,
    clean_block,
    clean_facts,
    clean_line,
    read_integer,
    read_line,
)

_KEY = re.compile(r"[a-z][a-z0-9_.]{0,80}")
#: Lines of one hello, busy, refused or end frame; a runner sends about thirty.
MAX_FACTS = 64
#: The lines of a `busy` frame about the run that holds the lease. All other lines are dropped.
_HOLDER = {
    "run": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "pid": re.compile(r"[1-9][0-9]{0,6}"),
    "since": re.compile(r"[1-9][0-9]{8,10}"),
}
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class CollectorExit:
    """How one collector ended. Times are boottime nanoseconds. `cpu_ms` and `bytes` are its cost on the host."""

    collector: str
    state: str
    method: str
    exit_code: int | None
    signal: str
    started_ns: int
    ended_ns: int
    cpu_ms: int
    bytes: int
    parts: int
    limiter: str
    argv: str = ""
    version: str = ""
    reason: Sentence | None = None
    tried: tuple[tuple[str, Sentence], ...] = ()
    stderr_tail: str = ""
    rejected: tuple[RejectedFieldError, ...] = ()


def parse_outcome(frame: Frame) -> CollectorExit:
    """Return the outcome in an `outcome` frame. An unknown state counts as a failure.

    Every text and number in it can be stored; what was dropped or cleaned is named in `rejected`.
    """
    head = frame.header
    rejected: list[RejectedFieldError] = []
    meta, _, tail = (
        frame.text.partition("\nstderr\n")
        if not frame.text.startswith("stderr\n")
        else ("", "", frame.text[7:])
    )
    argv, version, reason = "", "", None
    tried: list[tuple[str, Sentence]] = []
    for line in meta.split("\n")[:40]:
        key, _, rest = line.partition(" ")
        if key == "argv":
            argv = read_line("argv", rest[:1024], rejected)
        elif key == "version":
            version = read_line("version", rest[:200], rejected)
        elif key == "reason":
            reason = parse_message(rest)
        elif key == "tried":
            method, _, message = rest.partition(" ")
            why = parse_message(message)
            tried += [(clean_line(method[:60]), why)] if why else []
    state = head.fields.get("state", "")
    if state not in STATES:
        rejected.append(RejectedFieldError("state", "unexpected_value"))
    stderr_tail = clean_block(tail[:4096])
    if "\0" in tail[:4096]:
        rejected.append(RejectedFieldError("stderr", "control_characters"))
    if reason is not None and reason.key == "reason.unavailable" and stderr_tail.strip():
        # The script of a method writes why it cannot work as its last line.
        last = clean_line(stderr_tail.strip().rpartition("\n")[2][:200]).rstrip(".")
        reason = Sentence("reason.unavailable_because", {"why": last})
    fields = head.fields
    return CollectorExit(
        collector=head.id,
        state=state if state in STATES else "failed",
        method=_dash_to_none(head.fields.get("method", ""))[:60],
        exit_code=read_integer(fields, "exit", INT4_MAX, rejected),
        signal=_dash_to_none(head.fields.get("signal", ""))[:16],
        started_ns=read_integer(fields, "start", INT8_MAX, rejected) or 0,
        ended_ns=read_integer(fields, "end", INT8_MAX, rejected) or 0,
        cpu_ms=read_integer(fields, "cpu_ms", INT8_MAX, rejected) or 0,
        bytes=read_integer(fields, "bytes", INT8_MAX, rejected) or 0,
        parts=read_integer(fields, "parts", INT4_MAX, rejected) or 0,
        limiter=_dash_to_none(head.fields.get("limiter", ""))[:40],
        argv=argv,
        version=version,
        reason=reason,
        tried=tuple(tried),
        stderr_tail=stderr_tail,
        rejected=tuple(rejected),
    )


def _dash_to_none(text: str) -> str:
    return "" if text == "-" else text


def parse_message(text: str) -> Sentence | None:
    """Return the message for a reason as the runner writes it: a key, then `param=value` words."""
    words = text.split(" ")
    if not _KEY.fullmatch(words[0]):
        return None
    params: dict[str, str | int | float] = {}
    for word in words[1:17]:
        name, equals, value = word.partition("=")
        if equals and _KEY.fullmatch(name):
            params[name] = _parse_value(clean_line(value[:200]))
    return Sentence(words[0], params)


def _parse_value(text: str) -> str | int | float:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def parse_lines(frame: Frame) -> dict[str, str]:
    """Return the sanitized `key value` lines of a hello, busy, refused or end frame. The first of equal keys counts."""
    return read_facts(frame)[0]


def read_facts(frame: Frame) -> tuple[dict[str, str], tuple[RejectedFieldError, ...]]:
    """Return the lines of a hello, busy, refused or end frame as `parse_lines` does, and what was dropped or cleaned.

    Of a `busy` frame only a run, a pid and a time of the expected form are kept: they are shown to people.
    """
    results: dict[str, str] = {}
    for line in frame.text.split("\n", MAX_FACTS)[:MAX_FACTS]:
        key, _, value = line.partition(" ")
        if _KEY.fullmatch(key):
            results.setdefault(key, value[:1024])
    if frame.header.kind == "busy":
        results = {
            key: value for key, value in results.items() if key in _HOLDER and _HOLDER[key].fullmatch(value)
        }
    return clean_facts(results)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One `clock` frame, in nanoseconds. PROTOCOL.md defines the bounds."""

    seq: int
    at: str
    boot0_ns: int
    boot1_ns: int
    mono0_ns: int | None
    mono1_ns: int | None
    real_ns: int
    real_grain_ns: int
    source: str
    edge: bool


def parse_reading(frame: Frame) -> ClockReading | None:
    """Return the reading in a `clock` frame, or None if a number is missing."""
    head = frame.header
    seq, boot0, boot1 = head.number("seq"), head.number("bt0"), head.number("bt1")
    real, grain = head.number("real"), head.number("res")
    if seq is None or boot0 is None or boot1 is None or real is None or grain is None:
        return None
    return ClockReading(
        seq=seq,
        at=head.fields.get("at", "")[:8],
        boot0_ns=boot0,
        boot1_ns=boot1,
        mono0_ns=head.number("m0"),
        mono1_ns=head.number("m1"),
        real_ns=real,
        real_grain_ns=grain,
        source=head.fields.get("src", "")[:16],
        edge=head.fields.get("edge") == "1",
    )
