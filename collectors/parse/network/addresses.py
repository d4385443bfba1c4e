"""Addresses with ports, as ss and /proc/net/tcp write them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from collectors.parse.tables.tokens import to_text

_MAPPED = "::ffff:"
_MAX_REACHABLE = 300


def split_address(token: bytes) -> tuple[str, int | None]:
    """`10.0.0.1:80`, `[::1]:80`, `*:80`, `fe80::1%eth0:80` → address and port; None where that is no port.

    The brackets go, and an IPv4 address that is mapped into IPv6 becomes IPv4.
    """
    address, _, port = token[:160].rpartition(b":")
    displayed = to_text(address, 80).replace("[", "").replace("]", "")
    if displayed.lower().startswith(_MAPPED) and "." in displayed:
        displayed = displayed[len(_MAPPED) :]
    number = int(port) if port.isdigit() and len(port) <= 5 else None
    return displayed, number if number is None or number < 1 << 16 else None


def decode_proc_address(token: bytes) -> tuple[str, int | None]:
    """`0100007F:1F90` → 127.0.0.1, 8080: 32-bit words in the byte order of the host, here little-endian."""
    address, _, port = token[:64].partition(b":")
    try:
        raw = bytes.fromhex(address.decode("ascii"))
        number = int(port, 16)
    except ValueError:
        return "", None
    if len(raw) not in {4, 16} or not 0 <= number < 1 << 16:
        return "", None
    swapped = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    displayed = str(ipaddress.ip_address(swapped))
    mapped = ipaddress.IPv6Address(swapped).ipv4_mapped if len(raw) == 16 else None
    return (str(mapped) if mapped else displayed), number


def is_reachable(lines: Iterable[bytes]) -> list[str]:
    """Of `[DEVICE ]ADDRESS[/PREFIX]` those that others may know the host by: neither loopback nor link-local ones."""
    results: dict[str, None] = {}
    for line in lines:
        text = to_text(line[:200].strip().rpartition(b" ")[2].partition(b"/")[0], 60)
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if len(results) < _MAX_REACHABLE and not (address.is_loopback or address.is_link_local):
            results[str(address)] = None
    return list(results)
