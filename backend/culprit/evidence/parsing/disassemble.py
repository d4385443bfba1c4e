"""Sandboxed process: count the samples of one function by address, and print its instructions if they are at hand.

It writes `result.json`. Offsets of instructions are from the begin of the function. See `build_request` in
`culprit.jobs.ingest.build_disassembly` for the request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from collectors.contract import Sentence
from collectors.parse.perf import perf_data
from collectors.parse.perf.perf_data import FunctionQuery, FunctionSamples, ProgramFile, SymbolFiles
from collectors.profiles.limits import ImportRefusedError
from collectors.runner.code_bytes import (
    CODE_BYTES,
    LINE_BYTES,
    list_blocks,
    name_code,
    name_code_part,
)
from collectors.runner.symbols import BLOCK, name_debug_key
from culprit.evidence.parsing import result_file
from culprit.evidence.parsing.parse_profile import unpack_part
from culprit.evidence.parsing.symbol_parts import open_part, unpack_symbols
from culprit.infra.artifacts.stored_part import PartAlteredError
from culprit.json_types import Json

MAX_INSTRUCTIONS = 20_000
MAX_OTHERS = 5
MAX_TEXT = 200
MAX_PATH = 300
#: The strings of `.debug_str` are large, and compilers do not write the names of lines there.
FETCHED_SECTIONS = (".debug_line", ".debug_line_str")


@dataclass(frozen=True, slots=True)
class FilePlan:
    """Blocks of a file that the function needs: runs (first, count). The first run is the block with its headers."""

    key: str
    name: str
    build_id: str | None
    runs: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Return the bytes of all runs."""
        return BLOCK * sum(count for _, count in self.runs)


def main(request: Mapping[str, Any]) -> None:
    """Read the part of a request and write the function, or the reason of a failure."""
    part = open_part(request["part"])
    try:
        part.check()
        with unpack_part(part) as source:
            if not isinstance(source, Path):
                raise ImportRefusedError(Sentence("disassembly.no_addresses"))
            if not perf_data.is_available():
                raise ImportRefusedError(Sentence("disassembly.no_reader"))
            result = _read_function(source, request)
    except ImportRefusedError as refused:
        result = {"failure": result_file.sentence_to_json(refused.sentence)}
    except PartAlteredError as altered:
        result = {
            "failure": result_file.sentence_to_json(Sentence("artifact.altered", {"sha256": str(altered)}))
        }
    Path("result.partial").write_text(json.dumps(result, allow_nan=False), encoding="utf-8")
    Path("result.partial").replace("result.json")


def _read_function(path: Path, request: Mapping[str, Any]) -> Json:
    symbols = request["symbols"]
    files = SymbolFiles(root=Path("/")) if symbols is None else unpack_symbols(symbols)
    query = FunctionQuery(request["event"], request["function"], request["module"])
    samples, functions = perf_data.count_function(path, query, files)
    if not functions:
        return {"failure": result_file.sentence_to_json(Sentence("disassembly.no_samples"))}
    function = functions[0]
    others = [
        {"module": result_file.sanitize_text(other.module, MAX_PATH), "samples": other.samples}
        for other in functions[1 : 1 + MAX_OTHERS]
    ]
    result: Json = {
        "samples": samples,
        "function_samples": function.samples,
        "others": others,
        "module": result_file.sanitize_text(function.module, MAX_PATH),
        "key": function.key,
        "size": function.end - function.start,
        "address": function.start,
        "code_reason": None,
        "lines_reason": None,
        "plan": [],
        "cut": False,
        "files": [],
        "instructions": [],
    }
    result |= _read_stored(function, files, symbols) if symbols is not None else _read_installed(function)
    if result["code_reason"]:
        counts = function.counts[:MAX_INSTRUCTIONS]
        result["cut"] = len(function.counts) > MAX_INSTRUCTIONS
        result["instructions"] = [
            [at - function.start, 0, "", None, None, -1, 0, count] for at, count in counts
        ]
    return result


def _find_obstacle(function: FunctionSamples) -> str | None:
    """Return the message key if the bytes of a function cannot be read from any file."""
    if function.is_kernel:
        return "disassembly.kernel"
    if function.is_anonymous:
        return "disassembly.generated"
    if function.key is None:
        return "disassembly.no_file"
    return "disassembly.no_extent" if function.start == function.end else None


def _refuse(key: str, **params: str | int) -> Json:
    return {"code_reason": {"key": key, "params": params}}


def _read_installed(function: FunctionSamples) -> Json:
    """Read the code out of a program of the server that has the same build ID."""
    if key := _find_obstacle(function):
        return _refuse(key)
    file = ProgramFile(root=Path("/"), module=function.module, key=function.key or "")
    return _describe_code(function, file, missing="disassembly.not_installed")


