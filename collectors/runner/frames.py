"""Parse the output of a runner: frames on stdout, lines on stderr. The format is in scripts/PROTOCOL.md.

Every byte comes from a host and is hostile. The reader is incremental, bounded in every dimension and total:
any bytes, cut anywhere, yield the frames that are complete before the first wrong byte, and one word about
what was wrong. It decompresses nothing, writes nothing: large payloads go to the sink that the caller gives.
What the payloads of outcomes and clock readings mean is in `collectors.runner.records`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

MAGIC = b"CULPRIT1 "
HEADER_MAX = 4096

Encoding = Literal["identity", "gzip", "zstd", "base64", "gzip+base64", "zstd+base64"]
State = Literal["done", "skipped", "failed", "timed_out", "canceled"]
Trouble = Literal["cut", "header", "too_large", "too_many", "noise", "separator"]

KINDS = frozenset({"snapshot", "hello", "busy", "refused", "clock", "part", "outcome", "end"})
ENCODINGS = frozenset({"identity", "gzip", "zstd", "base64", "gzip+base64", "zstd+base64"})
STATES = frozenset({"done", "skipped", "failed", "timed_out", "canceled"})

_FIELD = re.compile(r"([a-z][a-z0-9_]{0,31})=([!-~]{0,1024})")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
INTEGER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class FrameLimits:
    """Limits of one stream: bytes of a text, of a part and of all frames, number of frames, noise before the first."""

    text_bytes: int = 1 << 20
    part_bytes: int = 256 << 20
    total_bytes: int = 1 << 30
    frames: int = 10_000
    noise_bytes: int = 64 << 10


class FrameSink(Protocol):
    """A writer for the bytes of one part."""

    def write(self, data: bytes, /) -> object:
        """Write the next bytes."""
        ...


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """The first line of a frame. If the host could not compute them, `sha256` is empty and `raw` is None."""

    kind: str
    id: str
    part: str
    length: int
    sha256: str
    encoding: str
    raw: int | None
    fields: Mapping[str, str]

    def number(self, name: str) -> int | None:
        """Return the field `name` as an integer, or None."""
        text = self.fields.get(name, "")
        return int(text) if INTEGER.fullmatch(text) else None


@dataclass(frozen=True, slots=True)
class Frame:
    """One complete frame. `payload` is empty if a sink received the bytes. `digest` is their SHA-256."""

    header: FrameHeader
    payload: bytes
    digest: str
    sink: FrameSink | None = None

    @property
    def intact(self) -> bool:
        """Return whether the received bytes are those that the host sent, if the host sent a digest."""
        return self.header.sha256 in ("", self.digest)

    @property
    def text(self) -> str:
        """Return the payload as text."""
        return self.payload.decode("utf-8", "replace")


class FrameReader:
    """Splits a stream into frames. `sink` returns a writer for each part. Without it, parts stay in memory."""

    def __init__(
        self, limits: FrameLimits | None = None, sink: Callable[[FrameHeader], FrameSink] | None = None
    ) -> None:
        self.limits = limits or FrameLimits()
        self.trouble: Trouble | None = None
        self.noise = b""
        self.ended = False
        self._open = sink
        self._held = bytearray()
        self._header: FrameHeader | None = None
        self._left = 0
        self._sink: FrameSink | None = None
        self._payload = bytearray()
        self._digest = hashlib.sha256()
        self._total = 0
        self._count = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes. After a wrong byte there are no more frames."""
        return list(self.iterate(data))

    def iterate(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes, each before the header of the next one is read.

        A caller that decides by header what to accept therefore knows every earlier frame.
        """
        frames: list[Frame] = []
        view = memoryview(data)
        while view and not self.trouble:
            used = self._line(view) if self._header is None else self._body(view, frames)
            view = view[used:]
            if frames:
                yield frames.pop()

    def close(self) -> Trouble | None:
        """Return the problem of the stream, or None if it ended with `end` or with a refusal."""
        if self.trouble is None and (self._header is not None or self._held or not self.ended):
            self.trouble = "cut"
        return self.trouble

    def _line(self, view: memoryview) -> int:
        """Consume bytes of a header line and return how many."""
        room = HEADER_MAX + 1 - len(self._held)
        piece = bytes(view[:room])
        at = piece.find(b"\n")
        used = at + 1 if at >= 0 else len(piece)
        self._held += piece[:used]
        if at < 0:
            if len(self._held) > HEADER_MAX:
                self._refuse_line()
            return used
        line = bytes(self._held)
        self._held.clear()
        if self._count == 0 and not line.startswith(MAGIC):
            self._skip(line)
        else:
            self._begin(line)
        return used

    def _refuse_line(self) -> None:
        if self._count == 0 and not self._held.startswith(MAGIC):
            self._skip(bytes(self._held))
            self._held.clear()
        else:
            self.trouble = "header"

    def _skip(self, line: bytes) -> None:
        self.noise += line
        if len(self.noise) > self.limits.noise_bytes:
            self.noise = self.noise[: self.limits.noise_bytes]
            self.trouble = "noise"

    def _begin(self, line: bytes) -> None:
        header = parse_header(line)
        if header is None:
            self.trouble = "header"
            return
        cap = self.limits.part_bytes if header.kind == "part" else self.limits.text_bytes
        self._total += len(line) + header.length
        self._count += 1
        if header.length > cap or self._total > self.limits.total_bytes:
            self.trouble = "too_large"
        elif self._count > self.limits.frames:
            self.trouble = "too_many"
        else:
            self._header = header
            self._left = header.length + 1
            self._digest = hashlib.sha256()
            self._payload = bytearray()
            self._sink = self._open(header) if self._open and header.kind == "part" else None

    def _body(self, view: memoryview, frames: list[Frame]) -> int:
        """Consume bytes of a payload and the newline after it, and return how many."""
        header = self._header
        assert header is not None
        take = min(len(view), self._left - 1)
        if take:
            piece = bytes(view[:take])
            self._digest.update(piece)
            if self._sink is not None:
                self._sink.write(piece)
            else:
                self._payload += piece
            self._left -= take
            return take
        if view[0] != 0x0A:
            self.trouble = "separator"
            return 1
        frames.append(Frame(header, bytes(self._payload), self._digest.hexdigest(), self._sink))
        self.ended = self.ended or header.kind in ("end", "busy", "refused")
        self._header, self._sink = None, None
        self._payload = bytearray()
        return 1


def parse_header(line: bytes) -> FrameHeader | None:
    """Return the header in `line`, or None if it is not a header."""
    if not line.startswith(MAGIC) or len(line) > HEADER_MAX:
        return None
    fields: dict[str, str] = {}
    for word in line[len(MAGIC) :].decode("latin-1").split():
        match = _FIELD.fullmatch(word)
        if match is None or match[1] in fields:
            return None
        fields[match[1]] = match[2]
    kind, name, part = fields.pop("kind", ""), fields.pop("id", "-"), fields.pop("part", "-")
    length, sha256, encoding = fields.pop("len", ""), fields.pop("sha256", "-"), fields.pop("enc", "identity")
    raw = fields.pop("raw", "-")
    if kind not in KINDS or encoding not in ENCODINGS or not INTEGER.fullmatch(length):
        return None
    if sha256 != "-" and not re.fullmatch(r"[0-9a-f]{64}", sha256):
        return None
    if not all(text == "-" or _NAME.fullmatch(text) for text in (name, part)):
        return None
    if (kind in ("part", "outcome") and name == "-") or (kind == "part" and part == "-"):
        return None
    return FrameHeader(
        kind,
        "" if name == "-" else name,
        "" if part == "-" else part,
        int(length),
        "" if sha256 == "-" else sha256,
        encoding,
        int(raw) if INTEGER.fullmatch(raw) else None,
        MappingProxyType(fields),
    )


@dataclass(frozen=True, slots=True)
class ProgressLine:
    """The state of a collector, `elapsed_ms` after the start of the runner."""

    collector: str
    state: str
    elapsed_ms: int


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """The answer of the runner to heartbeat `n`."""

    n: int


_PROGRESS = re.compile(
    r"progress ([a-z][a-z0-9_]{0,40}) (running|done|skipped|failed|timed_out|canceled) ([0-9]{1,12})"
)
_ALIVE = re.compile(r"alive ([0-9]{1,12})")


def parse_progress(line: str) -> ProgressLine | HeartbeatReply | None:
    """Return what a line of stderr means, or None for a line that is not from the runner."""
    line = line.strip()
    if match := _PROGRESS.fullmatch(line):
        return ProgressLine(match[1], match[2], int(match[3]))
    if match := _ALIVE.fullmatch(line):
        return HeartbeatReply(int(match[1]))
    return None
