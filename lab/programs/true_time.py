"""A time server that stays correct when the clock of its host is set: it reads the time once, when it starts.

Answers NTP requests (RFC 5905, section 7.3) with that time plus what has passed since, as a reference clock does.
"""

from __future__ import annotations

import argparse
import socket
import struct
import time

SINCE_1900_S = 2_208_988_800
PACKET = struct.Struct("!BBbbII4sQQQQ")
MODE_SERVER, VERSION, STRATUM = 4, 4, 2
PRECISION = -20  # 2^-20 s
DISPERSION = 1 << 8  # 16.16 seconds: 4 ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args().port
    began_s = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as served:
        served.bind(("127.0.0.1", port))
        while True:
            requested, sender = served.recvfrom(512)
            if len(requested) >= PACKET.size:
                served.sendto(
                    answer_request(requested, began_s + time.clock_gettime(time.CLOCK_MONOTONIC_RAW)), sender
                )


def answer_request(requested: bytes, now_s: float) -> bytes:
    """Return the packet with the time `now_s` (since 1970)."""
    version = requested[0] >> 3 & 7
    sent = PACKET.unpack_from(requested)[-1]
    now = int((now_s + SINCE_1900_S) * (1 << 32))
    first = (version or VERSION) << 3 | MODE_SERVER
    return PACKET.pack(
        first, STRATUM, requested[2] % 128, PRECISION, 0, DISPERSION, b"GPS\0", now, sent, now, now
    )


if __name__ == "__main__":
    main()
