"""Films of a diving school: files of nginx on a volume of their own."""

from __future__ import annotations

import os
from pathlib import Path

from lab.application import DATA
from lab.real.services.quarter.marina_host import Volume
from lab.real.services.towns.town import Town

READ_AHEAD = "/sys/dev/block/{device}/bdi/read_ahead_kb"


class DiveFilms:
    """The films and their volume, without nginx."""

    def __init__(self, town: Town, iops: int, megabytes: int) -> None:
        """Mount the volume and write the films.

        Args:
            iops: how many requests a second the volume does.
            megabytes: the size of all films.
        """
        rng, self.environment = town.rng, town.environment
        self.volume = Volume(self.environment, rng, iops, megabytes * 5 // 4 + 80)
        self.kilobytes = rng.randrange(280, 380)
        self.films = megabytes * 1024 // self.kilobytes
        self._write_films(rng.randbytes(self.kilobytes << 10))
        town.parameters |= {"films": self.films, "kilobytes": self.kilobytes, "iops": iops}

    def build_location(self, location: str) -> str:
        """Return a location of nginx."""
        return f"        location {location} {{ root {DATA}; }}\n"

    def read_ahead(self, kilobytes: int) -> None:
        """Let the kernel read so much of a file in advance."""
        device = self.environment.host_sh(f"findmnt -no MAJ:MIN {DATA}").strip()
        self.environment.cleanup.set_global(READ_AHEAD.format(device=device), str(kilobytes))

    def _write_films(self, content: bytes) -> None:
        """Write the films, and leave none of them in the page cache."""
        root = Path(f"{self.environment.host.path(DATA)}/films")
        root.mkdir()
        for number in range(self.films):
            (root / f"{number}.mp4").write_bytes(content)
        self.environment.host_sh(f"sync -f {DATA}/films")
        for file in root.iterdir():
            with file.open("rb") as film:
                os.posix_fadvise(film.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
