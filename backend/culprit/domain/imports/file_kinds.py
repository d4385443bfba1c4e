"""Kinds of files that can be imported, with their parsers. A bundle is parsed by the parsers of its collectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from collectors.contract import Context, Parse, Parsed, Part, ProfileSource
from collectors.parse.profile_formats.registry import PROFILE_FORMATS, ProfileFormat, detect_profile_format
from collectors.parse.reports import prometheus_import, registry
from collectors.parse.reports.registry import REPORTS, Report
from collectors.runner import lookback, symbols
from culprit.domain.imports import typical_ranges
from culprit.domain.profiles import debug_files
from culprit.domain.series.typical_range import PROM_TYPICAL

Kind = Literal["perf_data", "perf_sched", "perf_script", "folded", "bundle"] | ProfileFormat | Report
NAMES: Mapping[Kind, str] = {
    "perf_data": "import.perf_data",
    "perf_sched": "import.perf_sched",
    "perf_script": "import.perf_script",
    "folded": "import.folded",
    "pprof": "import.pprof",
    "speedscope": "import.speedscope",
    "chrome_trace": "import.chrome_trace",
    "cpuprofile": "import.cpuprofile",
    "firefox": "import.firefox",
    "bpftrace": "import.bpftrace",
    "prometheus": "import.prometheus",
    "jaeger": "import.jaeger",
    "zipkin": "import.zipkin",
    "otlp": "import.otlp",
    "wrk": "import.wrk",
    "vegeta": "import.vegeta",
    "iperf3": "import.iperf3",
    "jmeter": "import.jmeter",
}
"""{kind: collector name of the file in its run}."""

PROM_SERVICE = "prom_service"
"""Collector of the data that the server fetches from a service's Prometheus."""

PART = "file"
PERF_MAGIC = b"PERFILE2"
BUNDLE_MAGIC = b"CULPRIT1 "
_FOLDED_LINE = re.compile(rb".*\S[ \t]+\d+(\.\d+)?[ \t]*\r?\Z")


def _build_profile_parser(source: ProfileSource) -> Parse:
    def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
        return Parsed(profiles=(source,))

    return parse


_STACKS = ProfileSource("on_cpu", "perf_script", PART, "samples", None, raw_part=PART)
_SOURCES: Mapping[Kind, ProfileSource] = {
    "perf_data": _STACKS,
    "perf_sched": ProfileSource("sched", "perf_sched", PART, "ns", None, raw_part=PART),
    "perf_script": _STACKS,
    "folded": ProfileSource("on_cpu", "folded", PART, "samples", None, raw_part=PART),
    **{name: ProfileSource("on_cpu", name, PART, "samples", None, raw_part=PART) for name in PROFILE_FORMATS},
}


def _build_report_parser(kind: Report) -> Parse:
    def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
        return registry.READERS[kind](parts[PART], PART)

    return parse


PARSERS: Mapping[str, Parse] = {
    **{NAMES[kind]: _build_profile_parser(source) for kind, source in _SOURCES.items()},
    **{NAMES[kind]: _build_report_parser(kind) for kind in REPORTS},
    PROM_SERVICE: prometheus_import.parse_prometheus_import,
    PROM_TYPICAL: typical_ranges.parse_typical_ranges,
    lookback.ID: lookback.parse_lookback,
    symbols.ID: symbols.parse_symbols,
    debug_files.ID: debug_files.parse_debug_files,
}


def detect_file_kind(head: bytes) -> Kind:
    """Detect the kind of a file from its first decompressed bytes. The default is output of perf script."""
    if head.startswith(PERF_MAGIC):
        return "perf_data"
    if head.startswith(BUNDLE_MAGIC) or b"\n" + BUNDLE_MAGIC in head:
        return "bundle"
    profile = detect_profile_format(head)
    if profile is not None:
        return profile
    report = registry.detect_report(head)
    if report is not None:
        return report
    lines = head.split(b"\n")
    for number, line in enumerate(lines):
        if line.strip() and not line.startswith(b"#"):
            frame_follows = number + 1 < len(lines) and lines[number + 1].startswith(b"\t")
            return "folded" if _FOLDED_LINE.match(line) and not frame_follows else "perf_script"
    return "perf_script"
