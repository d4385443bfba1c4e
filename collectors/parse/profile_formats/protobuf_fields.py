"""Fields of a protobuf message, read without a schema: varints and bytes.

Source: https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

from collections.abc import Iterator

Field = int | bytes
VARINT_BYTES = 10
_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at` (0 to 2^64 - 1) and the place behind it. Raises ValueError and IndexError."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    for step in range(1, VARINT_BYTES):
        byte = data[at + step]
        value |= (byte & 0x7F) << 7 * step
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at + step + 1
    raise ValueError("varint")


def read_fields(data: bytes) -> Iterator[tuple[int, Field]]:
    """Yield number and value of each field. Raises ValueError or IndexError for damaged bytes."""
    at, size = 0, len(data)
    while at < size:
        key, at = read_varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = read_varint(data, at)
            yield key >> 3, value
        elif wire == _LEN:
            length, at = read_varint(data, at)
            if length > size - at:
                raise ValueError("length")
            yield key >> 3, data[at : at + length]
            at += length
        elif wire in {_I64, _I32}:
            at += 8 if wire == _I64 else 4
            if at > size:
                raise ValueError("length")
        else:
            raise ValueError("wire type")


def to_numbers(value: Field) -> list[int]:
    """Return the numbers of a repeated field: packed, or one."""
    if isinstance(value, int):
        return [value]
    if value.isascii():
        return list(value)
    numbers, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        numbers.append(number)
    return numbers


def to_submessage(value: Field) -> bytes:
    """Return the bytes of a message. Raises TypeError for a number."""
    if not isinstance(value, bytes):
        raise TypeError(value)
    return value


def to_signed(value: int) -> int:
    """Return an int64 out of its 64 bits."""
    return value - (1 << 64) if value >> 63 else value


class Fields:
    """The numbers of a message by field; the last one counts."""

    def __init__(self, data: bytes) -> None:
        self._values = dict(read_fields(data))

    def number(self, field: int) -> int:
        """Return the number of a field; 0 where it is missing. Raises TypeError for bytes."""
        value = self._values.get(field, 0)
        if not isinstance(value, int):
            raise TypeError(value)
        return value
