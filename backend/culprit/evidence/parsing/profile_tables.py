"""Finished profiles as a part of a collector: the files of their tables in a zip archive, without compression.

Redacted bundles have them instead of recordings, which have no text that could be redacted. A part is named
`KIND.tables`. It is as untrusted as any other part, so only the sandboxed child reads it.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, get_args, get_type_hints

import numpy as np

from collectors.contract import ProfileSource, Sentence
from collectors.profiles.column_file import DamagedFileError
from collectors.profiles.limits import (
    PIECE,
    ImportRefusedError,
    ReaderLimits,
    to_printable,
)
from collectors.profiles.samples import SampleTable
from collectors.profiles.scheduling import SchedTable
from collectors.profiles.trie import Strings
from culprit.infra.artifacts.stored_part import StoredPart

READER: Final = "tables"
MAX_TABLES = 8
#: One million samples need 50 MB.
MAX_TABLE_BYTES = 1 << 30
MEDIA_TYPE = "application/zip"
_SUFFIX = ".tables"
_KINDS: tuple[str, ...] = get_args(get_type_hints(ProfileSource)["kind"])
_NS = frozenset({"off_cpu", "wall_time", "block_io", "futex", "sched"})
_MEMBER = re.compile(r"(samples|sched)-[0-7]")
#: Constant time of all archive members, so that the same tables give the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)
ProfileTable = SampleTable | SchedTable


def name_tables_part(kind: str) -> str:
    """Return the name of the part with the finished profiles of a kind."""
    return f"{kind}{_SUFFIX}"


def list_table_sources(parts: Collection[str]) -> tuple[ProfileSource, ...]:
    """Return the sources of finished profiles among these parts of a collector. Their times are UTC."""
    return tuple(
        ProfileSource(
            kind=kind,  # type: ignore[arg-type]
            reader=READER,
            part=name_tables_part(kind),
            unit="ns" if kind in _NS else "samples",
            clock=None,
        )
        for kind in _KINDS
        if name_tables_part(kind) in parts
    )


def write_tables(path: Path, tables: Sequence[ProfileTable], directory: Path) -> None:
    """Write at most MAX_TABLES tables as a part, in this order. `directory` is for temporary files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for number, table in enumerate(tables[:MAX_TABLES]):
            file = directory / f"{path.name}-table"
            table.save(file)
            kind = "samples" if isinstance(table, SampleTable) else "sched"
            with (
                file.open("rb") as source,
                archive.open(zipfile.ZipInfo(f"{kind}-{number}", _EPOCH), "w", force_zip64=True) as out,
            ):
                shutil.copyfileobj(source, out, PIECE)
            file.unlink()


def read_tables(part: StoredPart, directory: Path) -> list[ProfileTable]:
    """Read the tables of a part. Raises ImportRefusedError.

    Names are bounded by `part.limits` and have no control characters. `directory` keeps the mapped files.
    """
    archive_path = directory / "tables.zip"
    with part.open() as source, archive_path.open("wb") as out:
        shutil.copyfileobj(source, out, PIECE)
    try:
        with zipfile.ZipFile(archive_path) as archive:
            paths = list(_unpack_members(archive, directory))
        return [_load_table(kind, path, part.limits) for kind, path in paths]
    except DamagedFileError as damaged:
        raise _refuse(str(damaged)) from damaged
    except (zipfile.BadZipFile, EOFError, RuntimeError, ValueError, LookupError, TypeError) as error:
        raise _refuse(type(error).__name__) from error


def _refuse(why: str) -> ImportRefusedError:
    return ImportRefusedError(Sentence("profile.tables_damaged", {"why": why}))


def _unpack_members(archive: zipfile.ZipFile, directory: Path) -> Iterator[tuple[str, Path]]:
    members = archive.infolist()
    if len(members) > MAX_TABLES:
        raise _refuse("members")
    for number, member in enumerate(members):
        match = _MEMBER.fullmatch(member.filename)
        if match is None or member.compress_type != zipfile.ZIP_STORED or member.file_size > MAX_TABLE_BYTES:
            raise _refuse("member")
        path = directory / f"table-{number}"
        with archive.open(member) as source, path.open("wb") as out:
            shutil.copyfileobj(source, out, PIECE)
        yield match[1], path


def _load_table(kind: str, path: Path, limits: ReaderLimits) -> ProfileTable:
    if kind == "sched":
        schedule = SchedTable.load(path)
        if any(not -(1 << 62) < number < 1 << 62 for number in (schedule.t0_ns, schedule.t1_ns)):
            raise _refuse("times")
        if float(np.abs(schedule.len_ns.astype(np.float64)).sum()) >= 1 << 62:
            raise _refuse("lengths")
        return replace(schedule, comm=_clean_strings(schedule.comm, limits))
    table = SampleTable.load(path)
    if float(table.weight.astype(np.float64).sum()) >= 1 << 62:
        raise _refuse("weights")
    quality = table.quality
    numbers = (quality.lost, quality.skipped_lines, quality.first_skipped, quality.cut_names)
    if not all(type(number) is int and 0 <= number < 1 << 62 for number in numbers):
        raise _refuse("quality")
    if not all(isinstance(event, str) for event in table.events):
        raise _refuse("events")
    strings = _clean_strings(table.frames.strings, limits)
    cleaned = replace(
        table,
        comms=_clean_strings(table.comms, limits),
        cgroups=replace(table.cgroups, names=_clean_strings(table.cgroups.names, limits)),
        frames=replace(table.frames, strings=strings),
        events=tuple(to_printable(event) for event in table.events),
    )
    return cleaned.sorted().measured()


def _clean_strings(strings: Strings, limits: ReaderLimits) -> Strings:
    return Strings.of([to_printable(text[: limits.symbol]) for text in strings.all()])
