"""The collector of debugging symbols that debuginfod servers publish: the text of its index, and its table.

The server writes the part `published` and, for each answer with symbols, a part `KEY-debug.blocks`. They belong to the
run, as the symbols that its host sent do, so that its profiles can be built again and exported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collectors.contract import Column, Context, Parsed, Part, Sentence, Table
from collectors.runner.symbols import MAX_INDEX, describe_known, name_debug_key

ID = "debug_files"
METHOD = "debuginfod"
PUBLISHED = "published"
TABLE = "debug_files"
_COLUMNS = (Column("key"), Column("build_id"), Column("state"), Column("server"))
_LINE = re.compile(r"answer ([0-9a-z-]{1,80}) ([0-9a-f]{8,40}) ([a-z_]{1,20}) ([!-~]{1,300})")


@dataclass(frozen=True, slots=True)
class DebugAnswer:
    """What the servers answered for a stripped program.

    `key` is the key of the program in recordings. `state` is a state of the table `debug_file`; or `failed` if a server
    did not answer as expected; or `limit` if a limit of the run was reached. `server` is the address of the server that
    decided the state, or "-". `blocks` are (first, count) in the order of the part.
    """

    key: str
    build_id: str
    state: str
    server: str = "-"
    blocks: Sequence[Sequence[int]] = ()


def describe_answers(answers: Iterable[DebugAnswer]) -> str:
    """Return the text of the part `published`: a line for each answer, and a line for each range of blocks."""
    rows = list(answers)
    lines = "".join(f"answer {row.key} {row.build_id} {row.state} {row.server}\n" for row in rows)
    return lines + describe_known({name_debug_key(row.key): row.blocks for row in rows if row.blocks})


def parse_debug_files(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Return the answers as the table `debug_files`: key, build ID, state, and address of the server or `-`."""
    part = parts.get(PUBLISHED)
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": PUBLISHED}),), readable=False)
    text = part.read(MAX_INDEX).decode("ascii", "replace")
    rows = tuple(match.groups() for line in text.split("\n") if (match := _LINE.fullmatch(line)))
    return Parsed(tables=(Table(TABLE, _COLUMNS, rows, PUBLISHED),) if rows else ())
