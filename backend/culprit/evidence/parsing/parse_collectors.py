"""Runs in a confined child: the parsers of one run's collectors, one after another.

For the collector at place `i` it leaves `i.json` and `i.blob` in its working directory, renamed into place
when they are complete. The file `current` holds the place it is at, so that whoever finds it dead knows whose
bytes it died of. A parser's bug ends the child on purpose. `clock.json` is the run's clock, where perf knew it
better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.contract import Context, Parse, Parsed, Sentence
from collectors.parse.limits import ImportRefused
from collectors.registry import COLLECTORS
from culprit.imports.sources import PARSERS
from culprit.infra.parts import Altered, StoredPart
from culprit.workflows import parsed_form
from culprit.workflows.run_clock import FIRST, clock_of, narrowed


def main(request: Mapping[str, Any]) -> None:
    """`request`: {clock, facts, jobs: [{place, collector, way, seconds, parts: {name: {…}}}]}."""
    clock = clock_of(request["clock"])
    for job in sorted(request["jobs"], key=lambda job: job["collector"] not in FIRST):
        Path("current").write_text(str(job["place"]), encoding="ascii")
        context = Context(clock, job["way"] or "", float(job["seconds"] or 0), request["facts"])
        parsed = _one(job, context)
        better = narrowed(clock, parsed) if job["collector"] in FIRST else clock
        if better is not clock:
            clock = better
            _write(Path("clock.json"), clock.to_json())
    Path("current").unlink(missing_ok=True)


def _one(job: Mapping[str, Any], context: Context) -> Parsed:
    with Path(f"{job['place']}.blob").open("wb") as out:
        parsed = _parse(job, context)
        stored = parsed_form.write(parsed, out)
    _write(Path(f"{job['place']}.json"), stored)
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
        return parser(job["collector"])(parts, context)
    except ImportRefused as refused:
        return Parsed(readable=False, warnings=(refused.sentence,))
    except Altered as altered:
        return Parsed(readable=False, warnings=(Sentence("artifact.altered", {"sha256": str(altered)}),))


def parser(name: str) -> Parse:
    """The parser of a collector, or of a file that was brought in the place of one."""
    return PARSERS[name] if name in PARSERS else COLLECTORS[name].parse
