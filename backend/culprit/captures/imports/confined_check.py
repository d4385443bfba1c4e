"""Runs in a confined child while somebody waits: is this file what it should be, and within the limits?

All of it is unpacked once, so that sizes and ratios are known; of text, the first CHECKED bytes are read as
they will be read later. It leaves `result.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.clock import ClockMap
from collectors.contract import Context, Sentence
from collectors.parse import folded, perf_script
from collectors.parse.limits import (
    PIECE,
    BoundedReader,
    Encoding,
    ImportRefused,
    bounded_open,
    detect_encoding,
)
from collectors.parse.reports import REPORTS, Report
from culprit.imports import perf_file
from culprit.imports.bundle_parts import BundleReader
from culprit.imports.sources import NAMES, PARSERS, PART, PERF_MAGIC, detect
from culprit.infra.inputs import open_input
from culprit.infra.parts import StoredPart

CHECKED = 48 << 20
HEAD = 64 << 10
_NO_CONTEXT = Context(ClockMap())
Json = dict[str, Any]


class _Head:
    """A source from its first bytes on; text is cut after a whole block at `limit` bytes."""

    def __init__(self, first: bytes, source: BoundedReader, limit: int = 1 << 62) -> None:
        self._first, self._source, self._left = first, source, limit
        self.ended = False

    def read(self, size: int = PIECE, /) -> bytes:
        if self._first:
            piece, self._first = self._first[:size], self._first[size:]
            return piece
        if self.ended:
            return b""
        piece = self._source.read(size)
        self._left -= len(piece)
        if self._left < 0:
            cut = piece.rfind(b"\n\n")
            if cut >= 0:
                self.ended = True
                return piece[: cut + 2]
        return piece


def main(request: Mapping[str, Any]) -> None:
    """`request`: {path, kind}."""
    path = Path(request["path"])
    try:
        result = _check(path, request["kind"])
    except ImportRefused as refused:
        params = dict(refused.sentence.params)
        if refused.line is not None:
            params.setdefault("line", refused.line)
        result = {"failure": {"key": refused.sentence.key, "params": params}}
    Path("result.partial").write_text(json.dumps(result), encoding="utf-8")
    Path("result.partial").replace("result.json")


def _check(path: Path, wanted: str) -> Json:
    with open_input(path) as stream:
        encoding = detect_encoding(stream.read(4))
    with bounded_open(open_input(path), encoding) as source:
        head = source.read(HEAD)
        kind = detect(head) if wanted == "auto" else wanted
        if not head:
            raise ImportRefused(Sentence("import.empty"))
        if kind == "perf_data":
            return _perf_data(head, source, encoding)
        if kind == "bundle":
            bundle = BundleReader(Path()).read(_Head(head, source))
            return {"kind": kind, "encoding": encoding, "size": source.total, "bundle": bundle}
        if kind in {"folded", "perf_script"}:
            reader = folded.read if kind == "folded" else perf_script.read
            reader(_Head(head, source, CHECKED))
        elif kind in REPORTS:
            return _report(path, kind, encoding)
        while source.read():
            pass
        return {"kind": kind, "encoding": encoding, "size": source.total}


def _report(path: Path, kind: Report, encoding: Encoding) -> Json:
    """A report is short enough to be read whole here, as it will be read later."""
    with bounded_open(open_input(path), encoding) as source:
        size = 0
        while piece := source.read():
            size += len(piece)
    parsed = PARSERS[NAMES[kind]]({PART: StoredPart("", size, path, encoding)}, _NO_CONTEXT)
    if not parsed.readable:
        raise ImportRefused(parsed.warnings[0])
    return {"kind": kind, "encoding": encoding, "size": size}


def _perf_data(head: bytes, source: BoundedReader, encoding: str) -> Json:
    """perf itself says whether it can read the file, and of what events it is."""
    if not head.startswith(PERF_MAGIC):
        raise ImportRefused(Sentence("import.not_perf_data", {"said": "PERFILE2"}))
    perf_file.perf()
    path = perf_file.unpack(_Head(head, source), Path("perf.data"))
    kind = "perf_sched" if perf_file.SCHED_EVENT in perf_file.events(path) else "perf_data"
    return {"kind": kind, "encoding": encoding, "size": source.total}
