"""Render cards that a table of MariaDB has as jobs: python render_cards.py FILE NUMBER.

FILE has the settings as JSON: port, press (address:port of the service that renders), release, pause_s.
"""

from __future__ import annotations

import http.client
import json
import sys
import time
from pathlib import Path
from typing import Any

import pymysql

NEXT = "SELECT id, card FROM jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE"


def build_statement(release: int) -> str:
    """Return the statement that takes a job. Since release 12, it is written without the extension of a dialect."""
    return NEXT if release >= 12 else f"{NEXT} SKIP LOCKED"


def render_card(press: http.client.HTTPConnection, card: int) -> str:
    """Return what the press makes of a card."""
    press.request("GET", f"/cards/{card}")
    return press.getresponse().read().decode()[:60]


def take_job(database: Any, statement: str, press: http.client.HTTPConnection) -> bool:
    """Render the next card in a transaction. Return whether there was a job."""
    with database.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
        if row is not None:
            picture = render_card(press, row[1])
            cursor.execute("UPDATE jobs SET state = 1, picture = %s WHERE id = %s", (picture, row[0]))
    database.commit()
    return row is not None


def main() -> None:
    settings = json.loads(Path(sys.argv[1]).read_text())
    statement = build_statement(settings["release"])
    address, _, port = settings["press"].partition(":")
    press = http.client.HTTPConnection(address, int(port), timeout=10)
    database = pymysql.connect(
        host="127.0.0.1", port=settings["port"], user="shop", password="shop", database="shop",
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )  # fmt: skip
    while True:
        try:
            if not take_job(database, statement, press):
                time.sleep(settings["pause_s"])
        except pymysql.err.OperationalError as error:
            print(error, file=sys.stderr)
            database.rollback()


if __name__ == "__main__":
    main()
