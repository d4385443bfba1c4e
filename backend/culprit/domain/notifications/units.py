"""Units as people write them behind a number."""

from __future__ import annotations

from collections.abc import Mapping

#: Those that are left out stand as they are stored.
UNITS: Mapping[str, str] = {
    "pct": "%",
    "per_s": "/s",
    "count": "",
    "ratio": "",
    "bytes_per_s": "B/s",
    "bytes": "B",
    "kb": "KiB",
    "mb": "MiB",
    "kb_per_s": "KiB/s",
    "mb_per_s": "MiB/s",
    "packets_per_s": "packets/s",
    "mbit_per_s": "Mbit/s",
}


def unit_of(unit: str) -> str:
    """A unit as people write it."""
    return UNITS.get(unit, unit)
