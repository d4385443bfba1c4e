"""Sandboxed process: read ELF files of hosts and of debuginfod servers.

With `programs`, it writes which of them are stripped. With `answer`, it writes the blocks of a debugging file that hold
its symbols, if the file has the build ID that was requested. The result is `result.json`, the blocks are `blocks`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.runner.symbols import BLOCK
from culprit.evidence.parsing.elf_file import (
    ElfFileError,
    list_symbol_blocks,
    read_blocks,
    read_elf_file,
)
from culprit.evidence.parsing.symbol_parts import open_part, write_blocks
from culprit.infra.sandbox.inputs import open_input
from culprit.json_types import Json

RESULT = Path("result.json")
BLOCKS = Path("blocks")
_PROGRAM = Path("program")


def main(request: Mapping[str, Any]) -> None:
    """Read the files of a request.

    `programs`: {key: {part, blocks}} with parts as in `symbol_parts`; the result is {key: build ID} of those that have
    a build ID and no symbol table. `answer`: {path, build_id, max_bytes}; the result is {state, blocks}, where `state`
    is one of `culprit.infra.models.evidence.debug_file.DEBUG_FILE_STATES`.
    """
    answer = request.get("answer")
    result = _extract_symbols(answer) if answer else _list_stripped(request["programs"])
    RESULT.write_text(json.dumps(result), encoding="ascii")


def _list_stripped(programs: Mapping[str, Any]) -> dict[str, str]:
    stripped: dict[str, str] = {}
    for key, program in programs.items():
        write_blocks(open_part(program["part"]), _PROGRAM, program["blocks"])
        try:
            with _PROGRAM.open("rb") as file:
                elf = read_elf_file(file)
        except (ElfFileError, FileNotFoundError):
            continue
        if elf.build_id and not elf.list_symbol_tables():
            stripped[key] = elf.build_id
    return stripped


def _extract_symbols(answer: Mapping[str, Any]) -> Json:
    path = Path(answer["path"])
    with open_input(path) as file:
        try:
            elf = read_elf_file(file)
            blocks = list_symbol_blocks(elf, path.stat().st_size)
        except ElfFileError:
            return {"state": "unreadable", "blocks": []}
        if elf.build_id != answer["build_id"]:
            return {"state": "mismatch", "blocks": []}
        if not elf.list_symbol_tables():
            return {"state": "no_symbols", "blocks": []}
        if sum(count for _, count in blocks) * BLOCK > answer["max_bytes"]:
            return {"state": "too_large", "blocks": []}
        with BLOCKS.open("wb") as out:
            out.writelines(read_blocks(file, blocks))
    return {"state": "file", "blocks": blocks}
