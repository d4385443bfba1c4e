"""What perf says of its own file: header, counts of records, complaints, and what the collector did.

Sources: tools/perf/util/header.c (`perf report --header-only`), builtin-report.c (`--stats`) of Linux.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.contract import ClockKind, Part, Sentence
from collectors.parse.tokens import seconds_to_ns, whole, words

_LIMIT = 1 << 20
_EVENT = re.compile(rb"^# event : name = ([^\s,][^,]{0,80}), ", re.MULTILINE)
_FIELD = re.compile(
    rb"^# (hostname|os release|perf version|arch|nrcpus online|cpudesc|cmdline) ?: ?(.{1,400})$", re.MULTILINE
)
_REFERENCE = re.compile(
    rb"^# reference time: .{1,60} = (\d{1,12}\.\d{1,9}) \(TOD\) = (\d{1,12}\.\d{1,9}) \(monotonic\)",
    re.MULTILINE,
)
_COUNT = re.compile(rb"^\s*([A-Z_]+) events:\s+(\d{1,18})", re.MULTILINE)
_DUMMY = b"dummy"
_COMPLAINTS = (
    (
        re.compile(rb"kptr_restrict|/proc/\{?kallsyms.*restricted", re.IGNORECASE),
        "warning.kernel_symbols_hidden",
    ),
    (
        re.compile(
            rb"No permission|Permission denied|Operation not permitted|Access to performance monitoring"
        ),
        "warning.perf_permission",
    ),
    (re.compile(rb"perf size limit reached"), "warning.perf_size_limit"),
    (
        re.compile(rb"Processed \d+ events and lost \d+|lost \d+ (?:chunks|samples|events)"),
        "warning.perf_lost",
    ),
)


@dataclass(frozen=True, slots=True)
class Told:
    """Facts, warnings, and the clock of the samples; None where perf could not be told which to use."""

    facts: Mapping[str, object]
    warnings: tuple[Sentence, ...]
    clock: ClockKind | None


def read(parts: Mapping[str, Part]) -> Told:
    """All that the small parts say: status.txt, header.txt, stats.txt, record.log. Any may be missing."""
    header, log = _bytes(parts, "header.txt"), _bytes(parts, "record.log")
    status = _status(_bytes(parts, "status.txt"))
    facts: dict[str, object] = _header(header)
    facts |= {f"perf_{key}": words(value, 200) for key, value in status.items() if key in _KEPT}
    warnings = [Sentence(key) for pattern, key in _COMPLAINTS if pattern.search(log)]
    counts = {name.decode("ascii"): int(count) for name, count in _overall(_bytes(parts, "stats.txt"))}
    if "SAMPLE" in counts:
        facts["perf_report_samples"] = counts["SAMPLE"]
    lost = counts.get("LOST", 0) + counts.get("LOST_SAMPLES", 0)
    facts["perf_lost_records"] = lost
    if lost and not any(one.key == "warning.perf_lost" for one in warnings):
        warnings.append(Sentence("warning.perf_lost"))
    if status.get("script_exit", b"0") != b"0":
        warnings.append(Sentence("warning.perf_script_failed", {"code": words(status["script_exit"], 8)}))
    if "script_cut" in status:
        warnings.append(Sentence("warning.perf_text_cut"))
    monotonic = b"# clockid: monotonic" in header or status.get("clock", b"").endswith(b"MONOTONIC")
    if not monotonic:
        warnings.append(Sentence("warning.perf_clock_unknown"))
    return Told(facts, tuple(warnings), "monotonic" if monotonic else None)


_KEPT = frozenset({"frequency", "seconds", "switches_per_s", "pages", "record_exit"})


def _bytes(parts: Mapping[str, Part], name: str) -> bytes:
    part = parts.get(name)
    return part.read(_LIMIT) if part is not None else b""


def _status(text: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for line in text.split(b"\n")[:100]:
        key, _, value = line.partition(b" ")
        if key.isalpha() or b"_" in key:
            found[key[:40].decode("ascii", "replace")] = value
    return found


def _header(text: bytes) -> dict[str, object]:
    facts: dict[str, object] = {}
    for name, value in _FIELD.findall(text):
        key = "perf_" + name.decode("ascii").replace(" ", "_").removeprefix("perf_")
        facts.setdefault(key, words(value.strip(), 400))
    events = [words(name) for name in _EVENT.findall(text) if not name.startswith(_DUMMY)]
    if events:
        facts["perf_events"] = events[:20]
    if match := _REFERENCE.search(text):
        real, monotonic = seconds_to_ns(match[1]), seconds_to_ns(match[2])
        if real is not None and monotonic is not None:
            facts["perf_reference"] = {"realtime_ns": real, "monotonic_ns": monotonic}
    return facts


def _overall(text: bytes) -> list[tuple[bytes, bytes]]:
    """Counts of the first block; the blocks behind it repeat them by event."""
    head, _, rest = text.partition(b"Aggregated stats:")
    block = re.split(rb"^\S.* stats:$", rest or head, maxsplit=1, flags=re.MULTILINE)[0]
    return [(name, count) for name, count in _COUNT.findall(block) if whole(count) is not None]
