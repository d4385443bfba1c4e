"""Writes the calendars of chambers, a file for each room and day, again and again.

--directory, --chambers, --days FILE (a file with the number of days ahead), --pause-s. What cannot be written is tried
again in the next round.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

EVENT = "BEGIN:VEVENT\nUID:{room}-{day}@inn.example\nSUMMARY:room {room}\nSTATUS:FREE\nEND:VEVENT\n"


def write_calendars(directory: Path, chambers: int, days: int) -> int:
    """Write the files that are missing. Returns how many could not be written."""
    failures = 0
    for day in range(days):
        for room in range(chambers):
            file = directory / f"{room:02}-{day:04}.ics"
            if not file.exists():
                try:
                    file.write_text(EVENT.format(room=room, day=day))
                except OSError:
                    failures += 1
                    if failures > 50:
                        return failures
    return failures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--chambers", type=int, required=True)
    parser.add_argument("--days", type=Path, required=True)
    parser.add_argument("--pause-s", type=float, default=5.0)
    options = parser.parse_args()
    while True:
        write_calendars(options.directory, options.chambers, int(options.days.read_text()))
        time.sleep(options.pause_s)


if __name__ == "__main__":
    main()
