"""What is fuzzed: a parser, its typed errors, its seeds, and the bounds of time and memory."""

from __future__ import annotations

import contextlib
import gc
import resource
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass

MAX_BYTES = 64 << 10
"""Largest input. Quadratic time is far beyond the bound at this size."""

SEED_BYTES = 12 << 10
"""Largest recording that a run begins with: longer ones repeat the same code, and slow every input down."""

CPU_S, CPU_S_PER_BYTE = 1.0, 20e-6
MEMORY_BYTES, MEMORY_PER_BYTE = 48 << 20, 400

INSTRUMENTED_FACTOR = 4.0
"""Cost of an instrumented parser relative to a plain one, at most: counters, comparisons and regular expressions."""


class DefectError(Exception):
    """A parser broke a promise that is no exception: a bound of time or memory, or the shape of its result."""


@dataclass(frozen=True, slots=True)
class FuzzTarget:
    """A parser of untrusted bytes.

    `parse` reads an input and checks the result; `errors` are the typed errors that it may raise. `seeds` returns
    recorded inputs, of any size.
    """

    name: str
    parse: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    errors: tuple[type[BaseException], ...] = ()


def check_texts(value: object) -> object:
    """Return a result whose texts a database can store: no NUL, no half of a character. Raises DefectError."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise DefectError("a text cannot be stored")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            check_texts(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            check_texts(name)
            check_texts(item)
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:
            check_texts(item)
    return value


def run_parser(target: FuzzTarget, data: bytes) -> None:
    """Parse one input. Raises what the parser raises, except its typed errors."""
    with contextlib.suppress(*target.errors):
        target.parse(data)


def check_quickly(target: FuzzTarget, data: bytes) -> None:
    """Parse one input within a bound of CPU time and of growth of the process. For an instrumented parser.

    Raises DefectError, or what the parser raises.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    run_parser(target, data)
    used_s = time.process_time() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) << 10
    if used_s > INSTRUMENTED_FACTOR * (CPU_S + CPU_S_PER_BYTE * len(data)):
        raise DefectError(f"too slow: {used_s:.1f} s of CPU for {len(data)} bytes")
    if grown > 2 * (MEMORY_BYTES + MEMORY_PER_BYTE * len(data)):
        raise DefectError(f"too large: {grown >> 20} MiB for {len(data)} bytes")


def check_exactly(target: FuzzTarget, data: bytes) -> None:
    """Parse one input twice: within the bound of CPU time, and with every allocation counted.

    The first run also loads what the parser loads once. Raises DefectError, or what the parser raises.
    """
    began = time.process_time()
    run_parser(target, data)
    used_s = time.process_time() - began
    if used_s > CPU_S + CPU_S_PER_BYTE * len(data):
        began = time.process_time()
        run_parser(target, data)
        used_s = min(used_s, time.process_time() - began)
    if used_s > CPU_S + CPU_S_PER_BYTE * len(data):
        raise DefectError(f"too slow: {used_s:.1f} s of CPU for {len(data)} bytes")
    gc.collect()
    tracemalloc.start()
    try:
        run_parser(target, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > MEMORY_BYTES + MEMORY_PER_BYTE * len(data):
        raise DefectError(f"too large: {peak >> 20} MiB for {len(data)} bytes")
