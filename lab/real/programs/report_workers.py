"""Workers of the reports: each has a connection to PostgreSQL, and sums up orders every few seconds."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import psycopg

SUM = "SELECT status, sum(amount) FROM orders WHERE customer_id = %s GROUP BY status"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--pause-s", type=float, default=2.0)
    options = parser.parse_args()
    Path("/proc/self/comm").write_text("report_workers")
    connections = []
    while True:
        while len(connections) < options.workers:
            try:
                connections.append(psycopg.connect(options.database, autocommit=True))
            except psycopg.OperationalError:
                time.sleep(0.1)
        random.choice(connections).execute(SUM, [random.randrange(2000)]).fetchall()
        time.sleep(random.expovariate(1 / options.pause_s))


if __name__ == "__main__":
    main()
