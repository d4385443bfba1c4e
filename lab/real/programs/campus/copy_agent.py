"""An agent of the backup of a company: requests a copy of a volume from the storage, again and again.

The volume is quiet from before the request until the storage has answered, so that the copy is consistent.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import signal
import sys
import time
from types import FrameType

FREEZE, THAW = 0xC0045877, 0xC0045878


def request_copy(storage: str, number: int) -> int:
    """Return the status of a request for a copy. Raises OSError where the storage cannot be reached."""
    connection = http.client.HTTPConnection(storage, timeout=60)
    try:
        connection.request("GET", f"/copies/{number}")
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def take_copy(volume: int, storage: str, number: int) -> None:
    """Take a copy of the volume, an open directory."""
    fcntl.ioctl(volume, FREEZE, 0)
    try:
        status = request_copy(storage, number)
    except (OSError, http.client.HTTPException) as error:
        print(f"copy {number}: {error}", flush=True)
    else:
        print(f"copy {number}: status {status}", flush=True)
    finally:
        fcntl.ioctl(volume, THAW, 0)


def end_program(_number: int, _frame: FrameType | None) -> None:
    """End after the copy that is being taken was given up."""
    sys.exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--volume", required=True, help="where it is mounted")
    parser.add_argument("--storage", required=True, help="address:port")
    parser.add_argument("--every-s", type=float, default=10.0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, end_program)
    volume, number = os.open(options.volume, os.O_RDONLY), 0
    while True:
        time.sleep(options.every_s)
        number += 1
        take_copy(volume, options.storage, number)


if __name__ == "__main__":
    main()
