"""Meters that send values to a broker of MQTT: the first value of each is kept there, then values at a rate.

Messages are kept ("retained") by the broker; it confirms each of the later ones.
"""

from __future__ import annotations

import argparse
import random
import socket
import threading
import time
from pathlib import Path

CONNECT, PUBLISH, RETAIN, CONFIRMED = 0x10, 0x30, 0x01, 0x02


def build_packet(kind: int, body: bytes) -> bytes:
    """Return a packet of MQTT 3.1.1 with its length."""
    size, length = b"", len(body)
    while True:
        length, digit = divmod(length, 128)
        size += bytes([digit | (0x80 if length else 0)])
        if not length:
            return bytes([kind]) + size + body


def build_text(text: bytes) -> bytes:
    """Return a string of MQTT."""
    return len(text).to_bytes(2, "big") + text


def build_value(meter: int, words: int, draw: random.Random) -> tuple[bytes, bytes]:
    """Return the topic and the value of a meter."""
    values = ",".join(f'"p{phase}":{draw.uniform(0, 900):.4f}' for phase in range(words))
    return b"meters/%d/%d/state" % (meter % 97, meter), f'{{"meter":{meter},{values}}}'.encode()


def drain_answers(connection: socket.socket) -> None:
    """Read what the broker confirms."""
    while connection.recv(65_536):
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--meters", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=5.0, help="values per second of all meters together")
    parser.add_argument("--words", type=int, default=8, help="numbers of a value")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ready", required=True, help="a file that is created after the first values")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    address, port = options.to.split(":")
    connection = socket.create_connection((address, int(port)))
    connection.sendall(build_packet(CONNECT, b"\0\4MQTT\4\2\0\0" + build_text(b"concentrator")))
    connection.recv(4)
    threading.Thread(target=drain_answers, args=(connection,), daemon=True).start()
    for meter in range(options.meters):
        topic, value = build_value(meter, options.words, draw)
        connection.sendall(build_packet(PUBLISH | RETAIN, build_text(topic) + value))
    Path(options.ready).touch()
    number = 0
    while True:
        time.sleep(draw.expovariate(options.rate))
        number = number % 60_000 + 1
        topic, value = build_value(draw.randrange(options.meters), options.words, draw)
        body = build_text(topic) + number.to_bytes(2, "big") + value
        connection.sendall(build_packet(PUBLISH | RETAIN | CONFIRMED, body))


if __name__ == "__main__":
    main()
