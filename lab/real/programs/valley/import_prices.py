"""Import the prices of a grower, and remove pages with former prices: python import_prices.py SETTINGS.

SETTINGS is JSON: port (of MariaDB), cache (address:port of memcached), plants (rows), changed (rows of an import),
kinds, zones, and forget ("all" pages, or some of the kinds that "changed").
"""

from __future__ import annotations

import json
import random
import socket
import sys
from pathlib import Path
from typing import Any

import pymysql

BATCH = 50


def write_prices(settings: dict[str, Any]) -> set[int]:
    """Write prices, a batch of rows in a transaction. Returns the kinds of these plants."""
    first = random.randrange(settings["plants"] - settings["changed"])
    database = pymysql.connect(
        host="127.0.0.1", port=settings["port"], user="shop", password="shop", database="shop"
    )
    with database, database.cursor() as cursor:
        for start in range(first, first + settings["changed"], BATCH):
            cursor.execute(
                "UPDATE plants SET cents = cents + %s WHERE id BETWEEN %s AND %s",
                (random.choice((-1, 1)), start, start + BATCH - 1),
            )
            database.commit()
    return {number % settings["kinds"] for number in range(first, first + min(2, settings["changed"]))}


def forget_pages(settings: dict[str, Any], kinds: set[int]) -> None:
    """Remove pages that have the former prices."""
    address, port = settings["cache"].split(":")
    commands = [f"delete plants:{kind}:{random.randrange(settings['zones'])}" for kind in kinds]
    if settings["forget"] == "all":
        commands = ["flush_all"]
    with socket.create_connection((address, int(port)), timeout=5) as connection:
        stream = connection.makefile("rwb")
        for command in commands:
            stream.write(f"{command}\r\n".encode())
            stream.flush()
            stream.readline()


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    forget_pages(settings, write_prices(settings))


if __name__ == "__main__":
    main()
