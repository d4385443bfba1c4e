"""Sandboxed process: unpack stored symbol parts into the files that the native reader needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from collectors.parse.perf.perf_data import SymbolFiles
from collectors.profiles.limits import PIECE, ImportRefusedError
from collectors.runner.symbols import (
    BLOCK,
    INDEX,
    KALLSYMS,
    KNOWN,
    MAX_INDEX,
    name_blocks_part,
    name_dump_part,
    name_map_part,
    parse_index,
)
from culprit.domain.profiles.debug_files import PUBLISHED
from culprit.infra.artifacts.stored_part import StoredPart

#: Programs are smaller. The files are sparse, but the reader maps each of them completely.
MAX_FILE_BYTES = 2 << 30
DIRECTORY = Path("symbols")
#: Parts that list which blocks the other parts have.
INDEXES = (KNOWN, INDEX, PUBLISHED)
#: Parts that JIT compilers wrote, and the file names that the reader expects.
_GENERATED = (
    (re.compile(re.escape(name_map_part("PID")).replace("PID", "([0-9]{1,9})")), "perf-{}.map"),
    (re.compile(re.escape(name_dump_part("PID")).replace("PID", "([0-9]{1,9})")), "jit-{}.dump"),
)


def open_part(described: Mapping[str, Any]) -> StoredPart:
    """Return a part from its description: {sha256, size, path, encoding}."""
    return StoredPart(described["sha256"], described["size"], Path(described["path"]), described["encoding"])


def unpack_symbols(described: Mapping[str, Any]) -> SymbolFiles:
    """Write symbol files below `DIRECTORY`, and return their paths.

    `described`: the parts of the collectors `symbols` and `debug_files` by name, see `collectors.runner.symbols` and
    `culprit.domain.profiles.debug_files`, and `kallsyms`. A file that cannot be read is omitted: its functions have no
    names.
    """
    store, maps = DIRECTORY / "files", DIRECTORY / "maps"
    store.mkdir(parents=True)
    maps.mkdir()
    kallsyms = DIRECTORY / "kallsyms"
    parts = {name: open_part(part) for name, part in described.items()}
    if KALLSYMS in parts:
        write_blocks(parts[KALLSYMS], kallsyms, None)
    texts = [parts[name].read(MAX_INDEX).decode("ascii", "replace") for name in INDEXES if name in parts]
    for key, blocks in parse_index("\n".join(texts)).blocks.items():
        if (part := parts.get(name_blocks_part(key))) is not None:
            write_blocks(part, store / key, blocks)
    for name, part in parts.items():
        for pattern, file in _GENERATED:
            if match := pattern.fullmatch(name):
                write_blocks(part, maps / file.format(match[1]), None)
    return SymbolFiles(kallsyms=kallsyms, store=store, perf_maps=maps)


def write_blocks(part: StoredPart, to: Path, blocks: Iterable[tuple[int, int]] | None) -> None:
    """Write the blocks of a part at their places in a sparse file; without `blocks`, the whole part.

    There is no file afterwards if the part cannot be read, or the file would be larger than `MAX_FILE_BYTES`.
    """
    to.unlink(missing_ok=True)
    places = (
        [(0, part.size)] if blocks is None else [(first * BLOCK, count * BLOCK) for first, count in blocks]
    )
    if any(start + size > MAX_FILE_BYTES for start, size in places):
        return
    try:
        with part.reader() as source, to.open("wb") as out:
            for start, size in places:
                out.seek(start)
                left = size
                while left and (piece := source.read(min(left, PIECE))):
                    out.write(piece)
                    left -= len(piece)
    except ImportRefusedError:
        to.unlink(missing_ok=True)
