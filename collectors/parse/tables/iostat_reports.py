"""What `iostat -x` prints, as JSON or as text, over the versions of sysstat.

JSON is read line by line, because sysstat prints every device on a line of its own: so a file that was cut
(iostat closes its JSON on SIGINT only) loses no more than its last line, and every number has its line.
Keys were renamed over time: avgqu-sz → aqu-sz, avgrq-sz (sectors) → rareq-sz and wareq-sz (kB), `r` → `r/s`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collectors.contract import Sentence
from collectors.parse.tables import report_times
from collectors.parse.tables.text_columns import parse_row
from collectors.parse.tables.tokens import parse_amount, to_text

_MAX_LINES = 500_000
_MAX_LINE = 4_096
_MAX_DEVICES = 1_000
_MB_IN_KB = 1 / 1024
#: iostat's keys → metric and scale; the first key that a version prints is taken.
_KEYS: Mapping[str, tuple[str, float]] = {
    "r/s": ("disk.r_iops", 1.0),
    "r": ("disk.r_iops", 1.0),
    "w/s": ("disk.w_iops", 1.0),
    "w": ("disk.w_iops", 1.0),
    "d/s": ("disk.d_iops", 1.0),
    "d": ("disk.d_iops", 1.0),
    "f/s": ("disk.flush_per_s", 1.0),
    "rkB/s": ("disk.read_mb_s", _MB_IN_KB),
    "rkB": ("disk.read_mb_s", _MB_IN_KB),
    "rMB/s": ("disk.read_mb_s", 1.0),
    "wkB/s": ("disk.write_mb_s", _MB_IN_KB),
    "wkB": ("disk.write_mb_s", _MB_IN_KB),
    "wMB/s": ("disk.write_mb_s", 1.0),
    "r_await": ("disk.r_await_ms", 1.0),
    "w_await": ("disk.w_await_ms", 1.0),
    "f_await": ("disk.f_await_ms", 1.0),
    "rareq-sz": ("disk.rareq_kb", 1.0),
    "wareq-sz": ("disk.wareq_kb", 1.0),
    "rrqm/s": ("disk.rrqm_per_s", 1.0),
    "wrqm/s": ("disk.wrqm_per_s", 1.0),
    "aqu-sz": ("disk.aqu", 1.0),
    "avgqu-sz": ("disk.aqu", 1.0),
    "util": ("disk.util_pct", 1.0),
    "%util": ("disk.util_pct", 1.0),
}
METRICS: tuple[str, ...] = tuple(dict.fromkeys(metric for metric, _ in _KEYS.values()))

_JSON_STAMP = re.compile(rb'"timestamp":\s*"([^"]{8,40})"')
_JSON_DEVICE = re.compile(rb'\{\s*"disk_device":\s*"((?:[^"\\]|\\.){1,128})"\s*,(.*)\}\s*,?\s*\Z')
_JSON_PAIR = re.compile(rb'"([^"]{1,16})":\s*(-?[0-9][0-9.]{0,24})\s*(?=[,}]|\Z)')
_TEXT_STAMP = re.compile(rb"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}[+-]\d{4}\s*\Z")


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One device in one report: its metrics and the line that they stand on."""

    line: int
    values: Mapping[str, float]


@dataclass(slots=True)
class IostatReport:
    """One interval: the wall clock at its end where it is known, and every device."""

    stamp_ns: int | None
    devices: dict[str, DeviceRow] = field(default_factory=dict)


def list_devices(reports: Sequence[IostatReport]) -> list[str]:
    """Every device of any report, in the order of their appearance."""
    return list(dict.fromkeys(dev for report in reports for dev in report.devices))[:_MAX_DEVICES]


def parse_iostat_reports(data: bytes) -> tuple[list[IostatReport], list[Sentence]]:
    """All reports, and warnings about a cut end or lines that are not as they should be."""
    warnings: list[Sentence] = []
    lines = data.split(b"\n", _MAX_LINES)[:_MAX_LINES]
    as_json = data.lstrip()[:1] == b"{"
    reports, bad = _read_json(lines) if as_json else _read_text(lines)
    if as_json and not data.rstrip().endswith(b"}}"):
        warnings.append(Sentence("warning.json_cut"))
    if bad:
        warnings.append(Sentence("warning.lines_unreadable", {"count": bad}))
    return reports, warnings


def _read_json(lines: Sequence[bytes]) -> tuple[list[IostatReport], int]:
    reports: list[IostatReport] = []
    bad = 0
    for number, line in enumerate(lines, 1):
        if len(line) > _MAX_LINE:
            bad += 1
        elif stamp := _JSON_STAMP.search(line):
            reports.append(IostatReport(report_times.parse_epoch_ns(to_text(stamp[1]))))
        elif b'"disk_device"' in line:
            match = _JSON_DEVICE.search(line)
            if match is None or not reports:
                bad += 1
                continue
            pairs = {
                key.decode("ascii", "replace"): parse_amount(value)
                for key, value in _JSON_PAIR.findall(match[2])
            }
            reports[-1].devices.setdefault(to_text(match[1], 64), DeviceRow(number, _read_metrics(pairs)))
    return reports, bad


def _read_text(lines: Sequence[bytes]) -> tuple[list[IostatReport], int]:
    reports: list[IostatReport] = []
    header: list[bytes] = []
    bad = 0
    for number, line in enumerate(lines, 1):
        tokens = line[:_MAX_LINE].split(None, 64)
        if _TEXT_STAMP.match(line):
            reports.append(IostatReport(report_times.parse_epoch_ns(to_text(line.strip()))))
            header = []
        elif tokens and tokens[0].rstrip(b":") == b"Device":
            header = tokens
            if not reports or reports[-1].devices:
                reports.append(IostatReport(None))
        elif header and tokens:
            values = parse_row(header[1:], tokens[1:])
            if values is None:
                bad += 1
            else:
                reports[-1].devices.setdefault(
                    to_text(tokens[0], 64), DeviceRow(number, _read_metrics(values))
                )
    return reports, bad


def _read_metrics(values: Mapping[str, float]) -> dict[str, float]:
    """Return the columns of iostat by the names of the catalog."""
    results: dict[str, float] = {}
    for key, value in values.items():
        if key in _KEYS:
            metric, scale = _KEYS[key]
            results.setdefault(metric, value * scale)
    return results
