"""Display names of units."""

from __future__ import annotations

from collections.abc import Mapping

#: Units without an entry are shown as stored.
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


def get_unit_label(unit: str) -> str:
    """Return the display name of a unit."""
    return UNITS.get(unit, unit)
