"""Check an uploaded file in a sandboxed child: is it of the expected kind and within the limits?

The file is unpacked once to learn sizes and ratios; of text, the first MAX_CHECKED_BYTES bytes are parsed as they will
be later; profiles of other tools are parsed as a whole. The result is in `result.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.clock.mapping import ClockMap
from collectors.contract import Context, Sentence
from collectors.parse.perf import folded, perf_script, perf_script_sparse
from collectors.parse.profile_formats.json_source import read_whole
from collectors.parse.profile_formats.registry import PROFILE_FORMATS, READERS, detect_json_format
from collectors.parse.reports.registry import REPORTS, Report
from collectors.profiles.limits import (
    PIECE,
    BoundedReader,
    Encoding,
    ImportRefusedError,
    Readable,
    detect_encoding,
    open_bounded,
)
from culprit.captures.imports.bundle_parts import BundleReader
from culprit.domain.imports.file_kinds import NAMES, PARSERS, PART, PERF_MAGIC, Kind, detect_file_kind
from culprit.infra.artifacts.stored_part import StoredPart
from culprit.infra.sandbox import perf_data
from culprit.infra.sandbox.inputs import open_input
from culprit.json_types import Json

MAX_CHECKED_BYTES = 48 << 20
HEAD_BYTES = 64 << 10
_NO_CONTEXT = Context(ClockMap())


class _Head:
    """A source from its first byte; text is cut after a whole block at `limit` bytes."""

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
    """Check a file. `request`: {path, kind}."""
    path = Path(request["path"])
    try:
        result = _check_file(path, request["kind"])
    except ImportRefusedError as refused:
        params = dict(refused.sentence.params)
        if refused.line is not None:
            params.setdefault("line", refused.line)
        result = {"failure": {"key": refused.sentence.key, "params": params}}
    Path("result.partial").write_text(json.dumps(result), encoding="utf-8")
    Path("result.partial").replace("result.json")


def _check_file(path: Path, requested: str) -> Json:
    with open_input(path) as stream:
        encoding = detect_encoding(stream.read(4))
    with open_bounded(open_input(path), encoding) as source:
        head = source.read(HEAD_BYTES)
        if not head:
            raise ImportRefusedError(Sentence("import.empty"))
        kind = _detect_kind(path, head, encoding) if requested == "auto" else requested
        if kind == "perf_data":
            return _check_perf_data(head, source, encoding)
        if kind == "bundle":
            bundle = BundleReader(Path()).read(_Head(head, source))
            return {"kind": kind, "encoding": encoding, "size": source.total, "bundle": bundle}
        if kind in {"folded", "perf_script"}:
            _parse_text(kind, head, _Head(head, source, MAX_CHECKED_BYTES))
        elif kind in PROFILE_FORMATS:
            READERS[kind](_Head(head, source))
        elif kind in REPORTS:
            return _parse_report(path, kind, encoding)
        while source.read():
            pass
        return {"kind": kind, "encoding": encoding, "size": source.total}


def _parse_text(kind: str, head: bytes, text: Readable) -> None:
    if kind == "folded":
        folded.parse_folded(text)
    elif perf_script_sparse.is_sparse(head):
        perf_script_sparse.parse_sparse_script(text)
    else:
        perf_script.parse_perf_script(text)


def _detect_kind(path: Path, head: bytes, encoding: Encoding) -> Kind:
    """Return the kind of a file. An object of JSON may begin with anything, so it is read as a whole if need be."""
    kind = detect_file_kind(head)
    if kind not in {"folded", "perf_script"} or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{":
        return kind
    with open_bounded(open_input(path), encoding) as source:
        return detect_json_format(read_whole(source)) or kind


def _parse_report(path: Path, kind: Report, encoding: Encoding) -> Json:
    """Parse the whole report, which is short."""
    with open_bounded(open_input(path), encoding) as source:
        size = 0
        while piece := source.read():
            size += len(piece)
    parsed = PARSERS[NAMES[kind]]({PART: StoredPart("", size, path, encoding)}, _NO_CONTEXT)
    if not parsed.readable:
        raise ImportRefusedError(parsed.warnings[0])
    return {"kind": kind, "encoding": encoding, "size": size}


def _check_perf_data(head: bytes, source: BoundedReader, encoding: str) -> Json:
    """Check with perf that the file can be read, and return its events."""
    if not head.startswith(PERF_MAGIC):
        raise ImportRefusedError(Sentence("import.not_perf_data", {"reason": "PERFILE2"}))
    perf_data.find_perf()
    path = perf_data.unpack_file(_Head(head, source), Path("perf.data"))
    kind = "perf_sched" if perf_data.SCHED_EVENT in perf_data.list_events(path) else "perf_data"
    return {"kind": kind, "encoding": encoding, "size": source.total}
