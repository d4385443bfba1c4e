"""Runs in a confined child: files with symbols out of stored parts, as the native reader needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from collectors.parse.perf.perf_data import SymbolFiles
from collectors.profiles.limits import PIECE, ImportRefusedError
from collectors.runner.symbols import BLOCK
from culprit.infra.artifacts.stored_part import StoredPart

#: Programs are smaller. The files are sparse, but each is mapped as a whole while it is read.
MAX_FILE_BYTES = 2 << 30
DIRECTORY = Path("symbols")


def open_part(described: Mapping[str, Any]) -> StoredPart:
    """Return a part from its description: {sha256, size, path, encoding}."""
    return StoredPart(described["sha256"], described["size"], Path(described["path"]), described["encoding"])


def unpack_symbols(described: Mapping[str, Any]) -> SymbolFiles:
    """Write what names functions below `DIRECTORY`, and return where it is.

    `described`: {kernel: part or None, files: [{key, part, blocks}], maps: [{pid, part}]}. A file that cannot be read
    is left out: its functions have no names.
    """
    store, maps = DIRECTORY / "files", DIRECTORY / "maps"
    store.mkdir(parents=True)
    maps.mkdir()
    kallsyms = DIRECTORY / "kallsyms"
    if described["kernel"]:
        _write_blocks(open_part(described["kernel"]), kallsyms, None)
    for file in described["files"]:
        _write_blocks(open_part(file["part"]), store / file["key"], file["blocks"])
    for process in described["maps"]:
        _write_blocks(open_part(process["part"]), maps / f"perf-{process['pid']}.map", None)
    return SymbolFiles(kallsyms=kallsyms, store=store, perf_maps=maps)


def _write_blocks(part: StoredPart, to: Path, blocks: Iterable[tuple[int, int]] | None) -> None:
    """Write the blocks of a part at their places in a sparse file; without `blocks`, the whole part."""
    places = (
        [(0, part.size)] if blocks is None else [(first * BLOCK, count * BLOCK) for first, count in blocks]
    )
    if any(start + size > MAX_FILE_BYTES for start, size in places):
        return
    try:
        source = part.reader()
        with to.open("wb") as out:
            for start, size in places:
                out.seek(start)
                left = size
                while left and (piece := source.read(min(left, PIECE))):
                    out.write(piece)
                    left -= len(piece)
    except ImportRefusedError:
        to.unlink(missing_ok=True)
