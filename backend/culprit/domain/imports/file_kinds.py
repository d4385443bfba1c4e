"""The kinds of files that can be brought, and what each yields. A bundle yields what its collectors yield."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from collectors import look_back
from collectors.contract import Context, Parse, Parsed, Part, ProfileSource
from collectors.parse import prometheus_import, reports
from collectors.parse.reports import REPORTS, Report
from culprit.core.usual import PROM_USUAL
from culprit.imports import usual

Kind = Literal["perf_data", "perf_sched", "perf_script", "folded", "bundle"] | Report
NAMES: Mapping[Kind, str] = {
    "perf_data": "import.perf_data",
    "perf_sched": "import.perf_sched",
    "perf_script": "import.perf_script",
    "folded": "import.folded",
    "prometheus": "import.prometheus",
    "jaeger": "import.jaeger",
    "zipkin": "import.zipkin",
    "otlp": "import.otlp",
    "wrk": "import.wrk",
    "vegeta": "import.vegeta",
    "iperf3": "import.iperf3",
    "jmeter": "import.jmeter",
}
"""Kind → the name that stands in the place of a collector in its run."""

PROM_IMPORT = "prom_import"
"""What stands in the place of a collector for that which the server fetched from a service's Prometheus."""

PART = "file"
PERF_MAGIC = b"PERFILE2"
BUNDLE_MAGIC = b"CULPRIT1 "
_FOLDED_LINE = re.compile(rb".*\S[ \t]+\d+(\.\d+)?[ \t]*\r?\Z")


def _parse(source: ProfileSource) -> Parse:
    def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
        return Parsed(profiles=(source,))

    return parse


_STACKS = ProfileSource("on_cpu", "perf_script", PART, "samples", None, raw_part=PART)
_SOURCES: Mapping[Kind, ProfileSource] = {
    "perf_data": _STACKS,
    "perf_sched": ProfileSource("sched", "perf_sched", PART, "ns", None, raw_part=PART),
    "perf_script": _STACKS,
    "folded": ProfileSource("on_cpu", "folded", PART, "samples", None, raw_part=PART),
}


def _report(kind: Report) -> Parse:
    def parse(parts: Mapping[str, Part], context: Context) -> Parsed:
        return reports.READERS[kind](parts[PART], PART)

    return parse


PARSERS: Mapping[str, Parse] = {
    **{NAMES[kind]: _parse(source) for kind, source in _SOURCES.items()},
    **{NAMES[kind]: _report(kind) for kind in REPORTS},
    PROM_IMPORT: prometheus_import.parse,
    PROM_USUAL: usual.parse,
    look_back.ID: look_back.parse,
}


def detect(head: bytes) -> Kind:
    """What a file seems to be, from its first unpacked bytes. Text that is nothing else is perf script's."""
    if head.startswith(PERF_MAGIC):
        return "perf_data"
    if head.startswith(BUNDLE_MAGIC) or b"\n" + BUNDLE_MAGIC in head:
        return "bundle"
    report = reports.detect(head)
    if report is not None:
        return report
    for line in head.split(b"\n"):
        if line.strip() and not line.startswith(b"#"):
            return "folded" if _FOLDED_LINE.match(line) else "perf_script"
    return "perf_script"
