"""Views of what was really captured: the fixtures of collectors, and reports of other programs, through the parsers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from culprit.core.rules.parsed_view import view_of
from culprit.core.rules.view import View
from culprit.core.stacks import Profile
from culprit.imports.sources import PARSERS

from collectors.contract import Context, Parsed
from collectors.parse import folded, perf_script
from collectors.registry import COLLECTORS
from collectors.tests.record_fixtures import FIXTURES
from collectors.tests.support import SIMPLE, BytesPart

OWN = {"how.json", "expected.json"}


def captured(fixtures: Mapping[str, str], **facts: Any) -> View:
    """Collector → folder of its fixture; import → file among the reports."""
    parsed: dict[str, Parsed] = {}
    profiles: dict[str, Profile] = {}
    for name, place in fixtures.items():
        if name in PARSERS:
            parts = {"file": BytesPart((FIXTURES / "reports" / place).read_bytes())}
            parsed[name] = PARSERS[name](parts, Context(SIMPLE, "import", 30.0, facts))
            continue
        folder = FIXTURES / name / place
        told = json.loads((folder / "how.json").read_text())
        parts = {one.name: BytesPart(one.read_bytes()) for one in folder.iterdir() if one.name not in OWN}
        context = Context(SIMPLE, told["way"], float(told["seconds"]), facts)
        parsed[name] = COLLECTORS[name].parse(parts, context)
        for source in parsed[name].profiles:
            if source.part in parts and source.reader != "perf_sched":
                reader = perf_script if source.reader == "perf_script" else folded
                profiles[source.kind] = Profile(reader.read(parts[source.part].open()))
    return replace(view_of(parsed, profiles=profiles, facts=facts), seconds=30.0)
