"""The limits of what a reader of profiles accepts, and the errors that it raises when a limit is met.

Everything that a host or a person uploads is hostile. A reader sees the bytes only through `BoundedReader`,
which never holds more than one piece, stops at `Limits.unpacked` bytes and at a compression ratio above
`Limits.ratio`. Nothing here knows a format.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import zstandard

from collectors.contract import Sentence

Encoding = Literal["identity", "gzip", "zstd"]

PIECE = 256 << 10
"""Bytes asked of the packed source at a time."""

WINDOW = 32 << 20
"""Largest zstd window, which is memory: `zstd -19` needs 8 MiB, `--long` more."""

ZSTD_PIECE = 1 << 10
"""Packed bytes given to zstd at a time: a run of one byte packs 128 KiB into 4 bytes."""

RATIO_FLOOR = 8 << 20
"""Unpacked bytes below which no ratio is judged: a small file may well be very regular."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """What one import may be. Sizes in bytes; `depth` in frames; `frames` and `nodes` are distinct ones."""

    packed: int = 256 << 20
    unpacked: int = 1 << 30
    ratio: int = 100
    line: int = 1 << 20
    symbol: int = 4096
    depth: int = 10_000
    frames: int = 1_000_000
    nodes: int = 4_000_000
    names: int = 256 << 20


DEFAULT = ReaderLimits()


class ImportRefusedError(Exception):
    """The bytes cannot become a profile. `sentence` is the reason, for users; `line` is 1-based where one is to
    blame.
    """

    def __init__(self, sentence: Sentence, line: int | None = None) -> None:
        super().__init__(f"{sentence.key} {dict(sentence.params)}")
        self.sentence = sentence
        self.line = line


class LimitExceededError(ImportRefusedError):
    """A limit was met."""


class WrongFormatError(ImportRefusedError):
    """The text is not what its reader expects."""


def limit_error(what: str, limit: int, line: int | None = None) -> LimitExceededError:
    """The error for limit `what` (line, depth, unpacked, ratio, packed, frames, nodes, names)."""
    if line is None:
        return LimitExceededError(Sentence(f"import.limit_{what}", {"limit": limit, "mib": limit >> 20}))
    return LimitExceededError(Sentence(f"import.limit_{what}_at", {"limit": limit, "line": line}), line)


def format_error(expected: str, line: int, text: bytes) -> WrongFormatError:
    """The error for a line that reader `expected` cannot read; the sentence shows at most 80 characters of
    it.
    """
    printable = to_printable(text[:80].decode("utf-8", "replace"))
    return WrongFormatError(Sentence(f"import.not_{expected}", {"line": line, "text": printable}), line)


def to_printable(text: str) -> str:
    """`text` with control characters, lone surrogates and non-characters as U+FFFD: safe in XML, JSON,
    terminals.

    Source of the ranges: XML 1.0 (fifth edition), production 2 `Char`, without tab, newline and carriage
    return.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _escape_character(ord(c)) else "\ufffd" for c in text)


def _escape_character(code: int) -> bool:
    if code < 0x20 or 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF:
        return False
    if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:  # bidirectional overrides would reorder a name
        return False
    return code & 0xFFFE != 0xFFFE and not 0xFDD0 <= code <= 0xFDEF


class Readable(Protocol):
    """All that a reader needs of its source."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; empty at the end."""
        ...


