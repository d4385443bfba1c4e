"""Applies deliveries to the stock of a warehouse: reads one per line from a file that grows.

A delivery is `warehouse pieces kind`. The kind "final" commits, "part" is completed by later ones.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import psycopg

ADD = "UPDATE stock SET available = available + %s WHERE warehouse = %s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--deliveries", required=True)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("warehouse_sync")
    with psycopg.connect(options.database) as database, Path(options.deliveries).open() as deliveries:
        while True:
            line = deliveries.readline()
            if not line.endswith("\n"):
                time.sleep(0.2)
                continue
            warehouse, pieces, kind = line.split()
            database.execute(ADD, [int(pieces), int(warehouse)])
            if kind == "final":
                database.commit()


if __name__ == "__main__":
    main()
