"""Views of what was really captured: the fixtures of collectors, and reports of other programs, through the parsers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from culprit.domain.imports.file_kinds import PARSERS
from culprit.domain.profiles.stacks import StackProfile
from culprit.domain.rules.parsed_view import build_view
from culprit.domain.rules.view import HostView

from collectors.contract import Context, Parsed
from collectors.parse.perf import folded, perf_script
from collectors.registry import COLLECTORS
from collectors.tests.fixture_files import FIXTURES, fixture_folder
from collectors.tests.support import SIMPLE, BytesPart

OWN = {"how.json", "expected.json"}


def captured(fixtures: Mapping[str, str], **facts: Any) -> HostView:
    """Collector → folder of its fixture; import → file among the reports."""
    parsed: dict[str, Parsed] = {}
    profiles: dict[str, StackProfile] = {}
    for name, place in fixtures.items():
        if name in PARSERS:
            parts = {"file": BytesPart((FIXTURES / "reports" / place).read_bytes())}
            parsed[name] = PARSERS[name](parts, Context(SIMPLE, "import", 30.0, facts))
            continue
        folder = fixture_folder(name) / place
        reported = json.loads((folder / "how.json").read_text())
        parts = {item.name: BytesPart(item.read_bytes()) for item in folder.iterdir() if item.name not in OWN}
        context = Context(SIMPLE, reported["method"], float(reported["seconds"]), facts)
        parsed[name] = COLLECTORS[name].parse(parts, context)
        for source in parsed[name].profiles:
            if source.part in parts and source.reader != "perf_sched":
                read = (
                    perf_script.parse_perf_script if source.reader == "perf_script" else folded.parse_folded
                )
                profiles[source.kind] = StackProfile(read(parts[source.part].open()))
    return replace(build_view(parsed, profiles=profiles, facts=facts), seconds=30.0)
