"""An order desk: looks up customers and places orders in PostgreSQL, from several connections, at a steady rate.

The log has lines of `epoch_s outcome latency_ms`, one for each transaction.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from pathlib import Path
from typing import TextIO

import psycopg

PLACE = (
    "INSERT INTO orders (customer_id, product_id, amount, status, note) VALUES (%s, %s, %s, 'new', 'desk')"
)
RESERVE = "UPDATE stock SET available = available - 1, reserved = reserved + 1 WHERE product_id = %s"
HISTORY = "SELECT id, amount, status FROM orders WHERE customer_id = %s ORDER BY id DESC LIMIT 20"


def run_transaction(database: psycopg.Connection, draw: random.Random, options: argparse.Namespace) -> None:
    """Look up a customer's orders; place one in some of the cases."""
    customer, product = draw.randrange(options.customers), draw.randrange(options.products)
    with database.transaction():
        database.execute(HISTORY, (customer,)).fetchall()
        if draw.random() < options.writes:
            database.execute(PLACE, (customer, product, draw.randrange(500)))
            database.execute(RESERVE, (product,))


def run_connection(options: argparse.Namespace, log: TextIO, draw: random.Random) -> None:
    """Run transactions over one connection, each at its time."""
    database = psycopg.connect(options.database, autocommit=True)
    due = time.monotonic()
    while True:
        due = max(due + draw.expovariate(options.rate / options.connections), time.monotonic() - 1)
        time.sleep(max(0.0, due - time.monotonic()))
        began, start, outcome = time.time(), time.monotonic(), "ok"
        try:
            run_transaction(database, draw, options)
        except psycopg.Error as error:
            outcome = type(error).__name__
        log.write(f"{began:.3f} {outcome} {(time.monotonic() - start) * 1000:.2f}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", required=True)
    parser.add_argument("--rate", type=float, default=100.0, help="transactions per second")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--customers", type=int, default=1000)
    parser.add_argument("--products", type=int, default=1000)
    parser.add_argument("--writes", type=float, default=0.3, help="share of transactions that write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", required=True)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    with Path(options.log).open("w", buffering=1) as log:
        threads = [
            threading.Thread(target=run_connection, args=(options, log, random.Random(draw.random())))
            for _ in range(options.connections)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
