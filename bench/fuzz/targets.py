"""All parsers and importers that are fuzzed."""

from __future__ import annotations

from bench.fuzz.collector_targets import list_collector_targets
from bench.fuzz.import_targets import list_import_targets
from bench.fuzz.profile_targets import list_profile_targets
from bench.fuzz.target import FuzzTarget

TARGETS: dict[str, FuzzTarget] = {
    target.name: target
    for target in (*list_profile_targets(), *list_import_targets(), *list_collector_targets())
}