class PrefixedStream:
    """A source with its first bytes put back."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = PIECE, /) -> bytes:
        """At most `size` bytes; empty at the end."""
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._rest.read(size)


class _Counted:
    """The packed source, counted."""

    def __init__(self, source: Readable, limit: int) -> None:
        self.source, self.limit, self.total = source, limit, 0

    def read(self, size: int = -1, /) -> bytes:
        piece = self.source.read(min(size, PIECE) if size > 0 else PIECE)
        self.total += len(piece)
        if self.total > self.limit:
            raise limit_error("packed", self.limit)
        return piece


class BoundedReader:
    """A source of unpacked bytes that cannot be made to explode. `read(size)` gives at most `size` bytes.

    Raises LimitExceeded for size and ratio, WrongFormat (`import.not_gzip`, `import.not_zstd`) for damaged
    packing.
    """

    def __init__(
        self, source: BinaryIO, encoding: Encoding = "identity", limits: ReaderLimits = DEFAULT
    ) -> None:
        self.source, self.encoding, self.limits = source, encoding, limits
        packed_limit = limits.unpacked if encoding == "identity" else limits.packed
        self._packed = _Counted(source, packed_limit)
        self.total = 0
        self._gzip = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        self._tail = b""
        self._window = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._zstd = self._window.decompressobj() if encoding == "zstd" else None
        self._ready = b""

    @property
    def packed(self) -> int:
        """Packed bytes taken from the source so far."""
        return self._packed.total

    def read(self, size: int = PIECE, /) -> bytes:
        """At most `size` unpacked bytes; empty at the end."""
        piece = self._unpack(size if size > 0 else PIECE)
        self.total += len(piece)
        if self.total > self.limits.unpacked:
            raise limit_error("unpacked", self.limits.unpacked)
        if (
            self.encoding != "identity"
            and self.total > RATIO_FLOOR
            and self.total > self.limits.ratio * self._packed.total
        ):
            raise limit_error("ratio", self.limits.ratio)
        return piece

    def _unpack(self, size: int) -> bytes:
        try:
            if self._zstd is not None:
                return self._unzstd(size)
            if self._gzip is not None:
                return self._ungzip(size)
        except (zlib.error, zstandard.ZstdError, EOFError) as error:
            raise WrongFormatError(
                Sentence(f"import.not_{self.encoding}", {"text": str(error)[:120]})
            ) from error
        return self._packed.read(size)

    def _ungzip(self, size: int) -> bytes:
        """One or more gzip members; what follows the last one must be zero padding."""
        assert self._gzip is not None
        while True:
            if self._gzip.eof:
                rest = (self._gzip.unused_data or self._packed.read(PIECE)).lstrip(b"\0")
                if not rest:
                    return b""
                self._gzip, self._tail = zlib.decompressobj(wbits=31), rest
            packed = self._tail or self._packed.read(PIECE)
            piece = self._gzip.decompress(packed, size)
            self._tail = self._gzip.unconsumed_tail
            if piece:
                return piece
            if not packed and not self._gzip.eof:
                raise EOFError("the gzip stream ends early")

    def _unzstd(self, size: int) -> bytes:
        """One or more zstd frames. A few packed bytes may become many: they go in by ZSTD_PIECE, 32 MiB at
        most come out.
        """
        assert self._zstd is not None
        gathered = [self._ready]
        have = len(self._ready)
        while have < size:
            if self._zstd.eof:
                rest = self._zstd.unused_data
                packed = rest or self._packed.read(ZSTD_PIECE)
                if not packed:
                    break
                self._zstd = self._window.decompressobj()
            else:
                packed = self._packed.read(ZSTD_PIECE)
                if not packed and (self._packed.total or have):
                    raise EOFError("the zstd stream ends early")
            piece = self._zstd.decompress(packed)
            gathered.append(piece)
            have += len(piece)
            if have > RATIO_FLOOR:
                break
        whole = b"".join(gathered)
        self._ready = whole[size:]
        return whole[:size]

    def close(self) -> None:
        """Close the source."""
        self.source.close()

    def __enter__(self) -> BoundedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def detect_encoding(head: bytes) -> Encoding:
    """Return the compression that the first bytes indicate."""
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    return "zstd" if head.startswith(b"\x28\xb5\x2f\xfd") else "identity"


def open_bounded(
    source: Path | str | BinaryIO, encoding: Encoding | None = None, limits: ReaderLimits = DEFAULT
) -> BoundedReader:
    """Open a path or a seekable stream for reading under limits; `encoding` None looks at the first bytes."""
    stream = Path(source).open("rb") if isinstance(source, (str, Path)) else source  # noqa: SIM115
    if encoding is None:
        head = stream.read(4)
        stream.seek(-len(head), 1)
        encoding = detect_encoding(head)
    return BoundedReader(stream, encoding, limits)
