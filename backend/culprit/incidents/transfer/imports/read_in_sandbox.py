"""Runs in the sandbox: read an exported incident from its file, and verify every byte.

It writes `incident.json`, the artifacts as `part-N`, and `result.json` with their sizes or the reason of a refusal.
Member names of the archive are never used as paths; an unexpected member refuses the file.
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

from collectors.profiles.limits import ImportRefusedError, open_bounded
from culprit.incidents.transfer.bundle.document import (
    ARTIFACTS,
    DOCUMENT,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MAX_BYTES,
    MAX_DOCUMENT,
    MAX_MEMBERS,
    BundleDocument,
    BundleManifest,
)
from culprit.incidents.transfer.bundle.validate import build_refusal, check_document
from culprit.infra.sandbox.inputs import open_input
from culprit.json_types import Json

CHUNK_BYTES = 1 << 18
ZIP_MAGIC = b"PK\3\4"
_MEMBER = re.compile(rf"(?:{re.escape(MANIFEST)}|{re.escape(DOCUMENT)}|{ARTIFACTS}[0-9a-f]{{64}})\Z")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
Form = TypeVar("Form", bound=BaseModel)


def main(request: Mapping[str, Any]) -> None:
    """Read the bundle of `request` ({path}) and write `result.json`."""
    try:
        result = read_bundle(Path(request["path"]), Path())
    except ImportRefusedError as refused:
        result = {"failure": {"key": refused.sentence.key, "params": dict(refused.sentence.params)}}
    Path("result.partial").write_text(json.dumps(result), encoding="utf-8")
    Path("result.partial").replace("result.json")


def read_bundle(path: Path, directory: Path) -> Json:
    """Return {"parts": {SHA-256: {"number", "size", "stored_size"}}}, or raise ImportRefusedError."""
    try:
        with open_input(path) as file, zipfile.ZipFile(file) as archive:
            return _read_archive(archive, directory)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        with open_input(path) as stream:
            begins = stream.read(len(ZIP_MAGIC))
        raise (
            build_refusal("damaged") if begins == ZIP_MAGIC else build_refusal("not_incident", why="zip")
        ) from None


def _read_archive(archive: zipfile.ZipFile, directory: Path) -> Json:
    members = _list_members(archive)
    manifest = _read_manifest(archive, members)
    listed = {member.name: member for member in manifest.members}
    if len(listed) != len(manifest.members):
        raise build_refusal("twice", what="member", id=MANIFEST)
    for name in sorted(members.keys() ^ {*listed, MANIFEST}):
        raise build_refusal("altered", name=name[:200])
    for number, (name, reported) in enumerate(sorted(listed.items())):
        target = directory / (DOCUMENT if name == DOCUMENT else f"part-{number}")
        digest, size = _copy_member(archive, members[name], target)
        if (
            digest != reported.sha256
            or size != reported.size
            or name not in {DOCUMENT, f"{ARTIFACTS}{digest}"}
        ):
            raise build_refusal("altered", name=name)
    if DOCUMENT not in listed:
        raise build_refusal("not_incident", why=DOCUMENT)
    document = _parse_form(
        BundleDocument, _parse_json((directory / DOCUMENT).read_bytes(), DOCUMENT), DOCUMENT
    )
    held = {name.removeprefix(ARTIFACTS): n for n, name in enumerate(sorted(listed)) if name != DOCUMENT}
    check_document(document, held)
    return {"parts": _check_unpacked(document, held, directory)}


def _list_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise build_refusal("too_many", count=len(infos), limit=MAX_MEMBERS)
    zip_infos: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.orig_filename
        if not _MEMBER.match(name) or info.flag_bits & 1 or info.compress_type not in _PACKED:
            raise build_refusal("member", name="".join(c if c.isprintable() else "?" for c in name[:100]))
        if name in zip_infos:
            raise build_refusal("twice", what="member", id=name)
        zip_infos[name] = info
    if sum(info.file_size for info in infos) > MAX_BYTES:
        raise build_refusal("too_large", mib=MAX_BYTES >> 20)
    return zip_infos


def _read_manifest(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> BundleManifest:
    if MANIFEST not in members:
        raise build_refusal("not_incident", why=MANIFEST)
    json = _parse_json(_read_member(archive, members[MANIFEST]), MANIFEST)
    if not isinstance(json, dict) or json.get("format") != FORMAT:
        raise build_refusal("not_incident", why=MANIFEST)
    if json.get("format_version") == 1:
        raise build_refusal("regression")
    if json.get("format_version") != FORMAT_VERSION:
        raise build_refusal("version", version=str(json.get("format_version"))[:20], reads=FORMAT_VERSION)
    return _parse_form(BundleManifest, json, MANIFEST)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as stream:
        data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise build_refusal("too_large", mib=MAX_DOCUMENT >> 20)
    return data


def _parse_json(data: bytes, name: str) -> Any:
    """Parse JSON that PostgreSQL can store: without NUL, lone surrogates, NaN or infinity."""

    def no_number(_: str) -> None:
        raise ValueError

    try:
        result = json.loads(data.decode("utf-8"), parse_constant=no_number)
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (ValueError, RecursionError):
        raise build_refusal("field", where=name) from None
    if _NUL.search(text):
        raise build_refusal("field", where=name)
    return result


def _parse_form(form: type[Form], result: Any, name: str) -> Form:
    try:
        return form.model_validate_json(json.dumps(result))
    except ValidationError as error:
        where = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
        raise build_refusal("field", where=f"{name} {where}"[:200]) from None


def _copy_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> tuple[str, int]:
    """Copy a member and return its real digest and size. The declared size is not trusted."""
    limit = MAX_DOCUMENT if target.name == DOCUMENT else MAX_BYTES
    digest, size = hashlib.sha256(), 0
    with archive.open(info) as stream, target.open("wb") as out:
        while piece := stream.read(CHUNK_BYTES):
            size += len(piece)
            if size > limit:
                raise build_refusal("too_large", mib=limit >> 20)
            digest.update(piece)
            out.write(piece)
    return digest.hexdigest(), size


def _check_unpacked(document: BundleDocument, held: Mapping[str, int], directory: Path) -> Json:
    """Unpack every artifact once to check its real size."""
    parts: Json = {}
    left = MAX_BYTES
    for artifact in document.artifacts:
        if artifact.left_out is not None or artifact.sha256 in parts:
            continue
        path = directory / f"part-{held[artifact.sha256]}"
        size = 0
        with open_bounded(path, artifact.encoding) as plain:
            try:
                while piece := plain.read():
                    size += len(piece)
            except ImportRefusedError as refused:
                if artifact.complete or refused.sentence.key.startswith("import.limit"):
                    raise build_refusal("bomb", name=artifact.sha256) from None
        left -= size
        if left < 0:
            raise build_refusal("too_large", mib=MAX_BYTES >> 20)
        if size != artifact.size and artifact.complete:
            raise build_refusal("altered", name=f"{ARTIFACTS}{artifact.sha256}")
        parts[artifact.sha256] = {
            "number": held[artifact.sha256],
            "size": size,
            "stored_size": path.stat().st_size,
        }
    return parts
