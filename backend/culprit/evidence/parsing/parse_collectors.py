"""Sandboxed process: run the parsers of one run's collectors, one after another.

For the collector with index `i` it writes `i.json` and `i.blob` to its working directory; `i.json` is renamed into
place when it is complete. The file `current` has the index of the collector that is being parsed, so that the parent
knows which one crashed the child. A bug in a parser ends the child on purpose. `clock.json` is the clock of the run, if
a perf recording refined it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from collectors.contract import Context, Parse, Parsed, ProfileSource, Sentence
from collectors.profiles.limits import ImportRefusedError
from collectors.registry import COLLECTORS
from culprit.domain.imports.file_kinds import PARSERS
from culprit.evidence.parsing import result_file
from culprit.evidence.parsing.profile_tables import list_table_sources
from culprit.evidence.parsing.run_clock import PARSED_FIRST, load_clock, narrow_clock
from culprit.infra.artifacts.stored_part import PartAlteredError, StoredPart


def main(request: Mapping[str, Any]) -> None:
    """Parse all jobs of a request: {clock, facts, jobs: [{index, collector, method, seconds, parts: {name: {…}}}]}."""
    clock = load_clock(request["clock"])
    for job in sorted(request["jobs"], key=lambda job: job["collector"] not in PARSED_FIRST):
        Path("current").write_text(str(job["index"]), encoding="ascii")
        context = Context(clock, job["method"] or "", float(job["seconds"] or 0), request["facts"])
        parsed = _parse_confined(job, context)
        refined = narrow_clock(clock, parsed) if job["collector"] in PARSED_FIRST else clock
        if refined is not clock:
            clock = refined
            _write(Path("clock.json"), clock.to_json())
    Path("current").unlink(missing_ok=True)


def _parse_confined(job: Mapping[str, Any], context: Context) -> Parsed:
    with Path(f"{job['index']}.blob").open("wb") as out:
        parsed = _parse(job, context)
        stored = result_file.write_result(parsed, out)
    _write(Path(f"{job['index']}.json"), stored)
    return parsed


def _write(path: Path, content: object) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")
    partial.replace(path)


def _parse(job: Mapping[str, Any], context: Context) -> Parsed:
    parts = {
        name: StoredPart(part["sha256"], part["size"], Path(part["path"]), part["encoding"])
        for name, part in job["parts"].items()
    }
    try:
        for part in parts.values():
            part.check()
        tables = list_table_sources(parts)
        if not tables:
            return find_parser(job["collector"])(parts, context)
        return _add_profiles(job["collector"], parts, tables, context)
    except ImportRefusedError as refused:
        return Parsed(readable=False, warnings=(refused.sentence,))
    except PartAlteredError as altered:
        return Parsed(readable=False, warnings=(Sentence("artifact.altered", {"sha256": str(altered)}),))


def _add_profiles(
    collector: str, parts: Mapping[str, StoredPart], tables: tuple[ProfileSource, ...], context: Context
) -> Parsed:
    """Parse a collector of a redacted bundle: its finished profiles, and its other parts without the recording."""
    others = {name: part for name, part in parts.items() if name not in {source.part for source in tables}}
    parsed = find_parser(collector)(others, context) if others else Parsed()
    warnings = tuple(warning for warning in parsed.warnings if warning.key != "warning.part_missing")
    return replace(parsed, profiles=tables, warnings=warnings, readable=True)


def find_parser(name: str) -> Parse:
    """Return the parser of a collector, or of a kind of imported file."""
    return PARSERS[name] if name in PARSERS else COLLECTORS[name].parse
