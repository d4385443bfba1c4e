"""A scanner that sends SYNs with addresses of others and never completes a connection.

The host's answers come back here, as its default route, and are dropped: nothing has these addresses.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
import time


def sum_words(data: bytes) -> int:
    """Return the Internet checksum."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def build_syn(source: bytes, target: bytes, port: int) -> bytes:
    """Return an IP packet with a SYN from a random port."""
    options = struct.pack("!BBHBBBB", 2, 4, 1460, 1, 1, 1, 0)
    header = [random.randrange(1024, 65535), port, random.getrandbits(32), 0, 7 << 4, 2, 64240, 0, 0]
    pseudo = source + target + struct.pack("!BBH", 0, socket.IPPROTO_TCP, 20 + len(options))
    header[7] = sum_words(pseudo + struct.pack("!HHIIBBHHH", *header) + options)
    tcp = struct.pack("!HHIIBBHHH", *header) + options
    ip = struct.pack(
        "!BBHHHBBH", 0x45, 0, 20 + len(tcp), random.getrandbits(16), 0, 64, socket.IPPROTO_TCP, 0
    )
    return ip + source + target + tcp


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", required=True, help="address:port")
    parser.add_argument("--rate", type=float, default=100.0, help="SYNs per second")
    options = parser.parse_args()
    address, port = options.to.split(":")
    target = socket.inet_aton(address)
    sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    while True:
        source = bytes([198, random.choice((18, 19)), random.randrange(256), random.randrange(1, 255)])
        sender.sendto(build_syn(source, target, int(port)), (address, 0))
        time.sleep(random.expovariate(options.rate))


if __name__ == "__main__":
    main()
