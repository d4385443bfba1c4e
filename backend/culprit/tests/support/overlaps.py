"""Observers of two captures at once on a host: in the database, and in the process table of the hosts."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from culprit.infra.db.session import Database
from sqlalchemy import text

OBSERVE_EVERY_S = 0.3


class HostObserver(threading.Thread):
    """Look for two collectors of different runs on one host at the same time. Each host has its own mount namespace."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.stop = threading.Event()
        self.overlaps: set[tuple[str, ...]] = set()
        self.runs: set[str] = set()

    def run(self) -> None:
        """Look at all processes several times a second."""
        while not self.stop.wait(OBSERVE_EVERY_S):
            hosts: dict[str, set[str]] = {}
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    if (process / "comm").read_text() != "vmstat\n":
                        continue
                    for item in (process / "environ").read_bytes().split(b"\0"):
                        if item.startswith(b"CULPRIT_RUN="):
                            hosts.setdefault(str((process / "ns/mnt").readlink()), set()).add(item.decode())
            self.runs |= {run for runs in hosts.values() for run in runs}
            self.overlaps |= {tuple(sorted(runs)) for runs in hosts.values() if len(runs) > 1}


def note_starts(db: Database) -> None:
    """Make the database record every start and end of a run, to detect overlaps."""
    with db.engine.begin() as connection:
        connection.execute(
            text("""
            CREATE TABLE witness
                (at timestamptz DEFAULT clock_timestamp(), host uuid, run uuid, running boolean);
            CREATE FUNCTION witness() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF NEW.state <> OLD.state OR NEW.fence <> OLD.fence THEN
                INSERT INTO witness(host, run, running) VALUES (NEW.host_id, NEW.id, NEW.state = 'running');
              END IF; RETURN NEW; END $$;
            CREATE TRIGGER witness AFTER UPDATE ON run FOR EACH ROW EXECUTE FUNCTION witness();
            """)
        )


def list_overlaps(db: Database) -> list[str]:
    """Return the times at which a host had two running runs, according to the database."""
    active: dict[Any, set[Any]] = {}
    results = []
    with db.engine.begin() as connection:
        rows = connection.execute(text("SELECT at, host, run, running FROM witness ORDER BY at"))
        for at, host, run, is_running in rows:
            runs = active.setdefault(host, set())
            (runs.add if is_running else runs.discard)(run)
            if len(runs) > 1:
                results.append(f"{host} at {at}")
    return results
