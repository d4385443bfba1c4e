"""Runs in a confined child: an exported incident out of its file, every byte checked before anybody believes it.

It leaves `incident.json`, the artifacts as `part-N`, and `result.json` with what they are, or why the file is refused.
Nothing is unpacked by the names in the archive: a member is one of three kinds, or the file is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from collectors.parse.limits import ImportRefused, bounded_open
from culprit.carried.check import check_document, refuse
from culprit.carried.form import (
    ARTIFACTS,
    DOCUMENT,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MAX_BYTES,
    MAX_DOCUMENT,
    MAX_MEMBERS,
    Document,
    Manifest,
)
from culprit.infra.inputs import open_input

PIECE = 1 << 18
ZIP_MAGIC = b"PK\3\4"
_MEMBER = re.compile(rf"(?:{re.escape(MANIFEST)}|{re.escape(DOCUMENT)}|{ARTIFACTS}[0-9a-f]{{64}})\Z")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
Json = dict[str, Any]
Form = TypeVar("Form", bound=BaseModel)


def main(request: Mapping[str, Any]) -> None:
    """`request`: {path}."""
    try:
        result = read(Path(request["path"]), Path())
    except ImportRefused as refused:
        result = {"failure": {"key": refused.sentence.key, "params": dict(refused.sentence.params)}}
    Path("result.partial").write_text(json.dumps(result), encoding="utf-8")
    Path("result.partial").replace("result.json")


def read(path: Path, directory: Path) -> Json:
    """{"parts": {SHA-256: {"number", "size", "stored_size"}}}; raises ImportRefused."""
    try:
        with open_input(path) as file, zipfile.ZipFile(file) as archive:
            return _read(archive, directory)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        with open_input(path) as stream:
            begins = stream.read(len(ZIP_MAGIC))
        raise (refuse("damaged") if begins == ZIP_MAGIC else refuse("not_incident", why="zip")) from None


def _read(archive: zipfile.ZipFile, directory: Path) -> Json:
    members = _members(archive)
    manifest = _manifest(archive, members)
    listed = {one.name: one for one in manifest.members}
    if len(listed) != len(manifest.members):
        raise refuse("twice", what="member", id=MANIFEST)
    for name in sorted(members.keys() ^ {*listed, MANIFEST}):
        raise refuse("altered", name=name[:200])
    for number, (name, told) in enumerate(sorted(listed.items())):
        target = directory / (DOCUMENT if name == DOCUMENT else f"part-{number}")
        digest, size = _copy(archive, members[name], target)
        if digest != told.sha256 or size != told.size or name not in {DOCUMENT, f"{ARTIFACTS}{digest}"}:
            raise refuse("altered", name=name)
    if DOCUMENT not in listed:
        raise refuse("not_incident", why=DOCUMENT)
    document = _form(Document, _json((directory / DOCUMENT).read_bytes(), DOCUMENT), DOCUMENT)
    held = {name.removeprefix(ARTIFACTS): n for n, name in enumerate(sorted(listed)) if name != DOCUMENT}
    check_document(document, held)
    return {"parts": _unpacked(document, held, directory)}


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise refuse("too_many", found=len(infos), limit=MAX_MEMBERS)
    found: dict[str, zipfile.ZipInfo] = {}
    for one in infos:
        name = one.orig_filename
        if not _MEMBER.match(name) or one.flag_bits & 1 or one.compress_type not in _PACKED:
            raise refuse("member", name="".join(c if c.isprintable() else "?" for c in name[:100]))
        if name in found:
            raise refuse("twice", what="member", id=name)
        found[name] = one
    if sum(one.file_size for one in infos) > MAX_BYTES:
        raise refuse("too_large", mib=MAX_BYTES >> 20)
    return found


def _manifest(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> Manifest:
    if MANIFEST not in members:
        raise refuse("not_incident", why=MANIFEST)
    found = _json(_small(archive, members[MANIFEST]), MANIFEST)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise refuse("not_incident", why=MANIFEST)
    if found.get("format_version") == 1:
        raise refuse("regression")
    if found.get("format_version") != FORMAT_VERSION:
        raise refuse("version", found=str(found.get("format_version"))[:20], reads=FORMAT_VERSION)
    return _form(Manifest, found, MANIFEST)


def _small(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise refuse("too_large", mib=MAX_DOCUMENT >> 20)
    return data


def _json(data: bytes, name: str) -> Any:
    """JSON that PostgreSQL can keep: no NUL, no half characters, no numbers that are none."""

    def no_number(_: str) -> None:
        raise ValueError

    try:
        found = json.loads(data.decode("utf-8"), parse_constant=no_number)
        text = json.dumps(found, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (ValueError, RecursionError):
        raise refuse("field", where=name) from None
    if _NUL.search(text):
        raise refuse("field", where=name)
    return found


def _form(form: type[Form], found: Any, name: str) -> Form:
    try:
        return form.model_validate_json(json.dumps(found))
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
        raise refuse("field", where=f"{name} {where}"[:200]) from None


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> tuple[str, int]:
    """What really comes out, however much the archive says it is."""
    limit = MAX_DOCUMENT if target.name == DOCUMENT else MAX_BYTES
    digest, size = hashlib.sha256(), 0
    with archive.open(info) as stream, target.open("wb") as out:
        while piece := stream.read(PIECE):
            size += len(piece)
            if size > limit:
                raise refuse("too_large", mib=limit >> 20)
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest(), size


def _unpacked(document: Document, held: Mapping[str, int], directory: Path) -> Json:
    """Every artifact is unpacked once, so that its size is known and none of them is a bomb."""
    parts: Json = {}
    left = MAX_BYTES
    for one in document.artifacts:
        if one.left_out is not None or one.sha256 in parts:
            continue
        path = directory / f"part-{held[one.sha256]}"
        size = 0
        with bounded_open(path, one.encoding) as plain:
            try:
                while piece := plain.read():
                    size += len(piece)
            except ImportRefused as refused:
                if one.complete or refused.sentence.key.startswith("import.limit"):
                    raise refuse("bomb", name=one.sha256) from None
        left -= size
        if left < 0:
            raise refuse("too_large", mib=MAX_BYTES >> 20)
        if size != one.size and one.complete:
            raise refuse("altered", name=f"{ARTIFACTS}{one.sha256}")
        parts[one.sha256] = {"number": held[one.sha256], "size": size, "stored_size": path.stat().st_size}
    return parts
