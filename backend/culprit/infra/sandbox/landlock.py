"""Landlock: give up rights to files, TCP and other processes, without any privilege.

Kernel interface: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_DIR, MAKE_REG, TRUNCATE, IOCTL_DEV = 1 << 7, 1 << 8, 1 << 14, 1 << 15
READ = READ_FILE | READ_DIR
#: No links, sockets, pipes or devices, and nothing executable.
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
#: File rights that each ABI adds.
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_FROM, _SCOPE_FROM = 4, 6
_BIND_AND_CONNECT = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def get_abi() -> int:
    """Return the version of Landlock of the kernel, or 0 if it is missing or disabled."""
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)))


def restrict_process(abi: int, rules: Iterable[tuple[Path, int]]) -> None:
    """Give up all rights except `rules` (a path, and the rights to it and below it), permanently.

    Paths that do not exist are skipped. TCP, abstract Unix sockets and signals to processes outside are
    refused if the kernel supports that.

    Raises:
        OSError: the kernel refuses.
    """
    handled = _RIGHTS[max(known for known in _RIGHTS if known <= abi)]
    attributes = [handled]
    if abi >= _NET_FROM:
        attributes.append(_BIND_AND_CONNECT)
    if abi >= _SCOPE_FROM:
        attributes.append(_ABSTRACT_SOCKETS_AND_SIGNALS)
    packed = struct.pack(f"{len(attributes)}Q", *attributes)
    ruleset = _call(_CREATE_RULESET, ctypes.c_char_p(packed), ctypes.c_size_t(len(packed)), 0)
    try:
        for path, rights in rules:
            _add(ruleset, path, rights & handled)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _add(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, descriptor)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