def _read_stored(function: FunctionSamples, files: SymbolFiles, symbols: Mapping[str, Any]) -> Json:
    """Read the code out of the blocks that were fetched for the function, or state which blocks it needs."""
    if key := _find_obstacle(function):
        return _refuse(key)
    store, key = files.store, function.key
    assert store is not None and key is not None
    parts = perf_data.list_file_parts(store / key)
    if parts is None:
        return _refuse("disassembly.no_symbols")
    if not parts[1]:
        return _refuse("disassembly.architecture")
    plans, lines_reason = _plan_fetch(function, store, parts)
    plan = [
        {"key": item.key, "name": item.name, "build_id": item.build_id, "runs": item.runs} for item in plans
    ]
    states = [_add_blocks(store / item.key, symbols.get(name_code_part(item.name)), item) for item in plans]
    if states[0] != "there":
        reason = "disassembly.not_fetched" if states[0] == "absent" else "disassembly.replaced"
        return {**_refuse(reason), "plan": plan if states[0] == "absent" else []}
    debug = store / name_debug_key(key)
    has_lines = lines_reason is None and states[-1] == "there"
    if lines_reason is None and not has_lines:
        lines_reason = "disassembly.no_lines"
    file = ProgramFile(store / key, debug if debug.exists() else None, has_lines=has_lines)
    code = _describe_code(function, file, missing="disassembly.unreadable")
    return {
        **code,
        "lines_reason": {"key": lines_reason, "params": {}} if lines_reason else code["lines_reason"],
    }


def _plan_fetch(function: FunctionSamples, store: Path, parts: Any) -> tuple[list[FilePlan], str | None]:
    """Return the blocks that a function needs of its file and of its debugging symbols, and why it has no lines."""
    key = function.key
    assert key is not None
    build_id, _, sections = parts
    code = list_blocks(function.start, min(function.end - function.start, CODE_BYTES))
    own, name = [(0, 1), code], name_code(key, function.start)
    if FETCHED_SECTIONS[0] in sections:
        lines, reason = _plan_lines(sections)
        return [FilePlan(key, name, build_id, (*own, *lines))], reason
    plans, reason = [FilePlan(key, name, build_id, tuple(own))], "disassembly.no_lines"
    debug_key = name_debug_key(key)
    debug = perf_data.list_file_parts(store / debug_key) if (store / debug_key).exists() else None
    if debug is not None and debug[0] and FETCHED_SECTIONS[0] in debug[2]:
        lines, too_large = _plan_lines(debug[2])
        if too_large is None:
            plans.append(
                FilePlan(debug_key, name_code(debug_key, function.start), debug[0], ((0, 1), *lines))
            )
        return plans, too_large
    return plans, reason


def _plan_lines(sections: Mapping[str, tuple[int, int]]) -> tuple[list[tuple[int, int]], str | None]:
    ranges = [sections[name] for name in FETCHED_SECTIONS if name in sections]
    if sum(size for _, size in ranges) > LINE_BYTES:
        return [], "disassembly.lines_too_large"
    return [list_blocks(offset, size) for offset, size in ranges], None


def _add_blocks(to: Path, described: Mapping[str, Any] | None, plan: FilePlan) -> str:
    """Write fetched blocks at their places. Return `there`, `absent`, or `replaced` if they are of another file."""
    if described is None:
        return "absent"
    part = open_part(described)
    if part.size != plan.size:
        return "replaced"
    with part.open() as source, to.open("r+b") as out:
        if source.read(BLOCK) != out.read(BLOCK):
            return "replaced"
        for first, count in plan.runs[1:]:
            out.seek(first * BLOCK)
            left = count * BLOCK
            while left and (piece := source.read(min(left, 1 << 20))):
                out.write(piece)
                left -= len(piece)
    return "there"


def _describe_code(function: FunctionSamples, file: ProgramFile, missing: str) -> Json:
    code = perf_data.read_function(file, function.start, function.end)
    if code is None:
        return _refuse(missing)
    if not code["supported"]:
        return _refuse("disassembly.architecture")
    listed = code["instructions"][:MAX_INSTRUCTIONS]
    samples = assign_samples([(item[0], item[1]) for item in listed], function)
    instructions = [
        [
            offset, length, result_file.sanitize_text(text, MAX_TEXT), target,
            result_file.sanitize_text(callee, MAX_TEXT) if callee else None, source, line, count,
        ]
        for (offset, length, text, target, callee, source, line), count in zip(listed, samples, strict=True)
    ]  # fmt: skip
    has_lines = any(item[5] >= 0 for item in listed)
    return {
        "code_reason": None,
        "lines_reason": None if has_lines else {"key": "disassembly.no_lines", "params": {}},
        "address": code["address"],
        "cut": bool(code["cut"]) or len(code["instructions"]) > MAX_INSTRUCTIONS,
        "files": [result_file.sanitize_text(path, MAX_PATH) for path in code["files"]],
        "instructions": instructions,
    }


def assign_samples(instructions: Sequence[tuple[int, int]], function: FunctionSamples) -> list[int]:
    """Return the samples of each instruction (offset, length); an address inside one counts for it."""
    counts = [0] * len(instructions)
    starts = [offset for offset, _ in instructions]
    assert all(first < second for first, second in pairwise(starts))
    place = 0
    for at, count in function.counts:
        offset = at - function.start
        while place + 1 < len(starts) and starts[place + 1] <= offset:
            place += 1
        if starts and starts[place] <= offset < starts[place] + instructions[place][1]:
            counts[place] += count
    return counts
