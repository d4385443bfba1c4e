"""Metadata of a perf file: header, counts of records, warnings, and the collector's status.

Sources: tools/perf/util/header.c (`perf report --header-only`), builtin-report.c (`--stats`) of Linux.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.contract import ClockKind, Part, Sentence
from collectors.parse.tables.tokens import parse_seconds_ns, parse_whole, to_text

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
class PerfReport:
    """Return facts, warnings, and the clock of the samples, or None if perf could not set the clock."""

    facts: Mapping[str, object]
    warnings: tuple[Sentence, ...]
    clock: ClockKind | None


def parse_perf_report(parts: Mapping[str, Part]) -> PerfReport:
    """The values of the small parts: status.txt, header.txt, stats.txt, record.log. Any may be missing."""
    header, log = _read_bytes(parts, "header.txt"), _read_bytes(parts, "record.log")
    status = _parse_status(_read_bytes(parts, "status.txt"))
    facts: dict[str, object] = _parse_header(header)
    facts |= {f"perf_{key}": to_text(value, 200) for key, value in status.items() if key in _KEPT}
    warnings = [Sentence(key) for pattern, key in _COMPLAINTS if pattern.search(log)]
    counts = {
        name.decode("ascii"): int(count) for name, count in _parse_overall(_read_bytes(parts, "stats.txt"))
    }
    if "SAMPLE" in counts:
        facts["perf_report_samples"] = counts["SAMPLE"]
    lost = counts.get("LOST", 0) + counts.get("LOST_SAMPLES", 0)
    facts["perf_lost_records"] = lost
    if lost and not any(warning.key == "warning.perf_lost" for warning in warnings):
        warnings.append(Sentence("warning.perf_lost"))
    if status.get("script_exit", b"0") != b"0":
        warnings.append(Sentence("warning.perf_script_failed", {"code": to_text(status["script_exit"], 8)}))
    if "script_cut" in status:
        warnings.append(Sentence("warning.perf_text_cut"))
    monotonic = b"# clockid: monotonic" in header or status.get("clock", b"").endswith(b"MONOTONIC")
    if not monotonic:
        warnings.append(Sentence("warning.perf_clock_unknown"))
    return PerfReport(facts, tuple(warnings), "monotonic" if monotonic else None)


_KEPT = frozenset({"frequency", "seconds", "switches_per_s", "pages", "record_exit"})


def _read_bytes(parts: Mapping[str, Part], name: str) -> bytes:
    part = parts.get(name)
    return part.read(_LIMIT) if part is not None else b""


def _parse_status(text: bytes) -> dict[str, bytes]:
    results: dict[str, bytes] = {}
    for line in text.split(b"\n")[:100]:
        key, _, value = line.partition(b" ")
        if key.isalpha() or b"_" in key:
            results[key[:40].decode("ascii", "replace")] = value
    return results


def _parse_header(text: bytes) -> dict[str, object]:
    facts: dict[str, object] = {}
    for name, value in _FIELD.findall(text):
        key = "perf_" + name.decode("ascii").replace(" ", "_").removeprefix("perf_")
        facts.setdefault(key, to_text(value.strip(), 400))
    events = [to_text(name) for name in _EVENT.findall(text) if not name.startswith(_DUMMY)]
    if events:
        facts["perf_events"] = events[:20]
    if match := _REFERENCE.search(text):
        real, monotonic = parse_seconds_ns(match[1]), parse_seconds_ns(match[2])
        if real is not None and monotonic is not None:
            facts["perf_reference"] = {"realtime_ns": real, "monotonic_ns": monotonic}
    return facts


def _parse_overall(text: bytes) -> list[tuple[bytes, bytes]]:
    """Counts of the first block; the blocks behind it repeat them by event."""
    head, _, rest = text.partition(b"Aggregated stats:")
    block = re.split(rb"^\S.* stats:$", rest or head, maxsplit=1, flags=re.MULTILINE)[0]
    return [(name, count) for name, count in _COUNT.findall(block) if parse_whole(count) is not None]
