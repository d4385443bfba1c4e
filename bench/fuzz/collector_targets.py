"""A target for each collector: its parser on any parts, with the checks that the tests of collectors use."""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.fuzz.parts_text import decode_parts, encode_parts
from bench.fuzz.target import SEED_BYTES, FuzzTarget
from collectors.clock.mapping import ClockMap
from collectors.contract import Collector, Context
from collectors.registry import COLLECTORS
from collectors.tests.contract_checks import GOLDEN, check_parsed
from collectors.tests.support import SIMPLE, BytesPart

SECONDS = 30.0
_OWN = {"how.json", "expected.json"}


def list_collector_targets() -> list[FuzzTarget]:
    """Return a target for each collector of the catalog."""
    return [
        FuzzTarget(f"collector.{name}", build_collector_parse(collector), build_seed_reader(name))
        for name, collector in COLLECTORS.items()
    ]


def build_collector_parse(collector: Collector) -> Callable[[bytes], object]:
    """Return a function that parses the text of parts and checks the result. No parser of a collector raises."""
    clock = _load_clock(collector.id)

    def parse(data: bytes) -> object:
        method, texts = decode_parts(data)
        parts = {name: BytesPart(text) for name, text in texts.items()}
        parsed = collector.parse(parts, Context(clock, method, SECONDS))
        check_parsed(collector, parsed, parts.keys() | {"clock"})
        return parsed

    return parse


def build_seed_reader(collector_id: str) -> Callable[[], list[bytes]]:
    """Return a function that loads the recorded outputs of a collector."""

    def load_seeds() -> list[bytes]:
        seeds = []
        for how in GOLDEN:
            if how.parent.parent.name == collector_id:
                files = [file for file in how.parent.iterdir() if file.name not in _OWN]
                parts = {file.name: file.read_bytes() for file in files}
                seeds.append(encode_parts(json.loads(how.read_text())["method"], parts, SEED_BYTES))
        return seeds

    return load_seeds


def _load_clock(collector_id: str) -> ClockMap:
    """Return the clock of the first recording, so that its times are those of the recording."""
    for how in GOLDEN:
        if how.parent.parent.name == collector_id:
            return ClockMap.from_records(json.loads(how.read_text())["clock"])
    return SIMPLE
