"""A job that bills boardings in a database, some at a time, the latest ones first."""

from __future__ import annotations

import argparse
import time

import pymysql

BILL = "UPDATE boats.boardings SET billed = billed + 1 WHERE tour_id BETWEEN %s AND %s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", required=True, help="address:port")
    parser.add_argument("--boardings", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--pause-s", type=float, default=1.0)
    options = parser.parse_args()
    address, port = options.database.split(":")
    database = pymysql.connect(host=address, port=int(port), user="web", password="web", autocommit=True)
    last = options.boardings
    while True:
        with database.cursor() as cursor:
            cursor.execute(BILL, (last - options.rows + 1, last))
        last = last - options.rows if last > options.boardings // 2 else options.boardings
        time.sleep(options.pause_s)


if __name__ == "__main__":
    main()
